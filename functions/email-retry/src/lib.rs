//! Retries mails (Email Retry): each mail has one message, which is hidden in its queue until the next attempt is due.

pub use delivery::{Ports, Settings, retry as handle};
