//! The commands about a stack as a whole: its state, what waits for a human, its settings, its queues, its secrets and
//! its smoke test.

pub(crate) mod doctor;
pub(crate) mod list;
mod measurements;
pub(crate) mod queues;
mod secret_documents;
pub(crate) mod secrets;
pub(crate) mod smoke;
pub(crate) mod status;
