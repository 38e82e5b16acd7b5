//! Verdicts that are restored to the cache from the archive for a page. Whatever the page shows then, no published
//! record waits in the stored sale.

use crate::{
    samples::{quick, strategy},
    simulator::Simulator,
};
use domain::sale::MAX_RECORDED_RETRIEVALS;
use testkit::{Fault, Plan};

const GOOD: &str = "Demand is real and the format fits.";

/// A delivered sale whose cache entry is lost.
fn lost(tier: &str, reply: &str) -> Simulator {
    let sim = Simulator::worked_off(tier, reply);
    sim.world.state().cache.clear();
    sim
}

/// The page asks once under this plan.
fn assert_settled(sim: &Simulator, plan: Plan, status: u16) {
    sim.world.plan(plan);
    assert_eq!(sim.page().unwrap().status(), status);
    let records = sim.world.state().records();
    let restored = records.iter().filter(|line| line["error_detail"] == "restored from the archive").count();
    assert_eq!(restored, 1, "{records:?}");
    assert!(sim.sale().outbox().is_empty() && sim.sale().alerts().is_empty(), "{:?}", sim.sale());
}

#[test]
fn a_verdict_whose_followup_cannot_be_read() {
    assert_settled(&lost("strategy", &strategy()), Plan::none().whenever("store.load", Fault::Fail), 503);
}

#[test]
fn a_verdict_that_gate_2_holds_and_the_quarantine_does_not_keep() {
    let sim = lost("quick", &quick("GREEN", GOOD));
    for archived in sim.world.state().archive.values_mut() {
        archived.verdict.summary = "The CSDM says that demand is real.".to_owned();
    }
    assert_settled(&sim, Plan::none().whenever("quarantine.hold", Fault::Fail), 503);
}

#[test]
fn a_verdict_whose_retrievals_are_not_recorded_any_more() {
    let sim = lost("quick", &quick("GREEN", GOOD));
    sim.world.change_sales("retrievals", &MAX_RECORDED_RETRIEVALS);
    assert_settled(&sim, Plan::none(), 200);
}
