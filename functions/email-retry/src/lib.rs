//! The retry of mails (Email Retry): one message a mail, hidden in its queue until the next attempt is due.

pub use delivery::{Ports, Settings, retry as handle};
