//! The commands about answers sold for USDC: the purchases, and the texts that answers draw on.

pub(crate) mod command;
pub(crate) mod corpus;
mod corpus_files;
mod rows;
