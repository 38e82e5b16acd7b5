//! The state that the function saves from one check to the next.

use domain::{
    SessionId, Timestamp,
    alert::Severity,
    cache_entries::{CacheDelta, ListedEntry},
    cache_health::HealthRecord,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The saved state. It is written together with the records of the check that changed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CacheHealthState {
    /// The last check.
    pub last: Option<HealthRecord>,
    /// Consecutive failed probes of the service.
    pub service_failures: u32,
    /// Consecutive failed checks of the cache.
    pub cache_failures: u32,
    /// Unresolved problems that operators have been alerted to.
    #[serde(rename = "told")]
    pub alerted: BTreeSet<Problem>,
    /// Entries that are not verdicts. They are read again at each check, so that none is forgotten when the next sample
    /// misses it.
    pub corrupt: BTreeSet<SessionId>,
    /// Whether more corrupt entries were found than are remembered.
    pub more_corrupt: bool,
    /// The progress of the cleanup.
    pub cleanup: Cleanup,
    /// The progress of the Sunday scan.
    pub scan: FullScan,
    /// The progress of the second look at verdicts that were delivered under earlier block lists.
    pub second_look: SecondLook,
}

/// A problem that operators are alerted to once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Problem {
    /// The service does not answer.
    Service,
    /// The cache cannot be read.
    Cache,
    /// More entries than the warn threshold.
    Many,
    /// More entries than the critical threshold.
    TooMany,
    /// More bytes than the budget.
    Bytes,
    /// Entries that are not verdicts.
    Corrupt,
    /// More such entries than are remembered.
    MoreCorrupt,
}

impl Problem {
    pub(crate) const fn subject(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Cache => "cache",
            Self::Many | Self::TooMany => "entries",
            Self::Bytes => "bytes",
            Self::Corrupt => "corrupt",
            Self::MoreCorrupt => "more-corrupt",
        }
    }

    /// The severity of its alert (Cache Health, verification criteria 2, 4 and 7; Cache Alert, severity levels).
    pub(crate) const fn severity(self) -> Severity {
        match self {
            Self::Many => Severity::Warn,
            Self::TooMany => Severity::Error,
            Self::Service | Self::Cache | Self::Bytes | Self::Corrupt | Self::MoreCorrupt => Severity::Critical,
        }
    }
}

/// The progress of the cleanup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Cleanup {
    /// Entries whose removal is recorded and not yet completed.
    pub plan: Option<Plan>,
    /// Where the current pass continues.
    pub place: String,
    /// When the next pass begins, unless the byte budget is exceeded earlier.
    pub next_pass: Option<Timestamp>,
}

/// Entries to remove. They are recorded before the first of them is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// When it was made.
    pub at: Timestamp,
    /// The entries.
    pub entries: Vec<ListedEntry>,
}

/// The progress of the scan of all entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FullScan {
    /// The Sunday 02:00 UTC whose scan was done last or is in progress.
    pub due: Option<Timestamp>,
    /// A scan that is not finished.
    pub slice: Option<Slice>,
    /// A recount that is not finished.
    pub recount: Option<Recount>,
    /// A correction of the counters that is decided and not yet recorded as applied.
    pub correction: Option<Correction>,
}

/// The progress of checking the archive with the newest block list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SecondLook {
    /// The version of the block list.
    pub list: String,
    /// The last verdict that was checked or passed over.
    pub after: Option<SessionId>,
    /// Consecutive checks that failed at the verdict after it.
    #[serde(skip_serializing_if = "domain::serde_skip::is_zero")]
    pub failures: u64,
    /// Verdicts that could not be read and were passed over.
    #[serde(skip_serializing_if = "domain::serde_skip::is_zero")]
    pub unread: u64,
    /// Verdicts checked.
    pub looked: u64,
    /// Verdicts that an operator has to check.
    pub found: u64,
    /// Verdicts with terms that the newest list replaces.
    pub replaced: u64,
    /// Whether the whole archive has been checked.
    pub finished: bool,
}

impl SecondLook {
    /// Starts at the beginning of the archive, with this list.
    pub(crate) fn with(list: &str) -> Self {
        Self { list: list.to_owned(), ..Self::default() }
    }
}

/// A scan that is not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slice {
    /// Where the scan continues.
    pub place: String,
    /// Entries read so far.
    pub entries: u64,
    /// Of these, entries that are not verdicts.
    pub corrupt: u64,
}

/// A recount that is not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recount {
    /// The number of attempts.
    pub tries: u32,
    /// The drift that the last count found. It counts as real when the next count finds the same.
    pub suspected: Option<CacheDelta>,
}

/// A correction of the counters. It is saved before it is applied, so that after a crash the next check applies the
/// same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Correction {
    /// The drift of the counters.
    pub drift: CacheDelta,
    /// The number of counts it took.
    pub tries: u32,
    /// The store applies a correction with the same token only once.
    pub token: String,
    /// When it was decided.
    pub at: Timestamp,
}
