//! One check: probes the service and reads the cache. It changes nothing (Cache Health, invariant 3).

use crate::{Ports, Settings, sample, state::CacheHealthState};
use domain::{
    SessionId,
    cache_health::{CacheMeasures, ServiceProbe},
    ports::StorageError,
};
use std::collections::BTreeSet;

/// The findings of a check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckResult {
    pub(crate) service: ServiceProbe,
    /// `None` when the cache could not be read.
    pub(crate) cache: Option<CacheReading>,
}

/// The findings about the cache.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CacheReading {
    pub(crate) measures: CacheMeasures,
    /// Entries that were read whole and are not verdicts.
    pub(crate) corrupt: BTreeSet<SessionId>,
    /// Entries that were corrupt at an earlier check and now are valid or no longer exist.
    pub(crate) mended: BTreeSet<SessionId>,
}

pub(crate) async fn check(ports: &Ports<'_>, settings: Settings, state: &CacheHealthState) -> CheckResult {
    let service = ports.service.probe().await;
    let cache = match read_cache(ports, settings, &state.corrupt).await {
        Ok(cache) => Some(cache),
        Err(error) => {
            tracing::error!(error = %runtime::telemetry::chain(&error), "the cache could not be read");
            None
        }
    };
    CheckResult { service, cache }
}

async fn read_cache(
    ports: &Ports<'_>,
    settings: Settings,
    known: &BTreeSet<SessionId>,
) -> Result<CacheReading, StorageError> {
    let totals = ports.cache.totals().await?;
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let oldest = ports.cache.listed("", 1).await?.entries.pop();
    let newest = ports.cache.newest().await?;
    let mut sessions = match (&oldest, &newest) {
        (Some(oldest), Some(newest)) => {
            // The index has at least these two entries, even if a drifted counter says fewer.
            let entries = count(totals.entries).max(if oldest == newest { 1 } else { 2 });
            let size = sample::size(entries, settings.count_warn);
            let span = (oldest.stored_at, newest.stored_at);
            sample::draw(ports.cache, ports.randomness, size, entries, span).await?
        }
        _ => BTreeSet::new(),
    };
    let sampled = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
    sessions.extend(known.iter().cloned());
    let wanted: Vec<SessionId> = sessions.into_iter().collect();
    let documents = if wanted.is_empty() { Default::default() } else { ports.cache.documents(&wanted).await? };
    let corrupt = documents.iter().filter(|(_, document)| !sample::is_entry(document));
    let corrupt: BTreeSet<SessionId> = corrupt.map(|(session, _)| session.clone()).collect();
    Ok(CacheReading {
        measures: CacheMeasures {
            entries: count(totals.entries),
            bytes: count(totals.bytes),
            oldest: oldest.map(|entry| entry.stored_at),
            newest: newest.map(|entry| entry.stored_at),
            sampled,
        },
        mended: known.difference(&corrupt).cloned().collect(),
        corrupt,
    })
}
