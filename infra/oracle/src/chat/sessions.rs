//! `oracle chat`: ends a customer's sessions of the chat.

use clap::{Args, Subcommand};
use domain::{chat::SubscriberId, ports::SignIns};
use serde_json::json;

use crate::{
    command::{CommandError, Ended, OrFailed, Signed, wait},
    memory::erase::customer,
    terminal::output,
};

#[derive(Subcommand)]
pub(crate) enum ChatCommand {
    /// Sign a customer out everywhere, for example after a device was stolen.
    ///
    /// Ends all sessions that the customer has begun, at once. Memory, subscription and Bridge stay, and a new link
    /// signs in again. Anyone who can read the customer's mailbox can also sign in: secure the mailbox first.
    #[command(
        after_help = "Examples:\n  oracle chat sign-out ADDRESS --by dana --reason 'their laptop was stolen'\n  oracle chat sign-out ADDRESS --by dana --reason 'their laptop was stolen' --yes  # from a script\n\nExit code 1: no session of the customer is listed. Exit code 2: a session may not have ended: repeat the command."
    )]
    SignOut(SignOutArguments),
}

#[derive(Args)]
pub(crate) struct SignOutArguments {
    /// The customer: their email address in any spelling, or the subscriber's whole id.
    customer: String,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(command: &ChatCommand) -> Result<Ended, CommandError> {
    let ChatCommand::SignOut(SignOutArguments { customer: named, signed }) = command;
    let (deployed, operator) = signed.open_with_reason("signing a customer out")?;
    let id = customer(&deployed, named)?;
    if !signed.confirm(&deployed, &format!("Sign {} out everywhere?", id.prefix()))? {
        return Ok(Ended::Nothing);
    }
    let sessions = wait(async {
        deployed.record(&operator, "chat sign-out", &json!({ "subscriber": id })).await?;
        end(&deployed.stores.sales, &id).await
    })?;
    let answer = json!({ "subscriber": id, "sessions": sessions });
    output::print_answer(signed.target.json, &answer, || {
        format!("{}: signed out everywhere; {sessions} session(s) begun within the last 30 days\n", id.prefix())
    })
}

/// Ends the customer's sessions, and returns how many were listed. If none is listed, the address is probably another
/// than theirs, or their sessions are of a version without the list.
async fn end(sign_ins: &dyn SignIns, id: &SubscriberId) -> Result<usize, CommandError> {
    match sign_ins.end_sessions(id, None).await.or_failed("a session may not have ended: repeat the command")? {
        0 => Err(CommandError::Refused(format!(
            "no session of {} is listed: check the address; a session from before sign-outs everywhere ends within 30 days",
            id.prefix()
        ))),
        sessions => Ok(sessions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Timestamp, chat::ChatSession};
    use testkit::{Fault, Plan, World, run as live};

    #[test]
    fn all_sessions_of_the_customer_end_and_no_others() {
        let world = World::default();
        let [somebody, other] = ["a", "b"].map(|digit| SubscriberId::parse(digit.repeat(64)).unwrap());
        for (digest, who) in [("1", &somebody), ("2", &other), ("3", &somebody)] {
            let session = ChatSession::new(who.clone(), Timestamp::from_seconds(0));
            live(world.begin_session(digest, &session)).unwrap().unwrap();
        }
        world.plan(Plan::none().whenever("sign_ins.end_sessions", Fault::Fail));
        assert!(matches!(live(end(&world, &somebody)).unwrap(), Err(CommandError::Failed { .. })));
        world.plan(Plan::none());
        assert_eq!(live(end(&world, &somebody)).unwrap().unwrap(), 2);
        assert_eq!(world.state().chat_sessions.keys().collect::<Vec<_>>(), ["2"]);
        assert!(matches!(live(end(&world, &somebody)).unwrap(), Err(CommandError::Refused(_))));
    }
}
