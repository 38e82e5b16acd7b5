//! `oracle memory`: the memory behind chat and follow-ups.

pub(crate) mod command;
mod content;
mod customer;
pub(crate) mod erase;
