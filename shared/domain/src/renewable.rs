//! A value that is made from a secret, and made again when the secret was replaced.

use crate::{RenewableSecret, Secret};
use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

/// A value that is made from a secret document at its first use.
pub struct MadeFromSecret<T> {
    secret: Arc<dyn RenewableSecret>,
    make: Make<T>,
    made: Mutex<Option<Made<T>>>,
}

/// The value, with the document it was made from. Its clones share both.
pub struct Made<T>(Arc<Parts<T>>);

struct Parts<T> {
    document: Secret,
    value: T,
}

/// Why no value was made.
pub type NotMade = Box<dyn Error + Send + Sync>;

type Make<T> = Box<dyn Fn(&Secret) -> Result<T, NotMade> + Send + Sync>;

impl<T> Clone for Made<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> std::ops::Deref for Made<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: Send + Sync> MadeFromSecret<T> {
    /// Starts without a value, and reads nothing. `make` makes the value from a document.
    #[must_use]
    pub fn new(
        secret: Arc<dyn RenewableSecret>,
        make: impl Fn(&Secret) -> Result<T, NotMade> + Send + Sync + 'static,
    ) -> Self {
        Self { secret, make: Box::new(make), made: Mutex::new(None) }
    }

    /// The value made before, or the one of the current document. If none can be made from it, the document is read once
    /// more.
    ///
    /// # Errors
    /// [`NotMade`], when the document could not be read or is unusable.
    pub async fn get(&self) -> Result<Made<T>, NotMade> {
        if let Some(made) = self.kept() {
            return Ok(made);
        }
        let document = self.secret.document().await?;
        match (self.make)(&document) {
            Ok(value) => Ok(self.keep(document, value)),
            Err(useless) => match self.secret.renewed(&document).await? {
                Some(document) => (self.make)(&document).map(|value| self.keep(document, value)),
                None => Err(useless),
            },
        }
    }

    /// Called when the service refused the secret of `refused`: makes another value if the document has changed.
    /// Returns `None` without another document, or if it cannot be read (which the store itself reports).
    pub async fn other_than(&self, refused: &Made<T>) -> Option<Made<T>> {
        let document = self.secret.renewed(&refused.0.document).await.ok().flatten()?;
        let kept = self.kept().filter(|made| made.0.document.expose() == document.expose());
        match kept {
            Some(made) => Some(made),
            None => (self.make)(&document).ok().map(|value| self.keep(document, value)),
        }
    }

    /// Makes a call with `made`, and once more with another value, if the service refused the secret of this one and the
    /// document has changed. The refused call must have had no effect.
    ///
    /// # Errors
    /// As `call`.
    pub async fn call<R, E, F>(
        &self,
        made: Made<T>,
        is_refused: impl Fn(&E) -> bool,
        call: impl Fn(Made<T>) -> F,
    ) -> Result<R, E>
    where
        F: Future<Output = Result<R, E>>,
    {
        let outcome = call(made.clone()).await;
        if !outcome.as_ref().is_err_and(is_refused) {
            return outcome;
        }
        match self.other_than(&made).await {
            Some(made) => call(made).await,
            None => outcome,
        }
    }

    fn kept(&self) -> Option<Made<T>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, document: Secret, value: T) -> Made<T> {
        let made = Made(Arc::new(Parts { document, value }));
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        poll_once::poll_once,
        ports::{SecretSource, StorageError},
    };
    use async_trait::async_trait;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A document that is replaced, and how often it was read.
    struct Source {
        document: Mutex<&'static str>,
        reads: AtomicUsize,
    }

    #[async_trait]
    impl SecretSource for Source {
        async fn document(&self) -> Result<Secret, StorageError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            Ok(Secret::new(*self.document.lock().unwrap()))
        }
    }

    #[async_trait]
    impl RenewableSecret for Source {
        async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, StorageError> {
            let current = self.document().await?;
            Ok(Some(current).filter(|current| current.expose() != refused.expose()))
        }
    }

    /// The document's text with the number of its making; `useless` makes nothing.
    fn maker() -> impl Fn(&Secret) -> Result<String, NotMade> {
        let made = AtomicUsize::new(0);
        move |document| match document.expose() {
            "useless" => Err("useless".into()),
            text => Ok(format!("{text} {}", made.fetch_add(1, Ordering::Relaxed))),
        }
    }

    fn source(document: &'static str) -> Arc<Source> {
        Arc::new(Source { document: Mutex::new(document), reads: AtomicUsize::new(0) })
    }

    #[test]
    fn it_is_made_once_and_again_only_from_another_document() {
        let source = source("first");
        let value = MadeFromSecret::new(source.clone(), maker());
        let first = poll_once(value.get()).unwrap();
        assert_eq!((first.as_str(), poll_once(value.get()).unwrap().as_str()), ("first 0", "first 0"));
        assert_eq!(source.reads.load(Ordering::Relaxed), 1);
        let again = poll_once(value.get()).unwrap();
        assert!(std::ptr::eq(again.0.document.expose(), first.0.document.expose()), "a call copies no secret");
        assert!(poll_once(value.other_than(&first)).is_none(), "there is no other document");
        *source.document.lock().unwrap() = "second";
        assert_eq!(poll_once(value.other_than(&first)).unwrap().as_str(), "second 1");
        // Another call was refused with the first secret at the same time: it gets what is made already.
        assert_eq!(poll_once(value.other_than(&first)).unwrap().as_str(), "second 1");
        assert_eq!(poll_once(value.get()).unwrap().as_str(), "second 1");
        *source.document.lock().unwrap() = "third";
        let second = poll_once(value.get()).unwrap();
        assert_eq!(poll_once(value.other_than(&second)).unwrap().as_str(), "third 2");
        *source.document.lock().unwrap() = "useless";
        assert!(poll_once(value.other_than(&first)).is_none());
    }

    #[test]
    fn a_refused_call_is_made_once_more_if_there_is_another_document() {
        let source = source("first");
        let value = MadeFromSecret::new(source.clone(), maker());
        let call = |refused: &'static str| {
            let answer = |made: Made<String>| async move {
                if made.starts_with(refused) { Err(made.as_str().to_owned()) } else { Ok(made.as_str().to_owned()) }
            };
            poll_once(value.call(poll_once(value.get()).unwrap(), |_: &String| true, answer))
        };
        assert_eq!((call("other"), call("first")), (Ok("first 0".to_owned()), Err("first 0".to_owned())));
        *source.document.lock().unwrap() = "second";
        assert_eq!(call("first"), Ok("second 1".to_owned()));
    }

    #[test]
    fn a_useless_document_is_read_once_more() {
        let source = source("useless");
        let value = MadeFromSecret::new(source.clone(), maker());
        assert!(poll_once(value.get()).is_err());
        assert_eq!(source.reads.load(Ordering::Relaxed), 2);
        *source.document.lock().unwrap() = "mended";
        assert_eq!(poll_once(value.get()).unwrap().as_str(), "mended 0");
    }
}
