//! Quotes: a value of an axis counts only with the exact bytes of its text.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::engine::data::NEGATIVE_CONSTRAINTS;

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MappingSource {
    /// The customer's own words.
    Explicit,
    /// Derived by the system, such as a country from a locale. Not sufficient if confirmation is required.
    Inferred,
    /// A registered oracle's answer.
    Oracle,
}

/// A range of bytes of a text, with proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    text: String,
    start: usize,
    end: usize,
    fingerprint: String,
}

/// A value that the text gives for an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AxisValue {
    /// The domain of the axis.
    pub domain: &'static str,
    /// The axis.
    pub axis: &'static str,
    /// The value; the quoted text itself for quantities.
    pub value: String,
    /// The source of the value.
    pub source: MappingSource,
    /// The bytes of the text that state it.
    pub quote: Quote,
}

/// The reason why a quote is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuoteError {
    /// The span is outside the text or cuts a character.
    #[error("the span is not a part of the text")]
    Span,
    /// The text has other bytes at the span.
    #[error("the quote is not what the text says there")]
    Text,
    /// The fingerprint does not match the quote.
    #[error("the fingerprint is not that of the quote")]
    Fingerprint,
    /// Empty, or only white space and punctuation.
    #[error("the quote is empty, or only white space and punctuation")]
    Empty,
    /// "Healthy", "standard", "normal" and similar words satisfy no axis.
    #[error("the quote is a word that satisfies no axis")]
    NegativeConstraint,
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

impl Quote {
    /// Quotes the bytes from `start` to `end` of a text.
    ///
    /// # Errors
    /// [`QuoteError`] if the bytes are no valid quote.
    pub fn take(text: &str, start: usize, end: usize) -> Result<Self, QuoteError> {
        let quoted = text.get(start..end).ok_or(QuoteError::Span)?;
        says_something(quoted)?;
        Ok(Self { text: quoted.to_owned(), start, end, fingerprint: fingerprint(quoted.as_bytes()) })
    }

    /// A quote from an untrusted source, such as a model. It binds nothing before [`Quote::verify`].
    #[must_use]
    pub fn proposed(text: &str, start: usize, end: usize, fingerprint: &str) -> Self {
        Self { text: text.to_owned(), start, end, fingerprint: fingerprint.to_owned() }
    }

    /// Verifies the quote against the text: exact substring, span and fingerprint, and meaningful content.
    ///
    /// # Errors
    /// [`QuoteError`] names the difference.
    pub fn verify(&self, text: &str) -> Result<(), QuoteError> {
        let there = text.get(self.start..self.end).ok_or(QuoteError::Span)?;
        if there != self.text {
            return Err(QuoteError::Text);
        }
        if fingerprint(there.as_bytes()) != self.fingerprint {
            return Err(QuoteError::Fingerprint);
        }
        says_something(there)
    }

    /// The quoted bytes.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first byte, and the byte after the last.
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

/// Refuses a quote without words, or only with words that satisfy no axis.
fn says_something(quoted: &str) -> Result<(), QuoteError> {
    let mut words = quoted.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    if words.peek().is_none() {
        return Err(QuoteError::Empty);
    }
    let says_nothing = |word: &str| {
        let word = word.to_lowercase();
        NEGATIVE_CONSTRAINTS.contains(&word.as_str()) || matches!(word.as_str(), "the" | "a" | "is" | "it" | "my")
    };
    if words.all(says_nothing) {
        return Err(QuoteError::NegativeConstraint);
    }
    Ok(())
}
