//! What was asked of a vendor lately, so that nobody makes us ask again: ids and codes are free to make up, calls are not.

use crate::Timestamp;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Keys of the last while, of one process: one process answers one request at a time, so a memory that processes share
/// would cost a write for each request that it saves a call for.
#[derive(Debug)]
pub struct Recent<V = ()> {
    window: Duration,
    most: usize,
    kept: Mutex<HashMap<String, (Timestamp, V)>>,
}

/// What is remembered of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall<V = ()> {
    /// Nothing: the vendor may be asked.
    Nothing,
    /// The key was kept within the window, with this.
    Known(V),
    /// Nothing, and as many other keys were kept within the window as may be.
    Full,
}

impl<V: Clone> Recent<V> {
    /// Remembers up to `most` keys, each for `window`.
    #[must_use]
    pub fn new(window: Duration, most: usize) -> Self {
        Self { window, most, kept: Mutex::default() }
    }

    /// What is remembered of a key.
    #[must_use]
    pub fn recall(&self, key: &str, now: Timestamp) -> Recall<V> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock may have been set back: what is from the future would be remembered for longer than the window.
        kept.retain(|_, (at, _)| *at <= now && now < at.plus(self.window));
        match kept.get(key) {
            Some((_, value)) => Recall::Known(value.clone()),
            None if kept.len() >= self.most => Recall::Full,
            None => Recall::Nothing,
        }
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
        let recent = Recent::new(Duration::from_secs(60), 2);
        let at = Timestamp::from_seconds;
        assert_eq!(recent.recall("a", at(0)), Recall::Nothing);
        recent.keep("a", (), at(0));
        assert_eq!((recent.recall("a", at(59)), recent.recall("b", at(59))), (Recall::Known(()), Recall::Nothing));
        assert_eq!(recent.recall("a", at(60)), Recall::Nothing);
        recent.keep("a", (), at(100));
        assert_eq!(recent.recall("a", at(99)), Recall::Nothing, "the clock was set back");
    }

    #[test]
    fn no_more_keys_are_asked_about_than_may_be_kept() {
        let recent = Recent::new(Duration::from_secs(60), 2);
        let at = Timestamp::from_seconds;
        recent.keep("a", (), at(0));
        recent.keep("b", (), at(30));
        assert_eq!((recent.recall("c", at(30)), recent.recall("b", at(30))), (Recall::Full, Recall::Known(())));
        assert_eq!(recent.recall("c", at(60)), Recall::Nothing, "the first is forgotten");
    }
}
