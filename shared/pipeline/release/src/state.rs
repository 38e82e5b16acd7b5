//! The gate's state: the overrides that may still apply, and the last verdicts.

use crate::{build::Build, entry::Entry};
use domain::Timestamp;
pub use domain::deployment::GATE as FUNCTION;
use serde::{Deserialize, Serialize};

/// The gate's saved state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateState {
    /// Granted overrides that may still apply.
    pub overrides: Vec<Override>,
    /// The last verdicts, the oldest first.
    pub verdicts: Vec<Entry>,
}

/// A granted override.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The release that may go live.
    pub release: String,
    /// The first person.
    pub by: String,
    /// The second person.
    pub second: String,
    /// The reason.
    pub reason: String,
    /// When it expires.
    pub until: Timestamp,
    /// The deployment that it let through. It applies to no other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
}

impl Override {
    /// Whether it allows this build to go live now. A deployment may ask again: Lambda may deliver its question twice.
    #[must_use]
    pub fn covers(&self, build: &Build, now: Timestamp) -> bool {
        let is_free = self.used_by.is_none() || self.used_by == build.deployment;
        self.release == build.release && is_free && now < self.until
    }
}
