//! The toll's part of `cargo xtask sim`. Its arguments are the first seed, the number of worlds, and `--keep-going` to
//! continue after a broken promise; or `--defects` to search for a world that reveals each defect of a port.
#![allow(clippy::print_stdout, reason = "it talks to a person at a terminal")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::{
    env,
    panic::{catch_unwind, set_hook},
    process::ExitCode,
    time::Instant,
};
use support::{life::live, site::Defect};

fn main() -> ExitCode {
    if env::args().any(|argument| argument == "--defects") {
        return defects();
    }
    let numbers: Vec<u64> = env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [first, count] = numbers[..] else {
        println!("worlds FIRST COUNT [--keep-going], or worlds --defects");
        return ExitCode::FAILURE;
    };
    let keeps_going = env::args().any(|argument| argument == "--keep-going");
    let begin = Instant::now();
    let (mut sold, mut shown, mut broken) = (0, 0, 0);
    for seed in first..first.saturating_add(count) {
        match catch_unwind(|| live(seed, None)) {
            Ok(lived) => (sold, shown) = (sold + lived.sold, shown + lived.shown),
            Err(_) => {
                broken += 1;
                println!("BROKEN in the toll's world of seed {seed}, as said above");
                if !keeps_going {
                    break;
                }
            }
        }
    }
    println!("{shown} payments shown by agents, {sold} of them answered");
    println!("{broken} of the toll's worlds in which a promise was broken, {:.1} s", begin.elapsed().as_secs_f64());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first of these worlds that breaks a promise, for each defect.
fn defects() -> ExitCode {
    const WORLDS: u64 = 1_000;
    set_hook(Box::new(|_| {}));
    let mut missed = 0;
    for defect in Defect::ALL {
        match (0..WORLDS).find(|seed| catch_unwind(|| live(*seed, Some(defect))).is_err()) {
            Some(seed) => println!("{:22} seed {seed}", format!("{defect:?}")),
            None => {
                missed += 1;
                println!("{:22} MISSED in {WORLDS} worlds", format!("{defect:?}"));
            }
        }
    }
    println!("{} of {} defects of the toll's ports found", Defect::ALL.len() - missed, Defect::ALL.len());
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
