//! `oracle deadletters`.

use backend::QueueName;
use clap::{Args, Subcommand};
use domain::{Sale, SessionId, mail::Letter, ports::Clock};
use operations::{
    Done, NotDone,
    dead_letters::{self, DeadLetter},
    redrive::{self, RedriveError, Step},
    settle::{self, MailOutcome},
};
use runtime::{System, telemetry};
use serde_json::json;
use std::slice;

use crate::{
    command::{CommandError, Ended, OrFailed, OrRefused, Signed, Target, wait},
    evidence,
    sales::{
        named_sale::NamedSale,
        sale_name::{self, SaleName},
        signed_sale::SignedSale,
    },
    stack::Deployed,
    terminal::{
        output::{self, minute},
        when,
    },
};

#[derive(Subcommand)]
pub(crate) enum DeadLettersCommand {
    /// List dead-lettered mails, oldest first.
    #[command(after_help = "Example:\n  oracle deadletters list --since 3d")]
    List {
        /// Only those dead-lettered since: 2026-11-20, 2026-11-20T10:00:00Z, 90m, 24h or 3d.
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Show one sale's dead-lettered mails.
    #[command(
        after_help = "Example:\n  oracle deadletters show cs_live_abc123\n\nExit code 1: the sale has no dead letter."
    )]
    Show(NamedSale),
    /// Redrive dead-lettered mails.
    ///
    /// Each mail starts again at its first attempt and keeps its draft. Before sending, the function checks in the mailbox
    /// whether the draft was already sent, so no mail is sent twice. Repeating the command is safe.
    #[command(
        after_help = "Examples:\n  oracle deadletters redrive cs_live_abc123 --by dana --reason 'the mailbox is back'\n  oracle deadletters redrive --since 24h --dry-run\n\nExit code 1: there was no dead letter, or not all of them were redriven."
    )]
    Redrive(RedriveArguments),
    /// Record whether a mail with an unknown outcome was sent, after checking the mailbox.
    ///
    /// A mail that was not sent is sent again, as a new draft; one that was sent leaves the list.
    #[command(
        after_help = "Examples:\n  oracle deadletters settle cs_live_abc123 --sent --by dana --reason 'the customer has answered it'\n  oracle deadletters settle cs_live_abc123 --not-sent --by dana --reason 'neither drafts nor sent items hold it'\n\nExit code 1: the sale has no such mail, or its money went back."
    )]
    Settle(SettleArguments),
}

#[derive(Args)]
pub(crate) struct SettleArguments {
    /// The mail was sent.
    #[arg(long, required_unless_present = "not_sent", conflicts_with = "not_sent")]
    sent: bool,
    /// The mail was not sent: send it again.
    #[arg(long)]
    not_sent: bool,
    #[command(flatten)]
    one: SignedSale,
}

#[derive(Args)]
pub(crate) struct RedriveArguments {
    /// The sales; without any, every sale with such a mail.
    #[arg(value_name = "SALE", value_parser = sale_name::parse)]
    sales: Vec<SaleName>,
    /// Only mails dead-lettered since: 2026-11-20, 2026-11-20T10:00:00Z, 90m, 24h or 3d.
    #[arg(long, value_name = "WHEN", conflicts_with = "sales")]
    since: Option<String>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(command: &DeadLettersCommand) -> Result<Ended, CommandError> {
    match command {
        DeadLettersCommand::List { since, target } => {
            let letters = listed(&target.open()?, since.as_deref())?;
            print(&letters, target.json)
        }
        DeadLettersCommand::Show(one) => {
            let (deployed, session) = one.open()?;
            let letters = wait(load(&deployed, &session))?.map(|sale| dead_letters::of(&sale)).unwrap_or_default();
            print(&letters, one.target.json)?;
            Ok(if letters.is_empty() { Ended::Nothing } else { Ended::Done })
        }
        DeadLettersCommand::Redrive(arguments) => redrive(arguments),
        DeadLettersCommand::Settle(arguments) => settle(arguments),
    }
}

fn settle(arguments: &SettleArguments) -> Result<Ended, CommandError> {
    let (deployed, operator, session) = arguments.one.open()?;
    let found = if arguments.not_sent { MailOutcome::NotSent } else { MailOutcome::Sent };
    let unknown = wait(load(&deployed, &session))?.map(|sale| sale.unknown_mails()).unwrap_or_default();
    let question = question(&session, &unknown, found);
    let observed = evidence::of_sales(&deployed, slice::from_ref(&session))?;
    if !observed.confirm(&deployed, (&arguments.one.signed, &operator), "deadletters settle", &question)? {
        return Ok(Ended::Nothing);
    }
    let retries = deployed.backend().queue(QueueName::MailRetries)?;
    let ports = redrive::Ports { journal: deployed.stores.journal(), retries: &retries };
    let settled = async { settle::settle(ports, &operator, &session, found).await };
    let letters = wait(async { settled.await.or_refused("the mail may still be on the list: repeat the command") })?;
    let names: Vec<&str> = letters.iter().map(|letter| letter.as_str()).collect();
    output::print_list(
        arguments.one.signed.target.json,
        &names,
        "the sale has no mail with an unknown outcome\n",
        || format!("settled: {}\n", names.join(", ")),
    )?;
    Ok(if names.is_empty() { Ended::Nothing } else { Ended::Done })
}

/// Names the sale and its mails: the argument may be a reference of 8 characters, and a customer whose mail is recorded as
/// sent by mistake never gets it.
fn question(session: &SessionId, unknown: &[Letter], found: MailOutcome) -> String {
    let session = session.as_str();
    let names = unknown.iter().map(|letter| letter.as_str()).collect::<Vec<_>>().join(", ");
    match (found, unknown) {
        (MailOutcome::NotSent, []) => {
            format!("No mail of {session} has an unknown outcome. Send those that are due again?")
        }
        (MailOutcome::Sent, []) => format!("No mail of {session} has an unknown outcome. Record that it was sent?"),
        (MailOutcome::NotSent, [_]) => format!("Send the mail of {session} again: {names}?"),
        (MailOutcome::NotSent, _) => format!("Send {} mails of {session} again: {names}?", unknown.len()),
        (MailOutcome::Sent, [_]) => format!("Record that the mail of {session} was sent: {names}?"),
        (MailOutcome::Sent, _) => format!("Record that {} mails of {session} were sent: {names}?", unknown.len()),
    }
}

fn listed(deployed: &Deployed, since: Option<&str>) -> Result<Vec<DeadLetter>, CommandError> {
    let since = since.map(|text| when::parse(text, System.now())).transpose()?;
    wait(async { dead_letters::everything(deployed.lists(), since).await.or_failed("the dead letters cannot be read") })
}

async fn load(deployed: &Deployed, session: &SessionId) -> Result<Option<Sale>, CommandError> {
    let loaded = deployed.stores.journal().store.load(session).await.or_failed("the sale cannot be read")?;
    Ok(loaded.map(|sale| sale.value))
}

fn print(letters: &[DeadLetter], json: bool) -> Result<Ended, CommandError> {
    output::print_list(json, letters, "there are no dead letters\n", || table(letters, output::width()))
}

fn table(letters: &[DeadLetter], width: usize) -> String {
    let line = |letter: &DeadLetter| output::Row {
        cells: vec![
            letter.letter.as_str().to_owned(),
            minute(&letter.died_at),
            letter.attempts.to_string(),
            if letter.draft { "yes" } else { "no" }.to_owned(),
            letter.errors.join(" "),
        ],
        below: letter.session_id.as_str().to_owned(),
    };
    output::table(&["MAIL", "DEAD SINCE (UTC)", "FAILED", "DRAFT", "ERRORS"], letters.iter().map(line), width)
}

fn redrive(arguments: &RedriveArguments) -> Result<Ended, CommandError> {
    let deployed = arguments.signed.target.open()?;
    let named = arguments.sales.iter().map(|sale| sale.find(&deployed));
    let mut sessions = named.collect::<Result<Vec<_>, _>>()?;
    if sessions.is_empty() {
        sessions = listed(&deployed, arguments.since.as_deref())?.into_iter().map(|letter| letter.session_id).collect();
        sessions.dedup();
    }
    if arguments.dry_run {
        return dry_run(&deployed, &sessions, arguments.signed.target.json);
    }
    let operator = arguments.signed.operator(&deployed)?;
    let question = format!("Redrive the dead-lettered mails of {} sale(s)?", sessions.len());
    let observed = evidence::of_sales(&deployed, &sessions)?;
    let by = (&arguments.signed, &operator);
    if sessions.is_empty() || !observed.confirm(&deployed, by, "deadletters redrive", &question)? {
        output::print(if arguments.signed.target.json { "[]\n" } else { "no mail was redriven\n" })?;
        return Ok(Ended::Nothing);
    }
    let retries = deployed.backend().queue(QueueName::MailRetries)?;
    let ports = redrive::Ports { journal: deployed.stores.journal(), retries: &retries };
    let answers = wait(async {
        let mut answers = Vec::new();
        for session in sessions {
            let answer = redrive::redrive(ports, &operator, &session).await;
            answers.push((session, answer));
        }
        Ok(answers)
    })?;
    report(answers, Format { json: arguments.signed.target.json, is_plan: false })
}

fn dry_run(deployed: &Deployed, sessions: &[SessionId], json: bool) -> Result<Ended, CommandError> {
    let planned = wait(async {
        let mut planned = Vec::new();
        for session in sessions {
            let sale = load(deployed, session).await?;
            let steps = sale.ok_or(RedriveError::NoSale).and_then(|sale| redrive::plan(&sale, System.now()));
            planned.push((session.clone(), steps.map_err(NotDone::Refused)));
        }
        Ok(planned)
    })?;
    report(planned, Format { json, is_plan: true })
}

type Answer = (SessionId, Done<Vec<(Letter, Step)>, RedriveError>);

/// How answers are printed.
#[derive(Clone, Copy)]
struct Format {
    json: bool,
    /// Whether the answers describe a dry run, which changes nothing.
    is_plan: bool,
}

/// Prints the outcome of each sale, then returns the first failure that is not a refusal.
fn report(answers: Vec<Answer>, Format { json, is_plan }: Format) -> Result<Ended, CommandError> {
    let has_answers = !answers.is_empty();
    let done = has_answers && answers.iter().all(|(_, answer)| is_done(answer));
    let mut documents = Vec::new();
    let mut failure = None;
    for (session, answer) in answers {
        let refused = answer.as_ref().err().map(|error| telemetry::chain(error));
        let steps = answer.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
        if json {
            let steps: Vec<_> = steps
                .iter()
                .map(|(letter, step)| json!({ "letter": letter, "step": step, "planned": is_plan }))
                .collect();
            documents.push(json!({ "session_id": session, "steps": steps, "error": refused }));
        } else {
            output::print(&for_people(&session, &steps, refused.as_deref(), is_plan))?;
        }
        if let Err(error) = answer
            && !error.is_refusal()
        {
            failure = failure.or(Some(error));
        }
    }
    if json {
        output::print_json(&documents)?;
    } else if !has_answers {
        output::print("there are no dead letters\n")?;
    }
    match failure {
        Some(error) => Err(CommandError::failed("not every mail was redriven", error)),
        None => Ok(if done { Ended::Done } else { Ended::Nothing }),
    }
}

fn is_done(answer: &Done<Vec<(Letter, Step)>, RedriveError>) -> bool {
    answer.as_ref().is_ok_and(|steps| steps.iter().any(|(_, step)| *step != Step::NotWanted))
}

fn for_people(session: &SessionId, steps: &[(Letter, Step)], refused: Option<&str>, is_plan: bool) -> String {
    let describe = |(letter, step): &(Letter, Step)| {
        let step = match (step, is_plan) {
            (Step::PutBack, false) => "tried again now",
            (Step::PutBack, true) => "would be tried again",
            (Step::AskAgain, false) => "due already, asked for again",
            (Step::AskAgain, true) => "is due already, and would be asked for again",
            (Step::NotWanted, _) => "not sent any more",
        };
        format!("{} mail {step}", letter.as_str())
    };
    let text = match refused {
        Some(refused) => output::printable(refused),
        None if steps.is_empty() => "no dead mail".to_owned(),
        None => steps.iter().map(describe).collect::<Vec<_>>().join(", "),
    };
    format!("{}: {text}\n", session.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sale_whose_mail_is_on_its_way_counts_as_done() {
        assert!(is_done(&Ok(vec![(Letter::Verdict, Step::PutBack)])));
        assert!(is_done(&Ok(vec![(Letter::Verdict, Step::AskAgain), (Letter::SilentDrop, Step::NotWanted)])));
        assert!(!is_done(&Ok(vec![(Letter::Verdict, Step::NotWanted)])) && !is_done(&Ok(vec![])));
        assert!(!is_done(&Err(RedriveError::NoSale.into())));
    }

    #[test]
    fn the_question_about_a_mail_names_its_sale_and_the_mail() {
        let session = SessionId::parse("cs_live_abcdefghijklmnop").unwrap();
        for found in [MailOutcome::Sent, MailOutcome::NotSent] {
            for unknown in [&[][..], &[Letter::Verdict], &[Letter::Verdict, Letter::SilentDrop]] {
                let asked = question(&session, unknown, found);
                assert!(asked.contains("cs_live_abcdefghijklmnop") && asked.ends_with('?'), "{asked}");
                assert!(unknown.iter().all(|letter| asked.contains(letter.as_str())), "{asked}");
            }
        }
    }

    #[test]
    fn each_sale_is_shown_with_its_whole_id() {
        let session = SessionId::parse("cs_live_abcdefghijklmnop").unwrap();
        let planned = for_people(&session, &[(Letter::Verdict, Step::PutBack)], None, true);
        assert!(planned.ends_with("verdict mail would be tried again\n"), "{planned}");
        let text = for_people(&session, &[(Letter::Verdict, Step::PutBack)], None, false);
        assert_eq!(text, "cs_live_abcdefghijklmnop: verdict mail tried again now\n");
    }
}
