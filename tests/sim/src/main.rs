//! `cargo xtask sim`: runs any number of worlds.
// It talks to a person at a terminal.
#![allow(clippy::print_stdout)]

use clap::Parser;
use simulation::{
    Tally, chat,
    defects::{DEFECTS, hunt},
    simulate,
};
use std::{process::ExitCode, time::Instant};

#[derive(Parser)]
#[command(name = "simulation", about = "Runs the functions in simulated worlds and checks the promises at every step")]
struct Arguments {
    /// How many worlds
    #[arg(long, default_value_t = 2000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// One world only, with its trace
    #[arg(long)]
    seed: Option<u64>,
    /// Go on after a world in which a promise was broken
    #[arg(long)]
    keep_going: bool,
    /// Give a port or a queue one defect after the other, and print the first world of --seeds that shows it
    #[arg(long)]
    defects: bool,
    /// Worlds of the chat and its subscriptions instead of sales
    #[arg(long)]
    chat: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.chat {
        return chat_worlds(&arguments);
    }
    if arguments.defects {
        return defects(arguments.seeds);
    }
    if let Some(seed) = arguments.seed {
        let report = simulate(seed, true);
        report.trace.iter().for_each(|line| println!("{line}"));
        println!("\n{}", report.tally);
        return match report.violation {
            Some(violation) => {
                println!("BROKEN in the world of seed {seed}: {violation}");
                ExitCode::FAILURE
            }
            None => ExitCode::SUCCESS,
        };
    }
    many(&arguments)
}

fn many(arguments: &Arguments) -> ExitCode {
    let begin = Instant::now();
    let mut tally = Tally::default();
    let mut broken = 0;
    for seed in arguments.first..arguments.first.saturating_add(arguments.seeds) {
        let report = simulate(seed, false);
        tally.add(&report.tally);
        if let Some(violation) = report.violation {
            broken += 1;
            println!("BROKEN in the world of seed {seed}: {violation}");
            println!("    cargo xtask sim --seed {seed}");
            if !arguments.keep_going {
                break;
            }
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("\n{tally}");
    println!("{broken} worlds in which a promise was broken");
    println!("{seconds:.1} s, {:.0} sales a minute", tally.sales as f64 / seconds * 60.0);
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The chat's worlds: one with its trace, the defects, or many.
fn chat_worlds(arguments: &Arguments) -> ExitCode {
    if arguments.defects {
        let mut missed = 0;
        for defect in chat::DEFECTS {
            match chat::hunt(defect, arguments.seeds) {
                Ok((seed, broken)) => println!("{defect:?}: seed {seed}: {broken}"),
                Err(other) => {
                    missed += 1;
                    println!("{defect:?}: NOT FOUND as {:?}, but {other:?}", defect.promises());
                }
            }
        }
        return if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let (first, seeds) = arguments.seed.map_or((arguments.first, arguments.seeds), |seed| (seed, 1));
    let mut tally = chat::ChatTally::default();
    let mut broken = 0;
    for seed in first..first.saturating_add(seeds) {
        let report = chat::simulate_chat(seed, arguments.seed.is_some(), None);
        report.trace.iter().for_each(|line| println!("{line}"));
        tally.add(&report.tally);
        if let Some(violation) = report.broken {
            broken += 1;
            println!(
                "BROKEN in the chat's world of seed {seed}: {violation}\n    cargo xtask sim --chat --seed {seed}"
            );
            if !arguments.keep_going {
                break;
            }
        }
    }
    tally.counts.iter().for_each(|(what, count)| println!("{count:>8} {what}"));
    println!("{broken} worlds in which a promise was broken");
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One line for each defect, with the world that shows it.
fn defects(most: u64) -> ExitCode {
    let mut missed = 0;
    println!("| defect | found in the world of seed | as |\n|---|---|---|");
    for defect in DEFECTS {
        match hunt(defect, most) {
            Ok(found) => println!("| {defect} | {} | {} |", found.seed, found.violation),
            Err(None) => {
                missed += 1;
                println!("| {defect} | NOT FOUND | |");
            }
            Err(Some(other)) => {
                missed += 1;
                println!("| {defect} | NOT FOUND as {:?}, but {} | {} |", defect.rules(), other.seed, other.violation);
            }
        }
    }
    println!("\n{} of {} defects found", DEFECTS.len() - missed, DEFECTS.len());
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
