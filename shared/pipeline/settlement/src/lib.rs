//! Settles purchases in USDC: at once when the answer is ready, and later by the schedule if the outcome was unclear.

mod reminders;
mod schedule;
mod settle;

pub use schedule::run;
pub use settle::{owed, settle};

use audit::TollJournal;
use domain::ports::{Facilitator, Node};

/// The ports that a settlement uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: TollJournal<'a>,
    pub facilitator: &'a dyn Facilitator,
    pub node: &'a dyn Node,
}
