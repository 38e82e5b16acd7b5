//! Asking the model for a verdict: attempts, circuit breakers and crosschecks, for sales and for the toll.

mod asking;
mod gauge;
mod generate;
mod guard;

pub use asking::{Policy, Ports};
pub use gauge::Gauged;
pub use generate::{Failure, Generated, NoVerdict, generate};
pub use guard::all_closed_until;
