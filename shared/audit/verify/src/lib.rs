//! Reads the audit log: verifies its chains and signed digests, and aggregates its records.
//!
//! Only the log's readers use this crate: `oracle` (with `operations`), `audit-digest`, which writes the digests, and
//! the testkit, whose worlds' logs are verified. Code that writes records uses `audit` alone.

pub mod aggregate;
pub mod copies;
pub mod digests;
pub mod finding;
pub mod functions;
pub mod histogram;
mod link;
pub mod period;
pub mod recheck;
pub mod report;
pub mod signed_digest;
mod stored_head;
pub mod stream;
mod toll;
mod verification;

pub use aggregate::Aggregate;
pub use period::Period;
pub use verification::Verification;

#[cfg(test)]
mod aggregate_tests;
#[cfg(test)]
mod digests_tests;
#[cfg(test)]
mod functions_tests;
#[cfg(test)]
mod stream_tests;
