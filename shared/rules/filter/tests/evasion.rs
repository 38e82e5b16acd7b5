//! No disguise hides a term: every transform on every term, and 50,000 seeded pairs of transforms.
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

/// What is left of a term when nearly all of its letters are digits, which nobody reads once they stand apart.
const MOSTLY_DIGITS: &[&str] = &["535510n5md"];

fn is_mostly_digits(disguised: &str) -> bool {
    let letters: String = disguised.chars().filter(char::is_ascii_alphanumeric).collect();
    MOSTLY_DIGITS.contains(&letters.to_lowercase().as_str())
}

/// Names that are ordinary words but for their case.
const CAPITALS_ONLY: &[&str] = &["VELA", "ORPHIC", "AEGIS", "HOW ABOUT NO"];

/// Whether what became of one of those is the ordinary word: no disguise, but another name.
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

/// What some pairs come to that a reader takes for something else: millimetres, a Roman numeral, cells, two words. They
/// pass.
const READ_AS_SOMETHING_ELSE: &[&str] = &["7mm", "Ix", "L|\u{3164}|X", "no\nus"];

#[test]
fn fifty_thousand_pairs_of_transforms_are_caught() {
    let terms = terms();
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
        let Some(disguised) = (first.apply)(term).and_then(|once| (second.apply)(&once)) else { continue };
        let is_known = READ_AS_SOMETHING_ELSE.contains(&disguised.as_str()) || is_mostly_digits(&disguised);
        if is_known || is_ordinary_word(term, &disguised) {
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

/// Disguises that no transform above makes: mixtures of scripts, escapes inside escapes, markup and neighbours.
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

/// What it does not do, so that nobody believes it does: each of these passes.
#[test]
fn what_is_not_caught_is_known() {
    for text in [
        "The team that watches the gate agrees.",
        "Notre score de cohérence est bas.",
        "The [CS](https://a.b/c)![x](https://d.e/f.png)DM model.",
        "Ask \\4e OUS now.",
        "Coherence is 97,4% now.",
        "10 – 4, go ahead.",
        "It is 7mm wide.",
        "Part Ix is missing.",
        "There is no\nus in it.",
        "Vela has reviewed your plan.",
        "How about no, says the crew.",
        "See the oracle log.",
        "(κ = the engineer)",
    ] {
        assert_eq!(Filter::embedded().check(text).outcome, Outcome::Pass, "{text}");
    }
}
