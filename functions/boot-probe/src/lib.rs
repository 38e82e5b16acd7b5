//! The boot-probe function finds a misconfiguration before a customer does (Cache Alert, failure mode 7; Gemini
//! Timeout, GAP-02D).
//!
//! A few minutes after a deployment, and every few minutes from then on, it checks that each store can be reached, each
//! secret is filled in, each vendor accepts our key, and the toll's facilitator and node answer. It changes nothing,
//! costs nothing, and alerts once when a check starts or stops failing.

mod checks;
mod circuits;
mod handle;
mod probe;
mod targets;

pub use handle::{DependencyProbe, Ports, RefreshToken, handle};
pub use probe::{Checks, Findings};
pub use targets::Targets;
