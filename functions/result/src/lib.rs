//! The result function: serves the pages, and the verdict to the holder of a session id.
//!
//! It never calls the model: a verdict that does not exist yet is ordered, and the page asks again.

mod agents;
mod followup;
mod handle;
mod health;
mod machine_documents;
pub mod pages;
mod ports;
mod recent_answers;
mod replies;
mod retrieve;

pub use handle::handle;
pub use machine_documents::OPENAPI;
pub use ports::Ports;
pub use recent_answers::RecentAnswers;
