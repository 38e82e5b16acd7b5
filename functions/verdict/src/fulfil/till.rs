//! What an order has bought: whether it is paid for, and which question was asked.

use super::{Order, Ports};
use audit::digest;
use domain::{Query, Sale, StepError, Submission, Tier, Unusable, message::OrderedBy, sale::Purchase, smoke};

/// A paid question, and what the log may know about its sale.
pub(super) struct Bought {
    pub(super) tier: Tier,
    pub(super) query: Query,
    pub(super) purchase: Purchase,
}

impl Bought {
    fn new(Submission { tier, query }: Submission, email_tag: Option<String>, smoke: bool) -> Self {
        let purchase = Purchase { smoke, tier, query_hash: digest::query_hash(&query), email_tag };
        Self { tier, query, purchase }
    }
}

/// What the till says.
pub(super) enum Till {
    Bought(Bought),
    /// Stripe says that it is not paid.
    Unpaid,
    /// Paid, and nobody knows for what.
    Unusable(Unusable),
    /// A smoke test's order that is none, and why.
    Refused(String),
}

/// Asks the till. The order came through a queue; whether the session is paid is for Stripe alone to say (Verdict
/// Pipeline, invariant 1). What the smoke test buys is fixed, so that nothing of a session can choose it.
pub(super) async fn ask(ports: Ports<'_>, order: &Order, sale: &Sale) -> Result<Till, StepError> {
    if order.ordered_by == OrderedBy::SmokeTest {
        return Ok(match examined(ports, order).await {
            Ok(()) => smoke::submission()
                .map_or(Till::Unusable(Unusable::Query), |fixed| Till::Bought(Bought::new(fixed, None, true))),
            Err(reason) => Till::Refused(reason),
        });
    }
    let session = ports.payments.session(&order.session_id).await?;
    if !session.is_paid() {
        return Ok(Till::Unpaid);
    }
    let email_tag = session.email.as_ref().map(|address| ports.audit_key.email_tag(address));
    let resubmitted = if sale.is_resubmitted() { ports.submissions.find(&order.session_id).await? } else { None };
    Ok(match resubmitted.map_or_else(|| session.submission(), Ok) {
        Ok(submission) => Till::Bought(Bought::new(submission, email_tag, false)),
        Err(unusable) => Till::Unusable(unusable),
    })
}

/// Whether the session of a smoke test's order is what it says: by Stripe's test mode, under the smoke test's own key.
async fn examined(ports: Ports<'_>, order: &Order) -> Result<(), String> {
    let facts = ports.smoke.facts(&order.session_id).await.map_err(|error| format!("smoke: {error}"))?;
    smoke::examine(&facts, ports.journal.clock.now()).map_err(|error| error.to_string())
}
