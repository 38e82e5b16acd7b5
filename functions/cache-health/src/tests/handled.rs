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
fn a_run_is_measured_whether_a_look_is_due_or_not() {
    let stage = Stage::new();
    stage.entry(1, DAY);
    let ran = Metric::CacheHealthRan.once();
    let looked = handled(&stage, &json!({ "look": "now" }));
    assert!(looked.contains(&Metric::CacheEntries.of(1)) && looked.contains(&ran), "{looked:?}");
    assert_eq!(handled(&stage, &json!({ "source": "aws.scheduler" })), [ran], "none is due a moment later");
}
