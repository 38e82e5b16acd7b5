//! The e-mail function: delivers a sale's mails, each at most once; email-retry retries those that fail.

pub use delivery::{Ports, Settings, send as handle};
