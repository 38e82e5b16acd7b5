//! `oracle authority queue`, `approve` and `reject`: the human lock.

use backend::QueueName;
use clap::Args;
use domain::{
    Timestamp,
    open_work::Work,
    ports::Clock,
    sale::{Authority, AuthorityDecision},
};
use operations::authority_gate::{self, DeclinedSale, HumanDecision};
use runtime::System;
use serde_json::json;

use crate::{
    command::{CommandError, Ended, OrRefused, Target, wait},
    sales::{signed_sale::SignedSale, waiting},
    stack::Deployed,
    terminal::{
        output::{self, minute},
        when,
    },
};

#[derive(Args)]
pub(crate) struct DecisionArguments {
    /// Your role, as the domain's approval matrix names it: physician, pharmacist, licensed_attorney, ...
    #[arg(long, value_name = "ROLE")]
    role: String,
    /// Your credential as REGISTER:NUMBER, such as npi_registry:1234567893. It goes into the audit log.
    #[arg(long, value_name = "REGISTER:NUMBER")]
    credential: String,
    /// The time of the gate's decision that you have read, as `oracle authority queue` shows it; without this that of
    /// the decision that the question shows. With --yes there is no question, so name it.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    decided: Option<Timestamp>,
    #[command(flatten)]
    one: SignedSale,
}

const MAY_BE_UNSAVED: &str = "the decision may not have been saved: see `oracle show`, then repeat the command";

fn moment(text: &str) -> Result<Timestamp, String> {
    when::moment(text).ok_or_else(|| "not a time: give one such as 2026-11-20T10:00:00.000Z".to_owned())
}

/// Lists the declined sales that people can still decide about, and those whose refund is due. A sale that no role may
/// approve has ended if its customer has a verdict by mail.
pub(crate) fn queue(target: &Target) -> Result<Ended, CommandError> {
    waiting::list(target, &[Work::Declined])
}

/// Counts an approval.
pub(crate) fn approve(arguments: &DecisionArguments) -> Result<Ended, CommandError> {
    let question = |_| "Allow an answer to the question of";
    decide(arguments, question, async |deployed, approval, until| {
        let orders = deployed.backend().queue(QueueName::Orders)?;
        let ports = authority_gate::Ports { journal: deployed.stores.journal(), orders: &orders };
        let decision = authority_gate::approve(ports, approval).await.or_refused(MAY_BE_UNSAVED)?;
        Ok(match decision {
            AuthorityDecision::Approved { count, needed } if count < needed => {
                ("counted", counted(count, needed, until))
            }
            _ => ("approved", "is approved, and its verdict ordered as a narrative answer".to_owned()),
        })
    })
}

fn counted(count: usize, needed: usize, until: Timestamp) -> String {
    let until = minute(&until.to_iso());
    format!("{count} of {needed} approvals; another person has to follow before {until} UTC")
}

/// Ends the wait for approvals.
pub(crate) fn reject(arguments: &DecisionArguments) -> Result<Ended, CommandError> {
    let question = |gives_money_back| rejection(gives_money_back).0;
    decide(arguments, question, async |deployed, decision, _| {
        let rejected = authority_gate::reject(deployed.stores.journal(), decision).await;
        Ok(("rejected", rejection(rejected.or_refused(MAY_BE_UNSAVED)?).1.to_owned()))
    })
}

/// The question before a rejection, and the answer after it. No money goes back for a follow-up, which has none of its
/// own, or if the customer has a verdict by mail.
const fn rejection(gives_money_back: bool) -> (&'static str, &'static str) {
    if gives_money_back {
        ("Reject the question, and give back the money, of", "is rejected; its money goes back within minutes")
    } else {
        (
            "Reject the question, without giving money back, of",
            "is rejected; no money goes back, because a verdict was delivered, or nothing was paid for this one",
        )
    }
}

fn decide(
    arguments: &DecisionArguments,
    what: impl Fn(bool) -> &'static str,
    act: impl AsyncFn(&Deployed, HumanDecision<'_>, Timestamp) -> Result<(&'static str, String), CommandError>,
) -> Result<Ended, CommandError> {
    let (deployed, operator, session) = arguments.one.open()?;
    let (role, credential) = (arguments.role.as_str(), arguments.credential.as_str());
    let shown = wait(async {
        authority_gate::show(&deployed.stores.sales, &session).await.or_refused("the sale cannot be read")
    })?;
    let DeclinedSale { declined, gives_money_back, .. } = &shown;
    let how = "--decided TIME, as oracle authority queue shows it";
    // An attempt to override a lock is recorded even if the operator has read another decision.
    let named = arguments.decided.or_else(|| declined.is_locked().then_some(declined.at));
    let read = arguments.one.signed.what_was_read(named, declined.at, how)?;
    let described = authority_gate::describe(declined, System.now());
    let question = format!("{described}\n{} {}, as {role}?", what(*gives_money_back), session.as_str());
    if !arguments.one.signed.confirm(&deployed, &question)? {
        return Ok(Ended::Nothing);
    }
    // On an emulator all callers have the same identity, so it cannot distinguish two people.
    let identity = operator.identity().filter(|_| !deployed.is_emulated());
    let by = Authority { operator: &operator, role, credential, identity };
    let decision = HumanDecision { by, session: &session, read };
    let (word, text) = wait(async { act(&deployed, decision, shown.approvable_until(System.now())).await })?;
    let answer = json!({ "session_id": session, "decision": word });
    output::print_answer(arguments.one.signed.target.json, &answer, || format!("{} {text}\n", session.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_approval_names_the_time_by_which_the_second_has_to_follow() {
        let text = counted(1, 2, Timestamp::from_seconds(1_800_000_059));
        assert_eq!(text, "1 of 2 approvals; another person has to follow before 2027-01-15 08:00 UTC");
    }

    #[test]
    fn a_rejection_that_gives_no_money_back_promises_none() {
        let (question, text) = rejection(true);
        assert!(question.contains("give back the money") && text.contains("goes back within minutes"), "{text}");
        let (question, text) = rejection(false);
        assert!(question.contains("without giving money back") && text.contains("no money goes back"), "{text}");
    }
}
