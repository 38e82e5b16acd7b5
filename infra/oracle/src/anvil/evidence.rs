//! `oracle anvil assess stack|deploy|config|audit|forge|spec`: assessments that are bound to their observations.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anvil_rules::Story;
use anvil_rules::evidence::{AuditLog, Configuration, Deployment, Evidence, Forge, Stack};
use clap::{Args, Subcommand};
use domain::ports::Clock;
use filter::{Filter, Outcome};
use release::{Entry, bind};
use runtime::System;
use serde::de::DeserializeOwned;

use super::{
    deployment,
    endpoint::{NarratorArguments, narrate},
    specification,
};
use crate::{
    audit::{
        command::{self as audit_command, VerifyArguments},
        known_findings::{self, ListedFinding},
    },
    command::{CommandError, Ended, OrFailed, Target, read_file},
    operation::status,
    terminal::output,
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
    ///
    /// Without a file, looks at the stack: the smoke test of the last 15 minutes that began after the stack's last
    /// update, raised alarms, CloudFormation's events, and the calls of the new versions behind the aliases that shift
    /// their traffic. What cannot be asked was not observed.
    #[command(
        after_help = "Examples:\n  oracle anvil assess deploy --stack-name oracle --minutes 10\n  oracle anvil assess deploy deployment.json\n\nExit code 1: it may not ship."
    )]
    Deploy(DeployArguments),
    /// A configuration: ports, permissions, public exposure, the secrets' age.
    #[command(
        after_help = "Example:\n  oracle anvil assess config configuration.json\n\nExit code 1: it may not ship."
    )]
    Config(Document),
    /// The audit log's integrity: every chain, every signed digest, everything that `oracle audit verify` compares.
    #[command(
        after_help = "Example:\n  oracle anvil assess audit --stack-name oracle\n\nExit code 1: it may not ship."
    )]
    Audit {
        #[command(flatten)]
        verify: VerifyArguments,
        #[command(flatten)]
        keeping: Keeping,
    },
    /// A forge's report: loss, smoke score, corpus.
    #[command(after_help = "Example:\n  oracle anvil assess forge report.json\n\nExit code 1: it may not ship.")]
    Forge(Document),
    /// The specification's rules against the places that keep them, and those places' tests against the last run.
    #[command(
        after_help = "Example:\n  cargo xtask test && oracle anvil assess spec --repository . --results target/test-results\n\nExit code 1: it may not ship."
    )]
    Spec {
        /// The repository whose infra/spec/rules.toml is meant.
        #[arg(long, value_name = "DIR", default_value = ".")]
        repository: PathBuf,
        /// What `cargo xtask test` left of its tests; without it only the existence of places is looked at, and the tests
        /// count as not observed.
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
        /// Write one JSON object instead of text for people.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        keeping: Keeping,
    },
}

#[derive(Args)]
pub(crate) struct DeployArguments {
    /// What was observed, as JSON, instead of the stack. What is left out counts as not observed.
    #[arg(conflicts_with_all = ["stack_name", "minutes"])]
    file: Option<PathBuf>,
    /// How long the canary has taken traffic.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    keeping: Keeping,
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
            let start = Instant::now();
            let (name, checks) = status::check_states(target)?;
            let ended = conclude(&format!("the stack {name}"), &Stack { checks }, target.json, keeping)?;
            if !target.json {
                output::print(&format!("Assessed in {:.1} s.\n", start.elapsed().as_secs_f64()))?;
            }
            Ok(ended)
        }
        Subject::Deploy(DeployArguments { file: Some(file), target, keeping, .. }) => {
            conclude("the deployment", &read::<Deployment>("the deployment", file)?, target.json, keeping)
        }
        Subject::Deploy(DeployArguments { file: None, minutes, target, keeping }) => {
            let (name, observed) = deployment::observe(target, Duration::from_secs(minutes * 60))?;
            conclude(&format!("the deployment of {name}"), &observed, target.json, keeping)
        }
        Subject::Config(document) => of_document::<Configuration>("the configuration", document),
        Subject::Audit { verify, keeping } => {
            let found = audit_command::verified(verify)?;
            conclude("the audit log", &audit_log(&found, &verify.since.day()?), verify.target.json, keeping)
        }
        Subject::Forge(document) => of_document::<Forge>("the forge", document),
        Subject::Spec { repository, results, json, keeping } => {
            let observed = specification::compliance(repository, results.as_deref())?;
            conclude("the specification's rules", &observed, *json, keeping)
        }
    }
}

fn of_document<T: Evidence + DeserializeOwned>(subject: &str, document: &Document) -> Result<Ended, CommandError> {
    conclude(subject, &read::<T>(subject, &document.file)?, document.json, &document.keeping)
}

fn read<T: DeserializeOwned>(subject: &str, path: &Path) -> Result<T, CommandError> {
    let not_observed = format!("{} is not what is observed of {subject}", path.display());
    serde_json::from_str(&read_file(path)?).or_failed(&not_observed)
}

/// Translates the result of a verification for the gate.
fn audit_log(found: &known_findings::Outcome, since: &str) -> AuditLog {
    let damage = |finding: &ListedFinding| format!("{} {}", finding.key, finding.damage.words());
    AuditLog {
        records: Some(found.verification.records),
        since: (!since.is_empty()).then(|| since.to_owned()),
        damage: Some(found.findings.iter().map(damage).collect()),
        known: found.known.iter().map(damage).collect(),
        digests: found.verification.digests.as_ref().map(|report| report.documents),
    }
}

fn conclude(subject: &str, observed: &impl Evidence, json: bool, keeping: &Keeping) -> Result<Ended, CommandError> {
    let assessment = observed.assess();
    let binding = bind(subject, &serde_json::to_value(observed)?).or_failed("the evidence cannot be bound")?;
    let story = Story::of(subject, &assessment);
    let by_model = narrate(&keeping.narrator, &story.prompt());
    let narrative = story.narrative(by_model, |text| Filter::embedded().check(text).outcome == Outcome::Pass);
    let evidence = serde_json::to_value(binding)?;
    let kept = Entry::of(System.now(), subject, &assessment, observed.kernels(), evidence);
    let entry = Entry { narrative: narrative.text().to_owned(), ..kept };
    if let Some(ledger) = &keeping.ledger {
        append(ledger, &entry)?;
    }
    output::print_answer(json, &entry, || format!("{}\n\n{}\n", entry.text, entry.narrative))?;
    Ok(if assessment.verdict().may_ship() { Ended::Done } else { Ended::Nothing })
}

fn append(ledger: &Path, entry: &Entry) -> Result<(), CommandError> {
    append_line(ledger, &serde_json::to_string(entry)?)
        .map_err(|error| CommandError::failed(&format!("{} cannot be written", ledger.display()), error))
}

/// Appends a line to a file. Terminates an incomplete last line first, so that it does not damage the new one.
pub(crate) fn append_line(path: &Path, line: &str) -> std::io::Result<()> {
    let is_cut = fs::read(path).is_ok_and(|content| content.last().is_some_and(|last| *last != b'\n'));
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{}{line}\n", if is_cut { "\n" } else { "" }).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anvil_rules::Verdict;

    #[test]
    fn a_damaged_log_is_red_and_one_without_digests_is_not_observed() {
        let listed: ListedFinding =
            serde_json::from_value(serde_json::json!({ "key": "2026-04-16/x", "damage": "edited", "hash": "h" }))
                .unwrap();
        let verification = audit_verify::Verification { records: 7, ..Default::default() };
        let mut found = known_findings::Outcome { verification, findings: Vec::new(), known: Vec::new() };
        assert_eq!(audit_log(&found, "").assess().verdict(), Verdict::Null);
        found.verification.digests = Some(audit_verify::digests::DigestReport { documents: 3, ..Default::default() });
        assert_eq!(audit_log(&found, "").assess().verdict(), Verdict::Green);
        assert_eq!(audit_log(&found, "2026-11-01").assess().verdict(), Verdict::Amber);
        found.findings.push(listed);
        let judged = audit_log(&found, "").assess();
        assert_eq!(judged.verdict(), Verdict::Red);
        assert!(judged.text().contains("was edited"), "{}", judged.text());
    }

    #[test]
    fn an_older_ledger_stays_readable() {
        let line = r#"{"at":"2026-11-22T10:00:00.000Z","subject":"the forge","verdict":"RED","text":"Verdict: RED."}"#;
        let entry: Entry = serde_json::from_str(line).unwrap();
        assert_eq!((entry.verdict, entry.reasons.len()), (Verdict::Red, 0));
    }
}
