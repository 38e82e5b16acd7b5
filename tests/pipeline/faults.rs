//! Every effect of a sale with every fault: each fault alone, and all pairs of faults.

use crate::{samples::quick, simulator::Simulator};
use domain::sale::{Fulfilment, Mail};
use testkit::{Plan, every_single_fault, every_two_faults, pairs_of_faults};

/// One sale under a plan of faults: the webhook until Stripe gets its 2xx, the queues, the page. Then the faults end.
fn sale(plan: Plan) -> Simulator {
    let mut sim = Simulator::new("quick");
    sim.model_says(&quick("GREEN", "Demand is real and the format fits."));
    sim.world.plan(plan);
    sim.stripe_delivers();
    sim.drain();
    sim.page();
    sim
}

/// Checks what must be true of every sale, whatever faults it had.
fn assert_kept(mut sim: Simulator, what: &str) {
    sim.recover();
    let page = sim.page().unwrap_or_else(|| panic!("{what}: no page"));
    assert_eq!(page.status(), 200, "{what}: {}", page.body());
    let (sale, _) = sim.world.state().sales[&sim.session].clone();
    let state = sim.world.state();
    assert!(sim.dead.is_empty(), "{what}: a message was given up");
    assert_eq!(state.sent.len(), 1, "{what}: mails");
    assert!(matches!(sale.mail(), Mail::Sent { .. }), "{what}: {:?}", sale.mail());
    assert!(matches!(sale.fulfilment(), Fulfilment::Ready { archived: true, .. }), "{what}: {:?}", sale.fulfilment());
    assert_eq!(state.cache.get(&sim.session), state.archive.get(&sim.session), "{what}: archive");
    assert_eq!(state.log.len() as u64, sale.audit().unwrap().count, "{what}: a record is missing");
    drop(state);
    assert_eq!(sim.count("webhook", "OK"), 1, "{what}: webhook records");
    assert_eq!(sim.count("email_service", "EMAIL_SENT"), 1, "{what}: mail records");
}

#[test]
fn one_fault_anywhere_changes_nothing_for_the_customer() {
    let clean = sale(Plan::none());
    let boundaries = clean.world.passed();
    assert_kept(clean, "no fault");
    for (plan, what) in every_single_fault(boundaries, 25) {
        assert_kept(sale(plan), &what);
    }
}

#[test]
fn two_faults_anywhere_change_nothing_for_the_customer() {
    let boundaries = sale(Plan::none()).world.passed();
    let mut runs = 0;
    for (plan, what) in every_two_faults(boundaries, 12, &pairs_of_faults()) {
        assert_kept(sale(plan), &what);
        runs += 1;
    }
    assert!(runs > 5_000, "{runs} runs");
}
