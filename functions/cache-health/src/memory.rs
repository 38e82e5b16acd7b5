//! What the function remembers from one look to the next.

use domain::{
    SessionId, Timestamp,
    alert::Severity,
    cache_entries::{CacheDelta, ListedEntry},
    cache_health::HealthRecord,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The memory: it is saved with the records of the look that changed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// The last look.
    pub last: Option<HealthRecord>,
    /// Probes of the service that failed one after the other.
    pub service_failures: u32,
    /// Looks at the cache that failed one after the other.
    pub cache_failures: u32,
    /// Problems that operators were alerted to and that have not ended.
    #[serde(rename = "told")]
    pub alerted: BTreeSet<Problem>,
    /// Entries that are no verdicts: looked at again each time, so that none is forgotten because the next sample
    /// misses it.
    pub corrupt: BTreeSet<SessionId>,
    /// Whether more were met than are remembered.
    pub more_corrupt: bool,
    /// The cleanup.
    pub cleanup: Cleanup,
    /// The Sunday scan.
    pub scan: FullScan,
    /// The look at what was delivered under earlier block lists.
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
    /// Entries that are no verdicts.
    Corrupt,
    /// More of them than are remembered.
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

    /// How bad it is (Cache Health, verification criteria; Cache Alert, severity levels).
    pub(crate) const fn severity(self) -> Severity {
        match self {
            Self::Many => Severity::Warn,
            Self::TooMany => Severity::Error,
            Self::Service | Self::Cache | Self::Bytes | Self::Corrupt | Self::MoreCorrupt => Severity::Critical,
        }
    }
}

/// How far the cleanup is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Cleanup {
    /// Entries whose removal is on record and not finished.
    pub plan: Option<Plan>,
    /// Where the current pass goes on.
    pub place: String,
    /// When the next pass begins, unless the budget is passed before.
    pub next_pass: Option<Timestamp>,
}

/// Entries that are to be taken out: they are on record before the first of them is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// When it was made.
    pub at: Timestamp,
    /// The entries.
    pub entries: Vec<ListedEntry>,
}

/// How far the scan of all entries is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FullScan {
    /// The Sunday 02:00 UTC that was dealt with last, or is being.
    pub due: Option<Timestamp>,
    /// A scan that is not finished.
    pub slice: Option<Slice>,
    /// A recount that is not finished.
    pub recount: Option<Recount>,
    /// A correction of the counters that is decided and not on record as made.
    pub correction: Option<Correction>,
}

/// How far the archive was looked through with the newest block list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SecondLook {
    /// The version of the list.
    pub list: String,
    /// The last verdict that was looked at.
    pub after: Option<SessionId>,
    /// Verdicts looked at.
    pub looked: u64,
    /// Those of them that an operator has to look at.
    pub found: u64,
    /// Those with terms that are replaced now.
    pub replaced: u64,
    /// Whether the archive is through.
    pub finished: bool,
}

impl SecondLook {
    /// At the beginning, with this list.
    pub(crate) fn with(list: &str) -> Self {
        Self { list: list.to_owned(), ..Self::default() }
    }
}

/// A scan that is not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slice {
    /// Where it goes on.
    pub place: String,
    /// Entries read so far.
    pub entries: u64,
    /// Those of them that are no verdicts.
    pub corrupt: u64,
}

/// A recount that is not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recount {
    /// How often it was begun.
    pub tries: u32,
    /// By how much the counters were off the last time: believed when the next count says the same.
    pub suspected: Option<CacheDelta>,
}

/// A correction of the counters: saved before it is made, so that after a crash the next look
/// makes the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Correction {
    /// By how much the counters are off.
    pub drift: CacheDelta,
    /// How many counts it took.
    pub tries: u32,
    /// The store makes the correction of one token once.
    pub token: String,
    /// When it was decided.
    pub at: Timestamp,
}
