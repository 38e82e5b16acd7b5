//! An agent's name for a purchase (x402's extension `payment-identifier`). With one name of one payer, one request is
//! bought once, whatever payment comes with it.

use crate::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// A name that a payer gives to a purchase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentIdentifier(String);

/// The text breaks the extension's rule for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payment identifier has 16 to 128 letters, digits, hyphens and underscores")]
pub struct PaymentIdentifierError;

impl PaymentIdentifier {
    /// The shortest, in characters.
    pub const SHORTEST: usize = 16;
    /// The longest, in characters.
    pub const LONGEST: usize = 128;

    /// Parses a name.
    ///
    /// # Errors
    /// [`PaymentIdentifierError`]
    pub fn parse(text: &str) -> Result<Self, PaymentIdentifierError> {
        let is_sized = (Self::SHORTEST..=Self::LONGEST).contains(&text.len());
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if is_sized && is_plain { Ok(Self(text.to_owned())) } else { Err(PaymentIdentifierError) }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The purchase that a name refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Digest of what is bought: the offer and the question.
    pub fingerprint: String,
    /// The purchase that answers it. It is written right after its name.
    pub purchase: SessionId,
    /// When it was named.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_extension_allows() {
        let longest = "a".repeat(128);
        for text in ["pay_7d5d747be160e280504c099d984bcfe0", "0123456789abcdeF", "----____----____", &longest] {
            assert_eq!(PaymentIdentifier::parse(text).map(|name| name.as_str().to_owned()), Ok(text.to_owned()));
        }
        for text in
            ["", "too_short_by_1_", &"a".repeat(129), "with a space in it", "häämeenlinna_1234", "a.b.c.d.e.f.g.h."]
        {
            assert_eq!(PaymentIdentifier::parse(text), Err(PaymentIdentifierError), "{text}");
        }
    }
}
