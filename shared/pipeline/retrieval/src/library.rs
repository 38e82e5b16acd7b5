//! The index that a process has loaded. It supplies the passages for a question.

use crate::{
    active::active,
    index::{Index, UnreadableIndex},
};
use domain::{
    ports::{Corpora, Notes, StorageError},
    toll::CorpusVersion,
};
use std::sync::{Arc, Mutex, PoisonError};

/// The most passages that the model gets. At their greatest length they have as much text as a long question.
const MOST_PASSAGES: usize = 4;

/// The index of the version that was used last. A process keeps one index, so it holds at most two while it loads
/// another version.
#[derive(Debug, Default)]
pub struct Library(Mutex<Option<(CorpusVersion, Arc<Index>)>>);

/// The passages for a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// The version of their corpus; `None` if answers use no corpus.
    pub version: Option<CorpusVersion>,
    /// Their texts, best first.
    pub texts: Vec<String>,
}

/// The reason why the corpus cannot be used: it is activated and unreadable, or its activation cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    /// The table or the bucket cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The bucket has no index of the activated version.
    #[error("the index of corpus {} is missing", .0.prefix())]
    Missing(CorpusVersion),
    /// The index is damaged.
    #[error("the index of corpus {} is unreadable", .0.prefix())]
    Unreadable(CorpusVersion, #[source] UnreadableIndex),
}

impl Library {
    /// The passages for a question from the corpus that is in use now.
    ///
    /// # Errors
    /// [`RetrievalError`]. A failure is not cached: the next question reads again.
    pub async fn references(
        &self,
        notes: &dyn Notes,
        corpora: &dyn Corpora,
        question: &str,
    ) -> Result<References, RetrievalError> {
        let Some(version) = active(notes).await?.and_then(|active| active.version) else {
            return Ok(References::default());
        };
        let index = match self.kept(&version) {
            Some(index) => index,
            None => self.keep(&version, fetch(corpora, &version).await?),
        };
        let texts = index.search(question, MOST_PASSAGES).iter().map(|passage| passage.text.clone()).collect();
        Ok(References { version: Some(version), texts })
    }

    fn kept(&self, version: &CorpusVersion) -> Option<Arc<Index>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(of, _)| of == version).map(|(_, index)| Arc::clone(index))
    }

    fn keep(&self, version: &CorpusVersion, index: Index) -> Arc<Index> {
        let index = Arc::new(index);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((version.clone(), Arc::clone(&index)));
        index
    }
}

/// Reads the index of a version from the bucket.
///
/// # Errors
/// [`RetrievalError`].
pub async fn fetch(corpora: &dyn Corpora, version: &CorpusVersion) -> Result<Index, RetrievalError> {
    let bytes = corpora.read(version).await?.ok_or_else(|| RetrievalError::Missing(version.clone()))?;
    Index::read(version, &bytes).map_err(|error| RetrievalError::Unreadable(version.clone(), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{activated, corpus};
    use testkit::{Fault, Plan, World, run};

    fn find(library: &Library, world: &World) -> Result<References, RetrievalError> {
        run(library.references(world, world, "What should a lease say?")).unwrap()
    }

    fn reads(world: &World) -> usize {
        world.state().boundaries.iter().filter(|name| **name == "corpora.read").count()
    }

    #[test]
    fn without_an_activated_corpus_there_are_no_references() {
        let world = World::default();
        assert_eq!(find(&Library::default(), &world).unwrap(), References::default());
    }

    #[test]
    fn an_index_is_read_once_and_another_version_at_once() {
        let (world, library) = (World::default(), Library::default());
        let version = activated(&world, &corpus());
        for _ in 0..3 {
            let found = find(&library, &world).unwrap();
            assert_eq!(found.version.as_ref(), Some(&version));
            assert!(found.texts[0].contains("lease"), "{found:?}");
        }
        assert_eq!(reads(&world), 1);
        let other = Index::build(vec![crate::testing::text("new.md", "Every lease ends.")]).unwrap();
        let other = activated(&world, &other);
        assert_eq!(
            find(&library, &world).unwrap(),
            References { version: Some(other), texts: vec!["Every lease ends.".to_owned()] }
        );
        assert_eq!(reads(&world), 2);
    }

    #[test]
    fn what_is_missing_corrupt_or_unreachable_is_an_error_until_it_is_mended() {
        let (world, library) = (World::default(), Library::default());
        let version = activated(&world, &corpus());
        let whole = world.state().corpora.insert(version.clone(), b"{}".to_vec()).unwrap();
        assert!(matches!(find(&library, &world), Err(RetrievalError::Unreadable(..))));
        world.state().corpora.clear();
        assert!(matches!(find(&library, &world), Err(RetrievalError::Missing(_))));
        world.state().corpora.insert(version, whole);
        for name in ["corpora.read", "notes.load"] {
            world.plan(Plan::none().whenever(name, Fault::Fail));
            assert!(matches!(find(&library, &world), Err(RetrievalError::Storage(_))), "{name}");
        }
        world.plan(Plan::none());
        assert!(find(&library, &world).is_ok());
    }
}
