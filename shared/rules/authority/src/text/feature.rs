//! The features of a text for which there are fitted weights: a word, two consecutive words, and the beginning of a long
//! word, which stands for its forms. The engine only needs their hashes.

use super::token::{BEGINNING, Hashes, Token};
use super::windows::begins_sentence;
use crate::tables::{folded, hash};

/// The word that replaces every number.
const NUMBER: &str = "#";
const NUMBER_HASHES: Hashes = Hashes { word: hash(NUMBER), beginning: 0 };

/// The word before the first word of a sentence, so that the sentence before changes nothing.
const START: &str = "^";
const START_HASH: u32 = hash(START);

/// The hash of a feature, as the table of weights writes it: `word`, `two words`, `begin*`.
#[allow(dead_code, reason = "only the build script reads the table")]
pub(crate) fn hash_of(feature: &str) -> u32 {
    match feature.split_once(' ') {
        Some((first, second)) => pair(hash(first), hash(second)),
        None => hash(feature),
    }
}

/// Calls `each` with the hashes of the features that end at each token, in order: the word, the pair of the word before
/// and the word, and the word's beginning, which is 0 if it has none.
pub(crate) fn each_feature(tokens: &[Token], mut each: impl FnMut([u32; 3])) {
    let mut before = START_HASH;
    for (index, token) in tokens.iter().enumerate() {
        if begins_sentence(tokens, index) {
            before = START_HASH;
        }
        let Hashes { word, beginning } = if token.number.is_some() { NUMBER_HASHES } else { token.hashes };
        each([word, pair(before, word), beginning]);
        before = word;
    }
}

/// The same features as the table of weights writes them, for each word.
#[allow(dead_code, reason = "only the example that fits the weights needs the letters")]
pub(crate) fn features_by_word(reading: &str, tokens: &[Token]) -> Vec<Vec<String>> {
    let mut before = START;
    let mut all = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if begins_sentence(tokens, index) {
            before = START;
        }
        let word = written(reading, token);
        let beginning = beginning(word).map(|letters| format!("{letters}*"));
        all.push([word.to_owned(), format!("{before} {word}")].into_iter().chain(beginning).collect());
        before = word;
    }
    all
}

fn written<'t>(reading: &'t str, token: &'t Token) -> &'t str {
    if token.number.is_some() { NUMBER } else { token.word(reading) }
}

fn beginning(word: &str) -> Option<&str> {
    word.char_indices().nth(BEGINNING).map(|(end, _)| &word[..end])
}

fn pair(first: u32, second: u32) -> u32 {
    folded((first.rotate_left(15) ^ second).wrapping_mul(0x9e37_79b1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::token::tokens;

    #[test]
    fn the_table_and_the_engine_name_the_same_features() {
        let reading = "i have 20 tablets left, and naïveté costs $5. don't";
        let tokens = tokens(reading);
        let named = features_by_word(reading, &tokens);
        let mut number = 0;
        each_feature(&tokens, |hashes| {
            let expected: Vec<u32> = named[number].iter().map(|feature| hash_of(feature)).collect();
            let found: Vec<u32> = hashes.into_iter().filter(|hash| *hash != 0).collect();
            assert_eq!(found, expected, "{:?}", named[number]);
            number += 1;
        });
        assert_eq!(number, named.len());
        let all: Vec<&str> = named.iter().flatten().map(String::as_str).collect();
        for feature in ["^ i", "^ dont", "have #", "# tablets", "table*", "naïve*", "$ #", "dont"] {
            assert!(all.contains(&feature), "{feature} in {all:?}");
        }
    }
}
