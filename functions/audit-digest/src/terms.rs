//! The ports, limits, results and errors of one run.

use audit::FunctionJournal;
use audit_verify::{recheck::Recheck, signed_digest::Head};
use domain::{
    Alert, ErrorCode, StepError, Timestamp,
    alert::Severity,
    ports::{AuditObjects, DigestSigner, DigestStore, LogNotices, Meter},
};
use serde::{Deserialize, Serialize};

/// The number of objects read, or messages deleted, concurrently.
pub(crate) const AT_ONCE: usize = 32;

/// The number of unreadable objects that a digest may leave to a later one, and a comparison may leave out. With more,
/// the store itself is failing.
pub(crate) const UNREADABLE: usize = 32;

/// The limits of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The most objects in one digest; further ones go into the next digest.
    pub entries: usize,
    /// The most digests in one run; the rest waits for the next run.
    pub documents: usize,
    /// The length in bytes of the longest object that is read.
    pub bytes: u64,
    /// The number of already digested objects that one run compares again.
    pub rechecked: usize,
}

/// The ports that the function uses.
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

/// The counts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Digests that were completed.
    pub documents: u64,
    /// Objects in these digests.
    pub entries: u64,
    /// Messages that are not S3 notifications. They end in the dead-letter queue.
    pub unreadable: u64,
    /// Objects left out because they are too long or could not be read. Their messages also end in the dead-letter
    /// queue.
    pub left: u64,
    /// Whether another run stored a digest first; that run continues.
    pub overtaken: bool,
}

/// The error of a run that finds a document in the place of the next digest that this function did not store there.
pub(crate) fn foreign(sequence: u64) -> StepError {
    ErrorCode::Malformed.because(format!("digest {sequence} is stored and is not ours to sign"))
}

/// The function's saved state, kept apart from the log and the digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// The last digest.
    pub head: Option<Head>,
    /// The day (UTC) of the last alert that announced a head.
    pub announced: Option<String>,
    /// The progress of the hourly comparison of the log with its digests.
    #[serde(default)]
    pub recheck: Recheck,
}

/// An alert with its own subject, so that deduplication never drops one in favour of another.
pub(crate) fn alert(severity: Severity, now: Timestamp, subject: &str, detail: &str) -> Alert {
    Alert::about("ORACLE-AUDIT", severity, now, "DIGEST", subject, detail)
}
