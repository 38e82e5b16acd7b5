//! What lies in the pretended inbox.

use domain::inbox::{Arrival, Incoming};

/// An unread message in the pretended inbox.
#[derive(Clone)]
pub struct Unread {
    /// How a list names it.
    pub arrival: Arrival,
    /// What it says.
    pub message: Incoming,
    /// Its text, without what it quotes.
    pub text: String,
}
