//! What a verification of the log found.

use crate::{digests::DigestReport, finding::Finding};
use serde::Serialize;

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Streams that were read.
    pub streams: u64,
    /// Objects that were read.
    pub records: u64,
    /// Streams that the table knows nothing of, so that their ends were compared with nothing. Sales of smoke tests
    /// expire; any other such stream is a finding.
    pub without_sale: u64,
    /// The first bad record of each bad stream, and the first bad digest: printed by the caller that knows which are known.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// The digests, where there are any.
    pub digests: Option<DigestReport>,
    /// The keys of all objects that are in no digest and should be, for the next digest.
    #[serde(skip)]
    pub undigested: Vec<String>,
}

impl Verification {
    /// Notes what came of a stream of so many objects.
    pub fn note(&mut self, objects: usize, is_known: bool, finding: Option<Finding>) {
        self.streams += 1;
        self.records += objects as u64;
        self.without_sale += u64::from(!is_known);
        self.findings.extend(finding);
    }

    /// Takes in what was found elsewhere in the log.
    pub fn merge(&mut self, other: Self) {
        self.streams += other.streams;
        self.records += other.records;
        self.without_sale += other.without_sale;
        self.findings.extend(other.findings);
        self.undigested.extend(other.undigested);
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}
