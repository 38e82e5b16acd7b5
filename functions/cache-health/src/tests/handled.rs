//! Events, as the deployed function handles them.

use super::*;
use crate::handle;
use domain::Metric;

/// The measurements of one event.
fn handled(stage: &Stage, event: &Value) -> Vec<domain::Measurement> {
    let ended = testkit::run(handle(stage.ports(), stage.settings, &stage.unrecorded, event)).unwrap();
    assert!(ended.is_ok(), "{event}");
    std::mem::take(&mut stage.world.state().measurements)
}

#[test]
fn a_run_is_measured_whether_a_check_is_due_or_not() {
    let mut stage = Stage::new();
    stage.entry(1, DAY);
    stage.settings.budget_bytes = 2 * u64::try_from(stage.world.state().cache_totals.bytes).unwrap();
    let ran = Metric::CacheHealthRan.once();
    let measured = handled(&stage, &json!({ "look": "now" }));
    for expected in [Metric::CacheEntries.of(1), Metric::CacheBudgetUsed.of(50), ran] {
        assert!(measured.contains(&expected), "{expected:?}: {measured:?}");
    }
    assert_eq!(handled(&stage, &json!({ "source": "aws.scheduler" })), [ran], "none is due a moment later");
}
