//! The journal against ports that fail, lose replies and crash.

use crate::{Change, Journal, Record, Source, Status, hash::sha256};
use domain::{CachedVerdict, Sale, SessionId, Timestamp, ports::Versioned, sale::Fulfilment};
use serde_json::json;
use testkit::sale::WithField;
use testkit::{Fault, Plan, World, every_single_fault, run};

fn session() -> SessionId {
    SessionId::parse("cs_test_1").unwrap()
}

fn journal(world: &World) -> Journal<'_> {
    Journal { store: world, log: world, alerts: world, clock: world }
}

/// Marks the sale failed, once, with one record.
fn fail_once(sale: &mut Sale, _now: Timestamp) -> Change<bool> {
    if matches!(sale.fulfilment(), Fulfilment::Failed { .. }) {
        return Change::nothing(false);
    }
    let now = Timestamp::from_seconds(10);
    *sale = sale.with("fulfilment", Fulfilment::Failed { reason: "test".into(), at: now });
    Change::recorded(vec![Record::pipeline(now, now, Source::Webhook, Status::Error, Some("test"))], true)
}

async fn step(world: &World) -> Result<bool, crate::CommitError> {
    let journal = journal(world);
    let sale = journal.load(&session(), Timestamp::from_seconds(1)).await?;
    let (sale, done) = journal.commit(sale, fail_once).await?.unsettled();
    // A later step of the same function, which publishes what is left.
    journal.commit(sale, |_, _| Change::save(())).await?.settle().await;
    Ok(done)
}

#[test]
fn every_record_of_a_sale_has_its_prefix() {
    let world = World::default();
    run(step(&world)).unwrap().unwrap();
    let state = world.state();
    let (sale, _) = &state.sales[&session()];
    let prefix = crate::chain::prefix(sale).unwrap();
    assert_eq!(prefix, "1970-01-01/session/cs_test_1/");
    assert!(!state.log.is_empty() && state.log.keys().all(|key| key.starts_with(&prefix)));
    assert_eq!(crate::chain::prefix(&Sale::ordered(session(), Timestamp::from_seconds(1))), None);
}

#[test]
fn whatever_breaks_the_record_is_written_exactly_once() {
    let clean = World::default();
    run(step(&clean)).unwrap().unwrap();
    let expected: Vec<_> = clean.state().log.clone().into_iter().collect();
    assert_eq!(expected.len(), 1);
    for (plan, what) in every_single_fault(clean.passed(), 2) {
        let world = World::default();
        world.plan(plan);
        drop(run(step(&world)));
        world.plan(Plan::none());
        run(step(&world)).unwrap().unwrap();
        let log: Vec<_> = world.state().log.clone().into_iter().collect();
        assert_eq!(log, expected, "{what}");
        assert!(world.state().sales[&session()].0.outbox().is_empty(), "{what}");
    }
}

#[test]
fn a_log_that_cannot_be_written_alerts_and_withholds_nothing() {
    let world = World::default();
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    assert!(run(step(&world)).unwrap().unwrap());
    let state = world.state();
    assert!(state.alerts.iter().any(|alert| alert.line.starts_with("[ORACLE-AUDIT] CRITICAL")));
    assert_eq!(state.sales[&session()].0.outbox().len(), 1, "kept for the next step");
}

#[test]
fn a_forked_stream_is_never_overwritten() {
    let world = World::default();
    let opened = Timestamp::from_seconds(10).to_date();
    let key = crate::chain::key(&opened, "session/cs_test_1", 1);
    world.state().log.insert(key.clone(), "{\"somebody\":\"else\"}".into());
    run(step(&world)).unwrap().unwrap();
    assert_eq!(world.state().log[&key], "{\"somebody\":\"else\"}");
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("forked")));
}

#[test]
fn a_conflict_is_decided_again_on_the_newer_sale() {
    let world = World::default();
    let stale = run(journal(&world).load(&session(), Timestamp::from_seconds(1))).unwrap().unwrap();
    run(step(&world)).unwrap().unwrap();
    let (_, done) = run(journal(&world).commit(stale, fail_once)).unwrap().unwrap().unsettled();
    assert!(!done, "the other step was first");
    assert_eq!(world.state().log.len(), 1);
}

#[test]
fn a_verdict_makes_a_change_and_is_saved_with_its_sale_as_a_smoke_tests_or_a_customers() {
    let verdict = json!({ "verdict": "GREEN", "summary": "Yes." });
    let document = json!({ "tier": "quick", "query": "q", "verdict": verdict, "cached_at": "t" });
    let verdict: CachedVerdict = serde_json::from_value(document).unwrap();
    for smoke in [false, true] {
        let world = World::default();
        let sale = run(journal(&world).load(&session(), Timestamp::from_seconds(1))).unwrap().unwrap();
        let decide = |sale: &mut Sale, _| {
            *sale = sale.with("smoke", smoke);
            (Change::nothing(()), Some(Box::new(verdict.clone())))
        };
        run(run(journal(&world).commit_with_verdict(sale, decide)).unwrap().unwrap().settle()).unwrap();
        let state = world.state();
        assert_eq!(state.sales[&session()].0.smoke(), smoke);
        assert_eq!(state.cache[&session()], CachedVerdict { smoke, ..verdict.clone() });
    }
}

#[test]
fn no_line_holds_an_address() {
    let world = World::default();
    let address = domain::EmailAddress::parse("someone@example.com").unwrap();
    let key = crate::AuditKey::new("v1", domain::Secret::new("k".repeat(32)));
    let tagged = |sale: &mut Sale, now| {
        *sale = sale.with("email_tag", Some(key.email_tag(&address)));
        fail_once(sale, now)
    };
    let sale = run(journal(&world).load(&session(), Timestamp::from_seconds(1))).unwrap().unwrap();
    let committed = run(journal(&world).commit(sale, tagged)).unwrap().unwrap();
    assert!(committed.unsettled().1);
    let log = world.state().log.clone();
    for line in log.values() {
        assert!(!line.contains('@') && !line.contains("example"), "{line}");
        assert!(!line.contains(&sha256(b"someone@example.com")[..16]), "a bare hash can be guessed");
    }
}

/// A page has raised its alert when it read the entry, unless cleanup removed it.
#[test]
fn a_lost_verdict_is_reopened_once_with_the_alert_of_a_component_or_without_one() {
    for (component, alerts) in [(Some("ORACLE-VERDICT"), 1), (None, 0)] {
        let world = World::default();
        let ready = Fulfilment::Ready { at: Timestamp::from_seconds(2), archived: true };
        let lost = Sale::ordered(session(), Timestamp::from_seconds(1)).with("fulfilment", ready);
        world.state().sales.insert(session(), (lost.clone(), 1));
        for is_reopened in [true, false] {
            let loaded = Versioned { value: lost.clone(), version: 1 };
            assert_eq!(run(journal(&world).reopen_lost(loaded, component)).unwrap().unwrap(), is_reopened);
        }
        let state = world.state();
        assert!(matches!(state.sales[&session()].0.fulfilment(), Fulfilment::Ordered { .. }));
        assert_eq!(state.alerts.len(), alerts, "{component:?}");
    }
}
