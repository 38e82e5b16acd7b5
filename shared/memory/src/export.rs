//! A log as one document: what a customer gets of their memory, and what an import makes the same log of.

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

/// A log, opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    schema: String,
    campaign_id: Handle,
    state_hash: Digest,
    events: Vec<Value>,
}

/// Why a document was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not canonical JSON, or not followed by its hash.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// It is not an export of this version.
    #[error("not an export of schema {SCHEMA}: {0}")]
    Schema(String),
    /// One of its events is unknown, or may not follow.
    #[error("event {number} of the export: {problem}")]
    Event {
        /// Its number, from 1.
        number: usize,
        /// What is wrong.
        problem: String,
    },
    /// The events fold to another state.
    #[error("the events fold to {found}, and the export says {said}: it was changed")]
    State {
        /// What the document says.
        said: Digest,
        /// What its events say.
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
/// [`CanonicalError`] when something in it is beyond the profile.
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

/// Makes a log of a document: every event is checked and appended again, and the state must be the one it says.
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
