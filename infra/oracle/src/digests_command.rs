//! `oracle audit digests`.

use std::collections::BTreeSet;

use audit::{
    digest::sha256,
    signed_digest::{Document, Signature},
    verify::Damage,
};
use clap::{Args, Subcommand};
use domain::ports::Clock;
use runtime::System;
use serde::Serialize;

use crate::{
    audit_command::Trust,
    command::{CommandError, Ended, Signature as Signed, Target, wait},
    digest_reader::{Digests, Stored},
    log_reader,
    output::{self, Row},
};

#[derive(Subcommand)]
pub(crate) enum DigestsCommand {
    /// List the signed digests: number, time, how many objects, and whether the signature fits.
    #[command(after_help = "Example:\n  oracle audit digests list --last 24\n\nExit code 1: a signature does not fit.")]
    List(ListArguments),
    /// Have digested what is in the log and in no digest.
    ///
    /// For a log that is older than its digests, and for messages of the log's bucket that were lost. Verify first:
    /// what is digested is from then on what the log is held to.
    #[command(after_help = "Example:\n  oracle audit digests catch-up --yes\n\nThe next hourly run takes it in.")]
    CatchUp(CatchUpArguments),
}

#[derive(Args)]
pub(crate) struct ListArguments {
    /// Only so many, the last ones.
    #[arg(long, value_name = "COUNT")]
    last: Option<u64>,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(crate) struct CatchUpArguments {
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    signature: Signed,
    #[command(flatten)]
    target: Target,
}

/// One digest, for the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Line {
    sequence: u64,
    made_at: Option<String>,
    objects: Option<usize>,
    hash: String,
    signature_ok: bool,
}

pub(crate) fn run(command: &DigestsCommand) -> Result<Ended, CommandError> {
    match command {
        DigestsCommand::List(arguments) => list(arguments),
        DigestsCommand::CatchUp(arguments) => catch_up(arguments),
    }
}

fn none() -> CommandError {
    CommandError::Refused("the stack has no digests".to_owned())
}

fn list(arguments: &ListArguments) -> Result<Ended, CommandError> {
    let deployed = arguments.target.open()?;
    let lines = wait(async {
        let digests = arguments.trust.digests(&deployed, Vec::new()).await?.ok_or_else(none)?;
        let head = digests.head().await?.map_or(0, |head| head.sequence);
        let first = arguments.last.map_or(1, |last| head.saturating_sub(last) + 1);
        let mut lines = Vec::new();
        let take = |stored: Stored| {
            lines.push(line(&digests, &stored));
            true
        };
        digests.each(first, take).await?;
        Ok(lines)
    })?;
    if arguments.target.json {
        output::print_json(&lines)?;
    } else {
        output::print(&for_people(&lines, output::width()))?;
    }
    Ok(if lines.iter().all(|line| line.signature_ok) { Ended::Done } else { Ended::Nothing })
}

fn line(digests: &Digests, stored: &Stored) -> Line {
    let document = Document::parse(&stored.document).ok();
    let signature = stored.signature.as_deref().and_then(|signature| Signature::parse(signature).ok());
    Line {
        sequence: stored.sequence,
        made_at: document.as_ref().map(|document| document.made_at.clone()),
        objects: document.map(|document| document.entries.len()),
        hash: sha256(&stored.document),
        signature_ok: signature.is_some_and(|it| digests.is_signed(&stored.document, &it.signature)),
    }
}

fn for_people(lines: &[Line], width: usize) -> String {
    if lines.is_empty() {
        return "no digests yet: the first one is made within an hour\n".to_owned();
    }
    let row = |line: &Line| Row {
        cells: vec![
            line.sequence.to_string(),
            line.made_at.as_deref().map_or_else(|| "unreadable".to_owned(), output::minute),
            line.objects.map_or_else(|| "-".to_owned(), |objects| objects.to_string()),
            (if line.signature_ok { "ok" } else { "BAD" }).to_owned(),
            line.hash.clone(),
        ],
        below: String::new(),
    };
    let rows: Vec<Row> = lines.iter().map(row).collect();
    output::table(&["NUMBER", "MADE (UTC)", "OBJECTS", "SIGNATURE", "HASH"], &rows, width)
}

fn catch_up(arguments: &CatchUpArguments) -> Result<Ended, CommandError> {
    let deployed = arguments.target.open()?;
    let parts = deployed.digests()?.ok_or_else(none)?;
    let digests = wait(arguments.trust.digests(&deployed, Vec::new()))?.ok_or_else(none)?;
    let ports = deployed.log_ports();
    let found = wait(log_reader::verify(&ports, Some(&digests), "", System.now(), |_| ()))?;
    let (missing, damaged): (Vec<_>, Vec<_>) =
        found.findings.iter().partition(|finding| finding.damage == Damage::Undigested);
    if let Some(first) = damaged.first() {
        let what = format!("{} {}: see `oracle audit verify`", first.key, first.damage.words());
        return Err(CommandError::Refused(what));
    }
    if missing.is_empty() {
        output::print("everything is digested\n")?;
        return Ok(Ended::Done);
    }
    let streams: BTreeSet<&str> = missing.iter().map(|finding| audit::verify::stream_of(&finding.key)).collect();
    let question = format!("Have {} streams digested as they are now?", streams.len());
    if !arguments.signature.confirm(&question)? {
        return Ok(Ended::Nothing);
    }
    let mut told = 0_usize;
    wait(async {
        for stream in &streams {
            let prefix = format!("{stream}/");
            let mut after = String::new();
            loop {
                let page = ports.objects.keys(&prefix, &after).await.map_err(log_reader::unreadable)?;
                let Some(last) = page.last() else { break };
                after.clone_from(&last.key);
                for object in &page {
                    let sent = parts.notices.announce(&parts.log_bucket, &object.key).await;
                    sent.map_err(|error| CommandError::failed("the queue did not take a message", error))?;
                    told += 1;
                }
            }
        }
        Ok(())
    })?;
    output::print(&format!("{told} objects wait for the next digest\n"))?;
    Ok(Ended::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_signature_stands_out() {
        let line = |sequence, signature_ok| Line {
            sequence,
            made_at: Some("2026-04-16T14:23:07.412Z".to_owned()),
            objects: Some(7),
            hash: "a".repeat(64),
            signature_ok,
        };
        let text = for_people(&[line(1, true), line(2, false)], 60);
        assert!(text.contains("1       2026-04-16 14:23  7        ok         aaaa"), "{text}");
        assert!(text.contains("2       2026-04-16 14:23  7        BAD"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 60));
        assert!(for_people(&[], 80).starts_with("no digests yet"));
    }
}
