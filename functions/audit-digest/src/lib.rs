//! The audit-digest function: every hour it signs a digest of the objects that came into the log since the last digest.
//!
//! The log's bucket reports new records through a queue, so that a run costs as much as there are new records, however
//! long the log is. A run stores a digest, signs it, saves it in the table as the head, and only then deletes the
//! bucket's messages. After a crash the next run first completes the stored digest and then makes its own.

mod batch;
mod handle;
mod notices;
mod recheck;
mod run;
mod terms;

pub use handle::handle;
pub use terms::Ports;

/// The name of the function's journal.
pub use audit_verify::signed_digest::FUNCTION;
