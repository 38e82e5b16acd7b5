//! `cargo xtask`: all commands for developers and for continuous integration.
// A crate with output for a person at a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod demo;
mod deployment;
mod error;
mod front_door;
mod functions;
mod http;
mod json_result;
mod layering;
mod local_dir;
mod mutants;
mod processes;
mod python;
mod runtime_api;
mod sim;
mod spec_rules;
mod suite;
mod toll;
mod up;
mod vendors;

use clap::{Parser, Subcommand};
use error::Error;
use local_dir::LocalDir;
use serde_json::json;
use std::{path::PathBuf, process::ExitCode};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Runs, tries and tests Oracle on this machine")]
struct Arguments {
    /// Write the result as JSON to standard output, and nothing else
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

/// Where a local stack keeps its files; several can run side by side in directories of their own.
#[derive(clap::Args)]
struct Dir {
    /// Directory of the local stack (default: ORACLE_LOCAL_DIR, else target/local)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Start the whole system here: build, deploy template.yaml to the emulator, open the front door
    #[command(
        after_help = "Example: cargo xtask up --detach\n\nProgress goes to standard error. Standard output gets the site's address once it answers, or with --json what\nstack.json has. In the foreground, Ctrl-C stops everything. When a stack is running already, its functions and its\ntemplate are brought up to date instead. Vendors whose keys are in .env are used for real (see .env.example)."
    )]
    Up {
        #[command(flatten)]
        options: up::Options,
        #[command(flatten)]
        dir: Dir,
    },
    /// Stop what `up --detach` started
    #[command(after_help = "Example: cargo xtask down")]
    Down(Dir),
    /// Buy a verdict as a customer would and show what happens
    #[command(after_help = "Example: cargo xtask demo \"Should I open a second bakery?\" --tier full")]
    Demo {
        /// The question
        question: String,
        /// What to buy
        #[arg(long, value_enum, default_value_t = demo::Tier::Full)]
        tier: demo::Tier,
        /// The customer's address; mail to it stays in the sandbox's mailbox unless Graph is real
        #[arg(long, default_value = "customer@example.com")]
        email: String,
        /// Buy as an agent does, for USDC with the sandbox's wallet; the tier says which address is asked
        #[arg(long)]
        toll: bool,
        #[command(flatten)]
        dir: Dir,
    },
    /// Print the environment of a deployed function as KEY=VALUE lines, or write those of all for `sam local`
    #[command(
        after_help = "Example: env $(cargo xtask env webhook) target/debug/webhook\nExample: cargo xtask env --sam && sam local invoke VerdictFunction --env-vars target/local/sam-env.json --event events/verdict.json"
    )]
    Env {
        /// The function: its folder's name under functions/
        #[arg(required_unless_present = "sam")]
        function: Option<String>,
        /// Write sam-env.json into the stack's directory: every function's variables, as a container reaches this machine
        #[arg(long, conflicts_with = "function")]
        sam: bool,
        #[command(flatten)]
        dir: Dir,
    },
    /// Measure what was promised; one JSON object a line on standard output
    #[command(
        after_help = "Example: cargo xtask bench start\n\nA line is {\"name\",\"value\",\"unit\",\"peer\"?: {\"name\",\"value\"},\"ratio\"?,…}; the ratio is our value divided by the peer's.\n\nBuilds the functions as they are deployed first (release: minutes the first time). Nothing is judged here,\nexcept that front-door fails above its limits and memory if an append to the emulator's table is lost or doubled. A\nmachine that is busy with other things gives other numbers."
    )]
    Bench {
        /// One benchmark: size, start, requests, health, front-door, audit, filter, memory, authority, anvil, toll or
        /// chat (default: all)
        name: Option<String>,
    },
    /// Run the functions in simulated worlds, with crashes, lost replies and slow vendors, and check every promise
    #[command(
        after_help = "Example: cargo xtask sim --seeds 10000\nExample: cargo xtask sim --seed 4711\nExample: cargo xtask sim --chat --first 301 --seeds 2000\n\nThe same seed does the same, to the letter of its trace. The agents that buy at the toll live in worlds of their own,\nwith the same seeds."
    )]
    Sim(sim::Options),
    /// Ask a model with the prompts as built, and refuse them when more internal vocabulary comes back than before
    #[command(
        after_help = "Example: GEMINI_API_KEY=… cargo xtask prompts --model gemini-3.5-flash --accept\n\n`cargo xtask prompts -- --help` lists the options."
    )]
    Prompts {
        /// Options of the measurement
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
        options: Vec<String>,
    },
    /// Change the code that decides, one place at a time, and report the changes that no test notices
    #[command(
        after_help = "Example: cargo xtask mutants --sample 40 > mutants.jsonl\nExample: cargo xtask mutants --judge unit --judge users\nExample: cargo xtask mutants --containing Sale::claim_mail\n\nOne JSON object a mutant on standard output, a summary last; progress goes to standard error. An outcome is\ncaught, timeout, missed, unviable (it does not compile) or equivalent (listed with a reason in infra/mutants.toml).\nThe exit code is 0 when no mutant was missed and every listed one exists. Mutates the commit, not the work tree."
    )]
    Mutants(mutants::Options),
    /// Draw the crates and what they use, or put the drawing into CONTRIBUTING.md
    #[command(
        after_help = "Example: cargo xtask layers --write\n\n`cargo xtask test --only layering` checks that it is current."
    )]
    Layers {
        /// Write it into CONTRIBUTING.md instead of printing it
        #[arg(long)]
        write: bool,
    },
    /// Run every check and test, installing what they need; what continuous integration runs
    #[command(
        after_help = "Example: cargo xtask test\nExample: cargo xtask test --only layering --only template\n\nThe last line is `N passed, N failed`; the exit code is 0 only when nothing failed. With --json standard output has one\nobject with the summary, and everything else goes to standard error."
    )]
    Test {
        /// Run only these steps (repeatable); `--list` names them
        #[arg(long, value_name = "STEP")]
        only: Vec<String>,
        /// Also build with `sam build` as a deployment would (several minutes: release builds)
        #[arg(long)]
        sam: bool,
        /// Name the steps and stop
        #[arg(long)]
        list: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command, arguments.json) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, as_json: bool) -> Result<ExitCode, Error> {
    match command {
        Command::Up { options, dir } => up::up(&LocalDir::new(dir.dir)?, &up::Options { as_json, ..options }),
        Command::Down(dir) => up::down(&LocalDir::new(dir.dir)?, as_json),
        Command::Demo { question, tier, toll: true, dir, .. } => {
            demo::toll(&LocalDir::new(dir.dir)?, &question, tier, as_json)
        }
        Command::Demo { question, tier, email, dir, .. } => {
            demo::demo(&LocalDir::new(dir.dir)?, &question, tier, &email, as_json)
        }
        Command::Env { function: Some(function), dir, .. } => {
            deployment::print_environment(&LocalDir::new(dir.dir)?, &function, as_json)
        }
        Command::Env { function: None, dir, .. } => {
            deployment::write_sam_environment(&LocalDir::new(dir.dir)?, as_json)
        }
        Command::Layers { write } => {
            let root = local_dir::repository()?;
            let packages = layering::read(&root)?;
            if write {
                layering::write(&root, &packages)?;
            }
            let drawing = layering::draw(&packages);
            if as_json {
                println!("{}", json!({ "drawing": drawing, "written": write }));
            } else if !write {
                print!("{drawing}");
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Bench { name } => bench::bench(name.as_deref()),
        Command::Sim(options) => sim::sim(&options, as_json),
        Command::Prompts { mut options } => {
            options.extend(as_json.then(|| "--json".to_owned()));
            functions::run_tool("prompt-regression", &options)
        }
        // The lines of `bench` and `mutants` are JSON anyway.
        Command::Mutants(options) => mutants::mutants(&options),
        Command::Test { only, sam, list } => suite::test(&only, sam, list, as_json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_an_example_and_json() {
        let mut arguments = Arguments::command();
        // Passes the global arguments on to the commands.
        arguments.build();
        for command in arguments.get_subcommands().filter(|command| command.get_name() != "help") {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Example: "), "{} has no example", command.get_name());
            let has_json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
            assert!(has_json, "{} has no --json", command.get_name());
        }
        for words in ["up --detach --json", "bench size --json", "--json down", "env --sam --json"] {
            let parsed = Arguments::try_parse_from(["xtask"].into_iter().chain(words.split(' ')));
            assert!(parsed.is_ok_and(|arguments| arguments.json), "{words}");
        }
    }
}
