//! Whether the accounts that a stack depends on are set up as it needs. `oracle doctor` prints what is wrong, and what to
//! do about it; boot-probe raises the vendors' part as alerts.

pub mod account;
mod mailbox;
mod stripe_account;
mod vendors;

pub use vendors::{Vendors, examine};

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub subject: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: String,
    /// Whether it could not be looked at now. Probes of the vendor itself tell that it is down.
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
