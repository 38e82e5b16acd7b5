//! The refunds that no human decides.

use crate::{
    Ports,
    remind::{escalation, reminder},
};
use audit::Change;
use domain::{
    CheckoutSession, Sale, StepError, Timestamp, money::Authorisation, open_work::Work, ports::Versioned,
    recorded_words::InvalidWords,
};
use refund::Decision;

/// The policy that the log names as the authorisation.
pub(crate) fn policy(work: Work) -> Result<Authorisation, InvalidWords> {
    match work {
        Work::Declined => Authorisation::by_policy("authority-gate", "the question must not be answered"),
        _ => Authorisation::by_policy("quarantine-24h", "held by the content filter for 24 hours without a decision"),
    }
}

/// Decides about a sale that the content filter has held for too long (content filter, failure mode 3 and GAP-J), or
/// that the authority gate declined and no human approved. Returns whether the money goes back.
pub(crate) async fn decide(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<bool, StepError> {
    let checkout = ports.payments.session(sale.value.session_id()).await?;
    let Some(work) = sale.value.open_work().map(|open| open.work) else { return Ok(false) };
    let policy = policy(work)?;
    let decide = |sale: &mut Sale, now| by_policy(sale, work, &checkout, &policy, now);
    Ok(ports.journal.commit(sale, decide).await?.settle().await.1)
}

/// Decides by policy on the sale's current state whether the money goes back. Nothing changes if a human has acted in the
/// meantime. If the money cannot go back, an operator is alerted, as for any other sale that waits.
pub(crate) fn by_policy(
    sale: &mut Sale,
    work: Work,
    checkout: &CheckoutSession,
    policy: &Authorisation,
    now: Timestamp,
) -> Change<bool> {
    let Some(open) = sale.due_work(now).filter(|open| open.work == work && sale.may_be_refunded_by_policy()) else {
        return Change::nothing(false);
    };
    let decided = refund::decide(sale, checkout, policy, now).map(|decision| decision == Decision::Authorised);
    if decided.answer {
        return decided.alerting(escalation(sale, open, "nobody decided, so the money goes back by policy", now));
    }
    reminder(sale, now).map(|()| false)
}
