//! Who decides about a sale by hand, and why.

use crate::words::{self, InvalidWords};

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
        Ok(Self { by: words::parse(by)?, reason: reason.map(words::parse).transpose()? })
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
