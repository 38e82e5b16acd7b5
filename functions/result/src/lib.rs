//! The result function: the pages, and the verdict of whoever holds a session id.
//!
//! It never calls the model: a verdict that is not there yet is ordered, and the page asks again.

mod handle;
mod health;
pub mod pages;
mod retrieve;

pub use handle::{Ports, handle};
