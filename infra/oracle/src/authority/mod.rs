//! `oracle authority`: the authority gate's decision about a question, and people's decisions about declined ones.

pub(crate) mod command;
mod escalations;
mod human_lock;
