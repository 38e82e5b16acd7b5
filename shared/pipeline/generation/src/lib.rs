//! Asking the model for a verdict: attempts, circuit breakers and crosschecks, for sales and for the toll; and for a reply of the
//! chat.

mod asking;
mod gauge;
mod generate;
mod guard;
mod reply;

pub use asking::{Policy, Ports};
pub use gauge::Gauged;
pub use generate::{Failure, Generated, NoVerdict, generate};
pub use guard::all_closed_until;
pub use reply::{NotReplied, reply};
