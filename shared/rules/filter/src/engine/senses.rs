//! The ordinary senses of a term, as the list defines them. Plain data.

use serde::{Deserialize, Serialize};

/// The case of an undisguised occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Case {
    Lower,
    /// Capitalised at the beginning of a clause.
    Initial,
    /// Capitalised elsewhere.
    Title,
    Upper,
}

/// The features of an occurrence that conditions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) case: Case,
    /// The letters are separated.
    pub(crate) split: bool,
    /// White space replaces one of the term's own marks.
    pub(crate) spaced: bool,
}

impl Shape {
    /// As the term is written, apart from case.
    pub(crate) fn of(case: Case) -> Shape {
        Shape { case, split: false, spaced: false }
    }
}

/// One word of a collocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WordPattern {
    Exact(String),
    Prefix(String),
    Suffix(String),
    OneOf(Vec<String>),
}

impl WordPattern {
    /// The first byte of the words that it matches; 0 if any byte is possible.
    pub(crate) fn initial(&self) -> u8 {
        match self {
            WordPattern::Exact(text) | WordPattern::Prefix(text) => text.bytes().next().unwrap_or(0),
            WordPattern::Suffix(_) | WordPattern::OneOf(_) => 0,
        }
    }

    /// Whether it matches a word that is no token; for the words of `near`, which are neither groups nor endings.
    pub(crate) fn is_near_word(&self, word: &str) -> bool {
        let is = |part: Option<&str>, text: &str| part.is_some_and(|part| part.eq_ignore_ascii_case(text));
        match self {
            WordPattern::Exact(text) => is(Some(word), text),
            WordPattern::Prefix(stem) => is(word.get(..stem.len()), stem),
            WordPattern::Suffix(_) | WordPattern::OneOf(_) => false,
        }
    }

    /// The first character of the words that it matches, in lower case; `None` if any is possible.
    pub(crate) fn first(&self) -> Option<char> {
        match self {
            WordPattern::Exact(text) | WordPattern::Prefix(text) => text.chars().next(),
            WordPattern::Suffix(_) | WordPattern::OneOf(_) => None,
        }
    }
}

/// A sequence of words.
pub(crate) type Collocation = Vec<WordPattern>;

/// The bit of an ASCII character in a set of them; all other characters share the last bit with a control character.
pub(crate) const fn bit_of(byte: u8) -> u128 {
    1 << if byte < 128 { byte } else { 127 }
}

/// A cheap prefilter for ASCII words. May accept a word without cause, but never rejects a matching one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WordPrefilter {
    /// The [`prefilter_bit`] of each whole word, one bit each.
    pub(crate) words: Vec<u32>,
    /// The [`pair_of`] of each stem, one bit each.
    pub(crate) stems: Vec<u32>,
}

impl WordPrefilter {
    pub(crate) fn may_have(&self, pair: u16, length: usize) -> bool {
        let has = |rows: &[u32], bit: u16| rows.get(bit as usize >> 5).is_some_and(|row| row & (1 << (bit & 31)) != 0);
        has(&self.words, prefilter_bit(pair, length)) || has(&self.stems, pair)
    }
}

/// The first two bytes without their case, in ten bits.
pub(crate) fn pair_of(word: &[u8]) -> u16 {
    match word {
        [first, second, ..] => u16::from(first & 31) << 5 | u16::from(second & 31),
        [only] => u16::from(only & 31) << 5,
        [] => 0,
    }
}

/// A word's first two bytes and its length, in ten bits.
pub(crate) fn prefilter_bit(pair: u16, length: usize) -> u16 {
    (pair ^ (length as u16).wrapping_mul(37)) & 1023
}

/// Sequences of words, one of which must be on one side of an occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Collocations {
    pub(crate) all: Vec<Collocation>,
    /// Per sequence, the [`WordPattern::initial`] of its word nearest to the occurrence.
    pub(crate) initial: Vec<u8>,
    /// The ASCII characters that those words can begin with, one bit each; all bits if any character is possible.
    pub(crate) initials: u128,
}

impl Collocations {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// One ordinary-English sense of a term. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Condition {
    pub(crate) case: Vec<Case>,
    pub(crate) left: Collocations,
    pub(crate) right: Collocations,
    /// Sorted by [`WordPattern::initial`].
    pub(crate) near: Vec<WordPattern>,
    /// The ASCII characters that those words begin with, one bit each.
    pub(crate) near_initials: u128,
    pub(crate) near_prefilter: WordPrefilter,
    pub(crate) starts: bool,
    pub(crate) ends: bool,
    pub(crate) determined: bool,
    pub(crate) own_line: bool,
    pub(crate) code: bool,
    pub(crate) identifier: bool,
    pub(crate) hex: bool,
    pub(crate) split: bool,
    pub(crate) spaced: bool,
}

impl Condition {
    /// Whether words near the occurrence make it hold, and not its case or its characters alone.
    pub(crate) fn is_by_words(&self) -> bool {
        !(self.left.is_empty() && self.right.is_empty() && self.near.is_empty()) || self.determined || self.own_line
    }
}
