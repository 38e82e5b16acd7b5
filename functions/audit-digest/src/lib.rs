//! The audit-digest function: every hour it signs a digest of the objects that came into the log since the last digest.
//!
//! The log's bucket reports new records through a queue, so that a run costs as much as there are new records, however
//! long the log is. A run stores a digest, signs it, saves it in the table as the head, and only then deletes the
//! bucket's messages. After a crash the next run first completes the stored digest and then makes its own.

mod alert;
mod batch;
mod bucket_messages;
mod handle;
mod limits;
mod ports;
mod recheck;
mod run;
mod state;

pub use handle::handle;
pub use ports::Ports;

/// The name of the function's journal.
pub use audit_verify::signed_digest::FUNCTION;
