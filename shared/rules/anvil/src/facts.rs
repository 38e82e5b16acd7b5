//! What was observed beside the request: facts weigh more than what a text claims.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Whether a service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Facts {
    /// Services by name.
    #[serde(default)]
    pub services: BTreeMap<String, ServiceState>,
}
