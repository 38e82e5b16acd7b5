//! How quick the filter is, beside others on the same text in the same run. One JSON object a line:
//! `{"name","value","unit","peer"?,"peer_value"?,"ratio"?}`. Meaningful in release builds only.
//!
//! `cargo run --release -p filter --example bench`
//!
//! `cargo run --release -p filter --example bench -- CORPUS…` counts false hits instead: each argument is a text file.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark's output and its own fixtures")]

use std::hint::black_box;
use std::time::Instant;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use filter::{Filter, Outcome};
use rustrict::{Censor, Trie, Type};

const ROUNDS: usize = 15;

fn terms() -> Vec<String> {
    let list: toml::Table = include_str!("../data/blocklist.toml").parse().unwrap();
    list["term"].as_array().unwrap().iter().map(|term| term["text"].as_str().unwrap().to_owned()).collect()
}

/// Nanoseconds per byte: the best of several rounds, each long enough for the clock.
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
        format!(",\"peer\":\"{peer}\",\"peer_value\":{other:.3},\"ratio\":{:.2}", value / other)
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

/// About three kilobytes of clean verdict in ASCII in which no word is a term in any sense.
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
        ("percent escapes", fill("%25%34")),
        ("open tags", fill("<a <!-- ")),
        ("open links", fill("](x")),
        ("backslashes", fill("\\u004e\\\\")),
        ("invisible characters", fill("n\u{200b}\u{2060}")),
        ("mathematical letters", fill("𝐧𝐨𝐮 ")),
        ("Greek", fill("Φίλος Φ ρ ")),
        ("digits", fill("10-4.0.042 97.4")),
        ("leet", fill("n0 4i0 m4nt ")),
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

/// False hits per million words of ordinary text.
fn false_hits(paths: &[String]) {
    let (mut words, mut replaced, mut quarantined) = (0, 0, 0);
    for path in paths {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        words += text.split_whitespace().count();
        for hit in Filter::embedded().check(&text).hits {
            match hit.action {
                filter::Action::Replace => replaced += 1,
                filter::Action::Quarantine => quarantined += 1,
            }
        }
    }
    let per_million = |count: i32| f64::from(count) * 1e6 / words.max(1) as f64;
    report("words of ordinary text", words as f64, "words", None);
    report("false replacements", per_million(replaced), "per million words", None);
    report("false quarantines", per_million(quarantined), "per million words", None);
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
