//! The boot-probe function: what is misconfigured is known before the first customer meets it (Cache Alert, failure
//! mode 7; Gemini Timeout, GAP-02D).
//!
//! A few minutes after a deployment and every few minutes from then on it looks whether each store can be reached,
//! each secret is filled in, and each vendor accepts our key. It changes nothing, costs nobody anything, and tells
//! once of each thing that stops or starts to work.

mod checks;
mod handle;
mod probe;
mod targets;

pub use handle::{Ports, Probed, handle};
pub use probe::Findings;
pub use targets::Targets;
