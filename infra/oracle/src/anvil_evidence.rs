//! `oracle anvil assess stack|deploy|config|forge|spec`: assessments of what was observed, bound to it.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anvil_rules::Story;
use anvil_rules::evidence::{Compliance, Configuration, Deployment, Evidence, Forge, Rule, Stack};
use clap::{Args, Subcommand};
use domain::ports::Clock;
use filter::{Filter, Outcome};
use release::{Entry, bind};
use runtime::System;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    anvil_endpoint::{NarratorArguments, narrate},
    command::{CommandError, Ended, Target},
    output, status_command,
};

#[derive(Subcommand)]
pub(crate) enum Subject {
    /// A running stack: everything that `oracle status` looks at.
    #[command(
        after_help = "Example:\n  oracle anvil assess stack --stack-name oracle\n\nExit code 1: it may not ship (RED, NULL, HOLD)."
    )]
    Stack {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        keeping: Keeping,
    },
    /// A deployment: smoke test, alarms, what the template's changes remove, the canary's figures.
    #[command(after_help = "Example:\n  oracle anvil assess deploy deployment.json\n\nExit code 1: it may not ship.")]
    Deploy(Document),
    /// A configuration: ports, permissions, public exposure, the secrets' age.
    #[command(
        after_help = "Example:\n  oracle anvil assess config configuration.json\n\nExit code 1: it may not ship."
    )]
    Config(Document),
    /// A forge's report: loss, smoke score, corpus.
    #[command(after_help = "Example:\n  oracle anvil assess forge report.json\n\nExit code 1: it may not ship.")]
    Forge(Document),
    /// The specification's rules against the places that keep them.
    #[command(after_help = "Example:\n  oracle anvil assess spec --repository .\n\nExit code 1: it may not ship.")]
    Spec {
        /// The repository whose infra/spec/rules.toml is meant.
        #[arg(long, value_name = "DIR", default_value = ".")]
        repository: PathBuf,
        /// Write one JSON object instead of text for people.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        keeping: Keeping,
    },
}

#[derive(Args)]
pub(crate) struct Document {
    /// What was observed, as JSON. What is left out counts as not observed.
    file: PathBuf,
    /// Write one JSON object instead of text for people.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keeping: Keeping,
}

/// Where the verdict goes, and who tells its story.
#[derive(Args)]
pub(crate) struct Keeping {
    /// Add the verdict to this file, one JSON object a line, for `oracle anvil report`.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    #[command(flatten)]
    narrator: NarratorArguments,
}

/// Assesses one subject. Exit code 1 unless it may ship.
pub(crate) fn run(subject: &Subject) -> Result<Ended, CommandError> {
    match subject {
        Subject::Stack { target, keeping } => {
            let (name, checks) = status_command::standings(target)?;
            conclude(&format!("the stack {name}"), &Stack { checks }, target.json, keeping)
        }
        Subject::Deploy(document) => of_document::<Deployment>("the deployment", document),
        Subject::Config(document) => of_document::<Configuration>("the configuration", document),
        Subject::Forge(document) => of_document::<Forge>("the forge", document),
        Subject::Spec { repository, json, keeping } => {
            conclude("the specification's rules", &compliance(repository)?, *json, keeping)
        }
    }
}

fn of_document<T: Evidence + DeserializeOwned>(subject: &str, document: &Document) -> Result<Ended, CommandError> {
    let file = document.file.display();
    let text = fs::read_to_string(&document.file);
    let text = text.map_err(|error| CommandError::failed(&format!("{file} cannot be read"), error))?;
    let observed: T = serde_json::from_str(&text)
        .map_err(|error| CommandError::failed(&format!("{file} is not what is observed of {subject}"), error))?;
    conclude(subject, &observed, document.json, &document.keeping)
}

fn conclude(subject: &str, observed: &impl Evidence, json: bool, keeping: &Keeping) -> Result<Ended, CommandError> {
    let assessment = observed.assess();
    let binding = bind(subject, &serde_json::to_value(observed)?);
    let binding = binding.map_err(|error| CommandError::failed("the evidence cannot be bound", error))?;
    let story = Story::of(subject, &assessment);
    let by_model = narrate(&keeping.narrator, &story.prompt());
    let narrative = story.narrative(by_model, |text| Filter::embedded().check(text).outcome == Outcome::Pass);
    let evidence = serde_json::to_value(binding)?;
    let kept = Entry::of(System.now(), subject, &assessment, observed.kernels(), evidence);
    let entry = Entry { narrative: narrative.text().to_owned(), ..kept };
    if let Some(ledger) = &keeping.ledger {
        append(ledger, &entry)?;
    }
    if json {
        output::print_json(&entry)?;
    } else {
        output::print(&format!("{}\n\n{}\n", entry.text, entry.narrative))?;
    }
    Ok(if assessment.verdict().may_ship() { Ended::Done } else { Ended::Nothing })
}

fn append(ledger: &Path, entry: &Entry) -> Result<(), CommandError> {
    append_line(ledger, &serde_json::to_string(entry)?)
        .map_err(|error| CommandError::failed(&format!("{} cannot be written", ledger.display()), error))
}

/// Adds a line to a file of lines. A last line that was cut off ends first, so that it takes no other with it.
pub(crate) fn append_line(path: &Path, line: &str) -> std::io::Result<()> {
    let is_cut = fs::read(path).is_ok_and(|content| content.last().is_some_and(|last| *last != b'\n'));
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{}{line}\n", if is_cut { "\n" } else { "" }).as_bytes())
}

#[derive(Deserialize)]
struct RuleList {
    specification: Vec<Specification>,
}

#[derive(Deserialize)]
struct Specification {
    name: String,
    rules: Vec<ListedRule>,
}

#[derive(Deserialize)]
struct ListedRule {
    rule: String,
    kept: Vec<String>,
}

fn compliance(repository: &Path) -> Result<Compliance, CommandError> {
    let path = repository.join("infra/spec/rules.toml");
    let failed = |error: std::io::Error| CommandError::failed(&format!("{} cannot be read", path.display()), error);
    let text = fs::read_to_string(&path).map_err(failed)?;
    let list: RuleList = toml::from_str(&text)
        .map_err(|error| CommandError::failed(&format!("{} is no list of rules", path.display()), error))?;
    let rules = list.specification.into_iter().flat_map(|specification| {
        let Specification { name, rules } = specification;
        rules.into_iter().map(move |rule| (name.clone(), rule))
    });
    let rules = rules.map(|(name, listed)| {
        let lost: Vec<String> = listed.kept.iter().filter(|place| !repository.join(place).exists()).cloned().collect();
        Rule { rule: format!("{name}, {}", listed.rule), kept: listed.kept.len(), lost }
    });
    Ok(Compliance { rules: rules.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anvil_rules::Verdict;

    #[test]
    fn this_repository_keeps_what_it_says_it_keeps() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let compliance = compliance(&root).unwrap();
        assert!(compliance.rules.len() > 100);
        assert!(compliance.assess().verdict().may_ship(), "{}", compliance.assess().text());
    }

    #[test]
    fn an_older_ledger_stays_readable() {
        let line = r#"{"at":"2026-11-22T10:00:00.000Z","subject":"the forge","verdict":"RED","text":"Verdict: RED."}"#;
        let entry: Entry = serde_json::from_str(line).unwrap();
        assert_eq!((entry.verdict, entry.reasons.len()), (Verdict::Red, 0));
    }
}
