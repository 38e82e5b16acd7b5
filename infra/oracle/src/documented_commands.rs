//! Every command that a document or an alarm names exists, with its flags.

use std::{fs, path::PathBuf};

use clap::{Arg, Command, CommandFactory};
use serde_json::Value;

use crate::Arguments;

const DOCUMENTS: [&str; 4] = ["infra/runbook.md", "infra/README.md", "README.md", "CONTRIBUTING.md"];

fn read(path: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// The code of a document: what is between back-ticks, and the indented lines without their comments.
fn code(document: &str) -> Vec<String> {
    let (indented, prose): (Vec<&str>, Vec<&str>) = document.lines().partition(|line| line.starts_with("    "));
    let prose = prose.join(" ");
    let spans = prose.split('`').skip(1).step_by(2).map(str::to_owned);
    spans.chain(indented.into_iter().filter_map(|line| line.split(" #").next()).map(str::to_owned)).collect()
}

/// The last part of each alarm's description: the command that shows details.
fn commands_of_alarms() -> Vec<String> {
    let alarms = read("tests/template/alarms.jsonl");
    let described = alarms.lines().filter_map(|line| {
        let alarm: Value = serde_json::from_str(line).unwrap();
        let text = &alarm["AlarmDescription"];
        let text = text.as_str().or_else(|| text["Fn::Sub"].as_str())?;
        text.rsplit("; ").next().map(str::to_owned)
    });
    described.collect()
}

/// The words after each `oracle` that starts a command of a line of shell.
fn commands(code: &str) -> Vec<Vec<&str>> {
    let words: Vec<&str> = code.split_whitespace().collect();
    let steps = words.split(|word| ["|", "&&", "<", ">", ">>"].contains(word));
    let steps = steps.filter_map(|step| step.split_first());
    steps.filter(|(program, rest)| **program == "oracle" && !rest.is_empty()).map(|(_, rest)| rest.to_vec()).collect()
}

/// What is wrong with the words of a command: `a|b` stands for two commands, a word in capitals or `…` for any.
fn problems(command: &Command, words: &[&str]) -> Vec<String> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    if *first == "…" {
        return Vec::new();
    }
    if command.has_subcommands() && !first.starts_with("--") {
        let named = first.split('|').flat_map(|name| match command.find_subcommand(name) {
            Some(found) => problems(found, rest),
            None => vec![format!("{} has no subcommand {name}", command.get_name())],
        });
        return named.collect();
    }
    let flags: Vec<&str> = command.get_arguments().filter_map(Arg::get_long_and_visible_aliases).flatten().collect();
    let wanted = words.iter().flat_map(|word| word.split('|')).filter_map(|word| word.strip_prefix("--"));
    let wanted = wanted.map(|flag| flag.split('=').next().unwrap_or_default());
    wanted.filter(|flag| !flags.contains(flag)).map(|flag| format!("{} has no --{flag}", command.get_name())).collect()
}

/// The arguments, with the global ones at each command.
fn built() -> Command {
    let mut arguments = Arguments::command();
    arguments.build();
    arguments
}

#[test]
fn every_command_that_a_document_or_an_alarm_names_exists_with_its_flags() {
    let arguments = built();
    let documents = DOCUMENTS.into_iter().map(|path| (path, code(&read(path))));
    let alarms = std::iter::once(("tests/template/alarms.jsonl", commands_of_alarms()));
    let mut found = Vec::new();
    let mut count = 0;
    for (place, code) in documents.chain(alarms) {
        for words in code.iter().flat_map(|code| commands(code)) {
            count += 1;
            let wrong = problems(&arguments, &words);
            found.extend(wrong.into_iter().map(|wrong| format!("{place}: oracle {}: {wrong}", words.join(" "))));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert!(count > 150, "{count}");
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let arguments = built();
    let wrong =
        |code: &str| -> Vec<String> { commands(code).iter().flat_map(|words| problems(&arguments, words)).collect() };
    for (code, expected) in [
        ("oracle audit digests submit", "digests has no subcommand submit"),
        ("printf x | oracle secrets put stripe", "secrets has no subcommand put"),
        ("oracle memory export|hide --customer ADDRESS", "memory has no subcommand hide"),
        ("oracle deadletters settle SALE --sent|--lost", "settle has no --lost"),
        ("cat x && oracle list --jason", "list has no --jason"),
    ] {
        assert_eq!(wrong(code), [expected], "{code}");
    }
    assert_eq!(wrong("oracle … --stack-name oracle --profile ops"), Vec::<String>::new());
    assert_eq!(wrong("oracle memory export|show --customer ADDRESS --color=never"), Vec::<String>::new());
}
