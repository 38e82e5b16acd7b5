use super::*;
use domain::Channel;
use std::time::Duration;
use testkit::{Fault, Plan, World, run};

/// The alerts of one run in which these checks failed.
fn alerts_after(world: &World, wrong: &[&'static str]) -> Vec<(Channel, String)> {
    alerts_of(world, wrong, &[])
}

/// The alerts of one run in which these checks failed and others could not be made.
fn alerts_of(world: &World, wrong: &[&'static str], unknown: &[&'static str]) -> Vec<(Channel, String)> {
    let findings = wrong.iter().map(|name| (*name, "refused".to_owned())).collect();
    alerts_about(world, &Checks { findings, unknown: unknown.iter().copied().collect(), ..Checks::default() })
}

fn alerts_about(world: &World, checks: &Checks) -> Vec<(Channel, String)> {
    world.state().alerts.clear();
    run(probe(world, world, world, checks)).unwrap();
    let alerts = world.state().alerts.clone();
    alerts.into_iter().map(|alert| (alert.channel, alert.parts().unwrap().detail.to_owned())).collect()
}

#[test]
fn each_check_alerts_once_when_it_fails_and_once_when_it_recovers() {
    let world = World::at(Timestamp::from_millis(0));
    assert_eq!(alerts_after(&world, &[]), []);
    let gemini = (Channel::Critical, "Gemini: refused".to_owned());
    assert_eq!(alerts_after(&world, &["Gemini"]), [gemini]);
    assert_eq!(alerts_after(&world, &["Gemini"]), [], "alerted already");
    let table = (Channel::Critical, "table: refused".to_owned());
    assert_eq!(alerts_after(&world, &["Gemini", "table"]), [table]);
    let works = (Channel::Critical, "Gemini: works again".to_owned());
    assert_eq!(alerts_after(&world, &["table"]), [works], "the operator who was woken hears of the end");
}

/// Only a check that was made shows that its subject works again.
#[test]
fn a_check_that_could_not_be_made_reports_no_recovery() {
    let noted = |world: &World| world.state().notes[FAILED_CHECKS_NOTE].0.clone();
    let world = World::at(Timestamp::from_millis(0));
    let (endpoint, refunds) = ("Stripe webhook endpoint", "Stripe key for refunds");
    assert_eq!(alerts_of(&world, &[endpoint, refunds], &[]).len(), 2);
    let stripe = (Channel::Critical, "Stripe: refused".to_owned());
    assert_eq!(alerts_of(&world, &["Stripe"], &[endpoint, refunds]), [stripe]);
    assert_eq!(noted(&world), r#"["Stripe","Stripe key for refunds","Stripe webhook endpoint"]"#);
    let works = |name: &str| (Channel::Critical, format!("{name}: works again"));
    assert_eq!(alerts_of(&world, &[refunds], &[endpoint]), [works("Stripe")]);
    assert_eq!(alerts_of(&world, &[], &[]), [works(refunds), works(endpoint)]);
    assert_eq!(alerts_of(&world, &[], &[endpoint]), [], "nothing is known against what has never failed");
    assert_eq!(noted(&world), "[]");
}

/// Selling for USDC ended while the node did not work.
#[test]
fn an_unused_dependency_is_forgotten_without_a_recovery_alert() {
    let world = World::at(Timestamp::from_millis(0));
    let [_, node] = doctor::TOLL_SUBJECTS;
    assert_eq!(alerts_after(&world, &[node]).len(), 1);
    let without_toll = Checks { unused: doctor::TOLL_SUBJECTS.into(), ..Checks::default() };
    assert_eq!(alerts_about(&world, &without_toll), []);
    assert_eq!(world.state().notes[FAILED_CHECKS_NOTE].0, "[]");
    assert_eq!(alerts_after(&world, &[node]).len(), 1, "it is used again, and still does not work");
}

/// An alert that is sent once must not be suppressed by another of a moment ago (Cache Alert, invariant 6).
#[test]
fn simultaneous_failures_and_recoveries_each_raise_an_alert() {
    let world = World::at(Timestamp::from_millis(0)).suppressing(Duration::from_secs(60));
    let queues = ["e-mail retry queue", "email queue", "notices queue", "orders queue", "payments queue"];
    let others = ["Gemini", "Stripe", "archive bucket", "audit bucket", "audit key", "critical topic", "mailbox"];
    let more = ["chat key", "ops topic", "quarantine bucket", "table", "webhook secret"];
    let stripe = ["Stripe key for checkout", "Stripe key for refunds", "Stripe keys"];
    let accounts = ["Stripe customer portal", "Stripe payment links", "Stripe webhook endpoint", "mailbox permissions"];
    let models = ["Gemini models", "node of the chain", "x402 facilitator"];
    let everything = [&queues[..], &others, &more, &stripe, &accounts, &models].concat();
    assert_eq!(alerts_after(&world, &everything).len(), 27, "all at once");
    assert_eq!(alerts_after(&world, &[]).len(), 27, "and each works again");
    assert!(world.state().held_back_alerts.is_empty());
}

#[test]
fn without_a_stored_state_every_run_alerts() {
    let world = World::at(Timestamp::from_millis(0));
    world.plan(Plan::none().whenever("notes.load", Fault::Fail).whenever("notes.save", Fault::Fail));
    for _ in 0..2 {
        assert_eq!(alerts_after(&world, &["table"]).len(), 1);
    }
}
