//! The model that phrases the gate's answers: its smoke tests and its training data.

pub mod corpus;
mod prose;
pub mod recorded;
pub mod scorer;
pub mod suite;
