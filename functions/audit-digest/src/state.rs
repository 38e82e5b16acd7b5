//! The state that the function saves from one run to the next.

use audit_verify::{recheck::Recheck, signed_digest::Head};
use serde::{Deserialize, Serialize};

/// The function's saved state, kept apart from the log and the digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DigestState {
    /// The last digest.
    pub head: Option<Head>,
    /// The day (UTC) of the last alert that announced a head.
    pub announced: Option<String>,
    /// The progress of the hourly comparison of the log with its digests.
    #[serde(default)]
    pub recheck: Recheck,
}
