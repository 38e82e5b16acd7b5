//! The inbox-watch function: every two minutes it looks for new messages in the oracle's mailbox (Inbox Watch).
//!
//! Operators hear of each; a sender gets one acknowledgement a day; a reply to one of a sale's mails is put on
//! that sale, where an operator finds it. Nothing in the inbox is changed, and nothing is sent twice.

mod acknowledge;
mod answer;
mod error;
mod failed;
mod followup;
mod handle;
mod link;
mod memory;
mod trouble;
mod watch;

pub use handle::{Ports, handle};
pub use watch::{FUNCTION, Settings};

#[cfg(test)]
mod tests;
