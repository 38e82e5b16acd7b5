//! Alerts operators again to sales that wait for them.

use crate::Ports;
use audit::Change;
use domain::{
    Alert, Sale, StepError, Timestamp,
    alert::Severity,
    open_work::{OpenWork, Work},
    ports::Versioned,
    sale::{Mail, NotPaid},
};

/// Alerts operators again to a sale that waits for a human.
pub(crate) async fn remind(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    ports.journal.commit(sale, reminder).await?.settle().await;
    Ok(())
}

/// The text about a session that the key of this function cannot see.
const OTHER_MODE: &str = "the key stripe-refund is of Stripe's other mode (live or test) and cannot see the session: \
                          store the keys of one mode (oracle secrets set), then try again (oracle reattempt)";

/// Alerts operators again to a sale whose session our key cannot see.
pub(crate) async fn remind_of_mode(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    let remind = |sale: &mut Sale, now| match sale.due_work(now) {
        Some(open) if open.work == Work::NotPaid => reminded(sale, open, OTHER_MODE, now),
        _ => reminder(sale, now),
    };
    ports.journal.commit(sale, remind).await?.settle().await;
    Ok(())
}

/// The reminder of an operator, if one is due.
pub(crate) fn reminder(sale: &mut Sale, now: Timestamp) -> Change<()> {
    let Some(open) = sale.due_work(now) else { return Change::nothing(()) };
    let what = match open.work {
        Work::RefundFailed => Sale::REFUND_CAME_BACK,
        Work::Dispute => "Stripe waits for an answer to the bank (oracle list names the deadline)",
        Work::Review => "held by the content filter: approve, replace or refund it",
        Work::Declined => "the authority gate declined it: oracle authority queue, or refund it",
        Work::Reply => {
            "the customer has written back, or a mail came back: read it (oracle replies show), and settle it"
        }
        // Silent Drop, output 3: after 72 h a human decides, and only a human.
        Work::Unusable => match sale.notice() {
            Mail::NotOrdered => Sale::UNANNOUNCED,
            Mail::Dead { .. } => {
                "the customer was not asked, the mail is a dead letter: oracle deadletters redrive, or refund it"
            }
            Mail::Unknown { .. } => {
                "whether the customer was asked is unknown: check the mailbox, then oracle deadletters settle"
            }
            Mail::NoAddress => "the customer cannot be asked, for the session has no e-mail address: refund it",
            Mail::Ordered | Mail::Sending { .. } | Mail::Retrying { .. } | Mail::Sent { .. } | Mail::Held => {
                "the customer has not said what was asked: try again with their reply, or refund it"
            }
        },
        Work::NotPaid if sale.not_paid() == Some(NotPaid::Free) => {
            "nobody has paid for it: give it away (oracle reattempt), or erase it"
        }
        Work::NotPaid => "Stripe shows no payment: look at the session there; it ends by itself if it is never paid",
        Work::Failed if sale.has_lapsed_approvals(now) => "there is no verdict",
        Work::Failed => "there is no verdict: try again or refund it",
        Work::Owed => "erased, paid and not delivered: refund it (oracle refunds issue)",
        Work::DeadLetter => "its mail is a dead letter: oracle deadletters redrive",
        Work::UnknownMail => "whether its mail was sent is unknown: check the mailbox, then oracle deadletters settle",
        Work::Finding => {
            "the block list holds back what was delivered: oracle findings show, then dismiss, replace or refund"
        }
        Work::InFlight | Work::Refund | Work::Erasure => return Change::nothing(()),
    };
    // Other work precedes a reply, so its reminder names the reply too.
    let is_reply_second = open.work != Work::Reply && sale.waiting_replies().next().is_some();
    let written = if is_reply_second {
        "; and the customer has written back, or a mail came back (oracle replies show)"
    } else {
        ""
    };
    let lapsed = match (sale.has_lapsed_approvals(now), sale.may_be_refunded_by_policy()) {
        (true, true) => {
            "; the question's approvals are over: the sale counts as declined again, and the policy refunds it"
        }
        (true, false) => {
            "; the question's approvals are over: the sale counts as declined again (oracle authority queue)"
        }
        (false, _) => "",
    };
    reminded(sale, open, &format!("{what}{lapsed}{written}"), now)
}

fn reminded(sale: &mut Sale, open: OpenWork, what: &str, now: Timestamp) -> Change<()> {
    match sale.remind(now) {
        Ok(()) => Change::save(()).alerting(escalation(sale, open, what, now)),
        Err(_) => Change::nothing(()),
    }
}

/// The critical alert about a sale that waits.
pub(crate) fn escalation(sale: &Sale, open: OpenWork, what: &str, now: Timestamp) -> Alert {
    let hours = now.since(open.since).as_secs() / 3600;
    let detail = format!("waits for a human for {hours} h: {what}");
    Alert::event("ORACLE-DEADLINES", Severity::Critical, now, open.work.as_str(), sale.session_id(), &detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        SessionId,
        authority_state::State,
        inbox::Reply,
        mail::Progress,
        sale::{Declined, Fulfilment, HumanLock},
    };
    use testkit::sale::WithField;

    #[test]
    fn a_reminder_about_a_mail_names_the_command_that_ends_it() {
        let at = Timestamp::from_seconds;
        let ready = Fulfilment::Ready { at: at(1), archived: true };
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0)).with("fulfilment", ready);
        let dead = Mail::Dead { at: at(2), progress: Progress::default() };
        for (mail, expected) in [
            (dead, "its mail is a dead letter: oracle deadletters redrive"),
            (
                Mail::Unknown { at: at(2) },
                "whether its mail was sent is unknown: check the mailbox, then oracle deadletters settle",
            ),
        ] {
            let reminder = reminder(&mut sale.clone().with("mail", mail), at(30 * 24 * 3600));
            let alerts = &reminder.effects().unwrap().alerts;
            assert!(alerts.len() == 1 && alerts[0].line.ends_with(expected), "{alerts:?}");
        }
    }

    #[test]
    fn a_reminder_of_an_unusable_sale_says_whether_its_customer_was_asked() {
        let at = Timestamp::from_seconds;
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
            .with("fulfilment", Fulfilment::Unusable { at: at(1) });
        for (notice, expected) in [
            (Mail::Dead { at: at(2), progress: Progress::default() }, "oracle deadletters redrive, or refund it"),
            (Mail::Unknown { at: at(2) }, "check the mailbox, then oracle deadletters settle"),
            (Mail::NoAddress, "has no e-mail address: refund it"),
            (
                Mail::Sent { at: at(2) },
                "the customer has not said what was asked: try again with their reply, or refund it",
            ),
        ] {
            let sale = sale.clone().with("notice", notice.clone());
            let reminder = reminder(&mut sale.clone(), at(30 * 24 * 3600));
            let alerts = &reminder.effects().unwrap().alerts;
            assert!(alerts.len() == 1 && alerts[0].line.ends_with(expected), "{notice:?}: {alerts:?}");
        }
    }

    /// Whatever the sale's first work is, the policy refunds it next.
    #[test]
    fn a_reminder_that_ends_the_approvals_says_so() {
        let at = Timestamp::from_seconds;
        let declined = Declined {
            state: State::Blocked,
            reason: "drug_dosing".into(),
            domain: "medicine".into(),
            lock: HumanLock::Nobody,
            helpers: Vec::new(),
            advice: Vec::new(),
            is_crisis: false,
            is_emergency: false,
            at: at(1),
            approvals: Vec::new(),
            approved_at: Some(at(2)),
        };
        let reply = Reply { message: "m".into(), at: at(4), from_buyer: None, settled_at: None, followup: None };
        let failed = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
            .with("fulfilment", Fulfilment::Failed { reason: "SAFETY".into(), at: at(3) })
            .with("declined", Some(declined));
        for (mut sale, first, last) in [
            (failed.clone(), "there is no verdict; ", "the policy refunds it"),
            (failed.clone().with("given", true), "there is no verdict; ", "(oracle authority queue)"),
            (failed.with("replies", vec![reply]), "(oracle replies show), and settle it; ", "the policy refunds it"),
        ] {
            let reminder = reminder(&mut sale, at(30 * 24 * 3600));
            let line = &reminder.effects().unwrap().alerts[0].line;
            assert!(line.contains(first) && line.ends_with(last), "{line}");
            assert!(line.contains("the sale counts as declined again") && sale.declined().is_some(), "{line}");
        }
    }

    #[test]
    fn a_reminder_of_other_work_names_the_reply_that_waits_behind_it() {
        let at = Timestamp::from_seconds;
        let reply = Reply { message: "m".into(), at: at(2), from_buyer: None, settled_at: None, followup: None };
        let held = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
            .with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: at(1) });
        for (mut sale, is_named) in [(held.clone(), false), (held.with("replies", vec![reply]), true)] {
            let reminder = reminder(&mut sale, at(30 * 24 * 3600));
            let line = &reminder.effects().unwrap().alerts[0].line;
            assert!(line.contains("held by the content filter"), "{line}");
            assert_eq!(line.contains("the customer has written back"), is_named, "{line}");
        }
    }
}
