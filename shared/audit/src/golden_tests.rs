//! Pins what both journals write, byte for byte, in runs that reach every branch of the protocol.

use crate::{Body, Change, ChatStatus, FunctionJournal, Journal, Noted, Record, RefundStep, Source, Status, chain};
use domain::{
    Alert, CallerIdentity, Colour, Metric, Operator, Sale, SessionId, Timestamp,
    alert::Severity,
    chat::{BillingChange, Plan as Subscribed},
    message::ReportedBy,
    metric,
    money::ObjectId,
    sale::AuditEntry,
};
use serde_json::json;
use std::time::Duration;
use testkit::sale::WithField;
use testkit::{FAULTS, Fault, Plan, World, golden, run};

const START: Timestamp = Timestamp::from_seconds(1_776_300_000);

fn check(name: &str, worlds: &[(&str, World)]) {
    let text: String = worlds.iter().map(|(title, world)| format!("# {title}\n{}", world.written())).collect();
    compare(name, &text.replace(&"x".repeat(60_000), "x * 60000"));
}

fn compare(name: &str, text: &str) {
    golden::check(&format!("{}/golden/{name}.txt", env!("CARGO_MANIFEST_DIR")), text);
}

/// One run a minute of a scheduled function: counts, records the count, and alerts at every second.
fn counts(world: &World, padding: usize) {
    world.advance(Duration::from_secs(60));
    let journal = FunctionJournal { function: "night-watch", notes: world, log: world, alerts: world, clock: world };
    let step = async {
        let notebook = journal.load::<u32>().await?;
        let (notebook, _) = journal
            .commit(notebook, |memory, _| {
                *memory += 1;
                let facts = json!({ "number": *memory, "padding": "x".repeat(padding) });
                let noted = Noted::save(*memory).recording("counted", facts);
                let now = Timestamp::from_seconds(7);
                let alert = Alert::about("T", Severity::Critical, now, "COUNT", "-", &format!("at {memory}"));
                if memory.is_multiple_of(2) { noted.alerting(alert).requiring("alerted", json!({})) } else { noted }
            })
            .await?
            .settle()
            .await;
        // This decision saves nothing, but waiting records are published.
        journal.commit(notebook, |memory, _| Noted::nothing(*memory)).await?.settle().await;
        Ok::<(), crate::CommitError>(())
    };
    drop(run(step));
}

#[test]
fn a_scheduled_function_writes_what_it_wrote() {
    let log_down = || Plan::none().whenever("log.publish", Fault::Fail);
    let mut worlds = Vec::new();

    let world = World::at(START);
    (0..3).for_each(|_| counts(&world, 0));
    world.advance(Duration::from_secs(86_400));
    counts(&world, 0);
    worlds.push(("two days", world));

    let world = World::at(START);
    counts(&world, 0);
    world.plan(log_down());
    (0..3).for_each(|_| counts(&world, 0));
    world.plan(Plan::none());
    counts(&world, 0);
    worlds.push(("the log is down for three runs", world));

    let world = World::at(START);
    world.plan(log_down());
    (0..4).for_each(|_| counts(&world, 60_000));
    world.plan(Plan::none());
    counts(&world, 0);
    worlds.push(("more waits than is kept", world));

    let world = World::at(START);
    (0..2).for_each(|_| counts(&world, 0));
    world.state().notes.clear();
    (0..2).for_each(|_| counts(&world, 0));
    worlds.push(("the state item is lost", world));

    let world = World::at(START);
    (0..2).for_each(|_| counts(&world, 0));
    let (document, version) = world.state().notes["night-watch"].clone();
    let unreadable = document.replace("\"memory\":2", "\"memory\":\"two\"");
    world.state().notes.insert("night-watch".to_owned(), (unreadable, version));
    counts(&world, 0);
    worlds.push(("the state item cannot be read", world));

    for fault in FAULTS {
        for boundary in 0..6 {
            let world = World::at(START);
            counts(&world, 0);
            world.plan(Plan::at(boundary, fault));
            counts(&world, 0);
            world.plan(Plan::none());
            counts(&world, 0);
            worlds.push(("a fault, then a run without one", world));
        }
    }
    check("scheduled_function", &worlds);
}

/// One step on a sale: records a failure and alerts, then changes the sale again and ends the commit.
fn fails(world: &World, smoke: bool) {
    world.advance(Duration::from_secs(60));
    let journal = Journal { store: world, log: world, alerts: world, clock: world };
    let session = SessionId::parse("cs_test_1").unwrap();
    let step = async {
        let sale = journal.load(&session, START).await?;
        let (sale, _) = journal
            .commit(sale, |sale, _| {
                *sale = sale.with("smoke", smoke).with("retrievals", sale.retrievals() + 1);
                let now = Timestamp::from_seconds(7);
                let failed = Record::pipeline(now, START, Source::Webhook, Status::Error, Some("test"))
                    .measuring([Metric::VerdictFailed.once()]);
                let operator = Body::operator(&Operator::parse("alex", None).unwrap(), "look");
                let looked = Record::new(now, now, operator);
                let alert = Alert::event("T", Severity::Critical, now, "FAIL", &session, "failed");
                Change::recorded(vec![failed, looked], ()).alerting(alert)
            })
            .await?
            .unsettled();
        let again = |sale: &mut Sale, _| {
            *sale = sale.with("chased", sale.chased() + 1);
            Change::save(())
        };
        journal.commit(sale, again).await?.settle().await;
        Ok::<(), crate::CommitError>(())
    };
    drop(run(step));
}

/// A step without work, which publishes what waits.
fn flushes(world: &World) {
    let journal = Journal { store: world, log: world, alerts: world, clock: world };
    let step = async {
        let sale = journal.load(&SessionId::parse("cs_test_1").unwrap(), START).await.unwrap();
        journal.flush(sale).await;
    };
    let _ = run(step);
}

#[test]
fn a_sale_writes_what_it_wrote() {
    let mut worlds = Vec::new();
    for smoke in [false, true] {
        let world = World::at(START);
        (0..2).for_each(|_| fails(&world, smoke));
        flushes(&world);
        worlds.push(("two steps", world));
    }

    let world = World::at(START);
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    fails(&world, false);
    flushes(&world);
    world.plan(Plan::none());
    flushes(&world);
    worlds.push(("the log is down for a step", world));

    let world = World::at(START);
    world.state().log.insert("1970-01-01/session/cs_test_1/000001.json".to_owned(), "{}".to_owned());
    fails(&world, false);
    flushes(&world);
    worlds.push(("the place of the first record is taken", world));

    for fault in FAULTS {
        for boundary in 0..8 {
            let world = World::at(START);
            world.plan(Plan::at(boundary, fault));
            fails(&world, false);
            world.plan(Plan::none());
            flushes(&world);
            fails(&world, false);
            worlds.push(("a fault, then steps without one", world));
        }
    }
    check("sale", &worlds);
}

/// Every kind of body, as a line of the log and with the metrics that it counts by itself.
#[test]
fn every_record_is_written_as_it_was() {
    let at = |millis| Timestamp::from_millis(START.as_millis() + millis);
    let mut records = Vec::new();
    for source in [Source::Webhook, Source::ResultPage, Source::CacheHit, Source::EmailService] {
        for status in
            [Status::Ok, Status::Error, Status::Cached, Status::Regenerated, Status::EmailSent, Status::EmailFailed]
        {
            records.push(Record::pipeline(at(2847), at(0), source, status, Some("why")));
        }
    }
    let filtered = |outcome: &str| Body::ContentFilter {
        gate: 1,
        outcome: outcome.to_owned(),
        list_version: "1".to_owned(),
        list_hash: "h".to_owned(),
        hits: json!([]),
    };
    let alex = Operator::parse("alex", Some("fine")).unwrap();
    let identity = CallerIdentity::parse("arn:aws:sts::123456789012:assumed-role/ops/alex").ok();
    let other = [
        filtered("PASS"),
        filtered("REPLACE"),
        filtered("QUARANTINE"),
        Body::TmmCrosscheck { phi: 0.5, decision: json!({ "approved": true }) },
        Body::regen_divergence_check(None, Colour::Red),
        Body::regen_divergence_check(Some(Colour::Green), Colour::Red),
        Body::SilentDrop { amount_total: Some(500), currency: Some("cad".to_owned()), reason: "no tier".to_owned() },
        Body::operator(&alex, "approve"),
        Body::operator(&alex.clone().known_as(identity.clone()), "approve"),
        Body::Refund {
            step: RefundStep::Failed,
            by: "alex".to_owned(),
            reason: "asked".to_owned(),
            identity,
            amount_total: None,
            currency: None,
            error: Some("declined".to_owned()),
        },
        Body::CustomerReply { message: "0123456789abcdef".to_owned(), from_buyer: None, is_report: false },
        Body::CustomerReply { message: "0123456789abcdef".to_owned(), from_buyer: Some(false), is_report: true },
        Body::AmountDiffers { amount_total: Some(1), currency: None, price: 500 },
        Body::AuthorityEvaluated { details: json!({}) },
    ];
    records.extend(other.map(|body| Record::new(at(1), at(0), body)));
    let mut text = String::new();
    for record in records {
        let mut sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), START);
        chain::append(&mut sale, &record);
        for AuditEntry { key, line, measurements } in sale.outbox() {
            let metrics = if measurements.is_empty() {
                "nothing".to_owned()
            } else {
                metric::line(metric::NAMESPACE, measurements, START)
            };
            text.push_str(&format!("{key} {line}\n  counts: {metrics}\n"));
        }
    }
    compare("records", &text);
}

#[test]
fn the_records_of_the_chat_count_for_the_dashboard() {
    let chat = |status| Record::chat(START, START, status, json!({}));
    let reported = |change| {
        let body = Body::Subscription {
            object: ObjectId::parse("sub_1").unwrap(),
            change,
            plan: Subscribed::Chat,
            paid_until: None,
            reported_by: ReportedBy::Event,
        };
        Record::new(START, START, body)
    };
    let counted = [
        (chat(ChatStatus::Answered), Some(Metric::ChatAnswered)),
        (chat(ChatStatus::Apologised), Some(Metric::ChatApologised)),
        (chat(ChatStatus::Declined), Some(Metric::ChatDeclined)),
        (chat(ChatStatus::Erased), None),
        (chat(ChatStatus::Read), None),
        (reported(BillingChange::Opened), Some(Metric::SubscriptionOpened)),
        (reported(BillingChange::Ended), Some(Metric::SubscriptionEnded)),
        (reported(BillingChange::Paid), Some(Metric::SubscriptionPaid)),
        (reported(BillingChange::PaymentFailed), Some(Metric::SubscriptionPaymentFailed)),
        (reported(BillingChange::Resumed), None),
    ];
    for (record, metric) in counted {
        assert_eq!(record.measurements(), metric.map(Metric::once).into_iter().collect::<Vec<_>>(), "{record:?}");
    }
}
