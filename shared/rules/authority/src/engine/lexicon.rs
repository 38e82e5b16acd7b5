//! Looks up the numbers of words in the lexicon.

use super::data::{SLOTS, SPELLINGS, WORDS};
use crate::tables::hash;

/// The number of a word of the lexicon.
pub(crate) fn word_number(word: &str) -> Option<u16> {
    let mask = SLOTS.len() - 1;
    let mut slot = hash(word.as_bytes()) & mask;
    loop {
        match SLOTS[slot] {
            0 => return None,
            number if WORDS[usize::from(number) - 1] == word => return Some(number - 1),
            _ => slot = (slot + 1) & mask,
        }
    }
}

/// The number of a word, including misspellings.
pub(crate) fn spelt(word: &str) -> Option<u16> {
    word_number(word).or_else(|| {
        let found = SPELLINGS.binary_search_by_key(&word, |(spelling, _)| spelling).ok()?;
        Some(SPELLINGS[found].1)
    })
}
