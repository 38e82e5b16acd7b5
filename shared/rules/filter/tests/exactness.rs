//! Tests exactness over many seeded inputs of terms, disguises, markup and noise: no panic, no byte changed outside the
//! hits, and a clean output. `cargo test --release -p filter -- --ignored` runs a million.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests are tests")]

#[allow(dead_code, reason = "its other user needs the rest")]
mod transforms;

use filter::{Filter, Outcome};
use transforms::TRANSFORMS;

/// A small generator with a fixed seed (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

const NOISE: &[&str] = &[
    " ",
    "the ",
    "a ",
    "of ",
    ". ",
    ", ",
    "\n",
    "\n\n",
    "-",
    "'",
    "’s ",
    "(",
    ")",
    "%",
    "&",
    "&amp;",
    "&#",
    "=\n",
    "\\u00",
    "<b>",
    "</",
    "](x)",
    "é",
    "😀",
    "\u{200b}",
    "\u{308}",
    "🇨🇦",
    "Ω",
    "ß",
    "\u{0}",
    "\u{feff}",
    "0.04",
    "97.",
    "10-",
    "company ",
    "exposure ",
    "says ",
    "\u{202e}",
    "\u{202e}suon sihTOM",
    "\u{202c}",
    "\n\n",
    "x_y_",
    "{(=;",
    "Your ",
    "$",
    "!",
    "|",
    "n",
    "o",
    "u",
    "s",
];

fn input(numbers: &mut Numbers, terms: &[String]) -> String {
    let mut text = String::new();
    for _ in 0..numbers.below(7) {
        match numbers.below(4) {
            0 => text.push_str(&terms[numbers.below(terms.len())]),
            1 => {
                let term = &terms[numbers.below(terms.len())];
                text.push_str(&(TRANSFORMS[numbers.below(TRANSFORMS.len())].apply)(term).unwrap_or_default());
            }
            _ => text.push_str(NOISE[numbers.below(NOISE.len())]),
        }
    }
    text
}

fn assert_exact(text: &str) -> Outcome {
    let checked = Filter::embedded().check(text);
    let mut end = 0;
    for hit in &checked.hits {
        assert!(end <= hit.start && hit.start < hit.end && text.get(hit.start..hit.end).is_some(), "{text:?}");
        end = hit.end;
    }
    match checked.outcome {
        Outcome::Replace => {
            let mut rest = checked.text.strip_prefix(&text[..checked.hits[0].start]).expect("the beginning stands");
            for pair in checked.hits.windows(2) {
                let between = &text[pair[0].end..pair[1].start];
                let at = rest.find(between).unwrap_or_else(|| panic!("{between:?} is gone from {text:?}"));
                rest = &rest[at + between.len()..];
            }
            assert!(rest.ends_with(&text[end..]), "{text:?}");
            let again = Filter::embedded().check(&checked.text);
            assert_eq!((again.outcome, &again.text), (Outcome::Pass, &checked.text), "{text:?}");
        }
        outcome => {
            assert_eq!(checked.text, text);
            assert_eq!(checked.hits.is_empty(), outcome == Outcome::Pass, "{text:?}");
        }
    }
    checked.outcome
}

fn run(cases: usize) {
    let list: toml::Table = include_str!("../data/blocklist.toml").parse().unwrap();
    let terms: Vec<String> =
        list["term"].as_array().unwrap().iter().map(|term| term["text"].as_str().unwrap().to_owned()).collect();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut outcomes = [0; 3];
    for _ in 0..cases {
        outcomes[assert_exact(&input(&mut numbers, &terms)) as usize] += 1;
    }
    assert!(outcomes.iter().all(|count| count * 50 > cases), "a kind of outcome is hardly tried: {outcomes:?}");
}

#[test]
fn twenty_thousand_inputs_are_filtered_exactly() {
    run(20_000);
}

/// A reference without a semicolon is decoded by looking at the one after it, not at the whole run.
#[test]
fn a_long_run_of_references_without_semicolons_ends() {
    let run = "&#1".repeat(200_000);
    assert_eq!(assert_exact(&run), Outcome::Pass);
    assert_eq!(filter::readings(&run).len(), 2);
    assert_ne!(assert_exact(&format!("{run}&#78&#79&#85&#83 agrees.")), Outcome::Pass);
}

#[test]
#[ignore = "a million inputs; minutes in a debug build"]
fn a_million_inputs_are_filtered_exactly() {
    run(1_000_000);
}
