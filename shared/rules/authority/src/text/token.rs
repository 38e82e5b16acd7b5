//! Splits a reading of a text into words and numbers.

use crate::tables::{FNV_BASIS, fnv_1a};

/// The distance between two sentences, in words: a pattern's gap spans a full stop only if it allows this much.
const SENTENCE: u32 = 3;

/// The letters of a beginning; a word needs more to have one.
pub(super) const BEGINNING: usize = 5;

/// One word, number or currency sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    /// The first byte in the reading.
    pub(crate) start: usize,
    /// The byte after the last.
    pub(crate) end: usize,
    /// The byte after the last letter of the word: "son's" is "son".
    pub(crate) letters_end: usize,
    /// The letters of the word if they are not consecutive bytes of the reading ("don't" is "dont").
    pub(crate) respelled: Option<Box<str>>,
    /// The value of a number.
    pub(crate) number: Option<f64>,
    /// The distance from the beginning in words; the end of a sentence counts as [`SENTENCE`].
    pub(crate) position: u32,
    /// The hashes of the letters.
    pub(crate) hashes: Hashes,
}

/// The hashes of a word. The tokenizer computes them while it looks for the word's end, because every table of words needs
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hashes {
    /// FNV-1a of the letters.
    pub(crate) word: u32,
    /// FNV-1a of the first letters of a long word and "*"; 0, which is the hash of no feature, for a short word.
    pub(crate) beginning: u32,
}

impl Hashes {
    /// The hashes of a word.
    pub(crate) fn of(word: &str) -> Self {
        let mut hashing = Hashing::default();
        word.bytes().for_each(|byte| hashing.add(byte));
        hashing.hashes()
    }
}

/// Hashes a word byte by byte.
struct Hashing {
    word: u32,
    /// The hash of the first letters.
    beginning: u32,
    letters: usize,
}

impl Default for Hashing {
    fn default() -> Self {
        Self { word: FNV_BASIS, beginning: 0, letters: 0 }
    }
}

impl Hashing {
    fn add(&mut self, byte: u8) {
        let continues_letter = (0x80..0xc0).contains(&byte);
        if !continues_letter {
            if self.letters == BEGINNING {
                self.beginning = self.word;
            }
            self.letters += 1;
        }
        self.word = fnv_1a(self.word, &[byte]);
    }

    fn hashes(&self) -> Hashes {
        let beginning = if self.letters > BEGINNING { fnv_1a(self.beginning, b"*") } else { 0 };
        Hashes { word: self.word, beginning }
    }
}

impl Token {
    /// A word whose letters are those of the reading.
    const fn plain(start: usize, end: usize, hashes: Hashes, position: u32) -> Self {
        Self { start, end, letters_end: end, respelled: None, number: None, position, hashes }
    }

    /// A word whose letters are not those of the reading.
    pub(crate) fn respelled(start: usize, end: usize, word: String, position: u32) -> Self {
        let hashes = Hashes::of(&word);
        Self { respelled: Some(word.into_boxed_str()), ..Self::plain(start, end, hashes, position) }
    }

    /// The letters of the word.
    pub(crate) fn word<'t>(&'t self, reading: &'t str) -> &'t str {
        self.respelled.as_deref().unwrap_or(&reading[self.start..self.letters_end])
    }
}

/// Splits a lower-case text.
pub(crate) fn tokens(reading: &str) -> Vec<Token> {
    let bytes = reading.as_bytes();
    let mut tokens: Vec<Token> = Vec::with_capacity(reading.len() / 5 + 4);
    let (mut at, mut position) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => {
                let (end, number) = number(bytes, at);
                let hashes = Hashes::of(&reading[at..end]);
                tokens.push(Token { number: Some(number), ..Token::plain(at, end, hashes, position) });
                position += 1;
                at = end;
            }
            b'a'..=b'z' | 128.. => {
                let (letters_end, hashes) = word_end(reading, at);
                if letters_end == at {
                    at += reading[at..].chars().next().map_or(1, char::len_utf8);
                    continue;
                }
                let (end, respelled) = with_apostrophe(reading, at, letters_end);
                tokens.push(match respelled {
                    Some(word) => Token::respelled(at, end, word, position),
                    None => Token { letters_end, ..Token::plain(at, end, hashes, position) },
                });
                position += 1;
                at = end;
            }
            b'$' => {
                tokens.push(Token::plain(at, at + 1, Hashes::of("$"), position));
                at += 1;
            }
            b'.' | b'!' | b'?' | b';' => {
                let ends = bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace);
                position += if ends { SENTENCE } else { 0 };
                at += 1;
            }
            b'\n' => {
                position += if bytes.get(at + 1) == Some(&b'\n') { SENTENCE } else { 1 };
                at += 1;
            }
            _ => at += 1,
        }
    }
    tokens
}

/// The byte after the last letter of the word at a place, and the hashes of the word.
fn word_end(reading: &str, at: usize) -> (usize, Hashes) {
    let bytes = reading.as_bytes();
    let (mut end, mut hashing) = (at, Hashing::default());
    loop {
        match bytes.get(end) {
            Some(letter @ b'a'..=b'z') => {
                hashing.add(*letter);
                end += 1;
            }
            Some(128..) => match reading[end..].chars().next().filter(|c| c.is_alphanumeric()) {
                Some(c) => {
                    let letter = end..end + c.len_utf8();
                    end = letter.end;
                    bytes[letter].iter().for_each(|byte| hashing.add(*byte));
                }
                None => break,
            },
            _ => break,
        }
    }
    (end, hashing.hashes())
}

/// Handles an apostrophe: "son's" is "son", "i'll" is "i", "don't" is "dont", "i'm" is "im"; "j'ai" is two words.
fn with_apostrophe(reading: &str, start: usize, end: usize) -> (usize, Option<String>) {
    let bytes = reading.as_bytes();
    if bytes.get(end) != Some(&b'\'') {
        return (end, None);
    }
    let (after, _) = word_end(reading, end + 1);
    let (word, ending) = (&reading[start..end], &reading[end + 1..after]);
    match ending {
        "s" | "ll" | "d" | "re" | "ve" => (after, None),
        "t" if word.ends_with('n') => (after, Some(format!("{word}t"))),
        "m" if word == "i" => (after, Some("im".to_owned())),
        _ => (end, None),
    }
}

/// Parses a number: "50,000" and "8.2" are one number each; "50k" is fifty thousand.
fn number(bytes: &[u8], at: usize) -> (usize, f64) {
    let (mut end, mut value, mut scale) = (at, 0.0, 0.0);
    loop {
        match bytes.get(end) {
            Some(digit @ b'0'..=b'9') => {
                let digit = f64::from(digit - b'0');
                if scale == 0.0 {
                    value = value * 10.0 + digit;
                } else {
                    value += digit * scale;
                    scale /= 10.0;
                }
            }
            Some(b',') if scale == 0.0 && three_digits(bytes, end + 1) => {}
            Some(b'.') if scale == 0.0 && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) => scale = 0.1,
            _ => break,
        }
        end += 1;
    }
    let goes_on = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
    match bytes.get(end) {
        Some(b'k') if !goes_on(end + 1) => (end + 1, value * 1e3),
        Some(b'm') if !goes_on(end + 1) && bytes.get(at.wrapping_sub(1)) == Some(&b'$') => (end + 1, value * 1e6),
        _ => (end, value),
    }
}

fn three_digits(bytes: &[u8], at: usize) -> bool {
    (0..3).all(|i| bytes.get(at + i).is_some_and(u8::is_ascii_digit))
        && !bytes.get(at + 3).is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text).iter().map(|token| token.word(text).to_owned()).collect()
    }

    #[test]
    fn apostrophes_are_dropped_as_people_drop_them() {
        assert_eq!(words("i'm my son's; don't, i'll j'ai"), ["im", "my", "son", "dont", "i", "j", "ai"]);
    }

    #[test]
    fn numbers_are_read_with_their_separators() {
        let numbers = |text| tokens(text).into_iter().filter_map(|token| token.number).collect::<Vec<_>>();
        assert_eq!(numbers("50,000 8.5 50k 1,2 5mg $3m 3m"), [50_000.0, 8.5, 50_000.0, 1.0, 2.0, 5.0, 3e6, 3.0]);
    }

    #[test]
    fn a_sentence_ends_with_distance() {
        let positions: Vec<u32> = tokens("one two. three").iter().map(|token| token.position).collect();
        assert_eq!(positions, [0, 1, 5]);
    }
}
