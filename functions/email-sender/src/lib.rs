//! The e-mail function: delivers a sale's mails, each at most once; what fails goes to email-retry.

pub use delivery::{Ports, Settings, send as handle};
