//! Splits a reading of a text into words and numbers.

/// The distance between two sentences, in words: a pattern's gap spans a full stop only if it allows this much.
const SENTENCE: u32 = 3;

/// One word, number or currency sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    /// The first byte in the reading.
    pub(crate) start: usize,
    /// The byte after the last.
    pub(crate) end: usize,
    /// The letters without a dropped apostrophe ("don't" is "dont"). `None` if the word is exactly the bytes of the
    /// reading.
    pub(crate) respelled: Option<String>,
    /// The value of a number.
    pub(crate) number: Option<f64>,
    /// The distance from the beginning in words; the end of a sentence counts as [`SENTENCE`].
    pub(crate) position: u32,
}

impl Token {
    /// The letters of the word.
    pub(crate) fn word<'t>(&'t self, reading: &'t str) -> &'t str {
        self.respelled.as_deref().unwrap_or(&reading[self.start..self.end])
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
                tokens.push(Token { start: at, end, respelled: None, number: Some(number), position });
                position += 1;
                at = end;
            }
            b'a'..=b'z' | 128.. => {
                let end = word_end(reading, at);
                if end == at {
                    at += reading[at..].chars().next().map_or(1, char::len_utf8);
                    continue;
                }
                let (end, respelled) = with_apostrophe(reading, at, end);
                tokens.push(Token { start: at, end, respelled, number: None, position });
                position += 1;
                at = end;
            }
            b'$' => {
                tokens.push(Token { start: at, end: at + 1, respelled: None, number: None, position });
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

fn word_end(reading: &str, at: usize) -> usize {
    let bytes = reading.as_bytes();
    let mut end = at;
    loop {
        match bytes.get(end) {
            Some(b'a'..=b'z') => end += 1,
            Some(128..) => match reading[end..].chars().next().filter(|c| c.is_alphanumeric()) {
                Some(c) => end += c.len_utf8(),
                None => return end,
            },
            _ => return end,
        }
    }
}

/// Handles an apostrophe: "son's" is "son", "i'll" is "i", "don't" is "dont", "i'm" is "im"; "j'ai" is two words.
fn with_apostrophe(reading: &str, start: usize, end: usize) -> (usize, Option<String>) {
    let bytes = reading.as_bytes();
    if bytes.get(end) != Some(&b'\'') {
        return (end, None);
    }
    let after = word_end(reading, end + 1);
    let (word, ending) = (&reading[start..end], &reading[end + 1..after]);
    match ending {
        "s" | "ll" | "d" | "re" | "ve" => (after, Some(word.to_owned())),
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
