//! Measures the time of one evaluation, over the questions of the tests' tables in texts of about 300 bytes, and over the
//! same texts with typographic apostrophes. Prints one JSON object a line; meaningful in release builds only:
//! `cargo run --release -p authority --example authority_bench`.
#![allow(clippy::print_stdout, reason = "a benchmark's output")]

use std::hint::black_box;
use std::time::Instant;

use authority::evaluate;

const ROUNDS: usize = 40;

fn main() {
    let ordinary = questions(include_str!("../tests/data/business.tsv"));
    let typographic: Vec<String> = ordinary.iter().map(|text| text.replace('\'', "’")).collect();
    let governed = questions(include_str!("../tests/data/governed.tsv"));
    let sets = [("ordinary", &ordinary), ("typographic", &typographic), ("governed", &governed)];
    for (name, texts) in sets {
        let mut times: Vec<f64> = (0..ROUNDS).flat_map(|_| texts.iter().map(|text| microseconds(text))).collect();
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times.get((times.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN);
        println!("{{\"name\":\"authority.{name}.median\",\"value\":{:.2},\"unit\":\"us\"}}", at(0.5));
        println!("{{\"name\":\"authority.{name}.p99\",\"value\":{:.2},\"unit\":\"us\"}}", at(0.99));
    }
}

/// Joins consecutive questions of a table into texts of 300 bytes or slightly more.
fn questions(table: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut text = String::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        text.push_str(line.split('\t').nth(1).unwrap_or_default());
        text.push(' ');
        if text.len() >= 300 {
            texts.push(std::mem::take(&mut text));
        }
    }
    texts
}

fn microseconds(text: &str) -> f64 {
    let start = Instant::now();
    black_box(evaluate(black_box(text), None));
    start.elapsed().as_nanos() as f64 / 1e3
}
