//! The verdict function: paid orders in, cached verdicts and ordered mails out.
//!
//! claim → confirm the payment → model → crosscheck → gate 1 → cache with its audit records → archive → mail.

mod fulfil;
mod function;
mod gauge;
mod generate;
mod guard;

pub use fulfil::{FulfilError, Order, Ports, Settings, fulfil};
pub use function::Function;
pub use generate::{Generated, NoVerdict, Policy, Ports as GeneratePorts, generate};
