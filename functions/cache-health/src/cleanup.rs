//! Removes cache entries past their age (Cache Health, output 4 and invariants 2, 4, 8).
//!
//! A check first lists the entries, saves the list and writes it to the log. It removes the first entry only when the
//! list is in the log. Each removal is conditional on the entry being the one that was listed, so an entry that was
//! restored meanwhile stays. An entry is removed only if the archive holds the same verdict: a customer who comes back
//! gets it from there, and the restored entry counts as new. After a crash the next check completes the list.

use crate::{
    CacheHealthState, Ports, Settings,
    state::{Cleanup, Plan},
};
use audit::{CommitError, Notebook, Noted};
use domain::{
    CachedVerdict, Timestamp,
    cache_entries::{ListedEntry, ListedPage, Removal},
    ports::{StorageError, Versioned},
};
use serde_json::{Value, json};
use std::time::Duration;

/// The most entries that one check lists and removes.
pub(crate) const MOST: u32 = 100;

/// The wait from the end of one pass over the old entries to the next: entries that have to stay are not checked more
/// often.
const BETWEEN_PASSES: Duration = Duration::from_secs(3600);

const MEBIBYTE: f64 = 1024.0 * 1024.0;

type Current = Versioned<Notebook<CacheHealthState>>;

/// The entries that one check listed.
struct Listing {
    removable: Vec<ListedEntry>,
    /// Old entries that are missing in the archive or differ from it.
    kept: u64,
    cleanup: Cleanup,
}

/// Continues the cleanup, if there is anything to remove.
pub(crate) async fn step(ports: &Ports<'_>, settings: Settings, current: Current) -> Result<Current, CommitError> {
    if current.value.memory.cleanup.plan.is_some() {
        return carry_out(ports, settings, current).await;
    }
    let now = ports.journal.clock.now();
    let Some(cutoff) = cutoff(&current.value.memory, settings, now) else { return Ok(current) };
    let before = current.value.memory.cleanup.clone();
    let listing = match list(ports, &before, cutoff, now).await {
        Ok(listing) => listing,
        Err(error) => return Ok(log_storage_error(&error, current)),
    };
    let decide = |state: &mut CacheHealthState, _| {
        if state.cleanup != before {
            return Noted::nothing(());
        }
        state.cleanup = listing.cleanup.clone();
        let noted = Noted::save(());
        if state.cleanup.plan.is_none() {
            return noted;
        }
        // The manifest is required to be in the log before any entry is removed.
        noted.requiring("cache_cleanup_planned", manifest(&listing, settings, cutoff, now))
    };
    let (current, ()) = ports.journal.commit(current, decide).await?.settle().await;
    carry_out(ports, settings, current).await
}

/// The age limit, if a pass is due: at once when the byte budget is exceeded, otherwise when the oldest entry is past
/// its age and the last pass ended an hour ago.
fn cutoff(state: &CacheHealthState, settings: Settings, now: Timestamp) -> Option<Timestamp> {
    let measures = state.last.as_ref()?.measures?;
    let cutoff = Timestamp::from_millis(now.as_millis() - i64::try_from(settings.staleness().as_millis()).ok()?);
    let something_old = measures.oldest.is_some_and(|oldest| oldest < cutoff);
    let over_budget = measures.bytes > settings.budget_bytes;
    let due = state.cleanup.next_pass.is_none_or(|next| next <= now);
    (something_old && (over_budget || due)).then_some(cutoff)
}

async fn list(ports: &Ports<'_>, before: &Cleanup, cutoff: Timestamp, now: Timestamp) -> Result<Listing, StorageError> {
    let ListedPage { entries: page, next } = ports.cache.listed(&before.place, MOST).await?;
    let old: Vec<ListedEntry> = page.iter().filter(|entry| entry.stored_at < cutoff).cloned().collect();
    let next = next.filter(|_| old.len() == page.len());
    let sessions: Vec<_> = old.iter().map(|entry| entry.session.clone()).collect();
    let documents = if sessions.is_empty() { Default::default() } else { ports.cache.documents(&sessions).await? };
    let mut removable = Vec::new();
    let mut kept = 0;
    for entry in &old {
        let Some(document) = documents.get(&entry.session) else { continue };
        let cached: Option<CachedVerdict> = serde_json::from_str(document).ok();
        let archived = ports.archive.find(&entry.session).await?;
        if cached.is_some() && cached == archived {
            removable.push(entry.clone());
        } else {
            kept += 1;
        }
    }
    let cleanup = Cleanup {
        plan: (!removable.is_empty()).then(|| Plan { at: now, entries: removable.clone() }),
        next_pass: if next.is_some() { before.next_pass } else { Some(now.plus(BETWEEN_PASSES)) },
        place: next.unwrap_or_default(),
    };
    Ok(Listing { removable, kept, cleanup })
}

/// Removes the planned entries, once the list is in the log.
async fn carry_out(ports: &Ports<'_>, settings: Settings, current: Current) -> Result<Current, CommitError> {
    let Some(plan) = current.value.memory.cleanup.plan.clone() else { return Ok(current) };
    if current.value.has_outbox() {
        tracing::warn!("the list of what is to be removed is not in the log yet: nothing is removed");
        return Ok(current);
    }
    tracing::info!(line = cleanup_line(&plan.entries, settings, plan.at), "cleanup begins");
    let (mut gone, mut renewed) = (Vec::new(), 0);
    for entry in &plan.entries {
        match ports.cache.remove_listed(entry).await {
            Ok(Removal::Gone) => gone.push(entry.clone()),
            Ok(Removal::Renewed) => renewed += 1,
            // The plan stays saved: the next check goes through it again.
            Err(error) => return Ok(log_storage_error(&error, current)),
        }
    }
    let finished = |state: &mut CacheHealthState, now| {
        if state.cleanup.plan.as_ref() != Some(&plan) {
            return Noted::nothing(());
        }
        state.cleanup.plan = None;
        let facts = json!({
            "line": cleanup_line(&gone, settings, now),
            "removed": gone.len(),
            "renewed": renewed,
            "bytes": bytes(&gone),
            "planned_at": plan.at.to_iso(),
        });
        Noted::save(()).recording("cache_cleanup", facts)
    };
    Ok(ports.journal.commit(current, finished).await?.settle().await.0)
}

/// Only logs the error: the store has alerted operators already, and the next check continues the cleanup.
fn log_storage_error(error: &StorageError, current: Current) -> Current {
    tracing::error!(error = %runtime::telemetry::chain(error), "cleanup waits for the next check");
    current
}

fn bytes(entries: &[ListedEntry]) -> u64 {
    entries.iter().map(|entry| entry.bytes).sum()
}

/// `[CLEANUP] <time> removed <N> entries older than <X> days. Freed <Y> MB.` (Cache Health, output 4)
#[allow(clippy::cast_precision_loss)]
fn cleanup_line(entries: &[ListedEntry], settings: Settings, at: Timestamp) -> String {
    let megabytes = bytes(entries) as f64 / MEBIBYTE;
    let (count, days) = (entries.len(), settings.staleness_days);
    format!("[CLEANUP] {at} removed {count} entries older than {days} days. Freed {megabytes:.3} MB.")
}

/// The manifest that is written before the first entry is removed (Cache Health, invariant 8).
fn manifest(listing: &Listing, settings: Settings, cutoff: Timestamp, now: Timestamp) -> Value {
    let entry = |entry: &ListedEntry| json!({ "session_id": entry.session, "stored_at": entry.stored_at.to_iso(), "bytes": entry.bytes });
    json!({
        "line": cleanup_line(&listing.removable, settings, now),
        "stored_before": cutoff.to_iso(),
        "kept_for_want_of_an_archived_copy": listing.kept,
        "entries": listing.removable.iter().map(entry).collect::<Vec<_>>(),
    })
}
