//! The retry of mails (Email Retry): one message a mail, hidden in its queue until the next attempt is due.

mod function;

pub use function::{Function, Wait, wait};
