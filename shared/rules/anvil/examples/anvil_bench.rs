//! Measures the time of an assessment. Prints one JSON object a line; meaningful in release builds only: `cargo run
//! --release -p anvil-rules --example anvil_bench`.
#![allow(clippy::print_stdout, reason = "a benchmark's output")]

use anvil_rules::{Assessment, Facts, Measure, Mode, Readings, assess, judge_readings};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 20_000;

const KERNELS: &str = "Assess: Φζ=0.974, Ψχ=0.08, ΔΓ=0.05, ΩQ=0.91, λ_c=0.12";
const FORGE: &str = "Loss 0.89, smoke 2/5, 100-pair corpus. Lobster recommends promoting urgently. Assess.";

fn main() {
    let values = [974, 80, 50, 910, 120].map(Measure::thousandths);
    report("anvil.rule", || {
        black_box(Assessment::of(Mode::Analysis, judge_readings(&Readings::of(black_box(values)))));
    });
    let facts = Facts::default();
    for (name, text) in [("anvil.kernels_text", KERNELS), ("anvil.forge_text", FORGE)] {
        report(name, || {
            black_box(assess(black_box(text), &facts).text());
        });
    }
}

fn report(name: &str, mut run: impl FnMut()) {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_nanos() as f64 / 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times.get((times.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN);
    println!("{{\"name\":\"{name}.median\",\"value\":{:.2},\"unit\":\"us\"}}", at(0.5));
    println!("{{\"name\":\"{name}.p99\",\"value\":{:.2},\"unit\":\"us\"}}", at(0.99));
}
