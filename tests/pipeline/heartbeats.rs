//! The metrics whose absence raises an alarm: a schedule sends its metric only if its run did the work.

use crate::simulator::Simulator;
use domain::Metric;
use std::time::Duration;
use testkit::{Fault, Plan};

#[test]
fn a_comparison_with_stripe_counts_only_if_it_reached_the_end() {
    let sim = Simulator::new("quick");
    for list in ["ledger.completed_since", "ledger.reports_since", "subscriptions.billing_since"] {
        sim.world.plan(Plan::none().whenever(list, Fault::Fail));
        assert!(sim.reconcile().unwrap().is_err(), "{list}");
        assert_eq!(sim.world.state().measured(Metric::Reconciled), 0, "{list}");
    }
    sim.world.plan(Plan::none());
    sim.reconcile().unwrap().unwrap();
    assert_eq!(sim.world.state().measured(Metric::Reconciled), 1);
}

#[test]
fn a_run_of_inbox_watch_counts_only_if_it_looked() {
    let sim = Simulator::new("quick");
    let counted_after = |plan: Plan, request_id: &str| {
        sim.world.plan(plan);
        let ended = sim.watch_inbox(request_id);
        (ended.is_some(), sim.world.state().measured(Metric::InboxWatched))
    };
    let at_inbox = |fault: Fault| Plan::none().whenever("inbox.arrived", fault);
    assert_eq!(counted_after(Plan::none(), "first"), (true, 1));
    assert_eq!(counted_after(at_inbox(Fault::CrashBefore), "dies"), (false, 1));
    assert_eq!(counted_after(Plan::none(), "finds the lease of the one that died"), (true, 1));
    sim.world.advance(Duration::from_secs(120));
    assert_eq!(counted_after(at_inbox(Fault::Fail), "fails"), (true, 1));
    assert_eq!(counted_after(Plan::none(), "looks"), (true, 2));
}
