//! The ports that the function uses.

use audit::{FunctionJournal, Journal};
use domain::{
    SalesPeriod,
    ports::{Ledger, Meter, Queue, SubscriptionLedger},
};

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub notebook: FunctionJournal<'a>,
    pub ledger: &'a dyn Ledger,
    pub subscriptions: &'a dyn SubscriptionLedger,
    pub orders: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub payments: &'a dyn Queue,
    pub meter: &'a dyn Meter,
    pub sold_here: SalesPeriod,
}
