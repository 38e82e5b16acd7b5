//! The result of verifying the log.

use crate::{digests::DigestReport, finding::Finding};
use serde::Serialize;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Streams that were read.
    pub streams: u64,
    /// Objects that were read.
    pub records: u64,
    /// Streams without data in the table, so that their ends were not compared. Smoke tests' sales expire; any other
    /// such stream is a finding.
    pub without_sale: u64,
    /// The first bad record of each bad stream, and the first bad digest. The caller prints them, because it knows
    /// which ones were reported before.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// The result for the digests, if there are any.
    pub digests: Option<DigestReport>,
    /// The keys of all objects that are in no digest and should be; the next digest contains them.
    #[serde(skip)]
    pub undigested: Vec<String>,
}

impl Verification {
    /// Adds the result for a stream of this many objects.
    pub fn add_stream(&mut self, objects: usize, is_known: bool, finding: Option<Finding>) {
        self.streams += 1;
        self.records += objects as u64;
        self.without_sale += u64::from(!is_known);
        self.findings.extend(finding);
    }

    /// Adds the results for another part of the log.
    pub fn merge(&mut self, other: Self) {
        self.streams += other.streams;
        self.records += other.records;
        self.without_sale += other.without_sale;
        self.findings.extend(other.findings);
        self.undigested.extend(other.undigested);
    }

    /// Whether there are no findings.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}
