//! A sale whose model call failed is retried automatically; an order that cannot continue is hidden until it can.

use crate::{
    samples::{body, quick},
    simulator::Simulator,
};
use domain::{
    open_work::Work,
    ports::{ModelError, ModelReply},
    sale::{Claimant, Fulfilment},
};
use std::time::Duration;
use testkit::{Fault, Plan};

fn good() -> Result<ModelReply, ModelError> {
    Ok(testkit::reply(quick("GREEN", "Demand is real and the format fits.")))
}

fn down() -> Result<ModelReply, ModelError> {
    Err(ModelError::Unavailable(503))
}

fn bought(answers: impl IntoIterator<Item = Result<ModelReply, ModelError>>) -> Simulator {
    let sim = Simulator::new("quick");
    sim.world.state().answers = answers.into_iter().collect();
    sim.stripe_delivers();
    sim
}

#[test]
fn a_blip_of_the_model_costs_seconds() {
    let mut sim = bought([down(), down(), down(), good()]);
    let began = sim.now();
    assert_eq!(sim.step(), Some(false));
    let page = sim.page().unwrap();
    let pending = body(&page);
    assert_eq!((page.status(), &pending["status"]), (202, &"pending".into()));
    assert!(pending["message"].as_str().unwrap().contains("We keep trying by ourselves"), "{pending}");
    let next = pending["next_attempt_at"].as_str().unwrap().to_owned();
    assert_eq!(next, sim.sale().unavailable_until().unwrap().to_iso());
    sim.drain();
    assert_eq!((sim.page().unwrap().status(), sim.world.state().sent.len()), (200, 1));
    assert!(sim.now().since(began) < Duration::from_secs(30), "{:?}", sim.now().since(began));
    assert_eq!(sim.count("webhook", "ERROR"), 1, "the failed attempt is on record");
    assert!(!sim.world.state().alerts.iter().any(|alert| alert.line.contains("CRITICAL")), "nobody need act");
}

/// The first model asks for a minute, and the next one fails meanwhile: the first is asked again after the minute, not
/// after the table's 15 seconds.
#[test]
fn a_vendors_delay_outlasts_the_failure_of_the_next_model() {
    let mut sim = bought([Err(ModelError::Throttled(Duration::from_secs(60))), down(), down(), good()]);
    let began = sim.now();
    assert_eq!(sim.step(), Some(false));
    let next = sim.sale().unavailable_until().unwrap();
    assert_eq!(next, began.plus(Duration::from_secs(60)));
    sim.drain();
    assert!(sim.now() >= next);
    let asked: Vec<String> = sim.world.state().prompts.iter().map(|(model, _)| model.clone()).collect();
    assert_eq!(asked, ["model-a", "model-b", "model-b", "model-a"]);
    assert_eq!((sim.page().unwrap().status(), sim.world.state().sent.len()), (200, 1));
}

/// A reply that is not a verdict fails one call; the sale fails only after the last entry of the retry table.
#[test]
fn only_after_the_tables_end_is_a_sale_before_a_human() {
    let mut sim = Simulator::ordered("quick", "Certainly! Here is your verdict.");
    let began = sim.now();
    sim.drain();
    let sale = sim.sale();
    assert!(matches!(sale.fulfilment(), Fulfilment::Failed { .. }), "{sale:?}");
    assert_eq!(sale.open_work().unwrap().work, Work::Failed);
    assert_eq!(sim.count("webhook", "ERROR"), 10, "one attempt, and nine by the table");
    let waited = sim.now().since(began);
    let hours = Duration::from_secs(3600);
    assert!(waited > hours * 2 && waited < hours * 4, "{waited:?}");
    assert_eq!(sim.page().unwrap().status(), 500);
    let alerts = sim.world.state().alerts.clone();
    assert_eq!(alerts.iter().filter(|alert| alert.line.contains("[ORACLE-VERDICT] CRITICAL")).count(), 1);
    assert_eq!(alerts.iter().filter(|alert| alert.line.contains("[ORACLE-VERDICT] ERROR")).count(), 9);
}

/// The model is down for all sales: the circuit breaker sets the pace of retries, and four hours end the sale.
#[test]
fn an_outage_without_end_is_before_a_human_after_four_hours() {
    let mut sim = bought([]);
    let began = sim.now();
    sim.drain();
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Failed { .. }), "{:?}", sim.sale());
    let waited = sim.now().since(began).as_secs();
    assert!((4 * 3600..4 * 3600 + 400).contains(&waited), "{waited} s");
    assert!(sim.dead.is_empty());
    let calls = sim.world.state().prompts.len();
    assert!(calls < 400, "{calls} calls into an outage");
}

#[test]
fn a_refused_key_or_account_is_our_outage_and_not_the_customers_end() {
    for (error, code) in [
        (ModelError::Unauthorized(401), "GEMINI_AUTH_FAILURE"),
        (ModelError::Account(402), "GEMINI_ACCOUNT_FAILURE"),
        (ModelError::Account(400), "GEMINI_ACCOUNT_FAILURE"),
    ] {
        let mut sim = bought([Err(error), good()]);
        sim.step();
        assert_eq!(sim.page().unwrap().status(), 202);
        let critical = |alert: &domain::Alert| alert.line.contains("CRITICAL") && alert.line.contains(code);
        assert!(sim.world.state().alerts.iter().any(critical), "somebody has to mend it: {code}");
        sim.drain();
        assert_eq!((sim.page().unwrap().status(), sim.world.state().sent.len()), (200, 1));
    }
}

/// If a dependency is briefly unreachable, the order is hidden for seconds, not for the queue's 18 minutes.
#[test]
fn an_order_that_cannot_go_on_is_hidden_for_seconds() {
    for name in ["payments.session", "store.load", "store.save", "secrets.document", "queue.send"] {
        let mut sim = bought([good()]);
        let began = sim.now();
        sim.world.plan(Plan::none().whenever(name, Fault::Fail));
        for _ in 0..3 {
            assert_eq!(sim.step(), Some(false), "{name}");
        }
        sim.world.plan(Plan::none());
        sim.world.state().answers = [good(), good()].into();
        sim.drain();
        assert_eq!(sim.page().unwrap().status(), 200, "{name}");
        let waited = sim.now().since(began);
        assert!(waited < Duration::from_secs(60), "{name}: {waited:?}");
    }
}

/// Another message of the sale need not wait for the end of the lease.
#[test]
fn an_order_that_cannot_go_on_releases_its_claim() {
    let mut sim = bought([good()]);
    sim.world.plan(Plan::none().whenever("payments.session", Fault::Fail));
    assert_eq!(sim.step(), Some(false));
    let sale = sim.sale();
    let is_over = matches!(sale.fulfilment(), Fulfilment::Generating { lease_until, .. } if *lease_until <= sim.now());
    assert!(is_over, "{:?}", sale.fulfilment());
}

/// Two messages of one sale: each stays in the queue until the sale has ended, so that neither can drop the other.
#[test]
fn a_message_that_finds_anothers_claim_is_kept() {
    let mut sim = bought([good()]);
    let now = sim.now();
    let mut sale = domain::Sale::ordered(sim.session.clone(), now);
    sale.claim("another", Claimant::Customer, now, Duration::from_secs(200));
    sim.world.state().sales.insert(sim.session.clone(), (sale, 1));
    assert_eq!(sim.step(), Some(false), "the other worker may die with its message");
    sim.drain();
    assert_eq!(sim.page().unwrap().status(), 200);
    assert!(sim.now().since(now) < Duration::from_secs(210), "as soon as the other's lease ends");
}

#[test]
fn a_table_outage_serves_verdicts_from_the_archive() {
    let mut sim = bought([good()]);
    sim.drain();
    sim.world.plan(Plan::none().whenever("store.load_with_verdict", Fault::Fail));
    let page = sim.page().unwrap();
    assert_eq!((page.status(), &body(&page)["verdict"]["verdict"]), (200, &"GREEN".into()));
    // A text that the filter stops is not shown, and a verdict that neither store has cannot be shown now.
    let session = sim.session.clone();
    if let Some(archived) = sim.world.state().archive.get_mut(&session) {
        archived.verdict.summary = "The CSDM says yes.".to_owned();
    }
    assert_eq!(sim.page().unwrap().status(), 503);
    sim.world.state().archive.clear();
    assert_eq!(sim.page().unwrap().status(), 503);
}

/// A queue refuses everything for hours, and the sale is ordered and nothing more: one alert names it, and it continues
/// as soon as the queue takes its message.
#[test]
fn a_queue_that_refuses_everything_for_hours_is_alerted_once_by_the_name_of_the_sale() {
    let mut sim = Simulator::new("quick");
    sim.world.state().answers = [good()].into();
    sim.world.plan(Plan::none().whenever("queue.send", Fault::Fail));
    sim.page();
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::Ordered { .. }), "{:?}", sim.sale());
    for _ in 0..60 {
        sim.world.advance(Duration::from_secs(300));
        sim.deadlines();
    }
    let state = sim.world.state();
    let refused = state.alerts.iter().filter(|alert| alert.line.contains("a queue refuses its message"));
    let lines: Vec<String> = refused.map(|alert| alert.line.clone()).collect();
    drop(state);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(&format!("| {} |", sim.session.reference())), "{lines:?}");
    sim.world.plan(Plan::none());
    sim.world.advance(Duration::from_secs(300));
    sim.deadlines();
    sim.drain();
    assert_eq!((sim.page().unwrap().status(), sim.world.state().sent.len()), (200, 1));
}

#[test]
fn a_silent_drop_is_alerted_although_stripe_does_not_answer() {
    let mut sim = Simulator::new("no such tier");
    sim.world.plan(Plan::none().whenever("payments.session", Fault::Fail));
    sim.stripe_delivers();
    let alerts = |sim: &Simulator| {
        let state = sim.world.state();
        state.alerts.iter().filter(|alert| alert.line.starts_with("[SILENT-DROP]")).count()
    };
    for _ in 0..3 {
        assert_eq!(sim.step(), Some(false));
        assert_eq!(alerts(&sim), 1, "once, however often Stripe does not answer");
    }
    sim.world.plan(Plan::none());
    sim.drain();
    assert_eq!(alerts(&sim), 2, "and with its amount once Stripe says it");
    assert_eq!(sim.world.state().sent.len(), 1);
}
