//! The player-visible image brief (Memory Contract, section 4.6): the content that a picture may show.

use crate::{
    Digest, Domain, WorkingSet,
    canonical::{self, CanonicalError},
};
use serde::{Deserialize, Serialize};

/// The version of this format.
const SCHEMA: &str = "pvib/1";

/// The most lines of a brief.
const MOST_LINES: usize = 16;

/// A brief for a picture. Contains only content that may be mentioned precisely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pvib {
    schema: String,
    working_set_id: Digest,
    scene_id: Option<String>,
    lines: Vec<PvibLine>,
}

/// One thing that the picture shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PvibLine {
    /// The handle in `allowmention_handles` that allows it.
    pub handle: String,
    /// The text, exactly as in the working set.
    pub text: String,
}

/// The reason why no brief is made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PvibError {
    /// The working set does not allow this handle to be mentioned.
    #[error("{0} is not among the working set's allowmention_handles")]
    NotAllowed(String),
    /// The request has no line or too many.
    #[error("a brief has 1 to {MOST_LINES} lines, not {0}")]
    Lines(usize),
    /// The bytes are not a brief of this schema.
    #[error("not a brief of schema {SCHEMA}: {0}")]
    Schema(String),
    /// A line differs from the working set.
    #[error("the line of {0} is not in the working set")]
    Foreign(String),
    /// The brief was made from another working set.
    #[error("the brief belongs to another working set")]
    OtherSet,
}

impl Pvib {
    /// The brief for some of the working set's facts and pointers, in the order of the handles.
    ///
    /// # Errors
    /// [`PvibError::NotAllowed`] for a handle that may not be mentioned precisely: a picture may not show the gist of a
    /// locked detail either. [`PvibError::Lines`] for none or more than 16.
    pub fn of(set: &WorkingSet, handles: &[&str]) -> Result<Self, PvibError> {
        if handles.is_empty() || handles.len() > MOST_LINES {
            return Err(PvibError::Lines(handles.len()));
        }
        let line = |handle: &&str| {
            let text = allowed_text(set, handle).ok_or_else(|| PvibError::NotAllowed((*handle).to_owned()))?;
            Ok(PvibLine { handle: (*handle).to_owned(), text })
        };
        let lines = handles.iter().map(line).collect::<Result<_, PvibError>>()?;
        Ok(Self {
            schema: SCHEMA.to_owned(),
            working_set_id: set.id(),
            scene_id: set.content().scene_id.clone(),
            lines,
        })
    }

    /// Parses a brief's canonical bytes and compares every line with the working set.
    ///
    /// # Errors
    /// [`PvibError`]
    pub fn parse(bytes: &[u8], set: &WorkingSet) -> Result<Self, PvibError> {
        let schema = |error: &dyn std::fmt::Display| PvibError::Schema(error.to_string());
        canonical::parse_exact(bytes).map_err(|error| schema(&error))?;
        let brief: Self = serde_json::from_slice(bytes).map_err(|error| schema(&error))?;
        if brief.schema != SCHEMA {
            return Err(schema(&format!("the schema is {:?}", brief.schema)));
        }
        if brief.working_set_id != set.id() {
            return Err(PvibError::OtherSet);
        }
        let handles: Vec<&str> = brief.lines.iter().map(|line| line.handle.as_str()).collect();
        let expected = Self::of(set, &handles)?;
        match brief.lines.iter().zip(&expected.lines).find(|(line, expected)| line != expected) {
            Some((line, _)) => Err(PvibError::Foreign(line.handle.clone())),
            // A brief without its scene parses like one whose scene is null, but has other bytes.
            None if expected.bytes().is_ok_and(|expected| expected == bytes) => Ok(brief),
            None => Err(PvibError::OtherSet),
        }
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`CanonicalError`] only if the working set holds a value that the profile refuses.
    pub fn bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::encode(self)
    }

    /// The hash of the bytes.
    ///
    /// # Errors
    /// As [`Pvib::bytes`].
    pub fn hash(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(Domain::Pvib, &self.bytes()?))
    }

    /// The lines of the brief.
    #[must_use]
    pub fn lines(&self) -> &[PvibLine] {
        &self.lines
    }
}

/// The working set's text for a handle that may be mentioned precisely.
fn allowed_text(set: &WorkingSet, handle: &str) -> Option<String> {
    if !set.allows(handle) {
        return None;
    }
    let slices = &set.content().slices;
    let fact = slices
        .facts_slice
        .iter()
        .find(|fact| fact.fact_id == handle || fact.detail_handle.as_deref() == Some(handle))
        .and_then(|fact| fact.payload.as_ref());
    let state = || slices.state_slice.iter().find(|item| item.handle == handle).map(|item| &item.value);
    fact.or_else(state).map(|value| value.as_text().map_or_else(|| value.to_string(), str::to_owned))
}
