//! `oracle audit`.

use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

use audit::verify::Verification;
use clap::{Args, Subcommand};
use domain::ports::Clock;
use runtime::System;

use crate::{
    audit_report,
    command::{CommandError, Ended, Target, wait},
    log_reader, output, report_page, when,
};

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// Recompute every chain of the log and compare its end with what the sale's record names.
    ///
    /// Finds edits, deletions, reordering, truncation, forks, foreign files and unreadable lines, and names the
    /// first bad record of each bad stream. The whole table is read once, so that a sale whose records are all gone
    /// is found too.
    #[command(
        after_help = "Example:\n  oracle audit verify --since 2026-11-01\n\nExit code 0: the log is sound. 1: something is wrong. 2: it could not be read."
    )]
    Verify(VerifyArguments),
    /// Sum the log up: revenue, latency, cache, mail, errors, content filter and crosscheck.
    ///
    /// A sale counts once, with its tier's price, on the day (UTC) of its first verdict; a refund takes the same
    /// back on its own day. Quantiles are within one per cent. The records are taken as they are: `verify` tells
    /// whether they can be trusted.
    #[command(after_help = "Example:\n  oracle audit report --since 2026-11-01 --html report.html")]
    Report(ReportArguments),
}

#[derive(Args)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    since: Since,
    /// Also write a page with charts to this file; it needs nothing else and no network.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    since: Since,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Since {
    /// Only the sales whose log was opened on that day (UTC) or later: 2026-11-20, or 30d.
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
}

impl Since {
    /// The day; empty for all days.
    fn day(&self) -> Result<String, CommandError> {
        let Some(text) = &self.since else { return Ok(String::new()) };
        Ok(when::parse(text, System.now())?.to_date())
    }
}

pub(crate) fn run(command: &AuditCommand) -> Result<Ended, CommandError> {
    match command {
        AuditCommand::Verify(arguments) => verify(arguments),
        AuditCommand::Report(arguments) => report(arguments),
    }
}

fn verify(arguments: &VerifyArguments) -> Result<Ended, CommandError> {
    let since = arguments.since.day()?;
    let ports = arguments.target.open()?.log_ports();
    let mut progress = Progress::new();
    let tell = |found: &Verification| progress.tell(found.streams, found.records);
    let found = wait(log_reader::verify(&ports, &since, tell))?;
    progress.end();
    if arguments.target.json {
        output::print_json(&found)?;
    } else {
        output::print(&for_people(&found, output::width()))?;
    }
    Ok(if found.is_sound() { Ended::Done } else { Ended::Nothing })
}

fn report(arguments: &ReportArguments) -> Result<Ended, CommandError> {
    let since = arguments.since.day()?;
    let ports = arguments.target.open()?.log_ports();
    let mut progress = Progress::new();
    let report = wait(log_reader::report(&ports, &since, |sales, records| progress.tell(sales, records)))?;
    progress.end();
    if let Some(file) = &arguments.html {
        let day = Some(since.as_str()).filter(|day| !day.is_empty());
        let page = report_page::page(&report, &System.now().to_iso(), day);
        let what = format!("{} cannot be written", file.display());
        std::fs::write(file, page).map_err(|error| CommandError::failed(&what, error))?;
    }
    if arguments.target.json {
        output::print_json(&report)?;
    } else {
        output::print(&audit_report::for_people(&report, output::width()))?;
    }
    Ok(Ended::Done)
}

fn for_people(found: &Verification, width: usize) -> String {
    let mut text = format!("streams: {}, records: {}\n", found.streams, found.records);
    if found.without_sale > 0 {
        let unknown = "streams without a sale in the table, whose ends could be compared with nothing";
        text.push_str(&output::wrapped(&format!("{unknown}: {}", found.without_sale), 0, width));
    }
    if found.is_sound() {
        text.push_str("the log is sound\n");
        return text;
    }
    text.push_str(&format!("DAMAGED STREAMS: {}; the first bad record of each:\n", found.findings.len()));
    for finding in &found.findings {
        text.push_str(&format!("{}\n    {}\n", output::printable(&finding.key), finding.damage.words()));
    }
    text
}

/// A line on the terminal that says how far the reading is.
struct Progress {
    shown: bool,
}

/// Streams between two lines.
const STEP: u64 = 50;

impl Progress {
    const fn new() -> Self {
        Self { shown: false }
    }

    fn tell(&mut self, streams: u64, records: u64) {
        let mut error = io::stderr().lock();
        if streams.is_multiple_of(STEP) && error.is_terminal() {
            self.shown = true;
            // A progress line that cannot be written is no reason to stop.
            let _ = write!(error, "\r{streams} streams, {records} records read").and_then(|()| error.flush());
        }
    }

    fn end(&self) {
        if self.shown {
            let _ = writeln!(io::stderr());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::verify::{Damage, Finding};

    #[test]
    fn findings_are_named_whole() {
        let key = format!("2026-04-16/session/cs_live_{}/000003.json", "a".repeat(60));
        let found = Verification {
            streams: 2,
            records: 7,
            without_sale: 1,
            findings: vec![Finding { key: key.clone(), damage: Damage::Edited }],
        };
        let text = for_people(&found, 40);
        assert!(text.starts_with("streams: 2, records: 7\nstreams without a sale"), "{text}");
        assert!(text.ends_with(&format!("{key}\n    was edited\n")), "{text}");
        assert!(for_people(&Verification::default(), 80).ends_with("the log is sound\n"));
    }
}
