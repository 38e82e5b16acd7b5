//! What one run works with: its ports and limits, and how it can end.

use audit::{CommitError, FunctionJournal};
use audit_verify::{recheck::Recheck, signed_digest::Head};
use domain::{
    Alert, Timestamp,
    alert::Severity,
    ports::{AuditObjects, DigestSigner, DigestStore, LogNotices, Meter, StorageError},
};
use serde::{Deserialize, Serialize};

/// Objects that are read, and messages that are removed, at once.
pub(crate) const AT_ONCE: usize = 32;

/// How much one run does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Objects that one digest names; more go into the next one.
    pub entries: usize,
    /// Digests that one run makes; what is left waits for the next run.
    pub documents: usize,
    /// The length of the longest object that is read.
    pub bytes: u64,
    /// Objects of earlier digests that one run compares with them again.
    pub rechecked: usize,
}

/// What the function needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: FunctionJournal<'a>,
    /// The log's bucket.
    pub bucket: &'a str,
    pub log: &'a dyn AuditObjects,
    pub notices: &'a dyn LogNotices,
    pub digests: &'a dyn DigestStore,
    pub signer: &'a dyn DigestSigner,
    pub meter: &'a dyn Meter,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Digests that were ended.
    pub documents: u64,
    /// Objects that they name.
    pub entries: u64,
    /// Messages that are not S3 notifications. They end in the dead-letter queue.
    pub unreadable: u64,
    /// Objects that were left out because they are too long or could not be read: so do their messages.
    pub left: u64,
    /// Whether another run is at work, which goes on.
    pub overtaken: bool,
}

/// Why a run ended early. What it stored is ended by the next one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// A store, the queue or the key service failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The head could not be noted.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The place of the next digest is taken by something that this function did not put there.
    #[error("digest {0} is stored and is not ours to sign")]
    Foreign(u64),
}

/// What the function remembers, away from the log and from the digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// The last digest.
    pub head: Option<Head>,
    /// The day (UTC) of the last alert that announced a head.
    pub announced: Option<String>,
    /// How far the hourly comparison of the log with its digests has come.
    #[serde(default)]
    pub recheck: Recheck,
}

/// An alert with its own subject, so that deduplication never drops one in favour of another.
pub(crate) fn alert(severity: Severity, now: Timestamp, subject: &str, detail: &str) -> Alert {
    Alert::about("ORACLE-AUDIT", severity, now, "DIGEST", subject, detail)
}
