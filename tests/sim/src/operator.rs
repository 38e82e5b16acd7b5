//! What operators decide about a sale, with the commands of `oracle`.

use crate::{answer::replacement, deployment::Deployment};
use domain::{Sale, SessionId, Submission, Tier};
use operations::{Done, Operator, Refusals, erase, quarantine, reattempt, redrive, refunds, replies};

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
        Decision::Erase => {
            let ports = erasure::Ports { journal, data: ports, mails: world };
            answered(erase::erase(ports, &operator, &session).await)
        }
        Decision::Refund => {
            let ports = refund::Ports { journal, payments: ports, ledger: ports };
            answered(refunds::issue(ports, &operator, &session, None).await)
        }
    }
}

fn answered<T, R: Refusals>(done: Done<T, R>) -> Answered {
    match done {
        Ok(_) => Answered::Done,
        Err(error) if error.is_refusal() => Answered::Refused,
        Err(_) => Answered::Broken,
    }
}
