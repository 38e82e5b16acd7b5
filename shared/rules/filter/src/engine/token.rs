//! A word or sign of a text, and its comparison with the words of the list.

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

    pub(crate) fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
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
