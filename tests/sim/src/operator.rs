//! What operators decide about a sale, with the commands of `oracle`.

use crate::{answer::replacement, deployment::Deployment};
use domain::{
    Sale, SessionId, Submission, Tier,
    sale::{Authority, AuthorityDecision, HumanLock},
};
use operations::{
    Done, Operator, Refusals,
    authority_gate::{self, HumanDecision},
    erase, quarantine, reattempt, redrive, refunds, replies, send_again,
};

domain::enum_with_words! {
    /// What an operator decides about a sale.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Decision {
        Approve = "approve",
        Replace = "replace",
        Reattempt = "reattempt",
        Resubmit = "resubmit",
        Redrive = "redrive",
        Refund = "refund",
        Erase = "erase",
        Allow = "allow",
        Reject = "reject",
        SendAgain = "send again",
    }
    /// Its name in a report.
    pub(crate) const fn name;
}

/// How an operator's command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Done,
    /// Refused, with a reason.
    Refused,
    /// Failed in between; the command says that it can be repeated.
    Broken,
}

/// Runs the command of a decision.
pub(crate) async fn decide(
    deployment: &Deployment<'_>,
    decision: Decision,
    session: SessionId,
    tier: Tier,
    submission: Option<Submission>,
) -> Answered {
    let Ok(operator) = Operator::parse("dana", Some("looked at it")) else { return Answered::Refused };
    let (world, ports, journal) = (deployment.world, &deployment.ports, deployment.journal());
    let held = quarantine::Ports {
        journal,
        quarantine: ports,
        payments: ports,
        submissions: world,
        orders: &deployment.orders,
        retries: &deployment.retries,
        notices: &deployment.notices,
    };
    let again = reattempt::Ports { journal, submissions: world, orders: &deployment.orders };
    let names = |(sale, _): &(Sale, u64)| sale.waiting_replies().map(replies::name).collect::<Vec<_>>();
    let read = world.state().sales.get(&session).map(names).unwrap_or_default();
    match decision {
        Decision::Approve => answered(quarantine::approve(held, &operator, &session).await),
        Decision::Replace => answered(quarantine::replace(held, &operator, &session, &replacement(tier)).await),
        Decision::Reattempt => answered(reattempt::reattempt(again, &operator, &session, None, &read).await),
        Decision::Resubmit => {
            answered(reattempt::reattempt(again, &operator, &session, submission.as_ref(), &read).await)
        }
        Decision::Redrive => {
            let ports = redrive::Ports { journal, retries: &deployment.retries };
            answered(redrive::redrive(ports, &operator, &session).await)
        }
        Decision::SendAgain => {
            let ports = redrive::Ports { journal, retries: &deployment.retries };
            answered(send_again::send_again(ports, &operator, &session).await)
        }
        Decision::Erase => {
            let ports = erasure::Ports { journal, data: ports, mails: world };
            answered(erase::erase(ports, &operator, &session).await)
        }
        Decision::Refund => {
            let ports = refund::Ports { journal, payments: ports, ledger: ports };
            answered(refunds::issue(ports, &operator, &session, None).await)
        }
        Decision::Allow | Decision::Reject => {
            decide_about_declined(deployment, decision == Decision::Allow, &session).await
        }
    }
}

/// Two people with a role that the question's domain asks for allow an answer, or the first of them rejects it. It is
/// done when the verdict is ordered.
async fn decide_about_declined(deployment: &Deployment<'_>, allows: bool, session: &SessionId) -> Answered {
    let journal = deployment.journal();
    let declined = {
        let state = deployment.world.state();
        state.sales.get(session).and_then(|(sale, _)| sale.declined().cloned())
    };
    let Some(declined) = declined else { return Answered::Refused };
    let HumanLock::People { roles, sources, .. } = &declined.lock else { return Answered::Refused };
    let (Some(role), Some(source)) = (roles.first(), sources.first()) else { return Answered::Refused };
    let mut is_done = false;
    for (name, number) in [("dana", "1234567893"), ("eve", "1987654320")] {
        let Ok(operator) = Operator::parse(name, Some("read it")) else { return Answered::Refused };
        let credential = format!("{source}:{number}");
        let by = Authority { operator: &operator, role, credential: &credential, identity: None };
        let decision = HumanDecision { by, session, read: declined.at };
        if !allows {
            return answered(authority_gate::reject(journal, decision).await);
        }
        let ports = authority_gate::Ports { journal, orders: &deployment.orders };
        // A repeated command refuses whose approval counts already, and the second one where one person suffices.
        match authority_gate::approve(ports, decision).await {
            Ok(AuthorityDecision::Approved { count, needed }) => is_done |= count >= needed,
            Ok(AuthorityDecision::Rejected | AuthorityDecision::OverrideRefused) => {}
            Err(error) if error.is_refusal() => {}
            Err(_) => return Answered::Broken,
        }
    }
    if is_done { Answered::Done } else { Answered::Refused }
}

fn answered<T, R: Refusals>(done: Done<T, R>) -> Answered {
    match done {
        Ok(_) => Answered::Done,
        Err(error) if error.is_refusal() => Answered::Refused,
        Err(_) => Answered::Broken,
    }
}
