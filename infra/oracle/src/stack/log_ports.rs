//! The ports of the readers of the audit log: its objects, the sales, the notes of the functions.

use std::sync::Arc;

use domain::ports::{
    AllSales, AllStreams, AuditObjects, Bridges, ChatAccounts, Notes, Purchases, SaleStore, Subscribers,
};

/// The log and the table.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) objects: Arc<dyn AuditObjects>,
    pub(crate) store: Arc<dyn SaleStore>,
    pub(crate) all: Arc<dyn AllSales>,
    pub(crate) streams: Arc<dyn AllStreams>,
    pub(crate) notes: Arc<dyn Notes>,
    pub(crate) purchases: Arc<dyn Purchases>,
    pub(crate) accounts: Arc<dyn ChatAccounts>,
    pub(crate) subscribers: Arc<dyn Subscribers>,
    pub(crate) bridges: Arc<dyn Bridges>,
}
