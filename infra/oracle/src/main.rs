//! `oracle`: the operator's command line.

mod crosscheck_command;
mod filter_command;
mod json_lines;

use std::error::Error;
use std::io::{self, BufWriter, Read};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// The operator's command line of Oracle.
#[derive(Parser)]
#[command(name = "oracle", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check texts against the block list, one JSON object a line.
    ///
    /// Reads {"id","text"} lines from standard input and writes {"id","outcome","text","hits","list_version"}
    /// lines; "start" and "end" of a hit are byte offsets into the input text. No network.
    #[command(
        after_help = "Example:\n  echo '{\"id\":\"1\",\"text\":\"Your coherence score is high.\"}' | oracle filter\n\nExit code 2: a line was not such an object; the lines before it are answered.",
        args_conflicts_with_subcommands = true
    )]
    Filter(FilterArguments),
    /// Score verdicts for structural consistency, one JSON object a line.
    ///
    /// Reads {"id","tier","verdict"} lines from standard input, where the verdict is an object or the model's
    /// raw reply as a string, and writes {"id","approved","coherence_score","threshold","verdict_label",
    /// "flags","crosscheck_reason"} lines. No network.
    #[command(
        after_help = "Example:\n  echo '{\"id\":\"1\",\"tier\":\"quick\",\"verdict\":{\"verdict\":\"GREEN\",\"summary\":\"Go.\"}}' | oracle crosscheck\n\nExit code 2: a line was not such an object; the lines before it are answered."
    )]
    Crosscheck(LinesArguments),
}

#[derive(Args)]
struct FilterArguments {
    #[command(subcommand)]
    command: Option<FilterCommand>,
    #[command(flatten)]
    lines: LinesArguments,
}

#[derive(Args)]
struct LinesArguments {
    /// JSON lines are the output with and without this; every command takes it.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum FilterCommand {
    /// Show what is seen in a text, view by view, and why it passes or not.
    ///
    /// Takes the text as an argument or, without one, from standard input.
    #[command(after_help = "Example:\n  oracle filter explain 'The options are manifold, says N&#79;US.'")]
    Explain {
        /// The text.
        text: Option<String>,
        /// Write one JSON object instead of lines for people.
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(error.as_ref());
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    let output = BufWriter::new(io::stdout().lock());
    match command {
        Command::Filter(FilterArguments { command: None, .. }) => filter_command::run(io::stdin().lock(), output)?,
        Command::Filter(FilterArguments { command: Some(FilterCommand::Explain { text, json }), .. }) => {
            let text = text.map_or_else(read_standard_input, Ok)?;
            filter_command::explain(&text, json, output)?;
        }
        Command::Crosscheck(_) => crosscheck_command::run(io::stdin().lock(), output)?,
    }
    Ok(())
}

fn read_standard_input() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

#[allow(clippy::print_stderr, reason = "the command line's one place for errors")]
fn report(error: &dyn Error) {
    eprintln!("oracle: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        eprintln!("  because: {cause}");
        source = cause.source();
    }
}
