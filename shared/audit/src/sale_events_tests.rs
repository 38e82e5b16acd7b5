//! What the records of a sale's events count for the dashboard and the alarms.

use crate::{
    Record,
    sale_events::{Context, records},
};
use domain::{
    Colour, Measurement, Metric, Operator, Timestamp,
    mail::{Letter, Next, Progress},
    sale::{Charge, Decision, Event, HeldAt},
    verdict::Comparison,
};

const ORDERED: Timestamp = Timestamp::from_seconds(1_776_300_000);
const NOW: Timestamp = Timestamp::from_millis(ORDERED.as_millis() + 2_847);

fn counted(event: &Event) -> Vec<Measurement> {
    records(event, &Context::new(NOW, ORDERED)).iter().flat_map(Record::measurements).collect()
}

fn operator() -> Operator {
    Operator::parse("alex", None).unwrap()
}

fn freed(verdict: Option<(Colour, Option<Comparison>)>) -> Event {
    Event::Freed { decision: Decision::Approve, operator: operator(), received_at: ORDERED, verdict }
}

#[test]
fn a_first_verdict_counts_for_its_colour_and_the_time_since_the_order() {
    for (colour, metric) in [
        (Colour::Green, Metric::VerdictGreen),
        (Colour::Amber, Metric::VerdictAmber),
        (Colour::Red, Metric::VerdictRed),
        (Colour::Null, Metric::VerdictNull),
    ] {
        let expected = [metric.once(), Metric::OrderToVerdict.of(2_847)];
        assert_eq!(counted(&Event::VerdictReady { colour, regenerated: None }), expected);
        assert_eq!(counted(&freed(Some((colour, None)))), expected);
        let regenerated = Some(Comparison { first: None, second: colour, is_mailed: true });
        assert_eq!(counted(&Event::VerdictReady { colour, regenerated }), []);
        assert_eq!(counted(&freed(Some((colour, regenerated)))), []);
    }
    assert_eq!(counted(&freed(None)), []);
}

#[test]
fn an_order_that_ends_without_a_verdict_is_counted_once() {
    let reason = || "no reply".to_owned();
    let charge = || Charge { amount_total: Some(500), currency: None };
    let dropped = |found_now| Event::DropRecorded { found_now, reason: reason(), charge: charge() };
    for event in [
        Event::Held(HeldAt::BeforeCache),
        Event::Held(HeldAt::AuthorityGate),
        Event::Failed { reason: reason() },
        Event::Unusable { reason: reason() },
        dropped(true),
    ] {
        assert_eq!(counted(&event), [Metric::VerdictFailed.once()], "{event:?}");
    }
    for event in [
        Event::ModelFailed { reason: reason(), failures: 1, due: NOW },
        Event::ModelUnavailable,
        Event::Held(HeldAt::Page),
        dropped(false),
        Event::Restored,
        Event::Served,
    ] {
        assert_eq!(counted(&event), [], "{event:?}");
    }
}

#[test]
fn every_attempt_at_a_mail_is_counted() {
    let (letter, progress) = (Letter::Verdict, Progress::default());
    let sent = |waited_ms| Event::MailSent { letter, progress: progress.clone(), waited_ms };
    assert_eq!(counted(&sent(None)), [Metric::MailSent.once()]);
    assert_eq!(counted(&sent(Some(4_000))), [Metric::MailSent.once(), Metric::OrderToMail.of(4_000)]);
    let failed = |next| Event::MailFailed { letter, progress: progress.clone(), next, detail: "503".to_owned() };
    for event in [
        failed(Next::AtOnce),
        failed(Next::At(NOW)),
        failed(Next::Dead),
        failed(Next::Unknown),
        Event::MailNoAddress { letter, progress: progress.clone() },
        Event::Held(HeldAt::Mail(letter)),
    ] {
        assert_eq!(counted(&event), [Metric::MailFailed.once()], "{event:?}");
    }
}
