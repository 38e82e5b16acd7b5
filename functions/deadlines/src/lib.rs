//! The deadlines function: every few minutes it handles sales with due work, which it finds by an index and never by a
//! scan.
//!
//! It restarts sales that a worker dropped, reminds operators of sales that wait for them, and refunds verdicts that
//! the content filter has held for a day, if that policy is switched on. It never refunds a silent drop (Silent Drop,
//! invariant 6). It settles purchases in USDC whose outcome is open, and reminds operators of those that wait for them.
//! It finishes erasures of the chat's memories, mails members of the Bridge about changes of their access, publishes
//! what accounts, Bridges and the notebooks of functions without a schedule could not publish, and removes expired
//! sign-in mails.

mod chase;
mod handle;
mod policy;
mod ports;
mod remind;
mod run;
mod settings;
mod sign_in_mails;
mod unpublished;

pub use handle::handle;
pub use ports::Ports;
pub use settings::Settings;

use run::run;
