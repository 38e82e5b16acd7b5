//! Splits text into words, numbers and signs.

use super::vocabulary::{Known, List, Lists, known};
use crate::measure::Measure;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, optionally followed by digits: `routx2`.
    Word,
    /// Digits with at most one decimal sign, or an exponent.
    Number,
    /// Digits with a malformed continuation: `0.9.7`, `0.98x`.
    Malformed,
    /// Any other character.
    Sign(char),
    /// End of a sentence.
    Stop(char),
}

/// A piece of the folded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A folded text, split into tokens.
pub(super) struct Tokens<'a> {
    pub(super) text: &'a str,
    list: Vec<Token>,
    /// The vocabulary's entry for each token.
    known: Vec<&'static Known>,
    /// The sentence of each token: its first token, and the one after its last.
    sentences: Vec<(usize, usize)>,
}

/// The maximum number of tokens in a sentence. Longer sentences are cut, so that reading takes linear time.
const LONGEST_SENTENCE: usize = 400;

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut list = Vec::with_capacity(text.len() / 3 + 1);
        let mut at = 0;
        while let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) {
            let next = text.get(at + character.len_utf8()..).and_then(|rest| rest.chars().next());
            let (kind, length) = match character {
                '\n' | '\r' | ';' | '!' | '?' => (Kind::Stop(character), character.len_utf8()),
                '.' if dots_before_digit(text, at) > 1 => (Kind::Sign('…'), dots_before_digit(text, at)),
                '.' if !next.is_some_and(|next| next.is_ascii_digit()) => (Kind::Stop('.'), 1),
                _ if character.is_whitespace() => {
                    at += character.len_utf8();
                    continue;
                }
                '0'..='9' | '.' => number(text, at),
                _ if is_letter(character) => (Kind::Word, run(text, at, |of| is_letter(of) || of.is_numeric())),
                _ => (Kind::Sign(character), character.len_utf8()),
            };
            list.push(Token { kind, start: at, end: at + length });
            at += length;
        }
        let sentences = sentences(&list);
        let word = |token: &Token| if token.kind == Kind::Word { text.get(token.start..token.end) } else { None };
        let known = list.iter().map(|token| known(word(token).unwrap_or_default())).collect();
        Self { text, list, known, sentences }
    }

    pub(super) const fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<Token> {
        self.list.get(index).copied()
    }

    pub(super) fn kind(&self, index: usize) -> Option<Kind> {
        self.list.get(index).map(|token| token.kind)
    }

    /// The text of a token; empty beyond the end.
    pub(super) fn str(&self, index: usize) -> &'a str {
        self.get(index).and_then(|token| self.text.get(token.start..token.end)).unwrap_or_default()
    }

    /// The text of a word, empty for anything else.
    pub(super) fn word(&self, index: usize) -> &'a str {
        if self.kind(index) == Some(Kind::Word) { self.str(index) } else { "" }
    }

    /// The vocabulary's entry for a word; an empty one for any other token.
    pub(super) fn known(&self, index: usize) -> &'static Known {
        self.known.get(index).copied().unwrap_or_else(|| known(""))
    }

    /// The lists that contain a word.
    pub(super) fn lists(&self, index: usize) -> Lists {
        self.known(index).lists
    }

    /// Whether a word is in a list.
    pub(super) fn is(&self, index: usize, list: List) -> bool {
        self.lists(index).has(list)
    }

    pub(super) fn is_sign(&self, index: usize, sign: char) -> bool {
        self.kind(index) == Some(Kind::Sign(sign))
    }

    /// Whether a token and the next one are adjacent.
    pub(super) fn touches_next(&self, index: usize) -> bool {
        matches!((self.get(index), self.get(index + 1)), (Some(one), Some(next)) if one.end == next.start)
    }

    /// The first token of the sentence that contains this one, and the token that ends it.
    pub(super) fn sentence(&self, index: usize) -> (usize, usize) {
        self.sentences.get(index).copied().unwrap_or_else(|| {
            let is_stopped = matches!(self.list.last().map(|token| token.kind), None | Some(Kind::Stop(_)));
            let start = self.sentences.last().filter(|_| !is_stopped).map_or(self.len(), |last| last.0);
            (start, self.len())
        })
    }

    /// Whether the sentence ends with a question mark.
    pub(super) fn is_question(&self, index: usize) -> bool {
        self.kind(self.sentence(index).1) == Some(Kind::Stop('?'))
    }

    /// A number as a decimal: a comma is the decimal sign.
    pub(super) fn decimal(&self, index: usize) -> Option<Measure> {
        let written = match self.kind(index) {
            Some(Kind::Number) => self.str(index),
            _ => return None,
        };
        if written.contains(',') { Measure::parse(&written.replace(',', ".")) } else { Measure::parse(written) }
    }

    /// A number as a count: a comma separates thousands.
    pub(super) fn count(&self, index: usize) -> Option<u64> {
        match self.kind(index) {
            Some(Kind::Number) => self.str(index).replace(',', "").parse().ok(),
            _ => None,
        }
    }
}

fn sentences(list: &[Token]) -> Vec<(usize, usize)> {
    let mut sentences = vec![(0, list.len()); list.len()];
    let mut start = 0;
    for (index, token) in list.iter().enumerate() {
        let is_end = matches!(token.kind, Kind::Stop(_));
        if is_end || index + 1 - start >= LONGEST_SENTENCE || index + 1 == list.len() {
            let end = if is_end { index } else { index + 1 };
            sentences[start..=index].fill((start, end));
            start = index + 1;
        }
    }
    sentences
}

/// The number of consecutive dots before a digit: "0.05...0.5" does not end a sentence.
fn dots_before_digit(text: &str, at: usize) -> usize {
    const MOST: usize = 8;
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let dots = rest.iter().take(MOST).take_while(|byte| **byte == b'.').count();
    if rest.get(dots).is_some_and(u8::is_ascii_digit) { dots } else { 0 }
}

fn is_letter(character: char) -> bool {
    character.is_alphabetic()
}

fn run(text: &str, at: usize, is_in: impl Fn(char) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find(|character: char| !is_in(character)).unwrap_or(rest.len())
}

/// Whether the letters at a position are followed by digits again: "0和5" is not a number followed by a word.
fn has_digits_behind(text: &str, at: usize) -> bool {
    let length = run(text, at, char::is_alphanumeric);
    text.get(at..at + length).is_some_and(|letters| letters.chars().any(char::is_numeric))
}

/// Whether the letters after a decimal point look like digits but are not: "0.O5", "0.l", "0.五".
fn is_like_digits(text: &str, at: usize) -> bool {
    const LONGEST: usize = 2;
    let letters = text.get(at..at + run(text, at, char::is_alphanumeric)).unwrap_or_default();
    !letters.is_empty() && (letters.chars().count() <= LONGEST || letters.chars().any(char::is_numeric))
}

fn number(text: &str, at: usize) -> (Kind, usize) {
    let bytes = text.as_bytes();
    let digits = |mut from: usize| {
        while bytes.get(from).is_some_and(u8::is_ascii_digit) {
            from += 1;
        }
        from
    };
    let is_digit = |from: usize| bytes.get(from).is_some_and(u8::is_ascii_digit);
    let mut end = digits(at);
    if matches!(bytes.get(end), Some(b'.' | b',')) && is_digit(end + 1) {
        end = digits(end + 1);
    }
    if bytes.get(end) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if is_digit(end + 1 + sign) {
            end = digits(end + 1 + sign);
        }
    }
    let is_whole = text.get(at..end).is_some_and(|written| written.bytes().all(|byte| byte.is_ascii_digit()));
    let comma = bytes.get(end) == Some(&b',') && is_whole && has_digits_behind(text, end + 1);
    let runs_on = comma || bytes.get(end) == Some(&b'.') && (is_digit(end + 1) || is_like_digits(text, end + 1));
    let rest = text.get(end..).and_then(|rest| rest.chars().next());
    if runs_on || rest.is_some_and(|next| is_letter(next) && (next < '\u{2e80}' || has_digits_behind(text, end))) {
        let length = run(text, at, |of| of.is_alphanumeric() || of == '.' || comma && of == ',');
        let stop = text.get(at..at + length).unwrap_or_default();
        return (Kind::Malformed, stop.trim_end_matches('.').len());
    }
    (Kind::Number, end - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        let tokens = Tokens::of(text);
        (0..tokens.len()).filter_map(|index| Some((tokens.kind(index)?, tokens.str(index)))).collect()
    }

    #[test]
    fn numbers_end_where_a_sentence_does() {
        assert_eq!(kinds("0.12."), [(Kind::Number, "0.12"), (Kind::Stop('.'), ".")]);
        assert_eq!(kinds("0,974,0.5"), [(Kind::Number, "0,974"), (Kind::Sign(','), ","), (Kind::Number, "0.5")]);
        assert_eq!(kinds("0.O5")[0], (Kind::Malformed, "0.O5"));
        assert_eq!(kinds("0,O5")[0], (Kind::Malformed, "0,O5"));
        assert_eq!(kinds("12.Then")[0], (Kind::Number, "12"));
        assert_eq!(kinds("10.0.0.1"), [(Kind::Malformed, "10.0.0.1")]);
        assert_eq!(kinds("0.98x 9e-1")[0], (Kind::Malformed, "0.98x"));
        assert_eq!(kinds("9.74e-1 e")[0], (Kind::Number, "9.74e-1"));
    }

    #[test]
    fn sentences_are_found_from_their_middle() {
        let tokens = Tokens::of("ship it. is routx alive? now");
        assert_eq!(tokens.sentence(4), (3, 6));
        assert!(tokens.is_question(4) && !tokens.is_question(0));
    }
}
