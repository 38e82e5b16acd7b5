//! The part of a record that links it to the record before it.

use serde::Deserialize;

/// The fields of a line that form the chain.
#[derive(Deserialize)]
pub(crate) struct Link {
    pub(crate) session_id: Option<String>,
    pub(crate) function: Option<String>,
    #[serde(default)]
    pub(crate) smoke: bool,
    pub(crate) v: u8,
    pub(crate) stream: String,
    pub(crate) seq: u64,
    pub(crate) prev: String,
}

/// The hash of the previous record, as a record names it.
pub(crate) fn previous_of(line: &[u8]) -> Option<String> {
    Some(serde_json::from_slice::<Link>(line).ok()?.prev)
}
