//! Exports a log as one document for the customer; importing the document gives the same log.

use crate::{
    event::{Event, EventError},
    handle::Handle,
    log::{AppendError, EventLog, Seal, Unsealed},
};
use lens::{
    Digest, Domain,
    canonical::{self, CanonicalError, Value},
};
use serde::{Deserialize, Serialize};

/// The version of this format.
const SCHEMA: &str = "memory-export/1";

/// A log with its events in plain text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    schema: String,
    campaign_id: Handle,
    state_hash: Digest,
    events: Vec<Value>,
}

/// The reason why a document is not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The document is not canonical JSON, or its hash does not follow it.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The document is not an export of this version.
    #[error("not an export of schema {SCHEMA}: {0}")]
    Schema(String),
    /// One of its events is unknown, or may not follow the events before it.
    #[error("event {number} of the export: {problem}")]
    Event {
        /// The event's number, from 1.
        number: usize,
        /// The problem.
        problem: String,
    },
    /// The events give another state than the document states.
    #[error("the events fold to {found}, and the export says {said}: it was changed")]
    State {
        /// The state hash in the document.
        said: Digest,
        /// The state hash that the events give.
        found: Digest,
    },
}

impl From<(usize, EventError)> for ImportError {
    fn from((number, error): (usize, EventError)) -> Self {
        Self::Event { number, problem: error.to_string() }
    }
}

impl From<(usize, AppendError)> for ImportError {
    fn from((number, error): (usize, AppendError)) -> Self {
        Self::Event { number, problem: error.to_string() }
    }
}

/// The document of a log, as canonical bytes.
///
/// # Errors
/// [`CanonicalError`] when an event holds a value that the profile refuses.
pub fn export(log: &EventLog, seal: &dyn Seal) -> Result<Vec<u8>, CanonicalError> {
    let events = log.events(seal);
    let document = Export {
        schema: SCHEMA.to_owned(),
        campaign_id: log.campaign_id().clone(),
        state_hash: log.state().hash()?,
        events: events.iter().map(canonical::value_of).collect::<Result<_, _>>()?,
    };
    canonical::encode(&document)
}

/// The hash of a document's bytes.
#[must_use]
pub fn hash(bytes: &[u8]) -> Digest {
    Digest::of(Domain::Export, bytes)
}

/// Makes a log from a document: checks and appends every event again, and compares the resulting state hash with the
/// document's.
///
/// # Errors
/// [`ImportError`]
pub fn import(bytes: &[u8]) -> Result<EventLog, ImportError> {
    canonical::parse_exact(bytes)?;
    let document: Export = serde_json::from_slice(bytes).map_err(|error| ImportError::Schema(error.to_string()))?;
    if document.schema != SCHEMA {
        return Err(ImportError::Schema(format!("its schema is {:?}", document.schema)));
    }
    let mut log = EventLog::new(document.campaign_id);
    for (index, value) in document.events.iter().enumerate() {
        let event = Event::parse_canonical(&value.to_bytes()).map_err(|error| (index + 1, error))?;
        log.append(event, &Unsealed).map_err(|error| (index + 1, error))?;
    }
    let (said, found) = (document.state_hash, log.state().hash()?);
    if said == found { Ok(log) } else { Err(ImportError::State { said, found }) }
}
