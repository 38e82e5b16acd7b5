//! A word or sign of a text, and how it compares with the words of the list.

/// One word or sign beside an occurrence, as the text has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    pub(crate) is_ascii: bool,
    /// Whether a line break stands between it and the occurrence, or the token before it on that side.
    pub(crate) line_break: bool,
}

impl Token<'_> {
    /// Its first character in small letters, where that is ASCII.
    pub(crate) fn initial(&self) -> Option<u8> {
        self.text.bytes().next().filter(u8::is_ascii).map(|byte| byte.to_ascii_lowercase())
    }

    /// The same for any character, as words are compared; [`u8::MAX`] for what is then no ASCII character.
    pub(crate) fn folded_initial(&self) -> u8 {
        let folded = || self.folded().next().and_then(|c| u8::try_from(c).ok()).filter(u8::is_ascii);
        self.initial().or_else(folded).unwrap_or(u8::MAX)
    }

    /// Whether it is this word, which is in small letters.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
            || (!self.is_ascii && self.may_begin_like(word) && self.folded().eq(word.chars()))
    }

    /// Cheap, and never wrong by "no".
    fn may_begin_like(&self, word: &str) -> bool {
        match (self.text.as_bytes().first(), word.as_bytes().first()) {
            (Some(own), Some(other)) if *own < 128 => own.to_ascii_lowercase() == *other,
            (Some(_), Some(_)) => self.folded().next() == word.chars().next(),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    pub(crate) fn is_one_of(&self, words: &[&str]) -> bool {
        match self.initial() {
            Some(initial) => words.iter().any(|word| word.as_bytes().first() == Some(&initial) && self.is(word)),
            None => words.iter().any(|word| self.is(word)),
        }
    }

    pub(crate) fn ends_with(&self, ending: &str) -> bool {
        let at = self.text.len().checked_sub(ending.len());
        at.and_then(|at| self.text.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
    }

    /// Whether it begins with these letters, which are small ones.
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

    /// In small letters, with a straight apostrophe.
    fn folded(&self) -> impl Iterator<Item = char> {
        self.text.chars().flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c })
    }

    /// Whether it is a word of two letters or more, all capitals; a sign or a single letter fits in with them.
    pub(crate) fn fits_capitals(&self) -> bool {
        self.text.len() < 2 || !self.text.chars().any(char::is_lowercase)
    }

    pub(crate) fn is_word(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric)
    }
}
