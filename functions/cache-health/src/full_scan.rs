//! Sundays 02:00 UTC: reads every entry once and recounts the counters (Cache Health, failure mode 5, HEALTH-GAP-08).
//!
//! The scan follows the index of ages, one slice per check; its position is saved in the state. The recount reads the
//! whole index in one go, because it is exact only if no entry changes meanwhile; the counters' own count of changes
//! shows whether one did. A drift counts as real when two counts, one check apart, agree, because the index may lag for
//! a moment. The correction is saved before it is applied, and recorded and alerted on afterwards.

use crate::{
    CacheHealthState, Ports,
    judge::{alert, remember, report_corrupt},
    sample::is_entry,
    state::{Correction, FullScan, Recount, Slice},
};
use audit::{CommitError, Notebook, Noted};
use domain::{
    Alert, SessionId, Timestamp,
    alert::Severity,
    cache_entries::{CORRECTION_KNOWN_FOR, CacheDelta},
    ports::{StorageError, Versioned},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

/// Entries per page; each of them is read whole.
const PAGE: u32 = 100;

/// Pages per check: 2,000 entries, which takes some seconds.
const PAGES: u32 = 20;

/// A slice ends after this time even if it has read fewer pages.
const LONGEST_SLICE: Duration = Duration::from_secs(15);

/// Index entries per page of the recount (the table also ends a page at a mebibyte).
const RECOUNT_PAGE: u32 = 5000;

/// A count that takes longer does not count as exact: this is enough for some two million entries.
const LONGEST_COUNT: Duration = Duration::from_secs(60);

/// The number of recounts that are tried before it waits for the next Sunday.
const MOST_TRIES: u32 = 30;

const DAY_MS: i64 = 86_400_000;

type Current = Versioned<Notebook<CacheHealthState>>;

/// The last Sunday 02:00 UTC that is not after `now`.
fn last_sunday(now: Timestamp) -> Timestamp {
    // 1970-01-04 was a Sunday.
    let first = 3 * DAY_MS + 2 * 3_600_000;
    let week = 7 * DAY_MS;
    Timestamp::from_millis((now.as_millis() - first).div_euclid(week) * week + first)
}

/// Continues the scan, or starts one that is due.
pub(crate) async fn step(ports: &Ports<'_>, current: Current) -> Result<(), CommitError> {
    let due = last_sunday(ports.journal.clock.now());
    let scan = current.value.memory.scan.clone();
    let current = if scan.due == Some(due) {
        current
    } else {
        // The very first scan waits for the coming Sunday. A scan that takes more than a week continues: if it
        // restarted each Sunday, it would never end.
        let slice = scan.slice.clone().or_else(|| scan.due.is_some().then(Slice::default));
        let next = FullScan { due: Some(due), slice, recount: None, correction: scan.correction.clone() };
        ports.journal.commit(current, |state, _| replace(state, &scan, &next)).await?.settle().await.0
    };
    let scan = current.value.memory.scan.clone();
    let outcome = match (&scan.correction, &scan.slice, scan.recount) {
        (Some(correction), ..) => apply_correction(ports, current, &scan, correction).await,
        (None, Some(slice), _) => read_slice(ports, current, &scan, slice).await,
        (None, None, Some(recount)) => count_again(ports, current, &scan, recount).await,
        (None, None, None) => return Ok(()),
    };
    match outcome {
        Ok(()) => Ok(()),
        Err(CommitError::Storage(error)) => {
            // The store alerts; the next check continues from the same position.
            tracing::error!(error = %runtime::telemetry::chain(&error), "the scan waits for the next check");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Saves the next position of the scan, unless another run has moved it.
fn replace(state: &mut CacheHealthState, before: &FullScan, next: &FullScan) -> Noted<()> {
    if state.scan != *before {
        return Noted::nothing(());
    }
    state.scan = next.clone();
    Noted::save(())
}

async fn read_slice(ports: &Ports<'_>, current: Current, scan: &FullScan, slice: &Slice) -> Result<(), CommitError> {
    let begun = ports.journal.clock.now();
    let mut slice = slice.clone();
    let mut corrupt = BTreeSet::new();
    let mut finished = false;
    for _ in 0..PAGES {
        let page = ports.cache.listed(&slice.place, PAGE).await?;
        let sessions: Vec<SessionId> = page.entries.iter().map(|entry| entry.session.clone()).collect();
        if !sessions.is_empty() {
            let documents = ports.cache.documents(&sessions).await?;
            slice.entries += documents.len() as u64;
            corrupt
                .extend(documents.into_iter().filter(|(_, document)| !is_entry(document)).map(|(session, _)| session));
        }
        match page.next {
            Some(next) => slice.place = next,
            None => finished = true,
        }
        if finished || ports.journal.clock.now().since(begun) > LONGEST_SLICE {
            break;
        }
    }
    slice.corrupt += corrupt.len() as u64;
    let decide = |state: &mut CacheHealthState, now| {
        if state.scan != *scan {
            return Noted::nothing(());
        }
        let new = remember(state, &corrupt, &BTreeSet::new());
        let mut noted = report_corrupt(Noted::save(()), &new, now);
        state.scan.slice = (!finished).then(|| slice.clone());
        if finished {
            state.scan.recount = Some(Recount::default());
            noted = noted.recording("cache_full_scan", json!({ "entries": slice.entries, "corrupt": slice.corrupt }));
        }
        noted
    };
    ports.journal.commit(current, decide).await?.settle().await;
    Ok(())
}

/// The drift that a count found, and whether the index was unchanged during the count.
struct Count {
    drift: CacheDelta,
    exact: bool,
}

async fn count(ports: &Ports<'_>) -> Result<Count, StorageError> {
    let begun = ports.journal.clock.now();
    let before = ports.cache.totals().await?;
    let (mut entries, mut bytes, mut place) = (0_i64, 0_i64, Some(String::new()));
    while let Some(after) = place.take() {
        let page = ports.cache.listed(&after, RECOUNT_PAGE).await?;
        entries += i64::try_from(page.entries.len()).unwrap_or(i64::MAX);
        bytes += page.entries.iter().map(|entry| i64::try_from(entry.bytes).unwrap_or(i64::MAX)).sum::<i64>();
        place = page.next;
        if ports.journal.clock.now().since(begun) > LONGEST_COUNT {
            break;
        }
    }
    let after = ports.cache.totals().await?;
    let drift = CacheDelta { entries: entries - after.entries, bytes: bytes - after.bytes };
    Ok(Count { drift, exact: place.is_none() && before.changes == after.changes })
}

async fn count_again(
    ports: &Ports<'_>,
    current: Current,
    scan: &FullScan,
    recount: Recount,
) -> Result<(), CommitError> {
    let no_more = recount.tries >= MOST_TRIES;
    let recount = Recount { tries: recount.tries.saturating_add(1), ..recount };
    let begun = FullScan { recount: (!no_more).then_some(recount), ..scan.clone() };
    // The attempt is saved before the count begins: a count that always outlives the function must not be tried for
    // ever.
    let begin = |state: &mut CacheHealthState, _| {
        let noted = replace(state, scan, &begun);
        if no_more && noted.effects().is_some() {
            noted.recording("cache_recount", abandoned_record(recount))
        } else {
            noted
        }
    };
    let (current, ()) = ports.journal.commit(current, begin).await?.settle().await;
    if no_more || current.value.memory.scan != begun {
        return Ok(());
    }
    let found = count(ports).await?;
    let now = ports.journal.clock.now();
    let none = found.drift == CacheDelta::default();
    let believed = found.exact && (none || recount.suspected == Some(found.drift));
    let suspected = found.exact.then_some(found.drift).or(recount.suspected);
    let correction = Correction { drift: found.drift, tries: recount.tries, token: ports.randomness.token(), at: now };
    let decide = |state: &mut CacheHealthState, _| {
        if state.scan != begun {
            return Noted::nothing(());
        }
        state.scan.recount = (!believed).then_some(Recount { suspected, ..recount });
        if believed && none {
            return Noted::save(()).recording("cache_recount", counted(&correction));
        }
        state.scan.correction = believed.then(|| correction.clone());
        Noted::save(())
    };
    let (current, ()) = ports.journal.commit(current, decide).await?.settle().await;
    let scan = current.value.memory.scan.clone();
    match &scan.correction {
        Some(decided) if *decided == correction => apply_correction(ports, current, &scan, decided).await,
        _ => Ok(()),
    }
}

/// Applies the correction to the counters, then records it and alerts. The store recognises a repeated correction only
/// for a limited time. After that time it is unknown whether the correction was applied, so the entries are counted
/// again.
async fn apply_correction(
    ports: &Ports<'_>,
    current: Current,
    scan: &FullScan,
    correction: &Correction,
) -> Result<(), CommitError> {
    let now = ports.journal.clock.now();
    let is_known = now.since(correction.at) < CORRECTION_KNOWN_FOR;
    if is_known {
        ports.cache.correct(correction.drift, &correction.token).await?;
    }
    let decide = |state: &mut CacheHealthState, now| {
        if state.scan != *scan {
            return Noted::nothing(());
        }
        state.scan.correction = None;
        if !is_known {
            state.scan.recount = Some(Recount::default());
        }
        let mut facts = counted(correction);
        if !is_known {
            facts["corrected"] = json!("unknown");
        }
        let noted = Noted::save(()).recording("cache_recount", facts);
        noted.alerting(drifted(now, correction.drift, is_known))
    };
    ports.journal.commit(current, decide).await?.settle().await;
    Ok(())
}

fn counted(found: &Correction) -> Value {
    json!({ "exact": true, "tries": found.tries, "drift": found.drift })
}

fn abandoned_record(recount: Recount) -> Value {
    json!({ "exact": false, "tries": MOST_TRIES, "drift": recount.suspected })
}

fn drifted(now: Timestamp, drift: CacheDelta, is_known: bool) -> Alert {
    let outcome =
        if is_known { "corrected" } else { "whether that was corrected is not known, they are counted again" };
    let detail = format!("the counters were off by {} entries and {} bytes: {outcome}", -drift.entries, -drift.bytes);
    alert(Severity::Warn, now, "counters", &detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scan_is_due_on_sundays_at_two() {
        let sunday = Timestamp::from_seconds(1_776_564_000); // 2026-04-19T02:00:00Z
        assert_eq!(sunday.to_iso(), "2026-04-19T02:00:00.000Z");
        let second = Duration::from_secs(1);
        assert_eq!(last_sunday(sunday), sunday);
        assert_eq!(last_sunday(sunday.plus(7 * 86_400 * second - second)), sunday);
        assert_eq!(last_sunday(sunday.plus(7 * 86_400 * second)), sunday.plus(7 * 86_400 * second));
        assert_eq!(last_sunday(Timestamp::from_seconds(1_776_563_999)).to_iso(), "2026-04-12T02:00:00.000Z");
    }
}
