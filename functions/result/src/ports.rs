//! The ports that the function uses.

use crate::RecentAnswers;
use audit::Journal;
use domain::{
    EmailAddress,
    ports::{Meter, Notes, Payments, Quarantine, Queue, Submissions, UnknownIdCounter, VerdictArchive},
};

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub notes: &'a dyn Notes,
    pub archive: &'a dyn VerdictArchive,
    pub quarantine: &'a dyn Quarantine,
    pub payments: &'a dyn Payments,
    pub orders: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub meter: &'a dyn Meter,
    pub recent_answers: &'a RecentAnswers,
    pub unknown_ids: &'a dyn UnknownIdCounter,
    pub submissions: &'a dyn Submissions,
    /// The site's own address.
    pub site: &'a str,
    /// The network on which agents pay in USDC, in words; `None` if nothing is sold for USDC.
    pub sells_on: Option<&'a str>,
    /// The mailbox for reports of vulnerabilities.
    pub contact: &'a EmailAddress,
}
