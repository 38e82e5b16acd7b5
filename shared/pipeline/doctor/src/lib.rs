//! Checks that the accounts of a stack are set up as the stack needs. `oracle doctor` prints the findings and their
//! remedies; boot-probe raises those of the vendors and of the toll as alerts.

pub mod account;
mod mailbox;
mod portal;
mod stripe_account;
mod stripe_keys;
mod toll;
mod vendors;

pub use toll::{TOLL_SUBJECTS, needs_toll, toll};
pub use vendors::{Vendors, examine};

/// The note in which boot-probe keeps the names of the checks that failed in its last run: a JSON array of texts.
/// Without the note, none has ever failed.
pub const FAILED_CHECKS_NOTE: &str = "boot-probe";

/// A setting that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The setting or account.
    pub subject: &'static str,
    /// The problem.
    pub problem: String,
    /// The action that solves it.
    pub remedy: String,
    /// Whether it could not be checked now. Probes of the vendor itself, or the toll's alarm, report that it is down.
    pub is_unknown: bool,
}

impl Finding {
    pub(crate) fn new(subject: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject, problem: problem.into(), remedy: remedy.into(), is_unknown: false }
    }

    /// A setting that could not be read.
    #[must_use]
    pub fn unknown(subject: &'static str, error: &dyn std::error::Error, remedy: &str) -> Self {
        Self { is_unknown: true, ..Self::new(subject, format!("could not be looked at: {error}"), remedy) }
    }
}
