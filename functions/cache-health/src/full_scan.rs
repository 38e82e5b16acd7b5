//! Sundays 02:00 UTC: every entry is read once, and the counters are counted again (Cache Health, failure mode 5,
//! HEALTH-GAP-08).
//!
//! The scan follows the index of ages in slices, one a look; where it is, is in the memory. The recount reads the whole
//! index at one go, because it is exact only if nothing changes meanwhile, which the counters' own count of changes
//! tells. A drift is believed when two counts, a look apart, find the same: the index may lag behind for a moment.

use crate::{
    Memory, Ports,
    judge::{corrupt_alert, remember},
    memory::{FullScan, Recount, Slice},
    sample::is_entry,
};
use audit::{CommitError, Notebook, Noted};
use domain::{
    Alert, SessionId, Timestamp,
    alert::Severity,
    cache_entries::{CacheDelta, ListedEntry},
    ports::{StorageError, Versioned},
};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};

/// Entries a page, of which each is read whole.
const PAGE: u32 = 100;

/// Pages a look: 2,000 entries, some seconds.
const PAGES: u32 = 20;

/// A slice ends here even if it has read less.
const LONGEST_SLICE: Duration = Duration::from_secs(15);

/// Index entries a page of the recount, and how many pages it may take: two million entries.
const RECOUNT_PAGE: u32 = 5000;
const RECOUNT_PAGES: u32 = 400;

/// How often a recount is tried before it is left for the next Sunday.
const MOST_TRIES: u32 = 30;

const DAY_MS: i64 = 86_400_000;

type Current = Versioned<Notebook<Memory>>;

/// The last Sunday 02:00 UTC that is not after `now`.
fn last_sunday(now: Timestamp) -> Timestamp {
    // 1970-01-04 was a Sunday.
    let first = 3 * DAY_MS + 2 * 3_600_000;
    let week = 7 * DAY_MS;
    Timestamp::from_millis((now.as_millis() - first).div_euclid(week) * week + first)
}

/// Goes on with the scan, if it is time for one.
pub(crate) async fn step(ports: &Ports<'_>, current: Current) -> Result<(), CommitError> {
    let due = last_sunday(ports.clock.now());
    let scan = current.value.memory.scan.clone();
    let current = if scan.due == Some(due) {
        current
    } else {
        // Who has never run begins with the Sunday to come.
        let begun = scan.due.is_some().then(Slice::default);
        let next = FullScan { due: Some(due), slice: begun, recount: None };
        ports.journal.commit(current, replace(&scan, &next)).await?.0
    };
    let scan = current.value.memory.scan.clone();
    let outcome = match (&scan.slice, scan.recount) {
        (Some(slice), _) => read_slice(ports, current, &scan, slice).await,
        (None, Some(recount)) => count_again(ports, current, &scan, recount).await,
        (None, None) => return Ok(()),
    };
    match outcome {
        Ok(()) => Ok(()),
        Err(CommitError::Storage(error)) => {
            // Told by the store; the next look goes on from the same place.
            tracing::error!(error = %runtime::telemetry::chain(&error), "the scan waits for the next look");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn replace<'a>(before: &'a FullScan, next: &'a FullScan) -> impl Fn(&mut Memory) -> Noted<()> + Send + Sync + 'a {
    move |memory| {
        if memory.scan != *before {
            return Noted::nothing(());
        }
        memory.scan = next.clone();
        Noted::save(())
    }
}

async fn read_slice(ports: &Ports<'_>, current: Current, scan: &FullScan, slice: &Slice) -> Result<(), CommitError> {
    let begun = ports.clock.now();
    let mut slice = slice.clone();
    let mut corrupt = BTreeSet::new();
    let mut finished = false;
    for _ in 0..PAGES {
        let page = ports.cache.listed(&slice.place, PAGE).await?;
        let sessions: Vec<SessionId> = page.iter().map(|entry| entry.session.clone()).collect();
        if !sessions.is_empty() {
            let documents = ports.cache.documents(&sessions).await?;
            slice.entries += documents.len() as u64;
            corrupt
                .extend(documents.into_iter().filter(|(_, document)| !is_entry(document)).map(|(session, _)| session));
        }
        if let Some(last) = page.last() {
            slice.place = last.place();
        }
        finished = (page.len() as u64) < u64::from(PAGE);
        if finished || ports.clock.now().since(begun) > LONGEST_SLICE {
            break;
        }
    }
    slice.corrupt += corrupt.len() as u64;
    let now = ports.clock.now();
    let decide = |memory: &mut Memory| {
        if memory.scan != *scan {
            return Noted::nothing(());
        }
        let mut noted = Noted::save(());
        for session in remember(memory, &corrupt, &BTreeSet::new()) {
            noted = noted.alerting(corrupt_alert(now, &session));
        }
        memory.scan.slice = (!finished).then(|| slice.clone());
        if finished {
            memory.scan.recount = Some(Recount::default());
            noted = noted.recording("cache_full_scan", json!({ "entries": slice.entries, "corrupt": slice.corrupt }));
        }
        noted
    };
    ports.journal.commit(current, decide).await.map(drop)
}

/// What the index has, and whether it stood still while it was counted.
struct Count {
    drift: CacheDelta,
    exact: bool,
}

async fn count(ports: &Ports<'_>) -> Result<Count, StorageError> {
    let before = ports.cache.totals().await?;
    let (mut entries, mut bytes, mut place, mut whole) = (0_i64, 0_i64, String::new(), false);
    for _ in 0..RECOUNT_PAGES {
        let page = ports.cache.listed(&place, RECOUNT_PAGE).await?;
        entries += i64::try_from(page.len()).unwrap_or(i64::MAX);
        bytes += page.iter().map(|entry| i64::try_from(entry.bytes).unwrap_or(i64::MAX)).sum::<i64>();
        match page.last() {
            Some(last) => place = ListedEntry::place(last),
            None => {
                whole = true;
                break;
            }
        }
    }
    let after = ports.cache.totals().await?;
    let drift = CacheDelta { entries: entries - after.entries, bytes: bytes - after.bytes };
    Ok(Count { drift, exact: whole && before.changes == after.changes })
}

async fn count_again(
    ports: &Ports<'_>,
    current: Current,
    scan: &FullScan,
    recount: Recount,
) -> Result<(), CommitError> {
    let found = count(ports).await?;
    let now = ports.clock.now();
    let none = found.drift == CacheDelta::default();
    let believed = found.exact && (none || recount.suspected == Some(found.drift));
    let given_up = !believed && recount.tries + 1 >= MOST_TRIES;
    let next =
        Recount { tries: recount.tries + 1, suspected: found.exact.then_some(found.drift).or(recount.suspected) };
    let decide = |memory: &mut Memory| {
        if memory.scan != *scan {
            return Noted::nothing(false);
        }
        memory.scan.recount = (!believed && !given_up).then_some(next);
        if !believed && !given_up {
            return Noted::save(false);
        }
        let facts = json!({ "exact": believed, "tries": next.tries, "drift": found.drift });
        let noted = Noted::save(believed && !none).recording("cache_recount", facts);
        if none || !believed { noted } else { noted.alerting(drifted(now, found.drift)) }
    };
    let (_, correct) = ports.journal.commit(current, decide).await?;
    if correct {
        ports.cache.correct(found.drift).await?;
    }
    Ok(())
}

fn drifted(now: Timestamp, drift: CacheDelta) -> Alert {
    let detail = format!("the counters were off by {} entries and {} bytes: corrected", -drift.entries, -drift.bytes);
    Alert::about("ORACLE-CACHE-ALERT", Severity::Warn, now, "HEALTH_PROBE", "counters", &detail)
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
