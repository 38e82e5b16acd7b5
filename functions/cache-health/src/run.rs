//! One scheduled run: makes the checks that are due within its minute.
//!
//! EventBridge's rates are whole minutes, and the interval may be anything from 30 s to an hour. So the function runs
//! every minute, and each run makes the checks that are due before the next run: two with an interval of 30 s, one with
//! 60 s, usually none with an hour.

use crate::{CacheHealthState, Ports, Settings, check, cleanup, full_scan, judge, second_look};
use audit::{CommitError, Notebook};
use domain::{cache_health::HealthRecord, ports::Versioned};
use std::time::Duration;

/// The time from the start of one run to the next, less the time that a check may take.
const RUN: Duration = Duration::from_secs(55);

/// A check may come this much early (Cache Health, verification criterion 1: ± 5 s): schedules are not exact.
const EARLY: Duration = Duration::from_secs(5);

/// When a run makes a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// When the interval has passed.
    Due,
    /// Once and immediately, on request.
    Now,
}

/// Makes the checks that are due in this run, and returns their records.
///
/// # Errors
/// [`CommitError`] when the state could not be read or saved: the check is not recorded.
pub(crate) async fn run(ports: Ports<'_>, settings: Settings, when: When) -> Result<Vec<HealthRecord>, CommitError> {
    if when == When::Now {
        let notebook = ports.journal.load().await?;
        return Ok(step(&ports, settings, notebook).await?.into_iter().collect());
    }
    let begun = ports.journal.clock.now();
    let mut records: Vec<HealthRecord> = Vec::new();
    loop {
        // Usually the next check belongs to another run: then the state need not be read again.
        if records.last().is_some_and(|last| last.at.plus(settings.interval) > begun.plus(RUN)) {
            return Ok(records);
        }
        let notebook = ports.journal.load::<CacheHealthState>().await?;
        let now = ports.journal.clock.now();
        let due = notebook.value.memory.last.as_ref().map_or(now, |last| last.at.plus(settings.interval));
        // Without this, a clock that was set back would wait until it reaches its earlier time again.
        let due = if due > now.plus(settings.interval) { now } else { due };
        if due > begun.plus(RUN) {
            return Ok(records);
        }
        if due > now.plus(EARLY) {
            ports.pause.pause(due.since(now)).await;
        }
        // Another run made this check and will make the next ones.
        let Some(record) = step(&ports, settings, notebook).await? else { return Ok(records) };
        records.push(record);
    }
}

/// One check, with the cleanup, the scan and the second look that follow it.
async fn step(
    ports: &Ports<'_>,
    settings: Settings,
    notebook: Versioned<Notebook<CacheHealthState>>,
) -> Result<Option<HealthRecord>, CommitError> {
    let result = check::check(ports, settings, &notebook.value.memory).await;
    let last = notebook.value.memory.last.as_ref().map(|last| last.at);
    let judged = |state: &mut CacheHealthState, now| {
        // Two concurrent runs make the check twice and record it once.
        if state.last.as_ref().map(|last| last.at) != last {
            return audit::Noted::nothing(None);
        }
        judge::judge(state, &result, settings, now).map(Some)
    };
    let (notebook, record) = ports.journal.commit(notebook, judged).await?.settle().await;
    let Some(record) = record else { return Ok(None) };
    if record.measures.is_some() {
        let notebook = cleanup::step(ports, settings, notebook).await?;
        let notebook = second_look::step(ports, notebook).await?;
        full_scan::step(ports, notebook).await?;
    }
    Ok(Some(record))
}
