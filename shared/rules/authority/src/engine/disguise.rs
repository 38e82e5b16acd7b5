//! Recovers words that are disguised to evade a word list: "su1c1de", "k!ll", "su*cide", "s u i c i d e", "suiiicide".
//! Only spellings that lead to a word of the lexicon are changed; all others are kept.

use super::lexicon::{word_number, words};
use crate::text::token::Token;

/// From this number, consecutive single letters are read as one word; three letters only if they form one of [`SHORT`].
const SPACED: usize = 4;

/// Three-letter words that are also decoded from signs: "d1e".
const SHORT: [&str; 6] = ["die", "kys", "kms", "sex", "cut", "gun"];

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'@' | b'$' | b'!' | b'*' | b'|' | b'+' | b'0'..=b'9')
}

/// Replaces the tokenizer's fragments of a disguised word with the word.
pub(crate) fn undisguise(reading: &str, tokens: Vec<Token>) -> Vec<Token> {
    let tokens = join_signs(reading, tokens);
    let mut tokens = join_spaced(reading, tokens);
    let has_repeats = reading.as_bytes().windows(3).any(|three| three[0] == three[1] && three[1] == three[2]);
    if has_repeats {
        for token in &mut tokens {
            if let Some(word) = unrepeat(reading, token) {
                token.respelled = Some(word);
            }
        }
    }
    tokens
}

/// Reads digits and signs between letters as letters.
fn join_signs(reading: &str, tokens: Vec<Token>) -> Vec<Token> {
    let bytes = reading.as_bytes();
    let is_mixed = bytes.windows(2).any(|pair| {
        (is_sign(pair[0]) && pair[1].is_ascii_lowercase()) || (pair[0].is_ascii_lowercase() && is_sign(pair[1]))
    });
    if !is_mixed {
        return tokens;
    }
    let mut joined: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if joined.last().is_some_and(|last| last.respelled.is_some() && last.end >= token.end) {
            continue;
        }
        let inside = |byte: &u8| byte.is_ascii_lowercase() || is_sign(*byte);
        let start = bytes[..token.start].iter().rposition(|byte| !inside(byte)).map_or(0, |before| before + 1);
        let end = bytes[token.start..].iter().position(|byte| !inside(byte)).map_or(bytes.len(), |at| token.start + at);
        let run = &bytes[start..end];
        let known = run.len() >= 3
            && run.iter().any(u8::is_ascii_lowercase)
            && run.iter().any(|byte| is_sign(*byte))
            && word_number(token.word(reading)).is_none_or(|_| token.word(reading).len() < 4);
        match known.then(|| read_signs(run)).flatten() {
            Some(word) => {
                joined.retain(|earlier| earlier.start < start);
                joined.push(Token { start, end, respelled: Some(word), number: None, position: token.position });
            }
            None => joined.push(token),
        }
    }
    joined
}

/// The lexicon's word of four or more letters that a run of letters and signs represents.
fn read_signs(run: &[u8]) -> Option<String> {
    let end = run.iter().rposition(|byte| !matches!(byte, b'!' | b'*')).map_or(0, |last| last + 1);
    let run = &run[..end];
    if run.contains(&b'*') {
        return words().find(|word| word.len() >= 4 && is_masked(run, word.as_bytes())).map(str::to_owned);
    }
    for one in ["i", "l"] {
        let word: String = run
            .iter()
            .map(|byte| match byte {
                b'0' => "o",
                b'1' | b'!' | b'|' => one,
                b'3' => "e",
                b'4' | b'@' => "a",
                b'5' | b'$' => "s",
                b'7' | b'+' => "t",
                b'8' => "b",
                b'9' => "g",
                letter => std::str::from_utf8(std::slice::from_ref(letter)).unwrap_or_default(),
            })
            .collect();
        if (word.len() >= 4 && word_number(&word).is_some()) || SHORT.contains(&word.as_str()) {
            return Some(word);
        }
    }
    None
}

/// Whether a run matches a word: each star replaces one letter or none, and at least half of the letters are visible.
fn is_masked(run: &[u8], word: &[u8]) -> bool {
    let shown = run.iter().filter(|byte| **byte != b'*').count();
    if shown * 2 < word.len() || run.first() != word.first() {
        return false;
    }
    fn matches(run: &[u8], word: &[u8]) -> bool {
        match (run.first(), word.first()) {
            (None, None) => true,
            (Some(b'*'), _) => matches(&run[1..], word) || (!word.is_empty() && matches(&run[1..], &word[1..])),
            (Some(letter), Some(other)) => letter == other && matches(&run[1..], &word[1..]),
            _ => false,
        }
    }
    run.len() <= 24 && matches(run, word)
}

/// Joins letters that spaces, points or hyphens separate.
fn join_spaced(reading: &str, tokens: Vec<Token>) -> Vec<Token> {
    let is_letter = |token: &Token| token.end - token.start == 1 && token.number.is_none();
    if tokens.windows(SPACED - 1).all(|window| !window.iter().all(is_letter)) {
        return tokens;
    }
    let mut joined = Vec::with_capacity(tokens.len());
    let mut rest = &tokens[..];
    // Positions are reduced to those of the joined words.
    let mut nearer = 0;
    while let Some(first) = rest.first() {
        let run = rest.iter().take_while(|token| is_letter(token)).count();
        let letters: String = rest[..run].iter().map(|token| token.word(reading)).collect();
        let is_word = run >= SPACED || SHORT.contains(&letters.as_str());
        match is_word.then(|| split_letters(&letters)).flatten() {
            Some(words) => {
                let (mut at, count) = (0, words.len() as u32);
                for (index, word) in words.into_iter().enumerate() {
                    let (from, to) = (&rest[at], &rest[at + word.len() - 1]);
                    at += word.len();
                    joined.push(Token {
                        start: from.start,
                        end: to.end,
                        respelled: Some(word),
                        number: None,
                        position: first.position.saturating_sub(nearer) + index as u32,
                    });
                }
                let spread = rest[run - 1].position - first.position;
                nearer += (spread + 1).saturating_sub(count);
                rest = &rest[run..];
            }
            None => {
                joined.push(Token { position: first.position.saturating_sub(nearer), ..first.clone() });
                rest = &rest[1..];
            }
        }
    }
    joined
}

/// Splits letters into words of the lexicon. Prefers the longest first word that leaves further words.
fn split_letters(letters: &str) -> Option<Vec<String>> {
    if letters.is_empty() {
        return Some(Vec::new());
    }
    if letters.len() > 60 || !letters.is_ascii() {
        return None;
    }
    (1..=letters.len().min(14)).rev().find_map(|length| {
        let (word, rest) = letters.split_at(length);
        let is_word = word_number(word).is_some() && (length >= 2 || matches!(word, "i" | "a"));
        if !is_word {
            return None;
        }
        let mut words = vec![word.to_owned()];
        words.extend(split_letters(rest)?);
        Some(words)
    })
}

/// Reads "suiiicide" as "suicide": reduces three or more equal letters in a row to one or two.
fn unrepeat(reading: &str, token: &Token) -> Option<String> {
    let bytes = reading.as_bytes().get(token.start..token.end).unwrap_or_default();
    if bytes.len() < 5
        || !bytes.is_ascii()
        || !bytes.windows(3).any(|three| three[0] == three[1] && three[1] == three[2])
    {
        return None;
    }
    for most in [1, 2] {
        let mut word = String::with_capacity(bytes.len());
        let mut run = 0;
        for (index, byte) in bytes.iter().enumerate() {
            run = if index > 0 && bytes[index - 1] == *byte { run + 1 } else { 1 };
            let is_long = bytes[index + 1 - run..].iter().take_while(|other| *other == byte).count() > 2;
            if run <= if is_long { most } else { 2 } {
                word.push(char::from(*byte));
            }
        }
        if word_number(&word).is_some() {
            return Some(word);
        }
    }
    None
}
