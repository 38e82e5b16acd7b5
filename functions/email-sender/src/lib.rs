//! The e-mail function: delivers a sale's mails, each at most once; what fails goes to email-retry.

mod function;

pub use function::{Function, send};
