//! The result function: serves the pages, and the verdict to the holder of a session id.
//!
//! It never calls the model: a verdict that does not exist yet is ordered, and the page asks again.

mod agents;
mod asked;
mod followup;
mod handle;
mod health;
mod machines;
pub mod pages;
mod ports;
mod replies;
mod retrieve;

pub use asked::Asked;
pub use handle::handle;
pub use machines::OPENAPI;
pub use ports::Ports;
