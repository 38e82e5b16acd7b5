//! Asks the model for a verdict, with attempts, circuit breakers and crosschecks, for sales and for the toll; and asks
//! it for replies of the chat.

mod asking;
mod generate;
mod grammar;
mod guard;
mod reply;
mod settings;
mod tracked;

pub use asking::{Background, Policy, Ports, Question};
pub use generate::{Failure, Generated, NoVerdict};
pub use grammar::generate;
pub use guard::all_closed_until;
pub use reply::{NotReplied, reply};
pub use settings::breaker_policy;
pub use tracked::Tracked;
