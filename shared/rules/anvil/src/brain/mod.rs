//! The model that is to speak as the gate does: how its answers are tried, and what it is trained with.

pub mod corpus;
mod prose;
pub mod recorded;
pub mod scorer;
pub mod suite;
