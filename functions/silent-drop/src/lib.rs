//! The silent-drop function: paid sessions that name no usable tier or question (Silent Drop spec).
//!
//! It makes such a sale visible: to operators by an alert, to the log by a record, to the customer by a mail that
//! asks for what is missing. It never refunds; that is for a human (invariant 6).

mod announce;
mod handle;

pub use handle::{Ports, handle};
