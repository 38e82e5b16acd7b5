//! The ports of the function.

use audit::{FunctionJournal, Journal};
use domain::ports::{AlertSummaries, Ledger, Meter, Notes, OpenSales, Payments, Queue, SaleData, StoredMails};

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub open: &'a dyn OpenSales,
    pub payments: &'a dyn Payments,
    pub ledger: &'a dyn Ledger,
    pub orders: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub mails: &'a dyn Queue,
    pub retries: &'a dyn Queue,
    pub data: &'a dyn SaleData,
    pub stored_mails: &'a dyn StoredMails,
    pub meter: &'a dyn Meter,
    pub summaries: &'a dyn AlertSummaries,
    /// Purchases in USDC, also if none are sold any more.
    pub settlements: settlement::Ports<'a>,
    /// The note of the reminder of those purchases.
    pub notes: &'a dyn Notes,
    /// Memories of the chat whose erasure was interrupted.
    pub memories: forgetting::Ports<'a>,
    /// The notebooks whose next step no schedule starts.
    pub notebooks: &'a [FunctionJournal<'a>],
    /// Letters to members of the Bridge.
    pub letters: bridge::Letters<'a>,
}
