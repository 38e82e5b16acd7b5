//! `oracle findings`.

use std::{path::PathBuf, slice};

use clap::{Args, Subcommand};
use domain::{customer_text, open_work::Work};
use operations::findings;
use serde_json::json;

use super::{named_sale::NamedSale, quarantine::read, signed_sale::SignedSale, waiting};
use crate::{
    command::{CommandError, Ended, OrRefused, Target, wait},
    evidence,
    terminal::output,
};

#[derive(Subcommand)]
pub(crate) enum FindingsCommand {
    /// List delivered sales whose verdict today's block list would hold.
    #[command(after_help = "Example:\n  oracle findings list")]
    List(Target),
    /// Print the verdict and the terms in it: customer content, do not share it.
    #[command(
        after_help = "Example:\n  oracle findings show cs_live_abc123 --json | jq .verdict\n\nExit code 1: nothing waits for a decision."
    )]
    Show(NamedSale),
    /// Keep the verdict as it was delivered.
    #[command(
        after_help = "Example:\n  oracle findings dismiss cs_live_abc123 --by dana --reason 'a company of that name'\n\nExit code 1: nothing waits for a decision."
    )]
    Dismiss(DismissArguments),
    /// Put a cleaned verdict on the page, if it passes the crosscheck and the content filter. Nothing is mailed.
    #[command(
        after_help = "Example:\n  oracle findings replace cs_live_abc123 --file cleaned.json --by dana --reason 'a term of ours'\n\nExit code 1: refused; the page stays as it is."
    )]
    Replace(ReplaceArguments),
}

#[derive(Args)]
pub(crate) struct DismissArguments {
    /// The block list whose finding you have read, as `oracle findings show` names it; without this the one that the
    /// question names. With --yes there is no question, so name it.
    #[arg(long, value_name = "VERSION")]
    list: Option<String>,
    #[command(flatten)]
    one: SignedSale,
}

#[derive(Args)]
pub(crate) struct ReplaceArguments {
    /// The cleaned verdict: JSON in the form of the one that `oracle findings show` prints.
    #[arg(long, value_name = "VERDICT.json")]
    file: PathBuf,
    #[command(flatten)]
    one: SignedSale,
}

pub(crate) fn run(command: &FindingsCommand) -> Result<Ended, CommandError> {
    match command {
        FindingsCommand::List(target) => waiting::list(target, &[Work::Finding]),
        FindingsCommand::Show(one) => show(one),
        FindingsCommand::Dismiss(arguments) => dismiss(arguments),
        FindingsCommand::Replace(arguments) => replace(arguments),
    }
}

const UNREADABLE: &str = "the finding cannot be read";
const MAY_BE_UNSETTLED: &str =
    "the finding may not have been settled: see `oracle findings list`, then repeat the command";

fn show(one: &NamedSale) -> Result<Ended, CommandError> {
    let (deployed, session) = one.open()?;
    let case = wait(async { findings::show(deployed.stores.journal(), &session).await.or_refused(UNREADABLE) })?;
    let verdict = &case.cached.verdict;
    if one.target.json {
        let (list, terms) = (&case.finding.list, &case.terms);
        output::print_json(&json!({ "session_id": session, "list": list, "terms": terms, "verdict": verdict }))?;
        return Ok(Ended::Done);
    }
    let sentence = format!(
        "Delivered, and block list {} holds back {} term(s) of it ({}). Dismiss it, replace the page's text, or refund the \
         sale; nothing happens by itself.",
        case.finding.list,
        case.finding.terms,
        case.terms.join(", ")
    );
    output::print(&output::wrapped(&sentence, 0, output::width()))?;
    output::print(&format!("{}\n", customer_text::visible(&serde_json::to_string_pretty(verdict)?)))?;
    Ok(Ended::Done)
}

fn dismiss(arguments: &DismissArguments) -> Result<Ended, CommandError> {
    let DismissArguments { list: named, one } = arguments;
    let (deployed, operator, session) = one.open_with_reason("a decision about a finding")?;
    let finding = wait(async { findings::finding(deployed.stores.journal(), &session).await.or_refused(UNREADABLE) })?;
    let how = "--list VERSION, as oracle findings show names it";
    let list = one.signed.what_was_read(named.clone(), finding.list.clone(), how)?;
    let question = format!(
        "Block list {} holds back {} term(s). Let the verdict of {} stand?",
        finding.list,
        finding.terms,
        session.as_str()
    );
    let observed = evidence::of_sales(&deployed, slice::from_ref(&session))?;
    if !observed.confirm(&deployed, (&one.signed, &operator), "findings dismiss", &question)? {
        return Ok(Ended::Nothing);
    }
    wait(async {
        findings::dismiss(deployed.stores.journal(), &operator, &session, &list).await.or_refused(MAY_BE_UNSETTLED)
    })?;
    print_decision(session.as_str(), &one.signed.target, "dismissed", "stays as it was delivered")
}

fn replace(arguments: &ReplaceArguments) -> Result<Ended, CommandError> {
    let ReplaceArguments { file, one } = arguments;
    let verdict = read(file)?;
    let (deployed, operator, session) = one.open_with_reason("a decision about a finding")?;
    let question = format!("Replace what the page of {} shows?", session.as_str());
    let observed = evidence::of_sales(&deployed, slice::from_ref(&session))?;
    if !observed.confirm(&deployed, (&one.signed, &operator), "findings replace", &question)? {
        return Ok(Ended::Nothing);
    }
    wait(async {
        findings::replace(deployed.stores.journal(), &operator, &session, &verdict).await.or_refused(MAY_BE_UNSETTLED)
    })?;
    print_decision(session.as_str(), &one.signed.target, "replaced", "has the new text on its page")
}

fn print_decision(session: &str, target: &Target, word: &str, outcome: &str) -> Result<Ended, CommandError> {
    let answer = json!({ "session_id": session, "decided": word });
    output::print_answer(target.json, &answer, || format!("{session} {outcome}\n"))
}
