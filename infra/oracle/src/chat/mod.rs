//! The commands about customers of the chat: their sessions, their subscriptions and their Bridges.

pub(crate) mod bridge;
pub(crate) mod bridge_report;
pub(crate) mod sessions;
pub(crate) mod subscriptions;
