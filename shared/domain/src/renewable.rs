//! A value that is made from a secret, and made again when the secret was replaced.

use crate::{RenewableSecret, Secret};
use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

/// A value that is made from a secret document at its first use.
pub struct MadeFromSecret<T> {
    secret: Arc<dyn RenewableSecret>,
    made: Mutex<Option<Made<T>>>,
}

/// The value, with the document it was made from.
pub struct Made<T> {
    document: Secret,
    value: Arc<T>,
}

/// Why no value was made.
pub type NotMade = Box<dyn Error + Send + Sync>;

impl<T> Clone for Made<T> {
    fn clone(&self) -> Self {
        Self { document: self.document.clone(), value: Arc::clone(&self.value) }
    }
}

impl<T> std::ops::Deref for Made<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Send + Sync> MadeFromSecret<T> {
    /// Starts without a value, and reads nothing.
    #[must_use]
    pub const fn new(secret: Arc<dyn RenewableSecret>) -> Self {
        Self { secret, made: Mutex::new(None) }
    }

    /// The value made before, or the one that `make` returns for the current document. If `make` fails, the document is
    /// read once more.
    ///
    /// # Errors
    /// [`NotMade`], when the document could not be read or is unusable.
    pub async fn get(&self, make: impl Fn(&Secret) -> Result<T, NotMade> + Send + Sync) -> Result<Made<T>, NotMade> {
        if let Some(made) = self.kept() {
            return Ok(made);
        }
        let document = self.secret.document().await?;
        match make(&document) {
            Ok(value) => Ok(self.keep(document, value)),
            Err(useless) => match self.secret.renewed(&document).await? {
                Some(document) => make(&document).map(|value| self.keep(document, value)),
                None => Err(useless),
            },
        }
    }

    /// Called when the service refused the secret of `refused`: makes another value if the document has changed.
    /// Returns `None` without another document, or if it cannot be read (which the store itself reports).
    pub async fn other_than(
        &self,
        refused: &Made<T>,
        make: impl Fn(&Secret) -> Result<T, NotMade> + Send + Sync,
    ) -> Option<Made<T>> {
        let document = self.secret.renewed(&refused.document).await.ok().flatten()?;
        let kept = self.kept().filter(|made| made.document.expose() == document.expose());
        match kept {
            Some(made) => Some(made),
            None => make(&document).ok().map(|value| self.keep(document, value)),
        }
    }

    fn kept(&self) -> Option<Made<T>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, document: Secret, value: T) -> Made<T> {
        let made = Made { document, value: Arc::new(value) };
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
        made
    }
}
