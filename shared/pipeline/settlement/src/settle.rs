//! One attempt at a settlement.

use crate::Ports;
use audit::{Change, Record, TollStatus};
use domain::{
    Alert, StepError, Timestamp,
    alert::Severity,
    ports::{FacilitatorError, PaymentUse, Versioned},
    toll::{Problem, Purchase, Stage},
};
use serde_json::{Value, json};

/// Asks the facilitator to settle a purchase whose answer is stored, and saves the outcome. The caller has counted the
/// attempt (with the answer, or by [`Purchase::settle_again`]), so after a crash the next process knows of it.
///
/// A refusal does not end the purchase: anyone may have submitted the payment, and then the facilitator refuses it too.
/// A failure whose reason does not exclude a submission is no refusal. The chain is asked at once; the schedule asks it
/// again, and a last time after the payment has expired.
///
/// # Errors
/// [`StepError`]: the outcome is not saved; the schedule finds it out.
pub async fn settle(
    ports: Ports<'_>,
    purchase: Versioned<Purchase>,
    triggered_at: Timestamp,
) -> Result<Versioned<Purchase>, StepError> {
    let (Stage::Settling { .. }, Some(signed)) = (purchase.value.stage(), purchase.value.signed()) else {
        return Ok(purchase);
    };
    let mut outcome = ports.facilitator.settle(signed).await.map(|transaction| (transaction, false));
    let mut is_refusal = matches!(outcome, Err(FacilitatorError::Refused(_)));
    if matches!(outcome, Err(FacilitatorError::Refused(_) | FacilitatorError::Unclear(_))) {
        match ports.node.payment_use(signed).await {
            Ok(PaymentUse::Used { transaction, is_ours: true }) => outcome = Ok((transaction, true)),
            Ok(PaymentUse::Used { is_ours: false, .. }) => is_refusal = true,
            // The node is asked some blocks below its head: it does not show a submission of the last seconds.
            Ok(PaymentUse::Unused { .. }) => {}
            Ok(PaymentUse::Unconfirmed | PaymentUse::Untraced) | Err(_) => is_refusal = false,
        }
    }
    let decide = |purchase: &mut Purchase, now: Timestamp| match &outcome {
        Ok((transaction, is_confirmed)) => settled(purchase, transaction, *is_confirmed, now, triggered_at),
        Err(error) => {
            let why = error.to_string();
            let status = if is_refusal { TollStatus::PaymentRejected } else { TollStatus::RpcUnreachable };
            if purchase.not_settled(Problem { why: why.clone(), is_refusal }).is_err() {
                return Change::nothing(());
            }
            // With the gate's evaluation of a question whose answer may never be delivered.
            let facts = json!({ "made": purchase.answered().map(|answer| &answer.facts) });
            let record = Record::toll(now, triggered_at, status, &why).with_details(facts);
            let records = if purchase.repeat() { vec![record] } else { Vec::new() };
            Change::recorded(records, ())
        }
    };
    Ok(ports.journal.commit(purchase, decide).await?.settle().await.0)
}

/// The authority gate's evaluation of a purchase whose stage is about to end, as details of the record of its end: that of a
/// claim whose process has ended, or that of a stored answer (Authority Governance, RFC-0008). Otherwise an earlier record
/// has it.
pub(crate) fn evaluation(purchase: &Purchase) -> Option<Value> {
    match purchase.stage() {
        Stage::Working { evaluation, .. } => evaluation.as_ref().map(|evaluation| json!({ "authority": evaluation })),
        Stage::Settling { answer, .. } => Some(json!({ "made": answer.facts })),
        _ => None,
    }
}

/// The record with these details, if there are any.
pub(crate) fn detailed(record: Record, details: Option<Value>) -> Record {
    match details {
        Some(details) => record.with_details(details),
        None => record,
    }
}

/// Records that the transfer to us is made: the answer may be sent. Without an answer, a human gives the money back.
pub(crate) fn settled(
    purchase: &mut Purchase,
    transaction: &str,
    is_confirmed: bool,
    now: Timestamp,
    triggered_at: Timestamp,
) -> Change<()> {
    let made = purchase.answered().map(|answer| answer.facts.clone());
    let evaluation = evaluation(purchase);
    match purchase.settled(transaction, is_confirmed, now) {
        Err(_) => Change::nothing(()),
        Ok(false) => {
            let facts = json!({ "confirmed": is_confirmed, "made": made });
            let record = Record::toll(now, triggered_at, TollStatus::Ok, "").with_details(facts);
            Change::recorded(vec![record], ())
        }
        Ok(true) => alerted(purchase, "settled without an answer", now, triggered_at, evaluation),
    }
}

/// Records that a transfer to us is made that buys no answer: a human gives the money back.
pub fn owed(
    purchase: &mut Purchase,
    transaction: &str,
    why: &str,
    now: Timestamp,
    triggered_at: Timestamp,
) -> Change<()> {
    match purchase.settled(transaction, true, now) {
        Ok(true) => alerted(purchase, why, now, triggered_at, None),
        Ok(false) | Err(_) => Change::nothing(()),
    }
}

fn alerted(
    purchase: &Purchase,
    why: &str,
    now: Timestamp,
    triggered_at: Timestamp,
    details: Option<Value>,
) -> Change<()> {
    let detail = if purchase.payers().is_empty() {
        "a payment in USDC was settled and has no answer: give it back (oracle toll list)"
    } else {
        "a transaction of several payers has no answer: give each payer's part back (oracle toll list)"
    };
    let record = detailed(Record::toll(now, triggered_at, TollStatus::RagFail, why), details);
    let subject = purchase.id().reference();
    let alert = Alert::about("ORACLE-TOLL", Severity::Critical, now, "SETTLEMENT", subject, detail);
    Change::recorded(vec![record], ()).alerting(alert)
}
