//! The commands about a stack as a whole: its state, its settings, its queues, its secrets and its smoke test.

pub(crate) mod doctor;
mod measurements;
pub(crate) mod queues;
mod secret_documents;
pub(crate) mod secrets;
pub(crate) mod smoke;
pub(crate) mod status;
