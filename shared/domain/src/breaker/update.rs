//! Changes a stored breaker.

use super::Breaker;
use crate::ports::{Breakers, SaveError};

/// The number of attempts to change a breaker while others change it concurrently.
const TRIES: u32 = 4;

/// Changes a stored breaker, if the change has an effect; returns the result of the change. A breaker that cannot be
/// read or written stays as it is, because it protects calls and must not stop them.
pub async fn update(breakers: &dyn Breakers, name: &str, change: impl Fn(&mut Breaker) -> bool + Send) -> bool {
    for _ in 0..TRIES {
        let Ok(mut row) = breakers.load(name).await else { return false };
        let before = row.value.clone();
        let opened = change(&mut row.value);
        if row.value == before {
            return false;
        }
        match breakers.save(name, &row.value, row.version).await {
            Ok(()) => return opened,
            Err(SaveError::Conflict) => {}
            Err(SaveError::Storage(_)) => return false,
        }
    }
    false
}
