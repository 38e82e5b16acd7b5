//! The checkout function: takes a tier and a question, and returns a Stripe session to pay in.

mod gate;
mod purchase;
mod record;

pub use purchase::{Ports, codes, handle};
pub use record::{Records, STREAMS};
