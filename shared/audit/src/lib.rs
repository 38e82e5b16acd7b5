//! The audit trail: what a record says, its canonical bytes, and the hash chain (Audit Trail spec).
//!
//! A record is one JSON line and one immutable object. It carries the hash of the line before it in its stream,
//! so an edit, a removal or a reordering shows. It never holds a question, a verdict's text or an address:
//! only hashes, and of addresses only keyed ones.

pub mod aggregate;
pub mod chain;
pub mod digest;
pub mod function_journal;
pub mod histogram;
pub mod journal;
pub mod record;
pub mod report;
pub mod signed_digest;
pub mod verify;
pub mod verify_digests;
mod verify_finding;
pub mod verify_functions;
mod verify_known;

pub use aggregate::Aggregate;
pub use digest::{AuditKey, AuditKeys};
pub use function_journal::{FunctionEvent, FunctionJournal, Notebook, Noted};
pub use journal::{Change, CommitError, Journal};
pub use record::{Body, Record, RefundStep, Source, Status};

#[cfg(test)]
mod aggregate_tests;
#[cfg(test)]
mod function_journal_tests;
#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod journal_tests;
#[cfg(test)]
mod verify_digests_tests;
#[cfg(test)]
mod verify_functions_tests;
#[cfg(test)]
mod verify_tests;
