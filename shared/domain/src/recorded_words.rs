//! Names and reasons that go into the audit log in a person's own words. The log is permanent and contains no address
//! (Audit Trail, GAP-02), so they are short and contain none.

/// The longest name and the longest reason, in characters.
pub const MAX_CHARACTERS: usize = 200;

/// Why a name or a reason is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWords {
    /// It contains only white space.
    #[error("it is empty")]
    Empty,
    /// It has more than [`MAX_CHARACTERS`].
    #[error("it has more than {MAX_CHARACTERS} characters")]
    TooLong,
    /// It contains a line break or another control character.
    #[error("it has control characters")]
    Control,
    /// It contains an `@`: addresses must not be in the log.
    #[error("it has an @: no address goes into the log")]
    Address,
    /// It is an operator's name and begins as a policy's does.
    #[error("it begins with \"policy \", as only a policy's name does")]
    Policy,
}

/// Parses a name or a reason, and trims it.
///
/// # Errors
/// [`InvalidWords`].
pub fn parse(text: &str) -> Result<String, InvalidWords> {
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
    fn words_are_trimmed_and_refused_for_what_they_contain() {
        assert_eq!(parse("  a duplicate payment "), Ok("a duplicate payment".to_owned()));
        let longest = "é".repeat(MAX_CHARACTERS);
        assert_eq!(parse(&longest), Ok(longest.clone()));
        let too_long = format!("{longest}x");
        for (text, refused) in [
            ("", InvalidWords::Empty),
            (" \n ", InvalidWords::Empty),
            ("two\nlines", InvalidWords::Control),
            ("anna@example.com", InvalidWords::Address),
            ("anna\u{ff20}example.com", InvalidWords::Address),
            (too_long.as_str(), InvalidWords::TooLong),
        ] {
            assert_eq!(parse(text), Err(refused), "{text:?}");
        }
    }
}
