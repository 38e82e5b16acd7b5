//! The messages in the simulated inbox.

use domain::inbox::{Arrival, Incoming};

/// An unread message in the simulated inbox.
#[derive(Clone)]
pub struct Unread {
    /// Its entry in a list.
    pub arrival: Arrival,
    /// The message.
    pub message: Incoming,
    /// Its new text, without quotations.
    pub text: String,
}
