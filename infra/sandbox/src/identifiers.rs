//! The clock and the identifiers, both passed in, so that a test controls them.

use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The clock of everything in the sandbox.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's own clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// A clock that calls `now`.
    pub fn from_function(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// A stream of alphanumeric tokens: unguessable from a random seed, repeatable from a fixed one.
pub struct Identifiers {
    seed: [u8; 32],
    issued: u64,
}

impl Identifiers {
    /// Unpredictable tokens.
    ///
    /// # Errors
    /// When the operating system returns no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)?;
        Ok(Self::seeded(seed))
    }

    /// The same tokens for the same seed.
    #[must_use]
    pub const fn seeded(seed: [u8; 32]) -> Self {
        Self { seed, issued: 0 }
    }

    /// The next token, `length` letters and digits long.
    pub(crate) fn token(&mut self, length: usize) -> String {
        let mut token = String::with_capacity(length);
        while token.len() < length {
            let digest = Sha256::new().chain_update(self.seed).chain_update(self.issued.to_be_bytes()).finalize();
            self.issued += 1;
            // 248 is the largest multiple of 62 in a byte: above it the first letters would be more likely.
            token.extend(
                digest
                    .iter()
                    .filter(|byte| **byte < 248)
                    .take(length - token.len())
                    .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])),
            );
        }
        token
    }

    /// `prefix` followed by a token: `pi_3Nk…`.
    pub(crate) fn prefixed(&mut self, prefix: &str, length: usize) -> String {
        format!("{prefix}{}", self.token(length))
    }

    /// A token in the form of a UUID.
    pub(crate) fn uuid(&mut self) -> String {
        let digits = hex::encode(self.token(16));
        let (a, rest) = digits.split_at(8);
        let (b, rest) = rest.split_at(4);
        let (c, rest) = rest.split_at(4);
        let (d, e) = rest.split_at(4);
        format!("{a}-{b}-{c}-{d}-{e}")
    }
}

#[cfg(test)]
mod tests {
    use super::Identifiers;

    #[test]
    fn tokens_have_the_length_asked_for_and_differ() {
        let mut identifiers = Identifiers::seeded([7; 32]);
        let first = identifiers.token(60);
        let second = identifiers.token(60);
        assert_eq!(first.len(), 60);
        assert!(first.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(first, second);
        assert_eq!(Identifiers::seeded([7; 32]).token(60), first);
    }

    #[test]
    fn a_uuid_has_five_groups() {
        let groups: Vec<usize> = Identifiers::seeded([1; 32]).uuid().split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
    }
}
