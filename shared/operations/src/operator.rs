//! Who decides, and why: what the audit record of a decision says.

use audit::{Body, Record};
use domain::Timestamp;

/// The longest name and the longest reason, in characters.
pub const MAX_CHARACTERS: usize = 200;

/// Why a name or a reason is refused. The log never holds an address (Audit Trail, GAP-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWords {
    /// Nothing but white space.
    #[error("it is empty")]
    Empty,
    /// More than [`MAX_CHARACTERS`].
    #[error("it has more than {MAX_CHARACTERS} characters")]
    TooLong,
    /// A line break or another control character.
    #[error("it has control characters")]
    Control,
    /// An `@`: addresses have no place in the log.
    #[error("it has an @: no address goes into the log")]
    Address,
}

/// An operator who decides something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    by: String,
    reason: Option<String>,
}

impl Operator {
    /// An operator by name, with the reason if one is given.
    ///
    /// # Errors
    /// [`InvalidWords`] when either cannot go into the log.
    pub fn parse(by: &str, reason: Option<&str>) -> Result<Self, InvalidWords> {
        Ok(Self { by: words(by)?, reason: reason.map(words).transpose()? })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.by
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The audit record of a decision.
    #[must_use]
    pub fn record(&self, action: impl Into<String>, now: Timestamp) -> Record {
        let body = Body::Operator { action: action.into(), by: self.by.clone(), reason: self.reason.clone() };
        Record { timestamp: now, triggered_at: now, body }
    }
}

fn words(text: &str) -> Result<String, InvalidWords> {
    let text = text.trim();
    if text.is_empty() {
        Err(InvalidWords::Empty)
    } else if text.chars().any(char::is_control) {
        Err(InvalidWords::Control)
    } else if text.contains(['@', '\u{ff20}']) {
        Err(InvalidWords::Address)
    } else if text.chars().count() > MAX_CHARACTERS {
        Err(InvalidWords::TooLong)
    } else {
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_reasons_are_words_without_addresses() {
        let operator = Operator::parse(" dana ", Some("the list was too strict")).unwrap();
        assert_eq!((operator.name(), operator.reason()), ("dana", Some("the list was too strict")));
        for (text, why) in [
            ("", InvalidWords::Empty),
            (" \t", InvalidWords::Empty),
            ("a\nb", InvalidWords::Control),
            ("dana@example.com", InvalidWords::Address),
            ("dana\u{ff20}example.com", InvalidWords::Address),
            (&"é".repeat(201), InvalidWords::TooLong),
        ] {
            assert_eq!(Operator::parse(text, None), Err(why), "{text:?}");
            assert_eq!(Operator::parse("dana", Some(text)), Err(why), "{text:?}");
        }
        assert!(Operator::parse(&"é".repeat(200), None).is_ok());
    }
}
