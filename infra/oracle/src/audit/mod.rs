//! `oracle audit`: reads, verifies and reports the audit log and its signed digests.

pub(crate) mod command;
mod copied_log;
mod digest_reader;
mod digests;
pub(crate) mod known_findings;
mod local_log;
pub(crate) mod log_reader;
mod public_key;
pub(crate) mod report;
pub(crate) mod report_page;
mod trust;
