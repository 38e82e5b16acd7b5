//! `oracle mail`.

use backend::QueueName;
use clap::Subcommand;
use operations::{redrive, send_again::send_again};
use serde_json::json;
use std::slice;

use crate::{
    command::{CommandError, Ended, OrRefused, wait},
    evidence,
    sales::signed_sale::SignedSale,
    terminal::output,
};

#[derive(Subcommand)]
pub(crate) enum MailCommand {
    /// Send the delivered mail of a verdict once more, because its customer cannot find it.
    #[command(
        after_help = "Example:\n  oracle mail send-again cs_live_abc123 --by dana --reason 'the customer deleted it'\n\nExit code 1: none was delivered, it was sent again before, or today's block list would hold it."
    )]
    SendAgain(SignedSale),
}

pub(crate) fn run(command: &MailCommand) -> Result<Ended, CommandError> {
    let MailCommand::SendAgain(one) = command;
    let (deployed, operator, session) = one.open()?;
    let question = format!("Send the mail of {} once more?", session.as_str());
    let observed = evidence::of_sales(&deployed, slice::from_ref(&session))?;
    if !observed.confirm(&deployed, (&one.signed, &operator), "mail send-again", &question)? {
        return Ok(Ended::Nothing);
    }
    let retries = deployed.backend().queue(QueueName::MailRetries)?;
    let ports = redrive::Ports { journal: deployed.stores.journal(), retries: &retries };
    let failed = "the mail may not be due for sending again: repeat the command";
    wait(async { send_again(ports, &operator, &session).await.or_refused(failed) })?;
    let answer = json!({ "session_id": session, "mail": "sent_again" });
    output::print_answer(one.signed.target.json, &answer, || {
        format!("{} is on its way to the customer again\n", session.as_str())
    })
}
