use super::*;
use crate::{
    SessionId,
    audit_trail::{AuditTrail, Audited},
    inbox::Reply,
    mail::Progress,
    money::Authorisation,
    sale::{AuditEntry, Claim, Claimant, Declined, HumanLock},
};

const HOUR: i64 = 3600;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn sale() -> Sale {
    Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
}

fn delivered() -> Sale {
    Sale {
        fulfilment: Fulfilment::Ready { at: at(10), archived: true },
        mail: Mail::Sent { at: at(20) },
        changed_at: at(20),
        ..sale()
    }
}

/// A trail with a record that waits.
fn waiting() -> AuditTrail {
    let mut trail = AuditTrail::new();
    trail.outbox_mut().0.push(AuditEntry { key: "k".into(), line: "{}".into(), measurements: Vec::new() });
    trail
}

fn open(sale: &Sale) -> Option<(Work, i64)> {
    sale.open_work().map(|open| (open.work, open.due.as_millis() / 1000))
}

#[test]
fn a_delivered_sale_is_on_no_list() {
    assert_eq!(open(&delivered()), None);
    assert_eq!(open(&Sale { mail: Mail::NoAddress, ..delivered() }), None);
}

#[test]
fn what_machines_work_on_is_looked_after_twenty_minutes_later() {
    assert_eq!(open(&sale()), Some((Work::InFlight, 1200)));
    let mut claimed = sale();
    assert_eq!(claimed.claim("a", Claimant::Customer, at(100), Duration::from_secs(200)), Claim::Granted);
    assert_eq!(open(&claimed), Some((Work::InFlight, 1200)), "a lease that is taken again and again hides nothing");
    let retrying = Sale { mail: Mail::Retrying { due: at(7200), progress: Progress::default() }, ..delivered() };
    assert_eq!(open(&retrying), Some((Work::InFlight, 8400)));
    let unarchived = Sale { fulfilment: Fulfilment::Ready { at: at(10), archived: false }, ..delivered() };
    assert_eq!(open(&unarchived), Some((Work::InFlight, 1210)));
    let chased = Sale { chased: 2, ..sale() };
    assert_eq!(open(&chased), Some((Work::InFlight, 4800)), "less and less often");
}

#[test]
fn a_record_or_an_alert_that_is_still_on_its_way_keeps_any_sale_open() {
    assert_eq!(open(&Sale { trail: waiting(), ..delivered() }), Some((Work::InFlight, 1220)));
    let mut trail = AuditTrail::new();
    trail.keep_alerts([crate::Alert { channel: crate::Channel::Ops, line: "x".into() }]);
    let refunded = Sale { money: Money::Refunded { at: at(30) }, trail, ..delivered() };
    assert_eq!(open(&refunded), Some((Work::InFlight, 1220)));
}

#[test]
fn a_record_that_cannot_be_written_hides_nothing_from_humans() {
    let held = Sale {
        fulfilment: Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(5) },
        trail: waiting(),
        ..sale()
    };
    assert_eq!(open(&held), Some((Work::InFlight, 1200)), "a dead worker's record is written first");
    assert_eq!(open(&Sale { chased: 2, ..held }), Some((Work::Review, 5 + 24 * HOUR)));
}

#[test]
fn what_was_published_meanwhile_postpones_no_refund() {
    let declined = Declined {
        state: crate::authority_state::State::Blocked,
        reason: String::new(),
        domain: String::new(),
        lock: HumanLock::Never,
        helpers: Vec::new(),
        advice: Vec::new(),
        is_crisis: true,
        is_emergency: false,
        at: at(5),
        approvals: Vec::new(),
        approved_at: None,
    };
    let failed = Fulfilment::Failed { reason: "r".into(), at: at(5) };
    let mut sale = Sale { fulfilment: failed, declined: Some(declined), refund_letter: Mail::Ordered, ..sale() };
    assert_eq!(open(&sale), Some((Work::Declined, 5)));
    *sale.trail_mut() = waiting();
    sale.chase(at(3000)).unwrap();
    sale.trail_mut().outbox_mut().0.clear();
    let goes_back = |sale: &Sale| sale.due_work(at(3000)).is_some_and(|open| open.work == Work::Declined);
    assert!(goes_back(&sale), "the money still goes back at once");
    for is_sent in [true, false] {
        let mut sale = sale.clone();
        assert_eq!(sale.claim_mail(Letter::Refund, "m", at(3000), Duration::from_secs(60)), Claim::Granted);
        let ended = if is_sent {
            sale.mail_sent(Letter::Refund, "m", at(3000))
        } else {
            sale.mail_no_address(Letter::Refund, "m")
        };
        ended.unwrap();
        assert!(goes_back(&sale), "also after the mail with sources of help, or without an address for it");
    }
    sale.remind(at(3000)).unwrap();
    assert_eq!(open(&sale), Some((Work::Declined, 5 + 24 * HOUR)), "there is no reminder: a human was alerted");
}

/// The page promises a delivery or a refund within 24 hours, also while the log refuses records.
#[test]
fn what_was_published_meanwhile_moves_no_promise() {
    let held = Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(5) };
    let mut sale = Sale { fulfilment: held, trail: waiting(), ..sale() };
    for seconds in [1300, 5000] {
        sale.chase(at(seconds)).unwrap();
        let mut published = sale.clone();
        published.trail_mut().outbox_mut().0.clear();
        assert_eq!(open(&published), Some((Work::Review, 5 + 24 * HOUR)), "chased after {seconds} s");
    }
    let reminded_at = 5 + 24 * HOUR;
    sale.remind(at(reminded_at)).unwrap();
    sale.trail_mut().outbox_mut().0.clear();
    assert_eq!(open(&sale), Some((Work::Review, reminded_at + 24 * HOUR)));
}

#[test]
fn every_end_short_of_delivery_is_on_a_list_of_humans() {
    let listed = |fulfilment: Fulfilment| open(&Sale { fulfilment, notice: Mail::Sent { at: at(9) }, ..sale() });
    assert_eq!(
        listed(Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(5) }),
        Some((Work::Review, 5 + 24 * HOUR))
    );
    assert_eq!(listed(Fulfilment::Failed { reason: "r".into(), at: at(5) }), Some((Work::Failed, 5 + 24 * HOUR)));
    assert_eq!(listed(Fulfilment::Unusable { at: at(5) }), Some((Work::Unusable, 5 + 72 * HOUR)));
    let dead = Sale { mail: Mail::Dead { at: at(50), progress: Progress::default() }, ..delivered() };
    assert_eq!(open(&dead), Some((Work::DeadLetter, 50 + 24 * HOUR)));
    let unknown = Sale { mail: Mail::Unknown { at: at(50) }, ..delivered() };
    assert_eq!(open(&unknown), Some((Work::UnknownMail, 50 + 24 * HOUR)));
}

#[test]
fn a_drop_is_in_flight_until_its_customer_was_asked() {
    let unusable = Sale { fulfilment: Fulfilment::Unusable { at: at(5) }, ..sale() };
    assert_eq!(open(&unusable), Some((Work::InFlight, 1205)));
}

/// No function announces it: the customer has a verdict already, or an operator has handed in their reply.
#[test]
fn an_unusable_sale_that_is_not_announced_is_a_humans_at_once() {
    let unusable = Sale { fulfilment: Fulfilment::Unusable { at: at(5) }, ..sale() };
    for sale in
        [Sale { mail: Mail::Sent { at: at(2) }, ..unusable.clone() }, Sale { resubmitted: true, ..unusable.clone() }]
    {
        assert!(!sale.is_drop_open());
        assert_eq!(open(&sale), Some((Work::Unusable, 5 + 72 * HOUR)));
    }
}

/// A mail that will not be sent (its verdict is held, or the customer's reply has come) must neither keep the sale
/// among the automatic work, nor bring it back to a list for humans.
#[test]
fn a_letter_that_is_not_wanted_any_more_is_nobodys_work() {
    let held = Sale {
        fulfilment: Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(5) },
        mail: Mail::Retrying { due: at(300), progress: Progress::default() },
        ..sale()
    };
    assert_eq!(open(&held), Some((Work::Review, 5 + 24 * HOUR)));
    for notice in [Mail::Ordered, Mail::Dead { at: at(7), progress: Progress::default() }] {
        assert_eq!(open(&Sale { notice, ..delivered() }), None);
    }
}

#[test]
fn a_reminder_comes_again_until_somebody_decides() {
    let failed = Sale { fulfilment: Fulfilment::Failed { reason: "r".into(), at: at(0) }, ..sale() };
    let reminded = Sale { reminded_at: Some(at(24 * HOUR)), ..failed };
    assert_eq!(open(&reminded), Some((Work::Failed, 48 * HOUR)));
}

#[test]
fn money_that_is_to_go_back_comes_first_and_money_that_went_back_ends_it() {
    let authorisation = Authorisation::parse("o", "r").unwrap();
    let failed = Sale { fulfilment: Fulfilment::Failed { reason: "r".into(), at: at(0) }, ..sale() };
    let authorised = Sale { money: Money::RefundAuthorised { authorisation, at: at(60) }, ..failed.clone() };
    assert_eq!(open(&authorised), Some((Work::Refund, 660)));
    let asked_twice = Sale { chased: 2, reminded_at: Some(at(660)), ..authorised };
    assert_eq!(open(&asked_twice), Some((Work::Refund, 660 + 2400)), "less and less often");
    assert_eq!(open(&Sale { money: Money::Refunded { at: at(60) }, ..failed.clone() }), None);
    assert_eq!(open(&Sale { money: Money::Disputed { at: at(60), refund: None, bounced: false }, ..failed }), None);
}

/// Silent Drop, failure mode 6: a customer whose reply is not read would wait for ever.
#[test]
fn a_reply_waits_for_a_human_until_it_is_settled() {
    let reply = Reply {
        message: "m".into(),
        at: at(100),
        from_buyer: Some(true),
        settled_at: None,
        followup: None,
        is_report: false,
    };
    let mut replied = Sale { replies: vec![reply], ..delivered() };
    assert_eq!(open(&replied), Some((Work::Reply, 100 + 24 * HOUR)));
    let asked =
        Sale { fulfilment: Fulfilment::Unusable { at: at(5) }, notice: Mail::Sent { at: at(9) }, ..replied.clone() };
    assert_eq!(open(&asked), Some((Work::Reply, 100 + 24 * HOUR)), "sooner than the 72 h without a reply");
    let refunded = Sale { money: Money::Refunded { at: at(60) }, ..replied.clone() };
    assert_eq!(open(&refunded), Some((Work::Reply, 100 + 24 * HOUR)), "a refunded customer is answered too");
    let held =
        Sale { fulfilment: Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(5) }, ..replied.clone() };
    assert_eq!(open(&held), Some((Work::Review, 5 + 24 * HOUR)), "a refund by policy does not wait for a reader");
    replied.mark_replies_settled(at(200));
    assert_eq!(open(&replied), None);
}
