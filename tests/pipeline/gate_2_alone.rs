//! Gate 1 switched off, in a build that cannot be deployed: gate 2 alone keeps the promise (content filter,
//! verification criterion 5).

// A test that cannot go on says so by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)]
mod simulator;

use simulator::{Simulator, quick};

#[test]
fn gate_2_alone_is_sufficient() {
    for (page_first, terms) in [(true, 1), (false, 1)] {
        let mut sim = Simulator::new("quick");
        sim.model_says(&quick("GREEN", "The CSDM says that demand is real."));
        sim.stripe_delivers();
        if page_first {
            sim.world.plan(testkit::Plan::none().whenever("mailbox.create_draft", testkit::Fault::CrashBefore));
        }
        sim.drain();
        let page = sim.page().unwrap();
        assert_eq!(page.body(), r#"{"status":"in_review"}"#);
        let state = sim.world.state();
        assert!(!state.cache.is_empty(), "gate 1 is off: the contaminated verdict is cached");
        assert!(state.sent.is_empty() && state.drafts.is_empty());
        assert_eq!(state.quarantine.len(), terms);
    }
}
