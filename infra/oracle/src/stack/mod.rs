//! A stack as commands reach it: its AWS account, its settings, its stores and its clients.

pub(crate) mod account;
mod caller;
mod deployed;
mod description;
pub(crate) mod error;
pub(crate) mod log_ports;
mod signed_call;
mod variables;

pub(crate) use deployed::{BridgeStores, Deployed};
