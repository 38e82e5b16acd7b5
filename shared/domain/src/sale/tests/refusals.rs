//! The texts of refusals.

use super::*;

/// The part whose state is named is the one that does not allow the transition.
#[test]
fn a_refusal_names_the_part_of_the_sale_that_does_not_allow_it() {
    let operator = Operator::parse("o", None).unwrap();
    let progress =
        || Progress { draft: Some(Draft { id: "d".into(), internet_message_id: "m".into() }), ..Progress::default() };
    let sending = |progress| Mail::Sending { owner: "a".into(), lease_until: at(9), progress };
    let ready = Sale { fulfilment: Fulfilment::Ready { at: at(1), archived: true }, ..sale() };
    let draft = |mail: Mail, sale: &Sale| {
        let draft = Draft { id: "e".into(), internet_message_id: "n".into() };
        Sale { mail, ..sale.clone() }.mail_drafted(Letter::Verdict, "a", &draft, &rendered())
    };
    let dead = |sale: &Sale| Sale { mail: Mail::Dead { at: at(1), progress: Progress::default() }, ..sale.clone() };
    let refunded = Sale { money: Money::Refunded { at: at(2) }, ..ready.clone() };
    let mut chased = Sale { chased: 1, ..sale() };
    let mut noted = Sale { amount_noted: true, ..ready.clone() };
    let mut served = Sale { retrievals: MAX_RECORDED_RETRIEVALS, ..ready.clone() };
    let mut declined = Sale { followups_declined: MAX_RECORDED_DECLINES, ..ready.clone() };
    let mut regenerated = Sale { regenerated_at: Some(at(1)), ..ready.clone() };
    let mut dropped = Sale { drop_recorded: true, fulfilment: Fulfilment::Unusable { at: at(1) }, ..sale() };
    let mut answered = ready.clone();
    answered.replied(reply(1)).unwrap();
    let again = answered.replied(reply(1)).map(drop);
    let due = at(1_000_000);
    for (refused, text) in [
        (draft(sending(progress()), &ready).map(drop), "drafted while its verdict mail is drafted"),
        (draft(sending(Progress::default()), &refunded).map(drop), "drafted while its money is refunded"),
        (draft(sending(Progress::default()), &sale()).map(drop), "drafted while its verdict is ordered"),
        (dead(&refunded).redrive(&operator, at(3)).map(drop), "retrying while its money is refunded"),
        (
            dead(&Sale { fulfilment: Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(1) }, ..sale() })
                .redrive(&operator, at(3))
                .map(drop),
            "retrying while its verdict is in review",
        ),
        (ready.clone().redrive(&operator, at(3)).map(drop), "retrying while its verdict mail is not ordered"),
        (
            ready.clone().settle_mails(&operator, MailOutcome::Sent, at(3)).map(drop),
            "settled while its verdict mail is not ordered",
        ),
        (sale().chase(at(1)).map(drop), "restarted while its open work is not due"),
        (chased.chase_refused(due), "restarted while its open work is restarted"),
        (sale().remind(due), "shown to a human again while its open work is in_flight"),
        (refunded.clone().remind(due), "shown to a human again while its open work is done"),
        (served.serve(None).map(drop), "recorded as retrieved while its list of retrievals is full"),
        (
            decline_followup(&mut declined).map(drop),
            "recorded as declined while its list of declined follow-ups is full",
        ),
        (regenerated.reopen(at(2)), "ordered while its regeneration is less than five minutes old"),
        (again, "replied to by it while its reply is stored"),
        (ready.clone().settle_replies(&operator, at(3)).map(drop), "settled while its reply is missing"),
        (noted.amount_noted(charge(), 1).map(drop), "noted for its amount while its note about the amount is recorded"),
        (ready.clone().dismiss_finding(&operator).map(drop), "settled while its finding is missing"),
        (dropped.drop_alerted(), "alerted while its silent drop is recorded"),
        (ready.clone().drop_alerted(), "alerted while its silent drop is not open"),
    ] {
        assert_eq!(refused.unwrap_err().to_string(), format!("a sale cannot become {text}"));
    }
}
