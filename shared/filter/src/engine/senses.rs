//! The ordinary senses of a term, as the list states them: plain data.

use serde::{Deserialize, Serialize};

/// The case of an undisguised occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Case {
    Lower,
    /// Capitalised where a clause begins.
    Initial,
    /// Capitalised elsewhere.
    Title,
    Upper,
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
    /// The first byte of what it begins with, 0 where that is open.
    pub(crate) fn initial(&self) -> u8 {
        match self {
            WordPattern::Exact(text) | WordPattern::Prefix(text) => text.bytes().next().unwrap_or(0),
            WordPattern::Suffix(_) | WordPattern::OneOf(_) => 0,
        }
    }
}

/// A sequence of words.
pub(crate) type Collocation = Vec<WordPattern>;

/// The bit of an ASCII character in a set of them.
pub(crate) const fn bit_of(ascii: u8) -> u128 {
    if ascii < 128 { 1 << ascii } else { 0 }
}

/// Sequences of words, one of which must stand on one side of an occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Collocations {
    pub(crate) all: Vec<Collocation>,
    /// Per sequence, [`WordPattern::initial`] of its word that is nearest to the occurrence.
    pub(crate) initial: Vec<u8>,
    /// With which ASCII characters those words can begin, one bit each; all bits where one is open.
    pub(crate) initials: u128,
}

impl Collocations {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// One ordinary-English sense of a term: all the conditions that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Condition {
    pub(crate) case: Vec<Case>,
    pub(crate) left: Collocations,
    pub(crate) right: Collocations,
    /// Sorted by [`WordPattern::initial`].
    pub(crate) near: Vec<WordPattern>,
    /// With which ASCII characters those begin, one bit each.
    pub(crate) near_initials: u128,
    pub(crate) starts: bool,
    pub(crate) ends: bool,
    pub(crate) determined: bool,
    pub(crate) own_line: bool,
    pub(crate) code: bool,
    pub(crate) identifier: bool,
    pub(crate) hex: bool,
    pub(crate) split: bool,
}
