//! `oracle memory`: replays a history without a network, and prints the schema of its events.

use crate::{
    command::{CommandError, Ended},
    json_lines::LinesError,
};
use clap::{Args, Subcommand};
use memory::{
    EVENTS_SCHEMA, Handle, Pins,
    replay::{Replay, Wanted},
    truncate::Budget,
};
use std::{
    fs,
    io::{BufRead, Write},
    path::PathBuf,
};

/// What can be done with the memory.
#[derive(Subcommand)]
pub(crate) enum MemoryCommand {
    /// Fold a history of events and build the working set that a model would see.
    ///
    /// Reads events from standard input, one JSON object a line (oracle memory schema), and writes
    /// {"events","state_hash","working_set_hash","working_set","receipts"}. The same lines, query and budget give
    /// the same bytes. No network.
    #[command(
        after_help = "Example:\n  oracle memory replay --campaign camp-1 --query 'What opens the vault?' --budget 8000 < events.jsonl\n\nExit code 2: a line is no event, or may not follow the lines before it, or the working set cannot be built."
    )]
    Replay(ReplayArguments),
    /// Print the JSON schema of the events, with an example of each.
    #[command(after_help = "Example:\n  oracle memory schema | jq -r '.oneOf[].title'")]
    Schema {
        /// JSON is the output with and without this; every command takes it.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The campaign; may be left out when all events are of one.
    #[arg(long, value_name = "ID", value_parser = handle)]
    campaign: Option<Handle>,
    /// The scene; without it, the one that is open at the end.
    #[arg(long, value_name = "ID", value_parser = handle)]
    scene: Option<Handle>,
    /// What is asked: orders what is shown, and unlocks nothing.
    #[arg(long, value_name = "TEXT", default_value = "")]
    query: String,
    /// How many bytes the whole working set may have.
    #[arg(long, value_name = "BYTES", default_value_t = 16_384)]
    budget: u64,
    /// Also at most so many of a model's tokens, counted at one a byte unless --tokens-per-1000-bytes is given.
    #[arg(long, value_name = "TOKENS")]
    token_budget: Option<u64>,
    /// How many tokens the model makes of 1,000 bytes at most, as measured.
    #[arg(long, value_name = "TOKENS", default_value_t = 1000, requires = "token_budget")]
    tokens_per_1000_bytes: u64,
    /// The pins that the system runs with, as a JSON object; without it only this build's policies are asserted.
    #[arg(long, value_name = "FILE")]
    pins: Option<PathBuf>,
    /// JSON is the output with and without this; every command takes it.
    #[arg(long)]
    json: bool,
}

fn handle(text: &str) -> Result<Handle, String> {
    Handle::parse(text).map_err(|error| error.to_string())
}

/// Runs a command.
pub(crate) fn run(command: &MemoryCommand, input: impl BufRead, mut output: impl Write) -> Result<Ended, CommandError> {
    match command {
        MemoryCommand::Schema { .. } => output.write_all(EVENTS_SCHEMA.as_bytes())?,
        MemoryCommand::Replay(arguments) => replay(arguments, input, &mut output)?,
    }
    output.flush()?;
    Ok(Ended::Done)
}

fn replay(arguments: &ReplayArguments, input: impl BufRead, output: &mut impl Write) -> Result<(), CommandError> {
    let mut replay = Replay::default();
    for (index, bytes) in input.split(b'\n').enumerate() {
        let line = index + 1;
        let bytes = bytes.map_err(|source| LinesError::Read { line, source }).map_err(unreadable)?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        replay.line(&bytes).map_err(|error| {
            let expected = "an event that may follow: oracle memory schema";
            unreadable(LinesError::Line { line, expected, problem: error.to_string() })
        })?;
    }
    let budget = Budget::of_bytes(arguments.budget);
    let wanted = Wanted {
        campaign: arguments.campaign.clone(),
        scene: arguments.scene.clone(),
        query: arguments.query.clone(),
        budget: arguments
            .token_budget
            .map_or(budget, |tokens| budget.and_tokens(tokens, arguments.tokens_per_1000_bytes)),
    };
    let pins = arguments.pins.as_ref().map(read_pins).transpose()?;
    let replayed = replay
        .finish(&wanted, pins.as_ref())
        .map_err(|error| CommandError::failed("the history cannot be replayed", error))?;
    writeln!(output, "{}", serde_json::to_string(&replayed)?)?;
    Ok(())
}

fn read_pins(file: &PathBuf) -> Result<Pins, CommandError> {
    let problem = |error: &dyn std::fmt::Display| CommandError::Usage(format!("--pins {}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| problem(&error))?;
    serde_json::from_str(&text).map_err(|error| problem(&error))
}

fn unreadable(error: LinesError) -> CommandError {
    CommandError::failed("the events cannot be read", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn arguments(budget: u64) -> MemoryCommand {
        MemoryCommand::Replay(ReplayArguments {
            campaign: None,
            scene: None,
            query: "vault".to_owned(),
            budget,
            token_budget: None,
            tokens_per_1000_bytes: 1000,
            pins: None,
            json: true,
        })
    }

    const FACT: &str = r#"{"at":1,"campaign_id":"c","event":"EV-ORC-004","payload":{"kind":"CLUE","payload":"It opens with 4471-ZX.","provenance":{"source":"worldgen"},"visibility_mask":["PLAY"],"stable_key":"vault","detail_handle":"vault-code","gist":"It opens with a code.","precision_tokens":["4471-ZX"]}}"#;

    #[test]
    fn a_history_is_replayed_to_the_same_bytes() {
        let answer = |lines: &str| {
            let mut output = Vec::new();
            run(&arguments(4000), lines.as_bytes(), &mut output).unwrap();
            output
        };
        let (first, second) = (answer(FACT), answer(&format!("\n {FACT}\n\n")));
        assert_eq!(first, second);
        let reply: Value = serde_json::from_slice(&first).unwrap();
        assert_eq!(reply["events"], 1);
        assert_eq!(reply["working_set"]["slices"]["facts_slice"][0]["gist"], "It opens with a code.");
        for key in ["state_hash", "working_set_hash"] {
            assert!(reply[key].as_str().unwrap().starts_with("sha256:"), "{key}");
        }
        assert!(!String::from_utf8(first).unwrap().contains("4471"));
    }

    #[test]
    fn a_line_that_may_not_follow_is_named() {
        for bad in [
            r#"{"at":1,"campaign_id":"c","event":"EV-999","payload":{}}"#,
            r#"{"at":1,"campaign_id":"c","event":"EV-003","payload":{"detail_handle":"vault-code","outcome":"success","payload_handle":"x"}}"#,
            r#"{"at":1.0,"campaign_id":"c","event":"EV-030","payload":{"mode":"PLAY"}}"#,
        ] {
            let error = run(&arguments(4000), format!("{FACT}\n{bad}\n").as_bytes(), Vec::new()).unwrap_err();
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert!(source.contains("line 2"), "{source}");
        }
        let error = run(&arguments(10), FACT.as_bytes(), Vec::new()).unwrap_err();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("too small"));
    }
}
