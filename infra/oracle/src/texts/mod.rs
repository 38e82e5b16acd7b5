//! The commands that check texts without a network: the content filter and the crosscheck.

pub(crate) mod crosscheck;
pub(crate) mod filter;
