//! Disguises whose author had not seen the engine: every term of the list, in sentences, under one kind of disguise and
//! under two. Half of the kinds are only ever counted, so that the share that they are caught at is one of disguises
//! that the filter was not written for.
//!
//! `UNSEEN_EVERY=1` tries every term with every pair instead of every third; `UNSEEN_MISSED=1` prints what was missed.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::expect_used, reason = "a test that reports figures")]

mod alphabets;
mod kinds;
mod spelling;
mod writing;

use filter::{Filter, Outcome};
use kinds::{COUNTED, Kind, TUNED};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use writing::Writing;

const SENTENCES: [&str; 4] = [
    "The call rests on {} alone.",
    "Keep {} in mind before you act.",
    "Nobody outside has heard of {} so far.",
    "It was {} again this morning, as before.",
];

#[derive(Deserialize)]
struct BlockList {
    term: Vec<Term>,
}

#[derive(Deserialize)]
struct Term {
    text: String,
}

static TERMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let list: BlockList = toml::from_str(include_str!("../../data/blocklist.toml")).expect("the block list");
    list.term.into_iter().map(|term| term.text).collect()
});

/// A number that depends on the case alone, so that a case is the same in every run.
fn seed(parts: [&str; 3]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in parts.join("\u{0}").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }
    hash ^ (hash >> 29)
}

fn is_caught(writing: &Writing, seed: u64) -> bool {
    let sentence = SENTENCES[seed as usize % SENTENCES.len()].replace("{}", &writing.to_string());
    Filter::embedded().check(&sentence).outcome != Outcome::Pass
}

#[derive(Default)]
struct Tally {
    tried: usize,
    missed: Vec<String>,
    by_kind: BTreeMap<String, usize>,
    by_term: BTreeMap<String, usize>,
}

impl Tally {
    fn count(&mut self, kinds: &str, writing: &Writing, seed: u64) {
        self.tried += 1;
        if !is_caught(writing, seed) {
            self.missed.push(format!("{kinds}: {:?} for {}", writing.to_string(), writing.term));
            for kind in kinds.split(" + ") {
                *self.by_kind.entry(kind.to_owned()).or_default() += 1;
            }
            *self.by_term.entry(writing.term.to_owned()).or_default() += 1;
        }
    }

    fn add(&mut self, other: Tally) {
        self.tried += other.tried;
        self.missed.extend(other.missed);
        for (into, from) in [(&mut self.by_kind, other.by_kind), (&mut self.by_term, other.by_term)] {
            for (key, count) in from {
                *into.entry(key).or_default() += count;
            }
        }
    }

    fn caught(&self) -> f64 {
        100.0 - 100.0 * self.missed.len() as f64 / self.tried as f64
    }

    fn assert_caught(&self, name: &str, least: f64) {
        println!("{name}: {:.3} % of {} caught, {} missed", self.caught(), self.tried, self.missed.len());
        if std::env::var("UNSEEN_MISSED").is_ok() {
            let most = |counts: &BTreeMap<String, usize>| {
                let mut sorted: Vec<_> = counts.iter().map(|(key, count)| (*count, key.clone())).collect();
                sorted.sort_by(|a, b| b.cmp(a));
                sorted.truncate(25);
                sorted
            };
            println!("  kinds: {:?}\n  terms: {:?}", most(&self.by_kind), most(&self.by_term));
            self.missed.iter().for_each(|missed| println!("  {missed}"));
        }
        let some = &self.missed[..self.missed.len().min(50)];
        assert!(
            self.caught() >= least,
            "{name}: {:.3} % caught, {least} % expected:\n{}",
            self.caught(),
            some.join("\n")
        );
    }
}

fn singles(kinds: &[Kind]) -> Tally {
    let mut tally = Tally::default();
    for term in TERMS.iter() {
        for kind in kinds {
            let seed = seed([term, kind.name, ""]);
            if let Some(writing) = (kind.apply)(Writing::plain(term), seed) {
                tally.count(kind.name, &writing, seed);
            }
        }
    }
    tally
}

/// All ordered pairs, the first kind of `first`. `every`: how many terms one case of each pair is taken from.
fn pairs(first: &'static [Kind], second: &'static [Kind], every: usize) -> Tally {
    let part = |a: usize, one: &Kind| {
        let mut tally = Tally::default();
        for (b, other) in second.iter().enumerate().filter(|(_, other)| other.name != one.name) {
            for term in TERMS.iter().skip((a + b) % every).step_by(every) {
                let seed = seed([term, one.name, other.name]);
                let Some(once) = (one.apply)(Writing::plain(term), seed) else { continue };
                if let Some(twice) = (other.apply)(once, seed / 7) {
                    tally.count(&format!("{} + {}", one.name, other.name), &twice, seed);
                }
            }
        }
        tally
    };
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let half = first.len() / 2;
        let workers = [&first[..half], &first[half..]].map(|kinds| {
            scope.spawn(move || {
                let mut tally = Tally::default();
                kinds.iter().enumerate().for_each(|(a, one)| tally.add(part(a, one)));
                tally
            })
        });
        for worker in workers {
            all.add(worker.join().expect("counts the pairs"));
        }
    });
    all
}

#[test]
fn every_term_is_caught_undisguised() {
    for term in TERMS.iter() {
        for n in 0..SENTENCES.len() as u64 {
            assert!(is_caught(&Writing::plain(term), n), "{term} in sentence {n}");
        }
    }
}

#[test]
fn one_disguise() {
    let (tuned, counted) = (singles(TUNED), singles(COUNTED));
    tuned.assert_caught("tuned kinds", 99.5);
    counted.assert_caught("counted kinds", 99.5);
}

#[test]
fn two_disguises() {
    let every = std::env::var("UNSEEN_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(3);
    pairs(TUNED, TUNED, every).assert_caught("tuned pairs", 96.5);
    pairs(COUNTED, COUNTED, every).assert_caught("counted pairs", 99.5);
    let mut mixed = pairs(TUNED, COUNTED, every);
    mixed.add(pairs(COUNTED, TUNED, every));
    mixed.assert_caught("mixed pairs", 99.0);
}
