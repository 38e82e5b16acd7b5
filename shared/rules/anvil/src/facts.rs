//! What was observed beside the request: facts weigh more than what a text claims.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether a service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    /// It answers.
    Alive,
    /// It does not.
    Dead,
    /// Neither is known, whatever else is said about it.
    #[serde(other)]
    Unknown,
}

/// Observations that come with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Services by name.
    #[serde(default)]
    pub services: BTreeMap<String, ServiceState>,
}

impl Facts {
    /// Whether nothing was observed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.services.is_empty()
    }
}
