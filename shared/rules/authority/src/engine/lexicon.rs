//! Looks up the numbers of words in the lexicon.

use super::data::{SPELLINGS, WORD_COUNT, WORD_PLACES, WORD_ROWS, WORDS};
use crate::tables::hash;

/// The number of a word of the lexicon.
pub(crate) fn word_number(word: &str) -> Option<u16> {
    entry(word, hash(word)).filter(|number| usize::from(*number) < WORD_COUNT)
}

/// The number of a word, including misspellings, by the word and its hash.
pub(crate) fn spelt(word: &str, hash: u32) -> Option<u16> {
    let number = entry(word, hash)?;
    match usize::from(number).checked_sub(WORD_COUNT) {
        Some(misspelt) => SPELLINGS.get(misspelt).copied(),
        None => Some(number),
    }
}

/// The words of the lexicon, by number.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    WORDS.lines().take(WORD_COUNT)
}

/// The number of a word or of a misspelt word.
fn entry(word: &str, hash: u32) -> Option<u16> {
    let (start, length, number) = WORD_ROWS[WORD_PLACES.of(hash)];
    let start = start as usize;
    (WORDS.as_bytes()[start..start + usize::from(length)] == *word.as_bytes()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::token::Hashes;

    #[test]
    fn misspelt_words_have_the_number_of_their_word_and_are_no_words_themselves() {
        let spelt = |word: &str| super::spelt(word, Hashes::of(word).word);
        assert_eq!(spelt("suicde"), word_number("suicide"));
        assert!(word_number("suicide").is_some() && word_number("suicde").is_none() && spelt("xyzzyx").is_none());
        assert_eq!(words().count(), WORD_COUNT);
        for (number, word) in words().enumerate() {
            assert_eq!(word_number(word), Some(number as u16));
        }
    }
}
