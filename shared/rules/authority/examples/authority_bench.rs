//! Measures the gate beside two peers in the same run: a regex set and regorus, the Rego interpreter. Prints one JSON
//! object a line; meaningful in release builds only: `cargo xtask bench authority`.
//!
//! Times are of one evaluation, over the questions of the tests' tables in texts of about 300 bytes, and over the same
//! texts with typographic apostrophes. Counts are of the questions that each flags: of the tests' crisis table, where
//! all should be, and of the business table, where none should be. The gate's rules were changed until it decided both
//! tables as they say, so its counts do not predict unseen texts.
//!
//! The peers get the literal phrases of the gate's concepts and one rule: a text is flagged if it contains a phrase as
//! whole words. Single words such as "i" flag nearly every text by this rule, so it is also measured with the phrases
//! of several words alone. The peers do less than the gate: they stop at the first phrase and give no state and no
//! reason.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark's output and its own fixtures")]

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::Instant;

use authority::{State, evaluate};
use regex::{RegexSet, RegexSetBuilder};
use regorus::{CompiledPolicy, Engine, Value};
use serde_json::json;

const ROUNDS: usize = 40;
const BUSINESS: &str = include_str!("../tests/data/business.tsv");
const CRISIS: &str = include_str!("../tests/data/crisis.tsv");
const GOVERNED: &str = include_str!("../tests/data/governed.tsv");

/// Each word of a text selects the phrases that begin with it, so that a text is not compared with every phrase.
const POLICY: &str = r#"
package peer

default flagged := false

flagged if {
    some word in split(input, " ")
    some phrase in data.phrases[word]
    contains(input, phrase)
}
"#;

fn main() {
    measure("authority", |text| evaluate(text, None).state() != State::Authorized);
    let all = phrases();
    let long = all.iter().filter(|phrase| phrase.trim().contains(' ')).cloned().collect();
    for (rule, phrases) in [("any_phrase", all), ("several_words", long)] {
        let name = format!("peer.{rule}");
        println!("{{\"name\":\"{name}.phrases\",\"value\":{},\"unit\":\"phrases\"}}", phrases.len());
        let set = regex_set(&phrases);
        measure(&format!("{name}.regex"), |text| set.is_match(&spaced(text)));
        let policy = rego(&phrases);
        measure(&format!("{name}.regorus"), |text| {
            policy.eval_with_input(Value::from(spaced(text))).unwrap() == Value::from(true)
        });
    }
}

fn measure(name: &str, flags: impl Fn(&str) -> bool) {
    let ordinary = joined(BUSINESS);
    let typographic: Vec<String> = ordinary.iter().map(|text| text.replace('\'', "’")).collect();
    let governed = joined(GOVERNED);
    for (set, texts) in [("ordinary", &ordinary), ("typographic", &typographic), ("governed", &governed)] {
        let time = |text: &String| microseconds(text, &flags);
        // The regex set builds its automaton lazily, with the first texts.
        for text in texts {
            time(text);
        }
        let mut times: Vec<f64> = (0..ROUNDS).flat_map(|_| texts.iter().map(time)).collect();
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times.get((times.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN);
        println!("{{\"name\":\"{name}.{set}.median\",\"value\":{:.2},\"unit\":\"us\"}}", at(0.5));
        println!("{{\"name\":\"{name}.{set}.p99\",\"value\":{:.2},\"unit\":\"us\"}}", at(0.99));
    }
    for (set, table) in [("crisis", CRISIS), ("business", BUSINESS)] {
        let flagged = questions(table).filter(|question| flags(question)).count();
        let of = questions(table).count();
        println!("{{\"name\":\"{name}.{set}.flagged\",\"value\":{flagged},\"unit\":\"questions\",\"of\":{of}}}");
    }
}

fn questions(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split('\t').nth(1))
}

/// Joins consecutive questions of a table into texts of 300 bytes or slightly more.
fn joined(table: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut text = String::new();
    for question in questions(table) {
        text.push_str(question);
        text.push(' ');
        if text.len() >= 300 {
            texts.push(std::mem::take(&mut text));
        }
    }
    texts
}

fn microseconds(text: &str, flags: impl Fn(&str) -> bool) -> f64 {
    let start = Instant::now();
    black_box(flags(black_box(text)));
    start.elapsed().as_nanos() as f64 / 1e3
}

/// The literal phrases of all concepts except those of the general domain, as [`spaced`] writes them.
fn phrases() -> BTreeSet<String> {
    let mut phrases = BTreeSet::new();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") || path.ends_with("general.toml") {
            continue;
        }
        let data: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        let concepts = data.get("concepts").and_then(toml::Value::as_table).into_iter().flatten();
        let literal = concepts
            .flat_map(|(_, phrases)| phrases.as_array().unwrap())
            .filter_map(toml::Value::as_str)
            .filter(|phrase| !phrase.contains(['*', '@', '~', '#']));
        phrases.extend(literal.map(spaced));
    }
    phrases
}

/// Lower-case words without accents and apostrophes, with a space before and after each. The peers read texts in this
/// form; making it is part of their times.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + 2);
    spaced.push(' ');
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            '\'' | '’' => {}
            'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => spaced.push('a'),
            'ç' => spaced.push('c'),
            'è' | 'é' | 'ê' | 'ë' => spaced.push('e'),
            'ì' | 'í' | 'î' | 'ï' => spaced.push('i'),
            'ñ' => spaced.push('n'),
            'ò' | 'ó' | 'ô' | 'õ' | 'ö' => spaced.push('o'),
            'ù' | 'ú' | 'û' | 'ü' => spaced.push('u'),
            letter if letter.is_alphanumeric() => spaced.push(letter),
            _ if spaced.ends_with(' ') => {}
            _ => spaced.push(' '),
        }
    }
    if !spaced.ends_with(' ') {
        spaced.push(' ');
    }
    spaced
}

/// The default limits are for a few expressions.
fn regex_set(phrases: &BTreeSet<String>) -> RegexSet {
    let expressions = phrases.iter().map(|phrase| regex::escape(phrase));
    RegexSetBuilder::new(expressions).size_limit(1 << 28).dfa_size_limit(1 << 28).build().unwrap()
}

fn rego(phrases: &BTreeSet<String>) -> CompiledPolicy {
    let mut by_first_word: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for phrase in phrases {
        by_first_word.entry(phrase.split_whitespace().next().unwrap()).or_default().push(phrase);
    }
    let mut engine = Engine::new();
    engine.add_policy("peer.rego".to_owned(), POLICY.to_owned()).unwrap();
    engine.add_data_json(&json!({ "phrases": by_first_word }).to_string()).unwrap();
    engine.compile_with_entrypoint(&"data.peer.flagged".into()).unwrap()
}
