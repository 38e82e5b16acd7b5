//! The silent-drop function: handles paid sessions without a usable tier or question (Silent Drop spec).
//!
//! It alerts operators, records the drop in the log, and orders a mail that asks the customer for what is missing. It
//! never refunds; only a human does (Silent Drop, invariant 6).

mod announce;
mod handle;

pub use announce::Ports;
pub use handle::handle;
