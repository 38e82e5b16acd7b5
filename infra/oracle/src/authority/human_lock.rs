//! `oracle authority queue`, `approve` and `reject`: the human lock.

use backend::QueueName;
use clap::Args;
use domain::{
    SessionId,
    open_work::Work,
    sale::{Authority, AuthorityDecision},
};
use operations::authority_gate;
use serde_json::json;

use crate::{
    command::{CommandError, Ended, OrRefused, Target, wait},
    sales::{signed_sale::SignedSale, waiting},
    stack::Deployed,
    terminal::output,
};

#[derive(Args)]
pub(crate) struct DecisionArguments {
    /// Your role, as the domain's approval matrix names it: physician, pharmacist, licensed_attorney, ...
    #[arg(long, value_name = "ROLE")]
    role: String,
    /// Your credential as REGISTER:NUMBER, such as npi_registry:1234567893. It goes into the audit log.
    #[arg(long, value_name = "REGISTER:NUMBER")]
    credential: String,
    #[command(flatten)]
    one: SignedSale,
}

const NOT_CARRIED_OUT: &str = "the decision was not carried out";

/// Lists the declined sales that people can still decide about, and those whose refund is due.
pub(crate) fn queue(target: &Target) -> Result<Ended, CommandError> {
    waiting::list(target, &[Work::Declined])
}

/// Counts an approval.
pub(crate) fn approve(arguments: &DecisionArguments) -> Result<Ended, CommandError> {
    let question = |_: &SessionId| "Let the question of";
    decide(arguments, question, async |deployed, by, session| {
        let orders = deployed.backend().queue(QueueName::Orders)?;
        let ports = authority_gate::Ports { journal: deployed.stores.journal(), orders: &orders };
        let decision = authority_gate::approve(ports, by, session).await.or_refused(NOT_CARRIED_OUT)?;
        Ok(match decision {
            AuthorityDecision::Approved { count, needed } if count < needed => {
                ("counted", format!("{count} of {needed} approvals; another person has to follow within 24 hours"))
            }
            _ => ("approved", "is approved, and its verdict ordered as a narrative answer".to_owned()),
        })
    })
}

/// Ends the wait for approvals.
pub(crate) fn reject(arguments: &DecisionArguments) -> Result<Ended, CommandError> {
    let question = |session: &SessionId| rejection(session).0;
    decide(arguments, question, async |deployed, by, session| {
        authority_gate::reject(deployed.stores.journal(), by, session).await.or_refused(NOT_CARRIED_OUT)?;
        Ok(("rejected", rejection(session).1.to_owned()))
    })
}

/// What a rejection asks, and what it says afterwards. A follow-up has no money of its own.
fn rejection(session: &SessionId) -> (&'static str, &'static str) {
    if session.is_followup() {
        ("Reject the question of", "is rejected; no money goes back, because a follow-up has none of its own")
    } else {
        (
            "Reject the question, and give back the money unless a verdict was mailed, of",
            "is rejected; its money goes back within minutes, or once you refund it if a verdict was mailed",
        )
    }
}

fn decide(
    arguments: &DecisionArguments,
    what: impl Fn(&SessionId) -> &'static str,
    act: impl AsyncFn(&Deployed, Authority<'_>, &SessionId) -> Result<(&'static str, String), CommandError>,
) -> Result<Ended, CommandError> {
    let (deployed, operator, session) = arguments.one.open()?;
    let (role, credential) = (arguments.role.as_str(), arguments.credential.as_str());
    if !arguments.one.signed.confirm(&format!("{} {}, as {role}?", what(&session), session.as_str()))? {
        return Ok(Ended::Nothing);
    }
    // On an emulator all callers have the same identity, so it cannot distinguish two people.
    let identity = operator.identity().filter(|_| !deployed.is_emulated());
    let by = Authority { operator: &operator, role, credential, identity };
    let (word, text) = wait(async { act(&deployed, by, &session).await })?;
    let answer = json!({ "session_id": session, "decision": word });
    output::print_answer(arguments.one.signed.target.json, &answer, || format!("{} {text}\n", session.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rejection_of_a_follow_up_promises_no_money() {
        let session = SessionId::parse("cs_test_a1B2c3D4e5F6").unwrap();
        let (question, text) = rejection(&session);
        assert!(question.contains("money") && text.contains("goes back within minutes"), "{question} {text}");
        let (question, text) = rejection(&session.followup());
        assert!(!question.contains("money") && text.contains("no money goes back"), "{question} {text}");
    }
}
