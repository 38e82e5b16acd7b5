//! The part of a record that chains it to the one before.

use serde::Deserialize;

/// The fields of a line that hold the chain together.
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

/// The hash that a record names as that of the one before it.
pub(crate) fn previous_of(line: &[u8]) -> Option<String> {
    Some(serde_json::from_slice::<Link>(line).ok()?.prev)
}
