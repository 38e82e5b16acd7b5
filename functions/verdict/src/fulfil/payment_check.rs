//! Checks an order's payment, and reads the question that was paid for.

use super::Worker;
use audit::hash;
use domain::{
    FirstVerdict, PaymentStatus, Query, Sale, StepError, Submission, Tier, Unusable,
    message::OrderedBy,
    ports::PaymentError,
    sale::{NotPaid, Purchase},
    smoke,
};
use generation::Background;
use lens::WorkingSet;

/// A paid question, with the facts about its sale that may be logged.
pub(super) struct Bought {
    pub(super) tier: Tier,
    pub(super) query: Query,
    pub(super) purchase: Purchase,
    /// What a follow-up follows.
    pub(super) followed: Option<Followed>,
}

/// The first question and its verdict, and the working set in which the model sees them.
pub(super) struct Followed {
    pub(super) first: FirstVerdict,
    pub(super) memory: WorkingSet,
}

impl Bought {
    fn new(Submission { tier, query }: Submission, buyer: Buyer, smoke: bool) -> Self {
        let Buyer { email_tag, locale } = buyer;
        let purchase = Purchase { smoke, tier, query_hash: hash::query_hash(&query), email_tag, locale };
        Self { tier, query, purchase, followed: None }
    }

    /// The authority gate's evaluation of the question.
    pub(super) fn evaluate(&self) -> authority::Evaluation {
        let locale = self.purchase.locale.as_deref();
        match &self.followed {
            Some(followed) => authority::evaluate_followup(&[&followed.first.query], self.query.as_str(), locale),
            None => authority::evaluate(self.query.as_str(), locale),
        }
    }

    /// The version of the prompt, as the audit log names it.
    pub(super) fn prompt_version(&self) -> String {
        if self.followed.is_some() { prompt::followup_version() } else { prompt::version(self.tier) }
    }

    /// What the model gets beside the question.
    pub(super) fn background(&self) -> Background<'_> {
        match &self.followed {
            Some(followed) => Background::Followed(&followed.memory),
            None => Background::Nothing,
        }
    }
}

/// What Stripe knows of the customer.
#[derive(Default)]
struct Buyer {
    email_tag: Option<String>,
    locale: Option<String>,
}

/// The result of the payment check.
pub(super) enum Checked {
    Bought(Box<Bought>),
    /// Stripe shows no payment.
    Unpaid(NotPaid),
    /// Paid, without a usable tier or question. `tier` and `email_tag` are what the session has nevertheless.
    Unusable {
        why: Unusable,
        tier: Option<Tier>,
        email_tag: Option<String>,
    },
    /// The order claims to be a smoke test's and is not, with the reason.
    Refused(String),
    /// The follow-up cannot be asked, because this is lost. A human decides.
    Lost(&'static str),
}

impl Worker<'_> {
    /// Asks Stripe what was paid. The order came through a queue, and only Stripe decides whether the session is paid
    /// (Verdict Pipeline, invariant 1). The smoke test buys a fixed question, so that data of the session cannot choose
    /// it.
    pub(super) async fn check_payment(&self, sale: &Sale) -> Result<Checked, StepError> {
        let Self { ports, order, .. } = *self;
        if order.ordered_by == OrderedBy::SmokeTest {
            return Ok(match self.examine_smoke_session().await {
                Ok(()) => match smoke::submission() {
                    Ok(fixed) => Checked::Bought(Box::new(Bought::new(fixed, Buyer::default(), true))),
                    Err(_) => Checked::Unusable { why: Unusable::Query, tier: None, email_tag: None },
                },
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
        let email_tag = session.email.as_ref().map(|address| self.audit_key.email_tag(address));
        let buyer = Buyer { email_tag, locale: session.locale.clone() };
        if sale.is_followup() {
            return self.check_followup(buyer).await;
        }
        let resubmitted = if sale.is_resubmitted() { ports.submissions.find(&order.session_id).await? } else { None };
        // A tier of the session is what was paid for; an operator chooses one only for a session without.
        let resubmitted = resubmitted.map(|it| Submission { tier: session.tier().unwrap_or(it.tier), ..it });
        Ok(match resubmitted.map_or_else(|| session.submission(), Ok) {
            Ok(submission) => Checked::Bought(Box::new(Bought::new(submission, buyer, false))),
            Err(why) => Checked::Unusable { why, tier: session.tier(), email_tag: buyer.email_tag },
        })
    }

    /// Checks a follow-up: the session that includes it is paid, and its text was stored when it was ordered.
    async fn check_followup(&self, buyer: Buyer) -> Result<Checked, StepError> {
        let Self { ports, order, .. } = *self;
        let Some(submission) = ports.submissions.find(&order.session_id).await? else {
            return Ok(Checked::Lost("the follow-up has no text"));
        };
        let paid = order.session_id.paid_session();
        let Some(first) = followup::first_verdict(ports.journal.store, ports.archive, &paid).await? else {
            return Ok(Checked::Lost("the first verdict is neither cached nor archived"));
        };
        let memory = match followup::working_set(&first, &prompt::followup_version()) {
            Ok(memory) => memory,
            Err(error) => {
                tracing::error!(session = order.session_id.prefix(), %error, "the working set of a follow-up cannot be built");
                return Ok(Checked::Lost("the first verdict cannot be given to the model"));
            }
        };
        // The tier is fixed, even if an operator handed in another one: the follow-up is part of the tier that includes
        // it.
        let submission = Submission { tier: Tier::Strategy, ..submission };
        let followed = Some(Followed { first, memory });
        let bought = Bought { followed, ..Bought::new(submission, buyer, false) };
        Ok(Checked::Bought(Box::new(bought)))
    }

    /// Checks that the session of a smoke test's order is a smoke test's: Stripe's test mode shows it under the smoke
    /// test's own key.
    async fn examine_smoke_session(&self) -> Result<(), String> {
        let facts = self.ports.smoke.facts(&self.order.session_id).await.map_err(|error| format!("smoke: {error}"))?;
        smoke::examine(&facts, self.ports.journal.clock.now()).map_err(|error| error.to_string())
    }
}
