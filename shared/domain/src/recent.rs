//! Remembers recent answers of a vendor, so that the same question costs one call within a while.

use crate::Timestamp;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The recent keys of one process, each with a value.
#[derive(Debug)]
pub struct Recent<V = ()> {
    window: Duration,
    kept: Mutex<HashMap<String, (Timestamp, V)>>,
}

impl<V: Clone> Recent<V> {
    /// Remembers keys, each for `window`.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self { window, kept: Mutex::default() }
    }

    /// The remembered value of a key.
    #[must_use]
    pub fn recall(&self, key: &str, now: Timestamp) -> Option<V> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // After the clock was set back, keys from the future would otherwise be remembered for longer than the window.
        kept.retain(|_, (at, _)| *at <= now && now < at.plus(self.window));
        kept.get(key).map(|(_, value)| value.clone())
    }

    /// Remembers a key from now on.
    pub fn keep(&self, key: &str, value: V, now: Timestamp) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), (now, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_for_the_window_and_no_longer() {
        let recent = Recent::new(Duration::from_secs(60));
        let at = Timestamp::from_seconds;
        assert_eq!(recent.recall("a", at(0)), None);
        recent.keep("a", (), at(0));
        assert_eq!((recent.recall("a", at(59)), recent.recall("b", at(59))), (Some(()), None));
        assert_eq!(recent.recall("a", at(60)), None);
        recent.keep("a", (), at(100));
        assert_eq!(recent.recall("a", at(99)), None, "the clock was set back");
    }
}
