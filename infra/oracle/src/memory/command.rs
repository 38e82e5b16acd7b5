//! `oracle memory`: replays, exports, imports, shows and checks a history without a network, reads the stored memory of a
//! customer, and erases it.

use super::{
    content::{shown, state_hash},
    customer::{self, CustomerArguments, View},
    erase::{self, EraseArguments},
};
use crate::{
    command::{CommandError, Ended, OrFailed},
    terminal::json_lines::{LinesError, numbered_lines, without_byte_order_mark},
};
use clap::{Args, Subcommand};
use memory::{
    Digest, EVENTS_SCHEMA, EventLog, Handle, Pins, export,
    log::Unsealed,
    replay::{Replay, Wanted},
    truncate::Budget,
};
use serde_json::json;
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
    /// Write a history as one document: what a customer gets of their memory.
    ///
    /// Reads events as replay does and writes the export, canonical JSON on one line: events, campaign and state hash.
    /// With --customer, exports a customer's stored memory of the chat; that is recorded and needs --reason.
    #[command(
        after_help = "Examples:\n  oracle memory export < events.jsonl > memory.json\n  oracle memory export --customer customer@example.com --by dana --reason 'asked for by letter' > memory.json\n\nExit code 1: there is no such customer, or the memory lacks replies that the customer's next call adds."
    )]
    Export(ExportArguments),
    /// Make the history of an export again, event by event, and write the events.
    ///
    /// Writes one event a line, as replay reads them. An export that was changed is refused.
    #[command(
        after_help = "Example:\n  oracle memory import < memory.json > events.jsonl\n\nExit code 1: the export was changed."
    )]
    Import(DocumentArguments),
    /// Show what an export holds: facts (locked ones as gist), pointers, unlocks.
    ///
    /// With --customer, shows a customer's stored memory of the chat; that is recorded and needs --reason.
    #[command(
        after_help = "Examples:\n  oracle memory show < memory.json\n  oracle memory show --customer customer@example.com --by dana --reason 'a complaint'\n\nExit code 1: there is no such customer, or the memory lacks replies that the customer's next call adds."
    )]
    Show(CustomerArguments),
    /// Check an export: its form, every event, and the state that it says it folds to.
    ///
    /// With --customer, checks the chain of a customer's stored memory of the chat. Opens nothing and needs no key.
    #[command(
        after_help = "Examples:\n  oracle memory verify < memory.json\n  oracle memory verify --customer customer@example.com\n\nExit code 1: the export or the stored memory was changed, or there is no such customer."
    )]
    Verify(CustomerArguments),
    /// Erase a customer's memory of the chat, as they can do on its page.
    ///
    /// Removes every text at once. The schedule ends the log and destroys the memory's key within ten minutes; free
    /// exchanges that are used stay used.
    #[command(
        after_help = "Example:\n  oracle memory erase customer@example.com --by dana --reason 'asked for by letter'\n\nExit code 1: there is no such customer."
    )]
    Erase(EraseArguments),
    /// Print the JSON schema of the events, with an example of each.
    #[command(after_help = "Example:\n  oracle memory schema | jq -r '.oneOf[].title'")]
    Schema {
        /// JSON is the output with and without this; every command takes it.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The campaign; may be left out when all events are of one.
    #[arg(long, value_name = "ID", value_parser = handle, conflicts_with = "customer")]
    campaign: Option<Handle>,
    #[command(flatten)]
    stored: CustomerArguments,
}

#[derive(Args)]
pub(crate) struct DocumentArguments {
    /// JSON is the output with and without this; every command takes it.
    #[arg(long)]
    json: bool,
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
    /// The budget in a model's tokens as well; one token per byte unless --tokens-per-1000-bytes is given.
    #[arg(long, value_name = "TOKENS")]
    token_budget: Option<u64>,
    /// The model's tokens per 1,000 bytes, as measured.
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

impl MemoryCommand {
    /// The arguments about a customer's stored memory, if the command can read one.
    const fn stored(&self) -> Option<(&CustomerArguments, View)> {
        match self {
            Self::Export(arguments) => Some((&arguments.stored, View::Export)),
            Self::Show(arguments) => Some((arguments, View::Show)),
            Self::Verify(arguments) => Some((arguments, View::Verify)),
            Self::Replay(_) | Self::Import(_) | Self::Erase(_) | Self::Schema { .. } => None,
        }
    }
}

pub(crate) fn run(command: &MemoryCommand, input: impl BufRead, mut output: impl Write) -> Result<Ended, CommandError> {
    if let Some((arguments, view)) = command.stored()
        && let Some(name) = &arguments.customer
    {
        return customer::run(arguments, name, view, &mut output);
    }
    match command {
        MemoryCommand::Schema { .. } => output.write_all(EVENTS_SCHEMA.as_bytes())?,
        MemoryCommand::Erase(arguments) => return erase::run(arguments, &mut output),
        MemoryCommand::Replay(arguments) => replay(arguments, input, &mut output)?,
        MemoryCommand::Export(arguments) => {
            let log = read_events(input)?
                .into_log(arguments.campaign.as_ref())
                .or_failed("the history cannot be exported")?;
            output.write_all(&export::export(&log, &Unsealed).or_failed("the export failed")?)?;
            writeln!(output)?;
        }
        MemoryCommand::Import(_) => {
            for event in read_export(input)?.0.events(&Unsealed) {
                let bytes = event.to_bytes().or_failed("an event cannot be written")?;
                output.write_all(&bytes)?;
                writeln!(output)?;
            }
        }
        MemoryCommand::Show(_) => {
            let (log, _) = read_export(input)?;
            writeln!(output, "{}", shown(&log)?)?;
        }
        MemoryCommand::Verify(_) => {
            let (log, export_hash) = read_export(input)?;
            let line = json!({"campaign_id": log.campaign_id(), "events": log.state().events(),
                "state_hash": state_hash(&log)?, "export_hash": export_hash});
            writeln!(output, "{line}")?;
        }
    }
    output.flush()?;
    Ok(Ended::Done)
}

fn replay(arguments: &ReplayArguments, input: impl BufRead, output: &mut impl Write) -> Result<(), CommandError> {
    let replay = read_events(input)?;
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
    let replayed = replay.finish(&wanted, pins.as_ref()).or_failed("the history cannot be replayed")?;
    writeln!(output, "{}", serde_json::to_string(&replayed)?)?;
    Ok(())
}

fn read_events(input: impl BufRead) -> Result<Replay, CommandError> {
    let mut replay = Replay::default();
    for numbered in numbered_lines(input) {
        let (line, bytes) = numbered.map_err(unreadable)?;
        replay.line(&bytes).map_err(|error| {
            let expected = "an event that may follow: oracle memory schema";
            unreadable(LinesError::Line { line, expected, problem: error.to_string() })
        })?;
    }
    Ok(replay)
}

/// The log of an export, and the hash of the export's bytes.
fn read_export(mut input: impl BufRead) -> Result<(EventLog, Digest), CommandError> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let bytes = without_byte_order_mark(&bytes);
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let log = export::import(bytes).map_err(|error| CommandError::Refused(error.to_string()))?;
    Ok((log, export::hash(bytes)))
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

    use clap::Parser;
    use serde_json::Value;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: MemoryCommand,
    }

    fn answer(name: &str, input: &str) -> Result<String, CommandError> {
        let mut output = Vec::new();
        let line = Line::parse_from(["memory", name, "--json"]);
        run(&line.command, input.as_bytes(), &mut output).map(|_| String::from_utf8(output).unwrap())
    }

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
    fn a_byte_order_mark_before_the_first_line_is_skipped() {
        let exported = answer("export", &format!("\u{feff}{FACT}\n")).unwrap();
        assert_eq!(exported, answer("export", FACT).unwrap());
        assert_eq!(answer("verify", &format!("\u{feff}{exported}")).unwrap(), answer("verify", &exported).unwrap());
        assert!(answer("export", &format!("{FACT}\n\u{feff}{FACT}")).is_err(), "only before the first line");
    }

    #[test]
    fn a_history_without_events_needs_a_campaign() {
        let cause = |error: CommandError| std::error::Error::source(&error).unwrap().to_string();
        let expected = "there are no events; choose a campaign to get its empty history";
        assert_eq!(cause(answer("export", "\n").unwrap_err()), expected);
        assert_eq!(cause(run(&arguments(4000), &b""[..], Vec::new()).unwrap_err()), expected);
    }

    #[test]
    fn an_export_comes_back_as_the_same_history_and_a_changed_one_does_not() {
        let exported = answer("export", FACT).unwrap();
        let events = answer("import", &exported).unwrap();
        assert_eq!(answer("export", &events).unwrap(), exported);
        let verified: Value = serde_json::from_str(&answer("verify", &exported).unwrap()).unwrap();
        assert_eq!(verified["events"], 1);
        let shown = answer("show", &exported).unwrap();
        assert!(shown.contains("It opens with a code.") && !shown.contains("4471"), "{shown}");
        let changed = exported.replace("4471", "4472");
        let error = answer("verify", &changed).unwrap_err();
        assert!(matches!(error, CommandError::Refused(_)));
    }

    /// The events of a chat's memory, as its page exports them: the mode, and each exchange as an open fact.
    const CHAT: [&str; 2] = [
        r#"{"at":0,"campaign_id":"chat-c-0","event":"EV-030","key":"mode","payload":{"mode":"COMPANION"}}"#,
        r#"{"at":1,"campaign_id":"chat-c-0","event":"EV-ORC-004","key":"00000000-0000-4000-8000-000000000001","payload":{"kind":"EXCHANGE","payload":{"asked":"Should we open a second bakery?","replies":[{"text":"Count first.","voice":"AETHER"}]},"precision_tag":"UNLOCKED","provenance":{"source":"chat"},"stable_key":"exchange-00000000-0000-4000-8000-000000000001","visibility_mask":["COMPANION"]}}"#,
    ];

    #[test]
    fn a_chats_memory_is_exported_imported_shown_and_verified_and_so_is_an_erased_one() {
        let exported = answer("export", &CHAT.join("\n")).unwrap();
        let shown: Value = serde_json::from_str(&answer("show", &exported).unwrap()).unwrap();
        assert_eq!(shown["facts"][0]["payload"]["asked"], "Should we open a second bakery?");
        assert_eq!((&shown["facts"][0]["locked"], &shown["erased"]), (&json!(false), &json!(false)));
        let imported = answer("import", &exported).unwrap();
        assert_eq!(answer("export", &imported).unwrap(), exported);
        let verify = |text: &str| answer("verify", text);
        let verified: Value = serde_json::from_str(&verify(&exported).unwrap()).unwrap();
        assert_eq!((&verified["events"], &verified["state_hash"]), (&json!(2), &shown["state_hash"]));
        assert!(verify(&exported.replace("second", "third")).is_err());

        let erasure = r#"{"at":2,"campaign_id":"chat-c-0","event":"EV-ORC-012","payload":{"reason":"asked for on the page","requested_by":"subscriber","subject":"chat-c-0"}}"#;
        let erased = answer("export", erasure).unwrap();
        let shown: Value = serde_json::from_str(&answer("show", &erased).unwrap()).unwrap();
        assert_eq!((&shown["erased"], &shown["facts"]), (&json!(true), &json!([])));
        verify(&erased).unwrap();
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
