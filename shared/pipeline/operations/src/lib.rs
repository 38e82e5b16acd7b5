//! Operators' decisions about sales, as plain functions over ports, for the command line and for a simulation.
//!
//! Every decision is safe to repeat: the state is saved with its audit record first, and the message is sent after
//! that. Repeating a decision whose message was lost only sends the message again. The claims of the functions that
//! receive it prevent double work and double mails.

pub mod authority_gate;
pub mod cache;
pub mod dead_letters;
pub mod decision_record;
pub mod erase;
pub mod findings;
pub mod inquiries;
pub mod list;
mod not_done;
pub mod quarantine;
pub mod reattempt;
pub mod redrive;
pub mod reference;
pub mod refunds;
pub mod replies;
pub mod send_again;
pub mod settle;
pub mod show;

pub use domain::{Operator, recorded_words::InvalidWords};
pub use not_done::{Done, NotDone, PartFailed, Refusals};

#[cfg(test)]
mod testing;
