//! `oracle inquiries`.

use clap::{Args, Subcommand};
use domain::{
    inbox::INQUIRIES,
    ports::{Clock, Inbox},
};
use operations::{
    inquiries::{self, InquiryError, Waiting},
    list::{self, Row},
};
use runtime::System;
use serde_json::json;

use super::correspondence;
use crate::{
    command::{CommandError, Ended, OrFailed, OrRefused, Signed, Target, wait},
    stack::Deployed,
    terminal::output::{self, minute},
};

#[derive(Subcommand)]
pub(crate) enum InquiriesCommand {
    /// List the messages that answer no mail of ours, or whose sale could not be determined, with the open sales of
    /// their senders' addresses.
    #[command(after_help = "Example:\n  oracle inquiries list")]
    List(Target),
    /// Show a message, fetched from the mailbox; nothing of it is kept.
    #[command(after_help = "Example:\n  oracle inquiries show 5f1c2a3b0d4e\n\nExit code 1: no such inquiry waits.")]
    Show {
        /// The inquiry, as the list names it.
        inquiry: String,
        #[command(flatten)]
        target: Target,
    },
    /// Record that an inquiry is answered.
    #[command(
        after_help = "Example:\n  oracle inquiries settle 5f1c2a3b0d4e --by dana --reason 'answered by mail'\n\nExit code 1: no such inquiry waits."
    )]
    Settle(SettleArguments),
}

#[derive(Args)]
pub(crate) struct SettleArguments {
    /// The inquiry, as the list names it.
    inquiry: String,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(command: &InquiriesCommand) -> Result<Ended, CommandError> {
    match command {
        InquiriesCommand::List(target) => {
            let deployed = target.open()?;
            let waiting = wait(async { waiting(&deployed, None).await })?;
            output::print_list(target.json, &waiting, "no inquiry waits\n", || table(&waiting, output::width()))
        }
        InquiriesCommand::Show { inquiry, target } => show(inquiry, target),
        InquiriesCommand::Settle(arguments) => settle(arguments),
    }
}

/// The waiting inquiries with the open sales of their addresses. Reads the open sales if `open` is `None`.
pub(crate) async fn waiting(deployed: &Deployed, open: Option<&[Row]>) -> Result<Vec<Waiting>, CommandError> {
    let unreadable = |error| CommandError::failed("the lists cannot be read", error);
    let now = System.now();
    let read;
    let open = match open {
        Some(open) => open,
        None => {
            read = list::everything(deployed.lists(), now).await.map_err(unreadable)?;
            &read
        }
    };
    inquiries::waiting(deployed.stores.function_journal(INQUIRIES), open, now).await.map_err(unreadable)
}

pub(crate) fn table(waiting: &[Waiting], width: usize) -> String {
    let line = |it: &Waiting| output::Row {
        cells: vec![
            it.inquiry.clone(),
            format!("{}{}", minute(&it.due), if it.overdue { " !" } else { "" }),
            if it.sales.is_empty() { "-".to_owned() } else { it.sales.join(" ") },
        ],
        below: String::new(),
    };
    output::table(&["INQUIRY", "DUE (UTC)", "OPEN SALES OF THE ADDRESS"], waiting.iter().map(line), width)
}

fn show(name: &str, target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let mailbox = deployed.backend().mailbox()?;
    let says = wait(async {
        let found = waiting(&deployed, None).await?.into_iter().find(|it| it.inquiry == name);
        let found = found.ok_or_else(|| CommandError::refused(InquiryError::None))?;
        mailbox.correspondence(&found.message).await.or_failed("the mailbox cannot be read")
    })?;
    let text = |field: fn(&domain::inbox::Correspondence) -> &String| says.as_ref().map(field);
    let answer = json!({
        "inquiry": name, "sender": text(|it| &it.sender), "subject": text(|it| &it.subject),
        "text": text(|it| &it.text),
    });
    output::print_answer(target.json, &answer, || correspondence::for_people(says.as_ref()))
}

fn settle(arguments: &SettleArguments) -> Result<Ended, CommandError> {
    let (deployed, operator) = arguments.signed.open()?;
    let name = &arguments.inquiry;
    if !arguments.signed.confirm(&deployed, &format!("Is the inquiry {name} answered?"))? {
        return Ok(Ended::Nothing);
    }
    wait(async {
        let settled = inquiries::settle(deployed.stores.function_journal(INQUIRIES), &operator, name).await;
        settled.or_refused("the inquiry may still be on the list: repeat the command")
    })?;
    let answer = json!({ "inquiry": name, "settled": true });
    output::print_answer(arguments.signed.target.json, &answer, || format!("{name} is settled\n"))
}
