//! Measures the filter and other implementations on the same text in the same run. Prints one JSON object per line:
//! `{"name","value","unit","peer"?: {"name","value"},"ratio"?}`. Meaningful in release builds only.
//!
//! `cargo run --release -p filter --example bench`
//!
//! `cargo run --release -p filter --example bench -- CORPUS…` counts false hits instead: each argument is a text file.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark's output and its own fixtures"
)]

use std::hint::black_box;
use std::time::Instant;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use filter::{Action, Filter, Outcome};
use rustrict::{Censor, Trie, Type};

const ROUNDS: usize = 15;

fn terms() -> Vec<String> {
    let list: toml::Table = include_str!("../data/blocklist.toml").parse().unwrap();
    list["term"].as_array().unwrap().iter().map(|term| term["text"].as_str().unwrap().to_owned()).collect()
}

/// Nanoseconds per byte: the best of several rounds, each long enough for the clock's resolution.
fn per_byte(text: &str, mut run: impl FnMut(&str)) -> f64 {
    let repeats = (400_000 / text.len()).max(1);
    let round = |run: &mut dyn FnMut(&str)| {
        let start = Instant::now();
        for _ in 0..repeats {
            run(black_box(text));
        }
        start.elapsed().as_nanos() as f64 / (repeats * text.len()) as f64
    };
    run(text);
    (0..ROUNDS).map(|_| round(&mut run)).fold(f64::MAX, f64::min)
}

fn report(name: &str, value: f64, unit: &str, peer: Option<(&str, f64)>) {
    let peer = peer.map_or(String::new(), |(peer, other)| {
        format!(",\"peer\":{{\"name\":\"{peer}\",\"value\":{other:.3}}},\"ratio\":{:.2}", value / other)
    });
    println!("{{\"name\":\"{name}\",\"value\":{value:.3},\"unit\":\"{unit}\"{peer}}}");
}

/// About three kilobytes of clean verdict in ASCII.
fn clean_verdict() -> String {
    let all = include_str!("../tests/data/clean_verdicts.txt");
    let lines = all.lines().filter(|line| !line.starts_with('#') && line.is_ascii());
    let mut text = String::new();
    for line in lines.cycle() {
        if text.len() + line.len() > 3072 {
            return text;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// About three kilobytes of clean verdict in ASCII without any word that is a term in some sense.
fn plain_verdict(verdict: &str) -> String {
    let ordinary = ["manifold", "logos", "Copy that", "gloss"];
    let lines: Vec<&str> = verdict.lines().filter(|line| !ordinary.iter().any(|word| line.contains(word))).collect();
    lines.join("\n")
}

fn adversarial() -> Vec<(&'static str, String)> {
    let fill = |unit: &str| unit.repeat(30_000 / unit.len());
    vec![
        ("one letter over and over", fill("n")),
        ("spaced letters", fill("s o s ")),
        ("almost a term", fill("keep the shiny side u ")),
        ("ordinary senses", fill("gamma exposure, ")),
        ("words of their own", fill("no us ")),
        ("blocked terms", fill("nous x ")),
        ("signs", fill("$!@+|")),
        ("entities", fill("&#78;&amp;")),
        ("references without semicolons", fill("&#1")),
        ("percent escapes", fill("%25%34")),
        ("open tags", fill("<a <!-- ")),
        ("open links", fill("](x")),
        ("backslashes", fill("\\u004e\\\\")),
        ("invisible characters", fill("n\u{200b}\u{2060}")),
        ("mathematical letters", fill("𝐧𝐨𝐮 ")),
        ("Greek", fill("Φίλος Φ ρ ")),
        ("digits", fill("10-4.0.042 97.4")),
        ("leet", fill("n0 4i0 m4nt ")),
        ("symbols in their ordinary sense", fill("Φ Φ Φ Φ Φ letter Φ Φ Φ Φ Φ ")),
        ("bytes", fill("e8 00 e8 0f ")),
        ("names", fill("Mantis has tools. The mantis eats prey ")),
        ("tags", fill("<b>gamma</b> ray ")),
        ("turned around", fill("\u{202e}suon\u{202c} gamma ray ")),
        ("letters and signs behind a mark", format!("\u{202e}x\u{202c} {}", fill("ω\""))),
        ("1,000 hits in 7 KB", "nous x ".repeat(1000)),
    ]
}

fn speed() {
    let filter = Filter::embedded();
    let terms = terms();
    let automaton =
        AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).ascii_case_insensitive(true).build(&terms).unwrap();
    let mut trie = Trie::default();
    for term in &terms {
        trie.set(&term.to_lowercase(), Type::SEVERE);
    }
    let trie: &'static Trie = Box::leak(Box::new(trie));
    let verdict = clean_verdict();
    assert_eq!(filter.check(&verdict).outcome, Outcome::Pass);
    let ours = per_byte(&verdict, |text| drop(black_box(filter.check(text))));
    let dfa = per_byte(&verdict, |text| {
        black_box(automaton.find_iter(text).count());
    });
    let rustrict = per_byte(&verdict, |text| {
        black_box(Censor::from_str(text).with_trie(trie).analyze());
    });
    let decancer = per_byte(&verdict, |text| {
        let plain = decancer::cure(text, decancer::Options::default()).unwrap();
        black_box(terms.iter().any(|term| plain.find(term).next().is_some()));
    });
    let plain = plain_verdict(&verdict);
    let ours_plain = per_byte(&plain, |text| drop(black_box(filter.check(text))));
    let dfa_plain = per_byte(&plain, |text| {
        black_box(automaton.find_iter(text).count());
    });
    report("clean verdict", ours_plain, "ns/byte", Some(("aho-corasick DFA, same terms", dfa_plain)));
    report("clean 3 KB verdict with ordinary senses", ours, "ns/byte", Some(("aho-corasick DFA, same terms", dfa)));
    report("clean 3 KB verdict with ordinary senses", ours, "ns/byte", Some(("rustrict, same terms added", rustrict)));
    report("clean 3 KB verdict with ordinary senses", ours, "ns/byte", Some(("decancer, then each term", decancer)));
    let mail =
        format!("VERDICT: 🟡 AMBER\n═══════════\n{}\n───────────\n42 Sisters AI · oracle@42sisters.ai\n", verdict);
    report(
        "finished mail with emoji and rules",
        per_byte(&mail, |text| drop(black_box(filter.check(text)))),
        "ns/byte",
        None,
    );
    let held = format!("{verdict} The options are manifold.");
    report(
        "3 KB verdict with an ordinary sense",
        per_byte(&held, |text| drop(black_box(filter.check(text)))),
        "ns/byte",
        None,
    );
    for (name, text) in adversarial() {
        report(
            &format!("adversarial: {name}"),
            per_byte(&text, |text| drop(black_box(filter.check(text)))),
            "ns/byte",
            None,
        );
    }
    for megabytes in [1, 10] {
        let text = "n o u gamma exposure & &amp; no us; ".repeat(megabytes * 1_000_000 / 36);
        let start = Instant::now();
        black_box(filter.check(&text));
        let value = start.elapsed().as_nanos() as f64 / text.len() as f64;
        report(&format!("adversarial: mixed, {megabytes} MB"), value, "ns/byte", None);
    }
}

/// The number of hits of each kind.
#[derive(Default)]
struct Counts {
    replaced: usize,
    quarantined: usize,
}

/// Counts the hits of a plain word list: every term as it is written, in any case, as a whole word.
fn plain_hits(automaton: &AhoCorasick, replaceable: &[bool], text: &str, counts: &mut Counts) {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let bytes = text.as_bytes();
    for hit in automaton.find_iter(text) {
        let before = hit.start().checked_sub(1).and_then(|before| bytes.get(before));
        if is_edge(before) && is_edge(bytes.get(hit.end())) {
            match replaceable[hit.pattern().as_usize()] {
                true => counts.replaced += 1,
                false => counts.quarantined += 1,
            }
        }
    }
}

/// Prints the false hits per million words of ordinary text, and each hit to standard error.
fn false_hits(paths: &[String]) {
    let list: toml::Table = include_str!("../data/blocklist.toml").parse().unwrap();
    let replaceable: Vec<bool> =
        list["term"].as_array().unwrap().iter().map(|term| term.get("substitute").is_some()).collect();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(true)
        .build(terms())
        .unwrap();
    let (mut ours, mut plain, mut words) = (Counts::default(), Counts::default(), 0);
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        words += text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
        plain_hits(&automaton, &replaceable, &text, &mut plain);
        for hit in Filter::embedded().check(&text).hits {
            match hit.action {
                Action::Replace => ours.replaced += 1,
                Action::Quarantine => ours.quarantined += 1,
            }
            let line = text[..hit.start].rfind('\n').map_or(0, |at| at + 1);
            let line: String = text[line..].lines().next().unwrap_or_default().chars().take(200).collect();
            eprintln!("{path}: {} in {line:?}", hit.term);
        }
    }
    let per_million = |count: usize| count as f64 * 1e6 / words.max(1) as f64;
    report("words of ordinary text", words as f64, "words", None);
    for (name, ours, plain) in [
        ("false replacements", ours.replaced, plain.replaced),
        ("false quarantines", ours.quarantined, plain.quarantined),
    ] {
        report(name, per_million(ours), "per million words", Some(("plain word matching", per_million(plain))));
    }
}

fn main() {
    let start = Instant::now();
    black_box(Filter::embedded().list_version());
    let first = start.elapsed().as_secs_f64() * 1e3;
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        report("first use (the embedded list made ready)", first, "ms", None);
        speed();
    } else {
        false_hits(&paths);
    }
}
