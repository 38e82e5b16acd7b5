//! The gate's memory: the overrides that may still apply, and the last verdicts.

use crate::entry::Entry;
use domain::Timestamp;
pub use domain::deployment::GATE as FUNCTION;
use serde::{Deserialize, Serialize};

/// The gate's saved state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
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
}

impl Override {
    /// Whether it allows this release to go live now.
    #[must_use]
    pub fn covers(&self, release: &str, now: Timestamp) -> bool {
        self.release == release && now < self.until
    }
}
