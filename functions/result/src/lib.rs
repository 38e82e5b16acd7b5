//! The result function: the pages, and the verdict for the holder of a session id.
//!
//! It never calls the model: a verdict that is not there yet is ordered, and the page asks again.

mod agents;
mod asked;
mod followup;
mod handle;
mod health;
mod machines;
pub mod pages;
mod retrieve;

pub use asked::Asked;
pub use handle::{Ports, handle};
pub use machines::OPENAPI;
