//! The audit-digest function: every hour a signed digest of what came into the log since the last one.
//!
//! The log's bucket reports new records through a queue, so that the work grows with what is new and never with
//! the log. A digest is stored, then signed, then noted in the table, and only then are the bucket's messages removed:
//! after a crash the next run first ends what is stored, and then makes its own.

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
