//! `oracle authority`: what may be said about a question at all, and the decisions of people about it.

pub(crate) mod command;
mod escalations;
mod human_lock;
