//! Carries out a refund that was decided.

use audit::{Change, Context, Journal};
use domain::{
    Alert, CheckoutSession, Sale, SessionId, StepError, Timestamp,
    alert::Severity,
    money::{Money, RefundStatus},
    ports::{Ledger, MadeRefund, NewRefund, PaymentError, Payments},
    sale::{Charge, Event, RefundAnswer},
};

/// The ports that a refund uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub payments: &'a dyn Payments,
    pub ledger: &'a dyn Ledger,
}

/// The state of a refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The money is in transit to the customer, or has arrived.
    Refunded,
    /// Stripe is processing it; ask again later.
    Pending,
    /// Stripe refuses, with this code: operators are alerted, and Stripe is asked again later.
    Refused(String),
    /// The refund was canceled or bounced, with this code: a human issues it again.
    Bounced {
        /// The error as a code.
        code: String,
        /// The refund.
        made: MadeRefund,
    },
    /// No refund of this sale was authorised, or its money is disputed.
    NotAuthorised,
}

/// The code for a stored failure that Stripe repeats for the same key; only a new key gets another answer.
const REPLAYED: &str = "replayed_failure";

/// What follows a refusal. Money that an operator sends while Stripe is still asked can go back twice.
pub const ASKED_AGAIN: &str = "it is asked again until it makes it; to give the money back by hand, first record that \
                               (oracle refunds record), which ends the requests, and only then send it";

/// What an operator does about a refund that came back.
pub const ISSUE_AGAIN: &str = "issue it again, or record it (oracle refunds record) and then give it back by hand";

/// The alert about a refund that Stripe has made beside the one that an operator recorded.
const ALSO_REFUNDED: &str = "Stripe has made the refund, and an operator has recorded one by hand: do not send the \
                             money, or the customer has it twice";

/// After this many answers without a confirmation operators are alerted.
const PATIENT_ANSWERS: u32 = 3;

/// Asks Stripe for an authorised refund and saves the answer. A repeated call asks for the same refund.
///
/// # Errors
/// [`StepError`]: call it again.
pub async fn carry_out(ports: Ports<'_>, session: &SessionId) -> Result<Outcome, StepError> {
    let journal = ports.journal;
    let Some(sale) = journal.store.load(session).await? else { return Ok(Outcome::NotAuthorised) };
    if !matches!(sale.value.money(), Money::RefundAuthorised { .. }) {
        let outcome = settled_outcome(&sale.value);
        journal.flush(sale).await;
        return Ok(outcome);
    }
    let checkout = ports.payments.session(session).await?;
    let key = sale.value.refund_key();
    let outcome = ask(ports.ledger, &checkout, &key).await?;
    let committed = journal.commit(sale, |sale, now| record_answer(sale, &checkout, &key, &outcome, now)).await?;
    Ok(committed.settle().await.1)
}

/// The state of a refund that is not in progress, from the sale alone.
const fn settled_outcome(sale: &Sale) -> Outcome {
    if matches!(sale.money(), Money::Refunded { .. }) { Outcome::Refunded } else { Outcome::NotAuthorised }
}

/// Asks Stripe. A missing answer is an error, a refusal is not. The existing refunds are read first, because a request
/// with a used key replays its first reply, even if the refund has changed since.
async fn ask(ledger: &dyn Ledger, checkout: &CheckoutSession, key: &str) -> Result<Outcome, PaymentError> {
    let Some(payment) = &checkout.payment else { return Ok(Outcome::Refused("no_payment".to_owned())) };
    let known = match ledger.refunds(payment).await {
        Ok(known) => known,
        Err(PaymentError::NotFound) => return Ok(Outcome::Refused("payment_unknown".to_owned())),
        Err(PaymentError::Refused(code) | PaymentError::Forbidden(code)) => return Ok(Outcome::Refused(code)),
        Err(error) => return Err(error),
    };
    // Whether this attempt's own refund moved the money is not known, and a second one could move it again. One of
    // somebody else is left out of the sum: Stripe refunds no more than its own books have left of the payment.
    if let Some(own) = known.unknown.iter().find(|refund| refund.key.as_deref() == Some(key)) {
        return Err(PaymentError::Unavailable(format!("the refund {} cannot be read", own.id).into()));
    }
    if let Some(outcome) = by_what_exists(&known.made, checkout.amount_total, key) {
        return Ok(outcome);
    }
    match ledger.refund(payment, key).await {
        Ok(NewRefund::Made(made)) => Ok(outcome_of(&made)),
        Ok(NewRefund::NothingLeft) => Ok(Outcome::Refunded),
        Err(PaymentError::Refused(code) | PaymentError::Forbidden(code)) => Ok(Outcome::Refused(code)),
        Err(PaymentError::NotFound) => Ok(Outcome::Refused("payment_unknown".to_owned())),
        Err(PaymentError::Replayed) => Ok(Outcome::Refused(REPLAYED.to_owned())),
        Err(error @ PaymentError::Unavailable(_)) => Err(error),
    }
}

/// The outcome by the payment's existing refunds: the state of this attempt's own refund, or that they amount to the
/// whole payment together.
fn by_what_exists(known: &[MadeRefund], charged: Option<i64>, key: &str) -> Option<Outcome> {
    if let Some(own) = known.iter().find(|refund| refund.key.as_deref() == Some(key)) {
        return Some(outcome_of(own));
    }
    let standing = || known.iter().filter(|refund| !refund.status.is_void());
    let together = standing().filter_map(|refund| refund.amount).fold(0, i64::saturating_add);
    let whole = charged.is_some_and(|charged| charged > 0 && together >= charged);
    let pending = standing().any(|refund| refund.status == RefundStatus::Pending);
    whole.then_some(if pending { Outcome::Pending } else { Outcome::Refunded })
}

fn outcome_of(made: &MadeRefund) -> Outcome {
    let bounced = |code: &str| Outcome::Bounced { code: code.to_owned(), made: made.clone() };
    match made.status {
        RefundStatus::Succeeded => Outcome::Refunded,
        RefundStatus::Pending => Outcome::Pending,
        RefundStatus::Failed => bounced("refund_failed"),
        RefundStatus::Canceled => bounced("refund_canceled"),
    }
}

/// Saves Stripe's answer to the request with this key, unless Stripe's own event or an operator's record of a refund by
/// hand came first.
fn record_answer(
    sale: &mut Sale,
    checkout: &CheckoutSession,
    key: &str,
    outcome: &Outcome,
    now: Timestamp,
) -> Change<Outcome> {
    let alert = |severity, detail: &str| Alert::event("ORACLE-REFUND", severity, now, "REFUND", &checkout.id, detail);
    let answer = match outcome {
        Outcome::Refunded => RefundAnswer::Confirmed,
        Outcome::Pending => RefundAnswer::Pending,
        Outcome::Refused(code) => RefundAnswer::Refused(code),
        Outcome::Bounced { code, made } => {
            RefundAnswer::Bounced { code, id: &made.id, amount: made.amount, status: made.status }
        }
        // Stripe never answers this.
        Outcome::NotAuthorised => return Change::nothing(settled_outcome(sale)),
    };
    let answered = sale.refund_answered(answer, Charge::of(checkout), now);
    let Ok(event @ Event::RefundAnswered { answers, .. }) = answered else {
        let is_made = matches!(answer, RefundAnswer::Confirmed | RefundAnswer::Pending);
        // The operator may have recorded the refund by hand while this request was on its way.
        let is_by_hand = matches!(sale.money(), Money::Refunded { .. }) && sale.refund_key() != key;
        return if is_made && is_by_hand {
            Change::save(settled_outcome(sale)).alerting(alert(Severity::Critical, ALSO_REFUNDED))
        } else {
            Change::nothing(settled_outcome(sale))
        };
    };
    let change = Change::of(&event, &Context::at(now), outcome.clone());
    match answer {
        RefundAnswer::Refused(code) => {
            let detail = format!("Stripe refused the refund ({code}): {ASKED_AGAIN}");
            let severity = if code == REPLAYED { Severity::Error } else { Severity::Critical };
            change.alerting(alert(severity, &detail))
        }
        RefundAnswer::Bounced { code, .. } => {
            let detail = format!("the refund came back ({code}): {ISSUE_AGAIN}");
            change.alerting(alert(Severity::Critical, &detail))
        }
        RefundAnswer::Pending if answers >= PATIENT_ANSWERS => {
            change.alerting(alert(Severity::Error, "Stripe has not confirmed the refund yet"))
        }
        RefundAnswer::Pending | RefundAnswer::Confirmed => change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        Operator,
        money::{Authorisation, ObjectId},
        ports::MadeRefund,
    };
    use testkit::session::paid;

    fn made(amount: i64, status: RefundStatus, key: Option<&str>) -> MadeRefund {
        let id = ObjectId::parse("re_1").unwrap();
        MadeRefund { id, amount: Some(amount), status, key: key.map(str::to_owned) }
    }

    /// A request with a used key replays its first reply, so the books are read before it is made.
    #[test]
    fn what_the_books_have_is_not_asked_for_again() {
        use RefundStatus::{Canceled, Failed, Pending, Succeeded};
        let bounced = |code: &str, status| {
            let made = made(500, status, Some("ours"));
            Some(Outcome::Bounced { code: code.to_owned(), made })
        };
        for (known, charged, expected) in [
            (vec![], Some(500), None),
            (vec![made(500, Pending, Some("ours"))], None, Some(Outcome::Pending)),
            (vec![made(500, Failed, Some("ours"))], Some(500), bounced("refund_failed", Failed)),
            (vec![made(500, Canceled, Some("ours"))], Some(500), bounced("refund_canceled", Canceled)),
            (vec![made(200, Succeeded, None), made(300, Succeeded, None)], Some(500), Some(Outcome::Refunded)),
            (vec![made(200, Succeeded, None), made(300, Pending, None)], Some(500), Some(Outcome::Pending)),
            (vec![made(499, Succeeded, None)], Some(500), None),
            (vec![made(500, Failed, None)], Some(500), None),
            (vec![made(1, Succeeded, None)], Some(1), Some(Outcome::Refunded)),
            (vec![made(500, Succeeded, None)], Some(0), None),
            (vec![made(500, Succeeded, None)], Some(-1), None),
            (vec![made(500, Succeeded, None)], None, None),
        ] {
            assert_eq!(by_what_exists(&known, charged, "ours"), expected, "{known:?} {charged:?}");
        }
    }

    /// Such a request was sent before the record, and its answer comes after it.
    #[test]
    fn a_refund_that_stripe_makes_beside_one_by_hand_raises_an_alert() {
        let at = Timestamp::from_seconds;
        let checkout = paid("cs_test_1");
        for (is_by_hand, outcome, raised) in [
            (true, Outcome::Refunded, Some(1)),
            (true, Outcome::Pending, Some(1)),
            (true, Outcome::Refused("balance_insufficient".to_owned()), None),
            (false, Outcome::Refunded, None),
        ] {
            let mut sale = Sale::ordered(checkout.id.clone(), at(0));
            let authorisation = Authorisation::parse("alex", "asked for it").unwrap();
            sale.refund_authorised(&authorisation, Charge::of(&checkout), at(1)).unwrap();
            let key = sale.refund_key();
            if is_by_hand {
                sale.refunded_by_hand(&Operator::parse("dana", None).unwrap(), at(2)).unwrap();
            } else {
                sale.refund_answered(RefundAnswer::Confirmed, Charge::of(&checkout), at(2)).unwrap();
            }
            let change = record_answer(&mut sale, &checkout, &key, &outcome, at(3));
            assert_eq!(change.effects().map(|effects| effects.alerts.len()), raised, "{is_by_hand} {outcome:?}");
            assert_eq!(change.answer, Outcome::Refunded, "{is_by_hand} {outcome:?}");
        }
    }
}
