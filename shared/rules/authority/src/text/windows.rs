//! The runs of sentences of a text in which its fitted weights are added up.

use super::token::Token;

/// The maximum number of words of a run. A longer sentence is divided.
pub(crate) const MOST: usize = 40;

/// Calls `each` with every run of consecutive sentences of up to [`MOST`] words: its first token and the token after its
/// last.
pub(crate) fn windows(tokens: &[Token], mut each: impl FnMut((usize, usize))) {
    let mut starts: Vec<usize> = Vec::with_capacity(8);
    for (index, token) in tokens.iter().enumerate() {
        let begins = match (index.checked_sub(1), starts.last()) {
            (Some(before), Some(start)) => token.position > tokens[before].position + 1 || index - start >= MOST,
            _ => true,
        };
        if begins {
            starts.push(index);
        }
    }
    starts.push(tokens.len());
    for (number, start) in starts.iter().enumerate() {
        let ends = starts[number + 1..].iter().take_while(|end| **end - start <= MOST);
        ends.for_each(|end| each((*start, *end)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::token::tokens;

    fn all(text: &str) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        windows(&tokens(text), |window| all.push(window));
        all
    }

    #[test]
    fn every_run_of_sentences_is_a_window() {
        assert_eq!(all("one two. three! four five six"), [(0, 2), (0, 3), (0, 6), (2, 3), (2, 6), (3, 6)]);
        assert_eq!(all(""), []);
    }

    #[test]
    fn a_long_sentence_is_divided_and_no_window_is_longer() {
        let text = "word ".repeat(2 * MOST + 1) + ". end";
        assert_eq!(
            all(&text),
            [
                (0, MOST),
                (MOST, 2 * MOST),
                (2 * MOST, 2 * MOST + 1),
                (2 * MOST, 2 * MOST + 2),
                (2 * MOST + 1, 2 * MOST + 2)
            ]
        );
    }
}
