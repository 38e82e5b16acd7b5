//! `oracle bridge`: lists and shows Bridges, grants and revokes access, replies in threads, and settles mails of
//! replies.

use std::{io, path::PathBuf};

use bridge::{DecideError, FindError, Held, ReplyError, Row, ThreadMessage};
use clap::{Args, Subcommand};
use domain::{
    StepError, Timestamp,
    chat::{Bridge, ExchangeId, Message, SubscriberId},
    ports::Clock,
};
use runtime::System;
use serde_json::json;

use super::bridge_report::{described, grant_question, reply_question, revoke_question, settle_question, table, text};
use crate::{
    command::{CommandError, Ended, OrFailed, Signed, Target, read_file, wait},
    stack::{BridgeStores, Deployed},
    terminal::{output, when},
};

#[derive(Subcommand)]
pub(crate) enum BridgeCommand {
    /// List all who accepted the agreement; those who wait for an operator first.
    #[command(after_help = "Example:\n  oracle bridge list")]
    List(Target),
    /// Show one Bridge: the acceptance, the last decision, the thread.
    #[command(
        after_help = "Example:\n  oracle bridge show 3f2a9c1b77d0\n\nExit code 1: no Bridge's id begins with these digits, or several do."
    )]
    Show(ShowArguments),
    /// Grant access until a day, or move that day. The agreement must be accepted.
    #[command(
        after_help = "Example:\n  oracle bridge grant 3f2a9c1b77d0 --expires 2027-03-01 --by dana --reason 'design partner'\n\nThe member gets a mail within five minutes. Exit code 1: the agreement is not accepted, access is revoked, or the day is refused."
    )]
    Grant(GrantArguments),
    /// End access at once, or decline it before it was granted.
    #[command(
        after_help = "Example:\n  oracle bridge revoke 3f2a9c1b77d0 --by dana --reason 'project ended'\n\nThe member gets a mail within five minutes, without the reason. Exit code 1: there is no access to end."
    )]
    Revoke(RevokeArguments),
    /// Post a reply in the thread and mail it. Repeating the same reply sends only what was not sent.
    #[command(
        after_help = "Examples:\n  oracle bridge reply 3f2a9c1b77d0 --by dana --file reply.txt\n  oracle bridge reply 3f2a9c1b77d0 --to 0b6ef1c2-4d5a-4e6f-8a7b-9c0d1e2f3a4b --by dana --file reply.txt --yes  # from a script\n\nShows the messages that the reply answers and asks. A message that comes later waits for a reply of its own. Exit code 1: there is no access, the thread has no such message, or the content filter refuses the text. Exit code 2: --to is missing, or the mail is not sent yet."
    )]
    Reply(ReplyArguments),
    /// Settle the mail of a reply that `reply` cannot send: say whether it was sent. Not sent: repeating
    /// the reply makes a new draft. Sent, or written by hand: the task is closed.
    #[command(
        after_help = "Examples:\n  oracle bridge settle 3f2a9c1b77d0 0b6ef1c2-4d5a-4e6f-8a7b-9c0d1e2f3a4b --not-sent --by dana --reason 'neither drafts nor sent items hold it'\n  oracle bridge settle 3f2a9c1b77d0 0b6ef1c2-4d5a-4e6f-8a7b-9c0d1e2f3a4b --sent --by dana --reason 'written by hand'\n\nExit code 1: the thread has no such reply, its mail is sent, or the mailbox still has the draft of one that is said not to be sent."
    )]
    Settle(SettleArguments),
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The Bridge: the first digits of the subscriber's id, as alerts and the list name them.
    bridge: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(crate) struct GrantArguments {
    /// The Bridge: the first digits of the subscriber's id, as alerts and the list name them.
    bridge: String,
    /// The first day without access (2027-03-01), or a moment (2027-03-01T12:00:00Z); UTC, at most 366 days ahead.
    #[arg(long, value_name = "DAY")]
    expires: String,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Args)]
pub(crate) struct RevokeArguments {
    /// The Bridge: the first digits of the subscriber's id, as alerts and the list name them.
    bridge: String,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Args)]
pub(crate) struct ReplyArguments {
    /// The Bridge: the first digits of the subscriber's id, as alerts and the list name them.
    bridge: String,
    /// The file with the text; without it, standard input, which needs --yes.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The customer's last message that you have read, by its id in `oracle bridge show`. Without it, the last one that
    /// the command shows before it asks; --yes needs it while a message waits for a reply. A reply with this text whose
    /// mail is not sent is continued, and answers its own message.
    #[arg(long, value_name = "MESSAGE", value_parser = message_id)]
    to: Option<ExchangeId>,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Args)]
pub(crate) struct SettleArguments {
    /// The Bridge: the first digits of the subscriber's id, as alerts and the list name them.
    bridge: String,
    /// The reply, by its id in `oracle bridge show`.
    #[arg(value_name = "MESSAGE", value_parser = message_id)]
    reply: ExchangeId,
    /// The member has the mail.
    #[arg(long, required_unless_present = "not_sent", conflicts_with = "not_sent")]
    sent: bool,
    /// The mail was not sent: repeat the reply.
    #[arg(long)]
    not_sent: bool,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(command: &BridgeCommand) -> Result<Ended, CommandError> {
    match command {
        BridgeCommand::List(target) => list(target),
        BridgeCommand::Show(arguments) => show(arguments),
        BridgeCommand::Grant(arguments) => grant(arguments),
        BridgeCommand::Revoke(arguments) => revoke(arguments),
        BridgeCommand::Reply(arguments) => reply(arguments),
        BridgeCommand::Settle(arguments) => settle(arguments),
    }
}

/// The Bridges with an open task for an operator, the most urgent first.
pub(crate) async fn waiting(deployed: &Deployed) -> Result<Vec<Row>, CommandError> {
    Ok(rows(deployed).await?.into_iter().filter(|row| row.task.is_some()).collect())
}

async fn rows(deployed: &Deployed) -> Result<Vec<Row>, CommandError> {
    bridge::listed(&deployed.stores.sales, System.now()).await.or_failed("the Bridges cannot be read")
}

async fn find(deployed: &Deployed, digits: &str) -> Result<SubscriberId, CommandError> {
    bridge::find(&deployed.stores.sales, digits).await.map_err(|error| match error {
        FindError::Storage(error) => CommandError::failed("the Bridges cannot be read", error),
        error => CommandError::Refused(error.to_string()),
    })
}

fn unreadable(error: StepError) -> CommandError {
    CommandError::failed("the Bridge cannot be read", error)
}

fn decided(error: DecideError) -> CommandError {
    match error {
        DecideError::Bridge(error) => CommandError::failed("the decision may not be saved: repeat the command", error),
        DecideError::Mailbox(error) => {
            CommandError::failed("the mailbox cannot be read, nothing is recorded: repeat the command", error)
        }
        error => CommandError::Refused(error.to_string()),
    }
}

/// A repetition must name the same message: the customer may have written meanwhile.
fn replied(error: ReplyError, to: Option<&ExchangeId>) -> CommandError {
    let with = to.map(|id| format!(" with --to {}", id.as_str())).unwrap_or_default();
    match error {
        ReplyError::Filtered(_) | ReplyError::Refused(_) => CommandError::Refused(error.to_string()),
        ReplyError::Unsettled(_) | ReplyError::OutcomeUnknown => {
            let what = format!("it is not known whether the reply is mailed: repeat the command later{with}");
            CommandError::failed(&what, error)
        }
        error => CommandError::failed(&format!("the reply is not mailed: repeat the command{with}"), error),
    }
}

fn message_id(text: &str) -> Result<ExchangeId, String> {
    ExchangeId::parse(text).map_err(|error| error.to_string())
}

fn list(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let rows = wait(rows(&deployed))?;
    output::print_list(target.json, &rows, "there is no Bridge: no customer has accepted the agreement\n", || {
        table(&rows, output::width())
    })
}

async fn read(
    deployed: &Deployed,
    stores: &BridgeStores<'_>,
    digits: &str,
) -> Result<(Held, Vec<ThreadMessage>), CommandError> {
    let who = find(deployed, digits).await?;
    let held = bridge::load(stores.ports(), &who).await.map_err(unreadable)?;
    let messages = held.messages(&stores.keys).await.map_err(unreadable)?;
    Ok((held, messages))
}

fn show(arguments: &ShowArguments) -> Result<Ended, CommandError> {
    let deployed = arguments.target.open()?;
    let stores = deployed.bridge_stores()?;
    let shown = wait(async {
        let (held, messages) = read(&deployed, &stores, &arguments.bridge).await?;
        let person = held.person(&stores.keys).await.map_err(unreadable)?;
        Ok(described(&held, person.as_ref(), &messages, System.now()))
    })?;
    output::print_answer(arguments.target.json, &shown, || text(&shown))
}

fn print_decided(bridge: &Bridge, target: &Target) -> Result<Ended, CommandError> {
    let (digits, state) = (bridge.id().prefix(), bridge.state(System.now()));
    let expires = bridge.expires().map(Timestamp::to_iso);
    let answer = json!({ "bridge": digits, "state": state.as_str(), "expires": expires });
    output::print_answer(target.json, &answer, || format!("{digits} is {state}\n"))
}

fn grant(arguments: &GrantArguments) -> Result<Ended, CommandError> {
    let expires = when::moment(&arguments.expires).ok_or_else(|| {
        CommandError::Usage(format!(
            "--expires {:?} is not a date: give 2027-03-01 or 2027-03-01T12:00:00Z",
            arguments.expires
        ))
    })?;
    let (deployed, operator) = arguments.signed.open()?;
    let (stores, who) = (deployed.bridge_stores()?, wait(find(&deployed, &arguments.bridge))?);
    if !arguments.signed.confirm(&deployed, &grant_question(&who, expires))? {
        return Ok(Ended::Nothing);
    }
    let bridge = wait(async { bridge::grant(stores.ports(), &who, &operator, expires).await.map_err(decided) })?;
    print_decided(&bridge.value, &arguments.signed.target)
}

fn revoke(arguments: &RevokeArguments) -> Result<Ended, CommandError> {
    let (deployed, operator) = arguments.signed.open()?;
    let (stores, who) = (deployed.bridge_stores()?, wait(find(&deployed, &arguments.bridge))?);
    if !arguments.signed.confirm(&deployed, &revoke_question(&who))? {
        return Ok(Ended::Nothing);
    }
    let bridge = wait(async { bridge::revoke(stores.ports(), &who, &operator).await.map_err(decided) })?;
    print_decided(&bridge.value, &arguments.signed.target)
}

fn written(file: Option<&PathBuf>) -> Result<Message, CommandError> {
    let text = match file {
        Some(path) => read_file(path)?,
        None => io::read_to_string(io::stdin())?,
    };
    Message::parse(&text).map_err(|error| CommandError::Refused(error.to_string()))
}

fn reply(arguments: &ReplyArguments) -> Result<Ended, CommandError> {
    let text = written(arguments.file.as_ref())?;
    let (deployed, operator) = arguments.signed.open()?;
    let stores = deployed.bridge_stores()?;
    let (mailbox, site) = (deployed.backend().mailbox()?, deployed.backend().site()?);
    let (held, messages) = wait(read(&deployed, &stores, &arguments.bridge))?;
    let bridge = &held.bridge.value;
    let unsent = bridge::unsent_reply(&messages, &text);
    let is_unclear = unsent.is_none() && arguments.to.is_none() && bridge.unanswered().next().is_some();
    if arguments.signed.yes && is_unclear {
        let what = "a message waits: name the last one that you have read with --to (oracle bridge show)";
        return Err(CommandError::Usage(what.to_owned()));
    }
    // Held fixed from here on: what the customer posts during the question is unread.
    let (to, question) = reply_question(bridge, &messages, unsent, arguments.to.as_ref());
    if !arguments.signed.confirm(&deployed, &question)? {
        return Ok(Ended::Nothing);
    }
    let replying = bridge::reply(stores.ports(), &mailbox, &site, bridge.id(), &operator, to, &text);
    let reply = wait(async { replying.await.map_err(|error| replied(error, to)) })?;
    let answer = json!({ "bridge": arguments.bridge, "reply": reply.id, "answers": to, "mailed": true });
    output::print_answer(arguments.signed.target.json, &answer, || {
        format!("{} has the reply, on the page and by mail\n", arguments.bridge)
    })
}

fn settle(arguments: &SettleArguments) -> Result<Ended, CommandError> {
    let (deployed, operator) = arguments.signed.open_with_reason("settling a mail")?;
    let (stores, mailbox) = (deployed.bridge_stores()?, deployed.backend().mailbox()?);
    let who = wait(find(&deployed, &arguments.bridge))?;
    if !arguments.signed.confirm(&deployed, &settle_question(&who, arguments.sent))? {
        return Ok(Ended::Nothing);
    }
    wait(async {
        let settling = bridge::settle(stores.ports(), &mailbox, &who, &operator, &arguments.reply, arguments.sent);
        settling.await.map_err(decided)
    })?;
    let answer = json!({ "bridge": arguments.bridge, "reply": arguments.reply, "sent": arguments.sent });
    output::print_answer(arguments.signed.target.json, &answer, || {
        let next = if arguments.sent { "is sent" } else { "is not sent: repeat the reply" };
        format!("the mail of {} {next}\n", arguments.reply.as_str())
    })
}
