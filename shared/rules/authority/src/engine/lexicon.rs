//! The lexicon: which number a word has.

use super::data::{SLOTS, WORDS};
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
