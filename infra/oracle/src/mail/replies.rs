//! `oracle replies`.

use std::{fmt::Write as _, slice};

use clap::{Args, Subcommand};
use domain::{inbox::FollowupReply, ports::Clock};
use operations::{
    list,
    replies::{self, ShownReply},
};
use runtime::System;
use serde_json::json;

use super::correspondence;
use crate::{
    command::{CommandError, Ended, OrFailed, OrRefused, Target, wait},
    sales::{named_sale::NamedSale, signed_sale::SignedSale, waiting},
    terminal::output,
};

#[derive(Subcommand)]
pub(crate) enum RepliesCommand {
    /// List the sales whose customers have written back, or whose mails came back.
    #[command(after_help = "Example:\n  oracle replies list")]
    List(Target),
    /// Show what a customer has written, or the report of a mail that came back, fetched from the mailbox; nothing of it
    /// is kept.
    ///
    /// Says whether a reply came from the address that the sale's mails went to.
    #[command(
        after_help = "Example:\n  oracle replies show cs_live_abc123\n\nExit code 1: nothing waits, or a reply cannot be read."
    )]
    Show(NamedSale),
    /// Record that the requests in a sale's replies are done. A re-attempt records it too.
    ///
    /// A reply that came after you have read the others is not settled: the command is refused until you have read it.
    #[command(
        after_help = "Examples:\n  oracle replies settle cs_live_abc123 --by dana --reason 'answered'\n  oracle replies settle cs_live_abc123 --reply 5f1c2a3b0d4e,9b8a7c6d5e4f --yes --by dana\n\nExit code 1: refused, or nothing waits."
    )]
    Settle(SettleArguments),
}

#[derive(Args)]
pub(crate) struct SettleArguments {
    /// The replies that you have read, as `oracle replies show` names them; without this those that the question
    /// counts. With --yes there is no question, so name them.
    #[arg(long = "reply", value_name = "NAME", value_delimiter = ',')]
    replies: Vec<String>,
    #[command(flatten)]
    one: SignedSale,
}

pub(crate) fn run(command: &RepliesCommand) -> Result<Ended, CommandError> {
    match command {
        RepliesCommand::List(target) => {
            let deployed = target.open()?;
            let replied =
                async { list::replied(deployed.lists(), System.now()).await.or_failed("the lists cannot be read") };
            waiting::print(&wait(replied)?, target.json)
        }
        RepliesCommand::Show(one) => show(one),
        RepliesCommand::Settle(arguments) => settle(arguments),
    }
}

fn show(one: &NamedSale) -> Result<Ended, CommandError> {
    let (deployed, session) = one.open()?;
    let mailbox = deployed.backend().mailbox()?;
    let shown = wait(async {
        let shown = replies::show(&deployed.stores.sales, &mailbox, &session).await;
        shown.or_refused("the replies cannot be read")
    })?;
    if one.target.json {
        let replies: Vec<_> = shown.iter().map(as_json).collect();
        output::print_json(&json!({ "session_id": session, "replies": replies }))?;
    } else if shown.is_empty() {
        output::print("no reply waits\n")?;
    } else {
        output::print(&for_people(&shown))?;
        let names: Vec<_> = shown.iter().map(|shown| replies::name(&shown.reply)).collect();
        let (session, names) = (session.as_str(), names.join(","));
        output::print(&format!("When their requests are done: oracle replies settle {session} --reply {names}\n"))?;
    }
    let is_whole = shown.iter().all(|shown| shown.says.is_ok());
    Ok(if is_whole && !shown.is_empty() { Ended::Done } else { Ended::Nothing })
}

fn as_json(shown: &ShownReply) -> serde_json::Value {
    let says = shown.says.as_ref().ok().and_then(Option::as_ref);
    json!({
        "reply": replies::name(&shown.reply),
        "at": shown.reply.at.to_iso(),
        "from_buyer": shown.reply.from_buyer,
        "is_report": shown.reply.is_report,
        "followup": shown.reply.followup,
        "sender": says.map(|says| &says.sender),
        "subject": says.map(|says| &says.subject),
        "text": says.map(|says| &says.text),
        "error": shown.says.as_ref().err().map(ToString::to_string),
    })
}

fn for_people(shown: &[ShownReply]) -> String {
    let mut text = String::new();
    for ShownReply { reply, says } in shown {
        let who = match reply.from_buyer {
            _ if reply.is_report => "a report that a mail came back (anybody can write one), not the customer's reply",
            Some(true) => "from the buyer's address",
            Some(false) => "NOT from the buyer's address",
            None => "the buyer's address is not known",
        };
        let _ = writeln!(text, "{}  {}  {who}", replies::name(reply), reply.at.to_iso());
        if let Some(meant) = reply.followup.map(meant) {
            let _ = writeln!(text, "  {meant}");
        }
        match says {
            Ok(says) => text.push_str(&correspondence::for_people(says.as_ref())),
            Err(error) => {
                let _ =
                    writeln!(text, "  it cannot be read ({error}); if a later try fails too, read it in the mailbox");
            }
        }
        text.push('\n');
    }
    text
}

/// The outcome of a reply as a follow-up.
const fn meant(followup: FollowupReply) -> &'static str {
    match followup {
        FollowupReply::Ordered => "it has ordered the follow-up",
        FollowupReply::Used => "the follow-up was used before; the customer got that answer",
        FollowupReply::Refused => "the authority gate refused it as a follow-up; the customer got that answer",
    }
}

fn settle(arguments: &SettleArguments) -> Result<Ended, CommandError> {
    let SettleArguments { replies: named, one } = arguments;
    let (deployed, operator, session) = one.open()?;
    let waiting = waiting::replies(&deployed, slice::from_ref(&session))?;
    let named = (waiting.is_empty() || !named.is_empty()).then(|| named.clone());
    let shown = waiting.iter().map(replies::name).collect();
    let read = one.signed.what_was_read(named, shown, "--reply NAME, as oracle replies show prints it")?;
    let question = format!("Settle {} of {}?", waiting::count(&waiting), session.as_str());
    if !waiting.is_empty() && !one.signed.confirm(&deployed, &question)? {
        return Ok(Ended::Nothing);
    }
    let settled = wait(async {
        let settled = replies::settle(deployed.stores.journal(), &operator, &session, &read).await;
        settled.or_refused("the replies may still be on the list: repeat the command")
    })?;
    let answer = json!({ "session_id": session, "settled": settled });
    output::print_answer(one.signed.target.json, &answer, || format!("{settled} settled\n"))?;
    Ok(if settled == 0 { Ended::Nothing } else { Ended::Done })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        Timestamp,
        inbox::{Correspondence, Reply},
        ports::MailError,
    };

    #[test]
    fn a_reply_cannot_move_the_terminals_cursor_and_says_who_wrote() {
        let at = Timestamp::from_seconds(0);
        let reply = Reply {
            message: "m".into(),
            at,
            from_buyer: Some(false),
            settled_at: None,
            followup: None,
            is_report: false,
        };
        let says = Correspondence {
            sender: "x@example.com".into(),
            subject: "Re: a\u{1b}[2Jb".into(),
            text: "one\r\ntwo\u{7}".into(),
        };
        let text = for_people(&[
            ShownReply { reply: reply.clone(), says: Ok(Some(says)) },
            ShownReply { reply: reply.clone(), says: Err(MailError::Unavailable(500)) },
            ShownReply {
                reply: Reply { from_buyer: None, followup: Some(FollowupReply::Used), ..reply.clone() },
                says: Ok(None),
            },
        ]);
        let returned = ShownReply { reply: Reply { is_report: true, ..reply.clone() }, says: Ok(None) };
        assert_eq!(as_json(&returned)["is_report"], true);
        let report = for_people(&[returned]);
        assert!(report.contains("a report that a mail came back") && !report.contains("buyer"), "{report}");
        assert!(text.starts_with(&replies::name(&reply)), "{text}");
        assert!(text.contains("NOT from the buyer") && text.contains("\n  one\n  two\n"), "{text}");
        assert_eq!(text.matches("the follow-up was used before").count(), 1, "{text}");
        assert!(text.contains("  it cannot be read (the mailbox answered 500)"), "{text}");
        assert!(!text.contains('\u{1b}') && text.contains("does not have it any more"), "{text}");
    }
}
