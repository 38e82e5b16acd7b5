//! The ports of the function.

use audit::FunctionJournal;
use domain::ports::{AuditObjects, DigestSigner, DigestStore, LogNotices, Meter};

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
