//! What an order has bought: whether it is paid for, and which question was asked.

use super::{Order, Ports};
use audit::digest;
use domain::{
    FirstVerdict, PaymentStatus, Query, Sale, StepError, Submission, Tier, Unusable,
    message::OrderedBy,
    ports::PaymentError,
    sale::{NotPaid, Purchase},
    smoke,
};

/// A paid question, and what the log may know about its sale.
pub(super) struct Bought {
    pub(super) tier: Tier,
    pub(super) query: Query,
    pub(super) purchase: Purchase,
    /// Of a follow-up: what it follows.
    pub(super) first: Option<FirstVerdict>,
}

impl Bought {
    fn new(Submission { tier, query }: Submission, email_tag: Option<String>, smoke: bool) -> Self {
        let purchase = Purchase { smoke, tier, query_hash: digest::query_hash(&query), email_tag };
        Self { tier, query, purchase, first: None }
    }

    /// What the authority gate says of it.
    pub(super) fn evaluate(&self) -> authority::Evaluation {
        match &self.first {
            Some(first) => authority::evaluate_followup(&first.query, self.query.as_str(), None),
            None => authority::evaluate(self.query.as_str(), None),
        }
    }

    /// Names the prompt in the audit log.
    pub(super) fn prompt_version(&self) -> String {
        if self.first.is_some() { prompt::followup_version() } else { prompt::version(self.tier) }
    }
}

/// What is paid, if anything.
pub(super) enum Checked {
    Bought(Box<Bought>),
    /// Stripe shows no payment.
    Unpaid(NotPaid),
    /// Paid, and nobody knows for what.
    Unusable(Unusable),
    /// An order that claims to be a smoke test's and is not, and why.
    Refused(String),
    /// A follow-up that cannot be asked: this is lost. A human decides.
    Lost(&'static str),
}

/// Asks Stripe what was paid. The order came through a queue; whether the session is paid is for Stripe alone to say (Verdict
/// Pipeline, invariant 1). What the smoke test buys is fixed, so that nothing of a session can choose it.
pub(super) async fn ask(ports: Ports<'_>, order: &Order, sale: &Sale) -> Result<Checked, StepError> {
    if order.ordered_by == OrderedBy::SmokeTest {
        return Ok(match examined(ports, order).await {
            Ok(()) => smoke::submission().map_or(Checked::Unusable(Unusable::Query), |fixed| {
                Checked::Bought(Box::new(Bought::new(fixed, None, true)))
            }),
            Err(reason) => Checked::Refused(reason),
        });
    }
    let session = match ports.payments.session(&order.session_id.paid_session()).await {
        Ok(session) => session,
        Err(PaymentError::NotFound) => return Ok(Checked::Unpaid(NotPaid::Unknown)),
        Err(error) => return Err(error.into()),
    };
    if !sale.is_covered_by(&session) {
        let is_free = session.payment_status == PaymentStatus::NoPaymentRequired;
        return Ok(Checked::Unpaid(if is_free { NotPaid::Free } else { NotPaid::Unpaid }));
    }
    let email_tag = session.email.as_ref().map(|address| ports.audit_key.email_tag(address));
    if sale.is_followup() {
        return followup(ports, order, email_tag).await;
    }
    let resubmitted = if sale.is_resubmitted() { ports.submissions.find(&order.session_id).await? } else { None };
    Ok(match resubmitted.map_or_else(|| session.submission(), Ok) {
        Ok(submission) => Checked::Bought(Box::new(Bought::new(submission, email_tag, false))),
        Err(unusable) => Checked::Unusable(unusable),
    })
}

/// A follow-up: the session that includes it is paid, its text was kept when it was ordered.
async fn followup(ports: Ports<'_>, order: &Order, email_tag: Option<String>) -> Result<Checked, StepError> {
    let Some(submission) = ports.submissions.find(&order.session_id).await? else {
        return Ok(Checked::Lost("the follow-up has no text"));
    };
    let paid = order.session_id.paid_session();
    let Some(first) = followup::first_verdict(ports.journal.store, ports.archive, &paid).await? else {
        return Ok(Checked::Lost("the first verdict is neither cached nor archived"));
    };
    // Whatever an operator hands in: the follow-up is part of the tier that includes it.
    let submission = Submission { tier: Tier::Strategy, ..submission };
    let bought = Bought { first: Some(first), ..Bought::new(submission, email_tag, false) };
    Ok(Checked::Bought(Box::new(bought)))
}

/// Whether the session of a smoke test's order is what it says: by Stripe's test mode, under the smoke test's own key.
async fn examined(ports: Ports<'_>, order: &Order) -> Result<(), String> {
    let facts = ports.smoke.facts(&order.session_id).await.map_err(|error| format!("smoke: {error}"))?;
    smoke::examine(&facts, ports.journal.clock.now()).map_err(|error| error.to_string())
}
