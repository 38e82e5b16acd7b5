//! Recovers words that are disguised to evade a word list: "su1c1de", "k!ll", "su*cide", "s u i c i d e", "suiiicide".
//! Only spellings that lead to a word of the lexicon are changed; all others are kept.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::lexicon::{word_number, words};
use crate::text::token::Token;

/// From this number, consecutive single letters are read as one word; three letters only if they form one of [`SHORT`].
const SPACED: usize = 4;

/// The most spaced letters that are read as words.
const MOST_LETTERS: usize = 60;

/// The longest word that spaced letters form.
const LONGEST_WORD: usize = 14;

/// The longest run of letters and stars that is read as a word.
const LONGEST_MASKED: usize = 24;

/// The words that a run with stars can represent, by their first and last letter. A text can have thousands of such
/// runs, and comparing each with every word takes a second.
static MASKABLE: LazyLock<BTreeMap<(u8, u8), Vec<&str>>> = LazyLock::new(|| {
    let mut by_ends: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for word in words().filter(|word| (4..=LONGEST_MASKED).contains(&word.len())) {
        if let (Some(first), Some(last)) = (word.bytes().next(), word.bytes().next_back()) {
            by_ends.entry((first, last)).or_default().push(word);
        }
    }
    by_ends
});

/// Three-letter words that are also decoded from signs: "d1e".
const SHORT: [&str; 6] = ["die", "kys", "kms", "sex", "cut", "gun"];

const fn is_sign(byte: u8) -> bool {
    matches!(byte, b'@' | b'$' | b'!' | b'*' | b'|' | b'+' | b'0'..=b'9')
}

/// Replaces the tokenizer's fragments of a disguised word with the word.
pub(crate) fn undisguise(reading: &str, tokens: Vec<Token>) -> Vec<Token> {
    let tokens = join_signs(reading, tokens);
    let mut tokens = join_spaced(reading, tokens);
    if has_repeats(reading.as_bytes()) {
        for token in &mut tokens {
            if let Some(word) = unrepeat(reading, token) {
                *token = Token::respelled(token.start, token.end, word, token.position);
            }
        }
    }
    tokens
}

/// Whether three equal bytes follow each other. This and [`has_sign_beside_letter`] look at every byte without a branch,
/// which the compiler turns into instructions for many bytes at once.
fn has_repeats(bytes: &[u8]) -> bool {
    let next = bytes.get(1..).unwrap_or_default();
    let after = bytes.get(2..).unwrap_or_default();
    let threes = bytes.iter().zip(next).zip(after);
    threes.fold(false, |found, ((one, next), after)| found | ((one == next) & (next == after)))
}

fn has_sign_beside_letter(bytes: &[u8]) -> bool {
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    pairs.fold(false, |found, (one, next)| {
        found | (is_sign(*one) & next.is_ascii_lowercase()) | (one.is_ascii_lowercase() & is_sign(*next))
    })
}

/// Reads digits and signs between letters as letters.
fn join_signs(reading: &str, tokens: Vec<Token>) -> Vec<Token> {
    let bytes = reading.as_bytes();
    if !has_sign_beside_letter(bytes) {
        return tokens;
    }
    let inside = |byte: &u8| byte.is_ascii_lowercase() || is_sign(*byte);
    let mut joined: Vec<Token> = Vec::with_capacity(tokens.len());
    // A run has many tokens, so it is delimited and read once: a text of one long run takes no longer than others.
    let mut run = Run::default();
    for token in tokens {
        if joined.last().is_some_and(|last| last.respelled.is_some() && last.end >= token.end) {
            continue;
        }
        if run.end <= token.start {
            let before = bytes[run.end..token.start].iter().rposition(|byte| !inside(byte));
            let start = before.map_or(run.end, |before| run.end + before + 1);
            let after = bytes[token.start..].iter().position(|byte| !inside(byte));
            run = Run::of(bytes, start, after.map_or(bytes.len(), |after| token.start + after));
        }
        let is_known = || word_number(token.word(reading)).is_some() && token.word(reading).len() >= 4;
        match run.word.as_ref().filter(|_| !is_known()) {
            Some(word) => {
                while joined.last().is_some_and(|earlier| earlier.start >= run.start) {
                    joined.pop();
                }
                joined.push(Token::respelled(run.start, run.end, word.clone(), token.position));
            }
            None => joined.push(token),
        }
    }
    joined
}

/// Consecutive letters and signs.
#[derive(Default)]
struct Run {
    start: usize,
    end: usize,
    /// The word that they represent.
    word: Option<String>,
}

impl Run {
    fn of(bytes: &[u8], start: usize, end: usize) -> Self {
        let run = bytes.get(start..end).unwrap_or_default();
        let is_mixed =
            run.len() >= 3 && run.iter().any(u8::is_ascii_lowercase) && run.iter().any(|byte| is_sign(*byte));
        Self { start, end, word: is_mixed.then(|| read_signs(run)).flatten() }
    }
}

/// The lexicon's word of four or more letters that a run of letters and signs represents.
fn read_signs(run: &[u8]) -> Option<String> {
    let end = run.iter().rposition(|byte| !matches!(byte, b'!' | b'*')).map_or(0, |last| last + 1);
    let run = &run[..end];
    if run.contains(&b'*') {
        if run.len() > LONGEST_MASKED {
            return None;
        }
        // The last letter of the run is visible: stars at its end are cut off.
        let candidates = MASKABLE.get(&(*run.first()?, *run.last()?))?;
        return candidates.iter().find(|word| is_masked(run, word.as_bytes())).map(|word| (*word).to_owned());
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
    if run.len() < word.len() || shown * 2 < word.len() || run.first() != word.first() {
        return false;
    }
    // Bit n says whether the run so far represents the first n letters of the word.
    let mut represented = 1_u64;
    for byte in run {
        represented = match byte {
            b'*' => represented | represented << 1,
            letter => {
                let same = word.iter().take(63).rev().fold(0, |bits, other| bits << 1 | u64::from(other == letter));
                (represented & same) << 1
            }
        };
    }
    word.len() < 64 && represented >> word.len() & 1 == 1
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
    // The single letters at the beginning of the rest.
    let mut run = 0;
    while let Some(first) = rest.first() {
        if run == 0 {
            run = rest.iter().take_while(|token| is_letter(token)).count();
        }
        // A longer run is not even read, so that a text of single letters takes no longer than others.
        let readable = if run <= MOST_LETTERS { run } else { 0 };
        let letters: String = rest[..readable].iter().map(|token| token.word(reading)).collect();
        let is_word = letters.len() >= SPACED || SHORT.contains(&letters.as_str());
        match is_word.then(|| split_letters(&letters)).flatten() {
            Some(words) => {
                let (mut at, count) = (0, words.len() as u32);
                for (index, word) in words.into_iter().enumerate() {
                    let (from, to) = (&rest[at], &rest[at + word.len() - 1]);
                    at += word.len();
                    let position = first.position.saturating_sub(nearer) + index as u32;
                    joined.push(Token::respelled(from.start, to.end, word, position));
                }
                let spread = rest[run - 1].position - first.position;
                nearer += (spread + 1).saturating_sub(count);
                rest = &rest[run..];
                run = 0;
            }
            None => {
                joined.push(Token { position: first.position.saturating_sub(nearer), ..first.clone() });
                rest = &rest[1..];
                run = run.saturating_sub(1);
            }
        }
    }
    joined
}

/// Splits letters into words of the lexicon. Prefers the longest first word that leaves further words.
fn split_letters(letters: &str) -> Option<Vec<String>> {
    if letters.len() > MOST_LETTERS || !letters.is_ascii() {
        return None;
    }
    let is_word = |word: &str| word_number(word).is_some() && (word.len() >= 2 || matches!(word, "i" | "a"));
    // From the end: for each place, the length of the first word there, if the letters from there on are words.
    let mut lengths = vec![None; letters.len()];
    for start in (0..letters.len()).rev() {
        let mut candidates = (1..=(letters.len() - start).min(LONGEST_WORD)).rev();
        lengths[start] = candidates.find(|length| {
            let end = start + length;
            (end == letters.len() || lengths[end].is_some()) && is_word(&letters[start..end])
        });
    }
    let (mut words, mut start) = (Vec::new(), 0);
    while start < letters.len() {
        let end = start + lengths[start]?;
        words.push(letters[start..end].to_owned());
        start = end;
    }
    Some(words)
}

/// Reads "suiiicide" as "suicide": reduces three or more equal letters in a row to one or two.
fn unrepeat(reading: &str, token: &Token) -> Option<String> {
    let bytes = reading.as_bytes().get(token.start..token.end).unwrap_or_default();
    if bytes.len() < 5 || !bytes.is_ascii() || !has_repeats(bytes) {
        return None;
    }
    let runs = || bytes.chunk_by(|one, next| one == next);
    for most in [1, 2] {
        let kept = runs().map(|run| &run[..if run.len() > 2 { most } else { run.len() }]);
        let word: String = kept.flatten().copied().map(char::from).collect();
        if word_number(&word).is_some() {
            return Some(word);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::token::tokens;

    /// The words of a text as they are read.
    fn words_of(reading: &str) -> Vec<String> {
        let tokens = undisguise(reading, tokens(reading));
        tokens.iter().map(|token| token.word(reading).to_owned()).collect()
    }

    #[test]
    fn a_star_is_one_letter_or_none() {
        for (run, word, expected) in [
            ("su*cide", "suicide", true),
            ("k*ll", "kill", true),
            ("ki*ll", "kill", true),
            ("k**l", "kill", true),
            ("k***", "kill", false),
            ("*ill", "kill", false),
            ("k*l", "kill", false),
            ("kill", "kills", false),
            ("kills", "kill", false),
        ] {
            assert_eq!(is_masked(run.as_bytes(), word.as_bytes()), expected, "{run} {word}");
        }
    }

    /// What one run with stars costs.
    #[test]
    fn few_words_share_their_ends() {
        let most = MASKABLE.values().map(Vec::len).max();
        assert!(most.is_some_and(|most| most < 300), "{most:?}");
        assert_eq!(MASKABLE.values().map(Vec::len).sum::<usize>(), words().filter(|word| word.len() >= 4).count());
    }

    #[test]
    fn each_disguise_is_read_as_its_word() {
        for (text, expected) in [
            ("he will k!ll her", "he will kill her"),
            ("su*cide and su1c1de", "suicide and suicide"),
            ("k i l l her", "kill her"),
            ("s u i c i d e", "suicide"),
            ("suiiiicide", "suicide"),
            ("i want 2 eggs", "i want 2 eggs"),
        ] {
            assert_eq!(words_of(text).join(" "), expected);
        }
    }

    /// What is read once for each token of a run, or once for each place in it, takes minutes here.
    #[test]
    fn a_text_of_one_long_run_is_read_once() {
        for part in ["0", "a", "a!", "a*", "ab1", "5é", "k*l l*", "q ", "d a ", "a-", "1,"] {
            let text = part.repeat(20_000 / part.len());
            assert!(!words_of(&format!("{text} k!ll")).is_empty(), "{part}");
        }
    }
}
