//! The version of the corpus in use, stored as one note in the table.

use domain::{
    ErrorCode, Operator, StepError, Timestamp,
    ports::{Notes, SaveError, StorageError, Versioned},
    toll::CorpusVersion,
};
use serde::{Deserialize, Serialize};

/// The name of the note.
pub const NOTE: &str = "corpus";

/// An operator's activation of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Active {
    /// The version; `None` if answers use no corpus.
    pub version: Option<CorpusVersion>,
    /// When it was activated.
    pub since: Timestamp,
    /// The operator's name.
    pub by: String,
}

/// The latest activation, or `None` before the first one.
///
/// # Errors
/// [`StorageError`] if the table cannot be read or the note does not parse. Such a failure must not count as "no
/// corpus", because a corpus may be configured.
pub async fn active(notes: &dyn Notes) -> Result<Option<Active>, StorageError> {
    let unreadable = |error: serde_json::Error| StorageError { operation: "corpus note", source: Box::new(error) };
    let document = match notes.load(NOTE).await? {
        Versioned { value: Some(document), .. } => document,
        Versioned { value: None, version: 0 } => return Ok(None),
        Versioned { value: None, .. } => return Err(unreadable(serde::de::Error::custom("a row without a document"))),
    };
    serde_json::from_str(&document).map(Some).map_err(unreadable)
}

/// Puts a version into use, or with `None` no corpus. The caller records the operator's decision before.
///
/// # Errors
/// [`StepError`]: contended if another operator activates a version at the same time.
pub async fn activate(
    notes: &dyn Notes,
    operator: &Operator,
    version: Option<CorpusVersion>,
    now: Timestamp,
) -> Result<Active, StepError> {
    let expected = notes.load(NOTE).await?.version;
    let active = Active { version, since: now, by: operator.name().to_owned() };
    let unwritable = |error| StorageError { operation: "corpus note", source: Box::new(error) };
    let document = serde_json::to_string(&active).map_err(unwritable)?;
    match notes.save(NOTE, &document, expected).await {
        Ok(_) => Ok(active),
        Err(SaveError::Conflict) => {
            Err(ErrorCode::Contended.because("another version was activated at the same moment"))
        }
        Err(SaveError::Storage(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Index, testing::corpus};
    use testkit::{Fault, Plan, World, run};

    #[test]
    fn what_was_activated_last_is_in_use() {
        let world = World::at(Timestamp::from_seconds(1_790_000_000));
        assert_eq!(run(active(&world)).unwrap().unwrap(), None);
        let operator = Operator::parse("dana", None).unwrap();
        let version = Index::version_of(&corpus().to_bytes());
        for version in [Some(version), None] {
            let now = Timestamp::from_millis(world.state().now);
            let done = run(activate(&world, &operator, version.clone(), now)).unwrap().unwrap();
            assert_eq!((done.by.as_str(), &done.version), ("dana", &version));
            assert_eq!(run(active(&world)).unwrap().unwrap(), Some(done));
        }
    }

    #[test]
    fn a_note_that_cannot_be_read_is_not_no_corpus() {
        let world = World::at(Timestamp::from_seconds(1_790_000_000));
        for document in ["", "{}", "null", r#"{"version":"x","since":1,"by":"dana"}"#] {
            world.state().notes.insert(NOTE.to_owned(), (document.to_owned(), 1));
            assert!(run(active(&world)).unwrap().is_err(), "{document}");
        }
        world.state().notes.clear();
        world.plan(Plan::none().whenever("notes.load", Fault::Fail));
        assert!(run(active(&world)).unwrap().is_err());
    }
}
