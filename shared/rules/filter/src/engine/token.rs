//! A word or sign of a text, and its comparison with the words of the list.

use std::cell::LazyCell;

use crate::engine::characters::is_alphanumeric;

/// The first ASCII character of a word in lower case, for comparisons; [`u8::MAX`] for any other character.
pub(crate) fn begins_with(text: &str) -> u8 {
    match text.bytes().next() {
        Some(byte) if byte < 128 => byte.to_ascii_lowercase(),
        _ if is_punctuation(text) => {
            if text.starts_with('’') {
                b'\''
            } else {
                u8::MAX
            }
        }
        _ => fold(text.chars()).next().and_then(|c| u8::try_from(c).ok()).filter(u8::is_ascii).unwrap_or(u8::MAX),
    }
}

/// Whether a text begins with a character from U+2000 to U+207F, a range without lower-case letters.
fn is_punctuation(text: &str) -> bool {
    matches!(text.as_bytes(), [0xe2, 0x80 | 0x81, ..])
}

/// In lower case, with a straight apostrophe.
fn fold(chars: std::str::Chars<'_>) -> impl DoubleEndedIterator<Item = char> {
    chars.flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c })
}

/// One word or sign beside an occurrence, as the text has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    pub(crate) is_ascii: bool,
    /// Its first character in lower case, for comparisons; [`u8::MAX`] if that is not ASCII.
    pub(crate) begins: u8,
    /// Whether a line break separates it from the occurrence or from the previous token on that side.
    pub(crate) line_break: bool,
}

impl Token<'_> {
    /// Its first character in lower case, if that is ASCII.
    pub(crate) fn initial(&self) -> Option<u8> {
        self.text.bytes().next().filter(u8::is_ascii).map(|byte| byte.to_ascii_lowercase())
    }

    /// Its first character in lower case, with a straight apostrophe.
    pub(crate) fn first(&self) -> Option<char> {
        self.folded().next()
    }

    /// Whether it is this word, which must be in lower case.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.may_begin_like(word)
            && (self.text.eq_ignore_ascii_case(word) || (!self.is_ascii && self.folded().eq(word.chars())))
    }

    /// A cheap prefilter: may return true without cause, but never false wrongly.
    fn may_begin_like(&self, word: &str) -> bool {
        match word.as_bytes().first() {
            Some(byte) if *byte < 128 => *byte == self.begins,
            Some(byte) => self.begins == u8::MAX && (*byte == 0xe2 || !is_punctuation(self.text)),
            None => self.text.is_empty(),
        }
    }

    /// Whether it is one of these words, which must be in lower case.
    pub(crate) fn is_one_of(&self, words: &[impl AsRef<str>]) -> bool {
        // Lower case is looked up in a table for a character outside ASCII, so this is done once and not for each word.
        let first = LazyCell::new(|| self.first());
        words.iter().map(AsRef::as_ref).any(|word: &str| {
            self.may_begin_like(word)
                && (self.text.eq_ignore_ascii_case(word)
                    || (!self.is_ascii && *first == word.chars().next() && self.folded().eq(word.chars())))
        })
    }

    /// Whether it ends with these letters, which must be in lower case.
    pub(crate) fn ends_with(&self, ending: &str) -> bool {
        if self.is_ascii {
            let at = self.text.len().checked_sub(ending.len());
            return at.and_then(|at| self.text.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(ending));
        }
        let mut folded = self.folded().rev();
        ending.chars().rev().all(|c| folded.next() == Some(c))
    }

    /// Whether it begins with these letters, which must be in lower case.
    pub(crate) fn starts_with(&self, stem: &str) -> bool {
        if self.is_ascii {
            let beginning = self.text.as_bytes().get(..stem.len());
            return beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(stem.as_bytes()));
        }
        if !stem.is_empty() && !self.may_begin_like(stem) {
            return false;
        }
        let mut folded = self.folded();
        stem.chars().all(|c| folded.next() == Some(c))
    }

    fn folded(&self) -> impl DoubleEndedIterator<Item = char> {
        fold(self.text.chars())
    }

    /// Whether it is a word of two letters or more in capitals. A sign or a single letter also counts.
    pub(crate) fn fits_capitals(&self) -> bool {
        match self.is_ascii {
            true => self.text.len() < 2 || !self.text.bytes().any(|byte| byte.is_ascii_lowercase()),
            false => !self.text.chars().any(char::is_lowercase),
        }
    }

    pub(crate) fn is_word(&self) -> bool {
        self.text.chars().any(is_alphanumeric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Token<'_> {
        Token { text, is_ascii: text.is_ascii(), begins: begins_with(text), line_break: false }
    }

    /// Comparing first characters must exclude only words that `is` would reject as well.
    #[test]
    fn one_of_several_words_is_one_of_them_alone() {
        let words = ["a", "k", "it's", "ss", "ß", "ω", "ωμ", "é", "école", "i\u{307}", "–", "−", "≥", ""];
        let texts = [
            "A", "K", "\u{212a}", "It’s", "SS", "ẞ", "Ω", "\u{2126}", "ΩΜ", "ωΜ", "ω\"", "É", "École", "İ", "–", "’",
            "",
        ];
        let mut found = Vec::new();
        for text in texts {
            let token = token(text);
            let alone: Vec<_> = words.into_iter().filter(|word| token.is(word)).collect();
            for word in words {
                assert_eq!(token.is_one_of(&[word, "other"]), alone.contains(&word), "{text:?} and {word:?}");
                assert!(token.first() == word.chars().next() || !token.is(word), "{text:?} and {word:?}");
            }
            assert_eq!(token.is_one_of(&words), !alone.is_empty(), "{text:?}");
            found.push(alone.concat());
        }
        let expected =
            ["a", "k", "k", "it's", "ss", "ß", "ω", "ω", "ωμ", "ωμ", "", "é", "école", "i\u{307}", "–", "", ""];
        assert_eq!(found, expected);
    }
}
