//! The checkout function: a tier and a question in, a Stripe session to pay out.

mod gate;
mod purchase;
mod record;

pub use purchase::{MAX_BODY_BYTES, Ports, handle, unknown_codes};
pub use record::{Records, STREAMS};
