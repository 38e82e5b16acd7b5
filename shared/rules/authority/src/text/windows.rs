//! The windows of a text in which its fitted weights are added up.

use super::token::Token;

/// The maximum number of words of a window.
pub(crate) const MAX_WORDS: usize = 40;

/// A sentence of more than [`MAX_WORDS`] words is divided into pieces of this many words.
const PIECE: usize = 10;

/// Whether a token is the first of a sentence.
pub(crate) fn begins_sentence(tokens: &[Token], index: usize) -> bool {
    index.checked_sub(1).is_none_or(|before| tokens[index].position > tokens[before].position + 1)
}

/// Calls `each` with every run of consecutive sentences, or of pieces of long ones, of up to [`MAX_WORDS`] words: those that
/// begin at the same token, and the tokens after their last, in order.
pub(crate) fn windows(tokens: &[Token], mut each: impl FnMut(usize, &[usize])) {
    let mut starts: Vec<usize> = Vec::with_capacity(8);
    let mut sentence = 0;
    for index in 1..=tokens.len() {
        if index == tokens.len() || begins_sentence(tokens, index) {
            let piece = if index - sentence > MAX_WORDS { PIECE } else { MAX_WORDS };
            starts.extend((sentence..index).step_by(piece));
            sentence = index;
        }
    }
    starts.push(tokens.len());
    for (number, start) in starts.iter().enumerate() {
        let ends = &starts[number + 1..];
        let within = ends.iter().take_while(|end| **end - start <= MAX_WORDS).count();
        if within > 0 {
            each(*start, &ends[..within]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::token::tokens;

    fn all(text: &str) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        windows(&tokens(text), |start, ends| all.extend(ends.iter().map(|end| (start, *end))));
        all
    }

    #[test]
    fn every_run_of_sentences_is_a_window() {
        assert_eq!(all("one two. three! four five six"), [(0, 2), (0, 3), (0, 6), (2, 3), (2, 6), (3, 6)]);
        assert_eq!(all(""), []);
    }

    #[test]
    fn a_long_sentence_is_divided_and_every_forty_words_are_nearly_in_one_window() {
        let windows = all(&"word ".repeat(95));
        assert!(windows.iter().all(|(start, end)| end - start <= MAX_WORDS && start % PIECE == 0));
        for start in [0, 10, 50] {
            assert!(windows.contains(&(start, start + MAX_WORDS)), "{start}");
        }
        assert!(windows.contains(&(90, 95)));
    }
}
