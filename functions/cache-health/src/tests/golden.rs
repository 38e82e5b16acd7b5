//! The written documents stay the same, byte for byte.

use super::*;

#[test]
fn what_is_written_stays_byte_for_byte() {
    let mut stage = Stage::new();
    stage.settings.count_warn = 6;
    (0..4).for_each(|number| stage.entry(number, 31 * DAY));
    (4..9).for_each(|number| stage.entry(number, 29 * DAY));
    stage.world.state().corrupt_entries.insert(session(5));
    stage.check();
    stage.site.0.store(false, Ordering::Relaxed);
    stage.check();
    stage.check();
    stage.site.0.store(true, Ordering::Relaxed);
    stage.world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    stage.check();
    stage.world.plan(Plan::none());
    stage.check();
    stage.world.state().cache_totals.entries += 5;
    stage.world.state().now = SUNDAY.as_millis();
    (0..5).for_each(|_| drop(stage.check()));
    testkit::golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/looks.txt"), &stage.world.written());
}
