//! Tests that no disguise hides a term: every transform on every term, and 50,000 seeded pairs of transforms.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod transforms;

use filter::{Filter, Outcome};
use transforms::TRANSFORMS;

const CARRIERS: &[&str] =
    &["{}", "The report mentions {} twice.", "We looked at this closely; {}, they say, agrees.", "Verdict: {}"];

fn terms() -> Vec<String> {
    let list: toml::Table = include_str!("../data/blocklist.toml").parse().unwrap();
    list["term"].as_array().unwrap().iter().map(|term| term["text"].as_str().unwrap().to_owned()).collect()
}

fn is_caught(disguised: &str, carrier: &str) -> bool {
    Filter::embedded().check(&carrier.replace("{}", disguised)).outcome != Outcome::Pass
}

#[test]
fn every_single_transform_of_every_term_is_caught() {
    assert!(TRANSFORMS.len() >= 60, "{}", TRANSFORMS.len());
    let mut tried = 0;
    let mut missed = Vec::new();
    for term in terms() {
        for transform in TRANSFORMS {
            let Some(disguised) = (transform.apply)(&term).filter(|text| !is_ordinary_word(&term, text)) else {
                continue;
            };
            for carrier in CARRIERS {
                tried += 1;
                if !is_caught(&disguised, carrier) {
                    missed.push(format!("{term} · {} · {}", transform.name, carrier.replace("{}", &disguised)));
                }
            }
        }
    }
    assert!(tried > 10_000, "only {tried} combinations were tried");
    assert!(missed.is_empty(), "{} of {tried} missed:\n{}", missed.len(), missed.join("\n"));
}

/// Whether a reader still recognises the term. With three letters or fewer, none may be a digit or read as another
/// letter ("7mm" is a measure, "Ix" a numeral); with more, a third must remain; and the pieces must not be words that
/// the list calls innocent ("no us").
fn is_readable(term: &str, disguised: &str, innocent: &[(String, String)]) -> bool {
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).count();
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
    if letters(term) == 0 || digits(term) > 0 {
        return true;
    }
    let distinct = |text: &str| {
        let letters = text.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase());
        letters.collect::<std::collections::BTreeSet<char>>()
    };
    let swapped = distinct(disguised) != distinct(term);
    let is_short = letters(term) <= 3 && disguised.is_ascii();
    let plain = disguised.is_ascii();
    let enough = !plain || letters(disguised) * 3 > letters(term);
    let words = disguised.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    enough
        && !(is_short && (digits(disguised) > 0 || swapped))
        && !innocent.iter().any(|(of, innocent)| of == term && *innocent == words)
}

/// Each term with the words that it forms when it is split.
fn innocent() -> Vec<(String, String)> {
    let list: toml::Table = include_str!("../data/blocklist.toml").parse().unwrap();
    let terms = list["term"].as_array().unwrap().iter();
    let of = |term: &toml::Value| {
        let words = term.get("innocent").and_then(|words| words.as_array().cloned()).unwrap_or_default();
        let text = term["text"].as_str().unwrap().to_owned();
        words.into_iter().map(move |word| (text.clone(), word.as_str().unwrap().to_owned())).collect::<Vec<_>>()
    };
    terms.flat_map(of).collect()
}

/// Names that are ordinary words apart from their case.
const CAPITALS_ONLY: &[&str] = &["VELA", "ORPHIC", "AEGIS", "HOW ABOUT NO"];

/// Whether a disguised form of one of those is the ordinary word, and so not a disguise.
fn is_ordinary_word(term: &str, disguised: &str) -> bool {
    let word: String = disguised.chars().filter(|c| !matches!(c, '`' | '\u{2067}' | '\u{2069}')).collect();
    CAPITALS_ONLY.contains(&term) && word != term && word == term.to_lowercase()
}

/// A small generator with a fixed seed (xorshift), so that every run tries the same pairs.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn fifty_thousand_pairs_of_transforms_are_caught() {
    let (terms, innocent) = (terms(), innocent());
    let mut numbers = Numbers(0x0042_1618_0974);
    let mut tried = 0;
    let mut missed = Vec::new();
    while tried < 50_000 {
        let term = &terms[numbers.below(terms.len())];
        let (first, second) =
            (&TRANSFORMS[numbers.below(TRANSFORMS.len())], &TRANSFORMS[numbers.below(TRANSFORMS.len())]);
        if first.comes_last || first.name == second.name {
            continue;
        }
        let Some(disguised) = (first.apply)(term).and_then(|once| (second.apply)(&once)) else {
            continue;
        };
        if !is_readable(term, &disguised, &innocent) || is_ordinary_word(term, &disguised) {
            continue;
        }
        tried += 1;
        let carrier = CARRIERS[numbers.below(CARRIERS.len())];
        if !is_caught(&disguised, carrier) {
            missed.push(format!("{term} · {} · {} · {disguised:?}", first.name, second.name));
        }
    }
    assert!(missed.is_empty(), "{} of {tried} missed:\n{}", missed.len(), missed[..missed.len().min(200)].join("\n"));
}

/// Disguises that no transform makes: mixtures of scripts, escapes inside escapes, markup and neighbours.
#[test]
fn mixed_and_nested_disguises_are_caught() {
    let mut missed = Vec::new();
    let mut tried = 0;
    for line in include_str!("data/disguises.jsonl").lines() {
        let fields: Vec<String> = serde_json::from_str(line).unwrap();
        tried += 1;
        if Filter::embedded().check_payload(fields.iter().map(String::as_str)).outcome == Outcome::Pass {
            missed.push(line);
        }
    }
    assert!(tried >= 40, "{tried}");
    assert!(missed.is_empty(), "{} of {tried} missed:\n{}", missed.len(), missed.join("\n"));
}
