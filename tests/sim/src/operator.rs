//! What operators decide about a sale, with the commands of `oracle`.

use crate::{answer::replacement, deployment::Deployment};
use domain::{SessionId, Submission, Tier};
use operations::{Operator, erase, quarantine, reattempt, redrive, refunds};

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
    match decision {
        Decision::Approve => {
            let done = quarantine::approve(held, &operator, &session).await;
            answered(done, quarantine::DecideError::is_refusal)
        }
        Decision::Replace => {
            let done = quarantine::replace(held, &operator, &session, &replacement(tier)).await;
            answered(done, quarantine::DecideError::is_refusal)
        }
        Decision::Reattempt => {
            let done = reattempt::reattempt(again, &operator, &session, None).await;
            answered(done, reattempt::ReattemptError::is_refusal)
        }
        Decision::Resubmit => {
            let done = reattempt::reattempt(again, &operator, &session, submission.as_ref()).await;
            answered(done, reattempt::ReattemptError::is_refusal)
        }
        Decision::Redrive => {
            let ports = redrive::Ports { journal, retries: &deployment.retries };
            answered(redrive::redrive(ports, &operator, &session).await, redrive::RedriveError::is_refusal)
        }
        Decision::Erase => {
            let ports = erasure::Ports { journal, data: world, mails: world };
            answered(erase::erase(ports, &operator, &session).await, erase::EraseError::is_refusal)
        }
        Decision::Refund => {
            let ports = refund::Ports { journal, payments: ports, ledger: ports };
            answered(refunds::issue(ports, &operator, &session, None).await, refunds::IssueError::is_refusal)
        }
    }
}

fn answered<T, E>(result: Result<T, E>, is_refusal: impl Fn(&E) -> bool) -> Answered {
    match result {
        Ok(_) => Answered::Done,
        Err(error) if is_refusal(&error) => Answered::Refused,
        Err(_) => Answered::Broken,
    }
}
