//! Values that must not be printed: secrets and e-mail addresses.

use serde::Deserialize;

/// A secret. It can be compared and used explicitly, but never printed or serialised.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The secret itself: for a header or a key only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A customer's e-mail address: personal data, read from Stripe when a mail is sent and stored nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct EmailAddress(String);

/// The text cannot be an e-mail address.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an e-mail address")]
pub struct InvalidEmailAddress;

impl EmailAddress {
    /// Accepts an address: one `@` with something on both sides, no white space or control characters, at most
    /// 320 bytes. Stripe has verified the form; this only keeps a value from breaking out of a header or a list.
    ///
    /// # Errors
    /// [`InvalidEmailAddress`].
    pub fn parse(text: &str) -> Result<Self, InvalidEmailAddress> {
        let text = text.trim();
        let forbidden = |c: char| c.is_whitespace() || c.is_control() || matches!(c, ',' | ';' | '<' | '>');
        match text.split_once('@') {
            Some((local, host))
                if !local.is_empty()
                    && !host.is_empty()
                    && !host.contains('@')
                    && text.len() <= 320
                    && !text.contains(forbidden) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(InvalidEmailAddress),
        }
    }

    /// The address itself: for the recipient field of a mail and the keyed hash of the audit log.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for EmailAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EmailAddress(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_prints_its_value() {
        let address = EmailAddress::parse("someone@example.com").unwrap();
        let printed = format!("{address:?} {:?}", Secret::new("sk_live_1"));
        assert!(!printed.contains("someone") && !printed.contains("sk_live"));
    }

    #[test]
    fn addresses_that_could_break_out_are_refused() {
        for text in ["", "a", "@b", "a@", "a@b@c", "a b@c", "a@b\r\nBcc: x@y", "a@b,c@d", "<a@b>"] {
            assert_eq!(EmailAddress::parse(text), Err(InvalidEmailAddress), "{text:?}");
        }
        assert_eq!(EmailAddress::parse(" a@b ").unwrap().expose(), "a@b");
    }
}
