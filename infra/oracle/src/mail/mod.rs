//! The commands about mails: those that were sent, those that failed, and those that customers wrote.

pub(crate) mod command;
mod correspondence;
pub(crate) mod deadletters;
pub(crate) mod inquiries;
pub(crate) mod replies;
