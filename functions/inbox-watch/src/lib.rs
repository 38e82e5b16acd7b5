//! The inbox-watch function: every two minutes it looks for new messages in the oracle's mailbox (Inbox Watch).
//!
//! It alerts operators to each message, sends a sender at most one acknowledgement a day, and records a reply to a
//! sale's mail on that sale, where an operator finds it, and so a report that the mail did not arrive. It posts a
//! member's reply to a mail about their Bridge in its thread. A message that may disclose self-harm is answered with
//! sources of help. It changes nothing in the inbox and sends nothing twice.

mod acknowledge;
mod alerts;
mod answer;
mod disclosure;
mod error;
mod failed_message;
mod followup;
mod handle;
mod link;
mod run;
mod state;
mod watch;

pub use handle::handle;
pub use watch::{FUNCTION, Ports, Settings};

#[cfg(test)]
mod tests;
