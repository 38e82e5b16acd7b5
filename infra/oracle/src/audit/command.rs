//! `oracle audit`.

use std::{fmt::Write as _, path::PathBuf, sync::Arc};

use audit_verify::{Period, Verification, report::Report};
use clap::{Args, Subcommand};
use domain::{
    Timestamp,
    ports::{AuditObjects, Clock, DigestStore},
};
use runtime::System;
use serde::Serialize;

use super::{
    copied_log::CopiedLog,
    digest_reader::Announced,
    digests::{self, DigestsCommand},
    known_findings::{self, ListedFinding, Outcome},
    local_log::LocalLog,
    log_reader, report, report_page,
    trust::Trust,
};
use crate::{
    command::{CommandError, Ended, Target, wait},
    terminal::{output, progress::Progress, when},
};

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// Recompute every chain of the log and compare its end with its row in the table.
    ///
    /// Finds edits, deletions, reordering, truncation, forks, foreign files and unreadable lines, and names the
    /// first bad record of each bad stream. Reads the whole table once, so that it also finds a row without records and
    /// records without a row; of these rows only a smoke test's expire. Then compares everything with the hourly signed
    /// digests: their chain, their signatures and every object that they name. Every object older than two hours must
    /// be in one.
    #[command(
        after_help = "Example:\n  oracle audit verify --since 2026-11-01\n\nThe public key comes from the key service, whose key the account's owner could replace. Keep a copy of it, and\nof the heads that the ops topic announces, elsewhere:\n  oracle audit verify --public-key digests.pem --head 123:9f86d0…\n\nList findings that you have investigated in a file; they are then reported apart from new ones until their stream\nchanges again. Findings about digests cannot be listed:\n  oracle audit verify --json | jq -c '.findings[]' >> known.jsonl\n  oracle audit verify --known known.jsonl\n\nExit code 0: the log is sound, but for what is known. 1: something is wrong. 2: it could not be read."
    )]
    Verify(VerifyArguments),
    /// Summarise the log: revenue, latency, cache, mail, errors, content filter and crosscheck.
    ///
    /// A sale counts once, with the amount charged, on the day (UTC) of its first verdict; a refund is deducted on its own
    /// day. A record counts at its own time: a refund in November of a sale of October is in November's report, and if it
    /// comes back in December, it is added again in December's, as a negative refund. A refund that comes back within
    /// the report's time is left out. Quantiles are within one per cent. The report trusts the records; `verify` checks
    /// them.
    #[command(after_help = "Example:\n  oracle audit report --month 2026-11 --html report.html")]
    Report(ReportArguments),
    /// The signed digests of the log: list, and catch-up for objects that no digest covers.
    #[command(subcommand, after_help = "Example:\n  oracle audit digests list")]
    Digests(DigestsCommand),
}

#[derive(Args)]
pub(crate) struct ReportArguments {
    /// Only records of this month (UTC): 2026-11.
    #[arg(long, value_name = "MONTH", value_parser = month, conflicts_with_all = ["since", "until"])]
    month: Option<Period>,
    /// Only records since: 2026-11-20, 2026-11-20T10:00:00Z, 24h or 30d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only records before: 2026-11-20 is the end of the 19th.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Also write a page with charts to this file; it needs nothing else and no network.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Read a copy of the log in this directory (`aws s3 sync s3://BUCKET DIRECTORY`) instead of the stack's.
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// Read the hourly copies beside the digests, one object an hour instead of one for each record: for a log of
    /// millions of records. Records that no digest has yet are missing: the report names its last digest.
    #[arg(long, conflicts_with = "directory")]
    copies: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) since: Since,
    #[command(flatten)]
    trust: Trust,
    /// A digest's number and hash, as an alert names them; repeatable. Finds a log, a table and digests that were all set
    /// back to an earlier state.
    #[arg(long = "head", value_name = "NUMBER:HASH")]
    heads: Vec<Announced>,
    /// Known findings, one a line as --json prints them: key, damage, and the hash of the whole stream.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Args)]
pub(crate) struct Since {
    /// Only the sales whose log was opened on that day (UTC) or later: 2026-11-20, or 30d.
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
}

impl Since {
    /// The day; empty for all days.
    pub(crate) fn day(&self) -> Result<String, CommandError> {
        let Some(text) = &self.since else { return Ok(String::new()) };
        Ok(when::parse(text, System.now())?.to_date())
    }
}

pub(crate) fn run(command: &AuditCommand) -> Result<Ended, CommandError> {
    match command {
        AuditCommand::Verify(arguments) => verify(arguments),
        AuditCommand::Report(arguments) => report(arguments),
        AuditCommand::Digests(command) => digests::run(command),
    }
}

/// The verification that `verify` prints.
pub(crate) fn verified(arguments: &VerifyArguments) -> Result<Outcome, CommandError> {
    let since = arguments.since.day()?;
    let known = known_findings::read(arguments.known.as_deref())?;
    let deployed = arguments.target.open()?;
    let digests = wait(arguments.trust.digests(&deployed, arguments.heads.clone()))?;
    let ports = deployed.log_ports();
    let mut progress = Progress::new("streams");
    let show = |found: &Verification| progress.show(found.streams, found.records);
    let found = wait(async {
        let found = log_reader::verify(&ports, digests.as_ref(), &since, System.now(), show).await?;
        known_findings::split_known(ports.objects.as_ref(), found, &known).await
    })?;
    progress.end();
    Ok(found)
}

fn verify(arguments: &VerifyArguments) -> Result<Ended, CommandError> {
    let found = verified(arguments)?;
    output::print_answer(arguments.target.json, &found, || for_people(&found, output::width()))?;
    Ok(if found.findings.is_empty() { Ended::Done } else { Ended::Nothing })
}

fn report(arguments: &ReportArguments) -> Result<Ended, CommandError> {
    let period = arguments.period()?;
    let mut missing = None;
    let objects: Arc<dyn AuditObjects> = match &arguments.directory {
        Some(directory) => Arc::new(LocalLog::new(directory.clone())),
        None if arguments.copies => {
            let copied = copied_log(&arguments.target)?;
            missing = Some(missing_records(copied.until()));
            Arc::new(copied)
        }
        None => arguments.target.open()?.log_ports().objects,
    };
    let mut progress = Progress::new("sales");
    let report = wait(log_reader::report(&objects, &period, |sales, records| progress.show(sales, records)))?;
    progress.end();
    if let Some(file) = &arguments.html {
        let time = for_the_title(&period);
        let page = report_page::page(&report, &System.now().to_iso(), time.as_deref(), missing.as_deref());
        let what = format!("{} cannot be written", file.display());
        std::fs::write(file, page).map_err(|error| CommandError::failed(&what, error))?;
    }
    let document = Document { report: &report, missing: missing.as_deref() };
    output::print_answer(arguments.target.json, &document, || {
        let width = output::width();
        let missing = missing.as_deref().map(|missing| output::wrapped(missing, 0, width)).unwrap_or_default();
        missing + &report::for_people(&report, width)
    })
}

/// A report as JSON.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Which records the hourly copies lack.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a str>,
}

/// Says which records the hourly copies lack. A digest lacks some records that are older than it: its batch was
/// collected before, and objects that are left over wait for a later one.
fn missing_records(until: Option<&str>) -> String {
    let Some(until) = until else {
        return "made of the hourly copies, and there is no digest yet: every record is missing".to_owned();
    };
    let minute = output::minute(until);
    format!("made of the hourly copies, as of the digest of {minute} UTC: records that no digest had then are missing")
}

fn copied_log(target: &Target) -> Result<CopiedLog, CommandError> {
    let deployed = target.open()?;
    let Some(parts) = deployed.digests()? else {
        return Err(CommandError::Refused("the stack has no digests, and so no copies: leave --copies out".to_owned()));
    };
    let mut progress = Progress::new("digests");
    let (digests, log) = (Arc::new(parts.store) as Arc<dyn DigestStore>, deployed.log_ports().objects);
    let copied = wait(CopiedLog::fetch(&digests, log, |sequence, records| progress.show(sequence, records)))?;
    progress.end();
    Ok(copied)
}

fn month(text: &str) -> Result<Period, String> {
    Period::month(text).ok_or_else(|| "a month such as 2026-11".to_owned())
}

impl ReportArguments {
    fn period(&self) -> Result<Period, CommandError> {
        if let Some(month) = &self.month {
            return Ok(month.clone());
        }
        let moment = |text: &Option<String>| text.as_deref().map(|text| when::parse(text, System.now())).transpose();
        Ok(Period::new(moment(&self.since)?, moment(&self.until)?))
    }
}

/// The period of a report; `None` if it covers all of the log.
fn for_the_title(period: &Period) -> Option<String> {
    let moment = |at: Option<Timestamp>| at.map(|at| output::minute(&at.to_iso()));
    match (moment(period.since()), moment(period.until())) {
        (None, None) => None,
        (Some(since), None) => Some(format!("since {since}")),
        (None, Some(until)) => Some(format!("until {until}")),
        (Some(since), Some(until)) => Some(format!("from {since} until {until}")),
    }
}

fn for_people(found: &Outcome, width: usize) -> String {
    let Verification { streams, records, without_sale, digests, .. } = &found.verification;
    let mut text = format!("streams: {streams}, records: {records}\n");
    if *without_sale > 0 {
        let unknown =
            "streams that the table knows nothing of (smoke tests' expire), whose ends were compared with nothing";
        text.push_str(&output::wrapped(&format!("{unknown}: {without_sale}"), 0, width));
    }
    match digests {
        None => text.push_str("digests: the stack has none\n"),
        Some(report) => {
            let _ = write!(text, "digests: {}, naming {} objects", report.documents, report.entries);
            let last = report.last.zip(report.made_at.as_ref());
            let last = last.map_or_else(String::new, |(last, at)| format!("; the last is {last}, made {at}"));
            let _ = writeln!(text, "{last}");
        }
    }
    if !found.known.is_empty() {
        text.push_str(&format!(
            "known: {}; what follows in their streams is vouched for by nothing:\n",
            found.known.len()
        ));
        list(&mut text, &found.known);
    }
    if found.findings.is_empty() {
        text.push_str(if found.known.is_empty() { "the log is sound\n" } else { "the rest of the log is sound\n" });
        return text;
    }
    text.push_str(&format!("DAMAGED: {}; the first bad record of each stream:\n", found.findings.len()));
    list(&mut text, &found.findings);
    text
}

fn list(text: &mut String, findings: &[ListedFinding]) {
    for finding in findings {
        text.push_str(&format!("{}\n    {}\n", output::printable(&finding.key), finding.damage.words()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_of_copies_names_its_last_digest() {
        let sentence = missing_records(Some("2026-12-01T00:41:07.000Z"));
        assert!(sentence.contains("the digest of 2026-12-01 00:41 UTC: records that no digest had then"), "{sentence}");
        assert!(missing_records(None).contains("every record is missing"));
    }

    #[test]
    fn findings_are_named_whole_and_known_ones_apart() {
        let key = format!("2026-04-16/session/cs_live_{}/000003.json", "a".repeat(60));
        let listed = |key: &str, damage: &str| -> ListedFinding {
            serde_json::from_value(json!({ "key": key, "damage": damage, "hash": "h" })).unwrap()
        };
        let verification = Verification { streams: 2, records: 7, without_sale: 1, ..Verification::default() };
        let mut found = Outcome { verification, findings: vec![listed(&key, "edited")], known: Vec::new() };
        let text = for_people(&found, 40);
        assert!(text.starts_with("streams: 2, records: 7\nstreams that the table"), "{text}");
        assert!(text.ends_with(&format!("{key}\n    was edited\n")), "{text}");
        assert_eq!(serde_json::to_value(&found).unwrap()["findings"][0], json!(listed(&key, "edited")));
        found.known.append(&mut found.findings);
        let text = for_people(&found, 40);
        assert!(text.contains(&format!("{key}\n    was edited\n")) && !text.contains("DAMAGED"), "{text}");
        assert!(text.ends_with("the rest of the log is sound\n"), "{text}");
        found.known.clear();
        assert!(for_people(&found, 80).ends_with("the log is sound\n"));
    }
}
