//! The commands about sales: they find and show them, decide about them, and correct them.

mod bulk;
pub(crate) mod cache;
pub(crate) mod erase;
pub(crate) mod find;
pub(crate) mod findings;
pub(crate) mod named_sale;
pub(crate) mod quarantine;
pub(crate) mod reattempt;
pub(crate) mod refunds;
pub(crate) mod sale_name;
pub(crate) mod show;
pub(crate) mod signed_sale;
pub(crate) mod waiting;
