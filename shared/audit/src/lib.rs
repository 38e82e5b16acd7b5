//! The audit trail: the contents of records, their canonical bytes, and the hash chain (Audit Trail spec).
//!
//! A record is one JSON line and one immutable object. It contains the hash of the previous line of its stream, so an
//! edit, a removal or a reordering is detected. It never contains a question, a verdict's text or an address: only
//! hashes, and for addresses only keyed ones.

pub mod chain;
mod chat_journal;
mod escalation;
mod function_journal;
pub mod hash;
mod journal;
mod line;
pub mod record;
pub mod sale_events;
mod sale_journal;
mod stream;
mod stream_journal;
mod toll_journal;

pub use chat_journal::{
    BridgeJournal, ChatJournal, SubscriberJournal, take_evaluation_records, take_interrupted_records,
};
pub use domain::money::RefundStep;
pub use escalation::{escalated, report_unrecorded};
pub use function_journal::{FunctionJournal, Notebook, Noted};
pub use hash::{AuditKey, AuditKeys};
pub use journal::{Change, CommitError, Committed, Effects};
pub use record::{Body, ChatStatus, Record, Source, Status, TollSource, TollStatus};
pub use sale_events::Context;
pub use sale_journal::Journal;
pub use stream::Stream;
pub use stream_journal::StreamJournal;
pub use toll_journal::TollJournal;

#[cfg(test)]
mod function_journal_tests;
#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod sale_events_tests;
#[cfg(test)]
mod sale_journal_tests;
#[cfg(test)]
mod stream_journal_tests;
