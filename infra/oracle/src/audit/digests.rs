//! `oracle audit digests`.

use std::collections::BTreeSet;

use audit::hash::sha256;
use audit_verify::{
    Verification,
    signed_digest::{Document, Signature},
    stream::{Damage, Finding, function_of_stream, stream_of},
};
use clap::{Args, Subcommand};
use domain::ports::Clock;
use runtime::System;
use serde::Serialize;
use serde_json::json;

use super::{
    digest_reader::{Digests, Stored},
    log_reader,
    trust::Trust,
};
use crate::{
    command::{CommandError, Ended, OrFailed, Target, confirm, wait},
    terminal::output::{self, Row},
};

/// The number of keys in one message of the queue.
const A_MESSAGE: usize = 200;

#[derive(Subcommand)]
pub(crate) enum DigestsCommand {
    /// List the signed digests: number, time, how many objects, and whether the signature fits.
    #[command(after_help = "Example:\n  oracle audit digests list --last 24\n\nExit code 1: a signature does not fit.")]
    List(ListArguments),
    /// Digest the objects that no digest covers.
    ///
    /// For a log that is older than its digests, and for lost messages of the log's bucket. Verify first: later
    /// verifications compare the log with these digests. Leaves out streams with other damage, and names them.
    #[command(after_help = "Example:\n  oracle audit digests catch-up --yes\n\nThe next hourly run takes it in.")]
    CatchUp(CatchUpArguments),
}

#[derive(Args)]
pub(crate) struct ListArguments {
    /// The most digests to list, from the last one.
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
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    target: Target,
}

/// One digest of the list.
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
    output::print_answer(arguments.target.json, &lines, || for_people(&lines, output::width()))?;
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
    output::table(&["NUMBER", "MADE (UTC)", "OBJECTS", "SIGNATURE", "HASH"], lines.iter().map(row), width)
}

fn catch_up(arguments: &CatchUpArguments) -> Result<Ended, CommandError> {
    let deployed = arguments.target.open()?;
    let parts = deployed.digests()?.ok_or_else(none)?;
    let digests = wait(arguments.trust.digests(&deployed, Vec::new()))?.ok_or_else(none)?;
    let place = deployed.place();
    let ports = deployed.log_ports();
    let found = wait(log_reader::verify(&ports, Some(&digests), "", System.now(), |_| ()))?;
    let plan = plan(found)?;
    let question = format!("Have {} objects digested as they are now?", plan.keys.len());
    if !plan.keys.is_empty() && !confirm(arguments.yes, &place, &question)? {
        return Ok(Ended::Nothing);
    }
    wait(async {
        for keys in plan.keys.chunks(A_MESSAGE) {
            let sent = parts.notices.announce(&parts.log_bucket, keys).await;
            sent.or_failed("the queue did not take a message; repeat the command")?;
        }
        Ok(())
    })?;
    let answer = json!({ "announced": plan.keys.len(), "left_out": plan.left_out });
    output::print_answer(arguments.target.json, &answer, || announced(&plan))
}

/// The objects to digest, and the reasons why other streams are left out.
struct Plan {
    keys: Vec<String>,
    left_out: Vec<Finding>,
}

/// Selects all undigested objects, except those of streams with other damage, because a digest would vouch for the
/// damage.
fn plan(found: Verification) -> Result<Plan, CommandError> {
    if let Some(first) = found.digests.iter().flat_map(|report| &report.findings).next() {
        let what = format!("{} {}: see `oracle audit verify`", first.key, first.damage.words());
        return Err(CommandError::Refused(what));
    }
    let left_out: Vec<Finding> =
        found.findings.into_iter().filter(|finding| finding.damage != Damage::Undigested).collect();
    // All days of a function form one chain.
    let chain = |key: &str| {
        let stream = stream_of(key);
        function_of_stream(stream).unwrap_or(stream).to_owned()
    };
    let bad: BTreeSet<String> = left_out.iter().map(|finding| chain(&finding.key)).collect();
    let mut keys = found.undigested;
    keys.retain(|key| !bad.contains(&chain(key)));
    keys.sort();
    Ok(Plan { keys, left_out })
}

fn announced(plan: &Plan) -> String {
    let mut text = match plan.keys.len() {
        0 => "nothing is late that can be digested\n".to_owned(),
        count => format!("{count} objects wait for the next digest\n"),
    };
    if !plan.left_out.is_empty() {
        text.push_str("streams that were left out, for something else is wrong with them:\n");
    }
    for finding in &plan.left_out {
        text.push_str(&format!("{}\n    {}\n", output::printable(&finding.key), finding.damage.words()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit_verify::digests::DigestReport;

    fn finding(key: &str, damage: Damage) -> Finding {
        Finding { key: key.to_owned(), damage }
    }

    #[test]
    fn everything_late_is_announced_but_for_streams_in_which_something_else_is_wrong() {
        let late = [
            "2026-04-16/session/cs_1/000001.json",
            "2026-04-16/session/cs_1/000002.json",
            "2026-04-16/session/cs_2/000001.json",
            "2026-04-16/function/deadlines/000001.json",
            "2026-04-17/function/deadlines/000001.json",
            "2026-04-16/function/reconcile/000001.json",
            "2026-04-17/function/reconcile/000001.json",
        ];
        let damaged = || {
            let edited = finding("2026-04-16/session/cs_2/000002.json", Damage::Edited);
            vec![edited, finding("2026-04-16/function/reconcile/000002.json", Damage::Deleted)]
        };
        let mut findings = damaged();
        findings.push(finding(late[0], Damage::Undigested));
        findings.push(finding(late[3], Damage::Undigested));
        let undigested = late.iter().map(|key| (*key).to_owned()).collect();
        let plan = plan(Verification { findings, undigested, ..Verification::default() }).unwrap();
        assert_eq!(plan.keys, [late[3], late[0], late[1], late[4]], "every day, and every record of it");
        assert_eq!(plan.left_out, damaged());
        let text = announced(&plan);
        assert!(text.starts_with("4 objects wait for the next digest\nstreams that were left out"), "{text}");
        assert!(text.contains("cs_2/000002.json\n    was edited\n"), "{text}");
    }

    #[test]
    fn nothing_is_announced_where_it_is_not_known_what_is_digested() {
        let bad = vec![finding("digests/0000000002.json", Damage::Edited)];
        let digests = Some(DigestReport { findings: bad.clone(), ..DigestReport::default() });
        let refused = plan(Verification { findings: bad, digests, ..Verification::default() });
        assert!(matches!(refused, Err(CommandError::Refused(_))));
        let nothing = plan(Verification::default()).unwrap();
        assert_eq!(announced(&nothing), "nothing is late that can be digested\n");
    }

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
