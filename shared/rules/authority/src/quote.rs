//! Quotes: a value of an axis counts only with the exact bytes of the text that it was read from.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::engine::data::NEGATIVE_CONSTRAINTS;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MappingSource {
    /// The customer's own words.
    Explicit,
    /// Derived by the system, such as a country from a locale. Never enough where confirmation is required.
    Inferred,
    /// A registered oracle's answer.
    Oracle,
}

/// Bytes of a text, with their proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    text: String,
    start: usize,
    end: usize,
    fingerprint: String,
}

/// Why a quote binds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuoteError {
    /// The span does not lie in the text, or cuts a character.
    #[error("the span is not a part of the text")]
    Span,
    /// The bytes of the span are others.
    #[error("the quote is not what the text says there")]
    Text,
    /// The fingerprint is of something else.
    #[error("the fingerprint is not that of the quote")]
    Fingerprint,
    /// Nothing, or nothing but white space and punctuation.
    #[error("the quote says nothing")]
    Empty,
    /// "Healthy", "standard", "normal" and the like satisfy no axis.
    #[error("the quote is a word that satisfies no axis")]
    NegativeConstraint,
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl Quote {
    /// Takes the bytes from `start` to `end` of a text.
    ///
    /// # Errors
    /// [`QuoteError`] where they cannot bind anything.
    pub fn take(text: &str, start: usize, end: usize) -> Result<Self, QuoteError> {
        let quoted = text.get(start..end).ok_or(QuoteError::Span)?;
        let quote = Self { text: quoted.to_owned(), start, end, fingerprint: fingerprint(quoted.as_bytes()) };
        quote.verify(text)?;
        Ok(quote)
    }

    /// A quote as something else proposes it, a model for example. It binds nothing before [`Quote::verify`].
    #[must_use]
    pub fn proposed(text: &str, start: usize, end: usize, fingerprint: &str) -> Self {
        Self { text: text.to_owned(), start, end, fingerprint: fingerprint.to_owned() }
    }

    /// Holds the quote against the text: exact substring, span and fingerprint, and a quote that says something.
    ///
    /// # Errors
    /// [`QuoteError`] says what differs.
    pub fn verify(&self, text: &str) -> Result<(), QuoteError> {
        let there = text.get(self.start..self.end).ok_or(QuoteError::Span)?;
        if there != self.text {
            return Err(QuoteError::Text);
        }
        if fingerprint(there.as_bytes()) != self.fingerprint {
            return Err(QuoteError::Fingerprint);
        }
        let words: Vec<String> = there
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        if words.is_empty() {
            return Err(QuoteError::Empty);
        }
        let says_nothing = |word: &String| {
            NEGATIVE_CONSTRAINTS.contains(&word.as_str()) || matches!(word.as_str(), "the" | "a" | "is" | "it" | "my")
        };
        if words.iter().all(says_nothing) {
            return Err(QuoteError::NegativeConstraint);
        }
        Ok(())
    }

    /// The quoted bytes.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// First byte, and the byte after the last.
    #[must_use]
    pub const fn span(&self) -> (usize, usize) {
        (self.start, self.end)
    }

    /// SHA-256 of the quoted bytes, in hexadecimal.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}
