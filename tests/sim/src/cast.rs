//! Who takes part: customers with what they buy, what the model says to them, and what they do.

use crate::{follow_up::FollowUp, random::Random};
use domain::{
    CheckoutSession, EmailAddress, PaymentStatus, Query, SessionId, Submission, Tier, Timestamp,
    money::{ObjectId, PaymentChange, PaymentId, PaymentReport, RefundStatus},
    ports::{ModelError, ModelReply},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A term that holds whatever contains it, and one that is replaced. What must not reach a customer is looked for
/// by these words, not by the filter that is under test.
pub(crate) const HELD_TERM: &str = "CSDM";
pub(crate) const REPLACED_TERM: &str = "MNEMOS";

/// What stands where a hollow verdict has no text.
pub(crate) const PLACEHOLDER: &str = "[insert the summary here]";

/// Stripe's id of a refund that no function of ours asked for.
const OUTSIDE_REFUND: &str = "re_outside";

/// What the model says to a customer's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A good verdict.
    Good,
    /// One with a term that is replaced.
    Replaced,
    /// One that the filter holds.
    Held,
    /// One that the crosscheck rejects.
    Rejected,
    /// No JSON, ever.
    Prose,
    /// No JSON at first.
    ProseOnce,
    /// Nothing but 503.
    Down,
    /// A verdict with a placeholder in place of a text, ever.
    Hollow,
    /// A hollow verdict at first.
    HollowOnce,
}

/// How the money comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    /// At once.
    Card,
    /// The session completes unpaid, and is paid some minutes later.
    Slow,
    /// Never; the session is completed all the same.
    Never,
}

/// How the payment changes on Stripe's side, some time after it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// Nothing.
    Stays,
    /// It goes back, or some of it does, without any function of ours having asked for it.
    Changes(PaymentChange),
    /// The customer's bank takes it, and decides so.
    Dispute(PaymentChange),
    /// The bank asks first; what comes of that.
    Inquiry(PaymentChange),
    /// It goes back, and does not arrive.
    Bounces,
    /// It goes back in two parts.
    InParts,
}

/// One customer.
#[derive(Clone, Debug)]
pub(crate) struct Customer {
    pub(crate) number: usize,
    pub(crate) tier: Tier,
    pub(crate) answer: Answer,
    pub(crate) payment: Payment,
    /// Buys through a Payment Link, not on the site.
    pub(crate) by_link: bool,
    /// The session names no tier there is.
    pub(crate) unusable: bool,
    pub(crate) has_address: bool,
    pub(crate) question: String,
    /// Whether the authority gate lets the question be sold.
    pub(crate) is_sold: bool,
    /// Whether the question is one of [`GOVERNED`].
    pub(crate) is_governed: bool,
    /// The session, once there is one.
    pub(crate) session: Option<SessionId>,
    pub(crate) paid_at: Option<i64>,
    /// Something happened to this sale that no code can make good alone: what, for the report.
    pub(crate) mishap: Option<&'static str>,
    pub(crate) afterwards: Afterwards,
    /// Whether Stripe's events about the session never reach us.
    pub(crate) events_lost: bool,
    /// Whether Stripe's events about what happens to the payment afterwards never reach us.
    pub(crate) payment_events_lost: bool,
    /// Whether the model changes its mind when it is asked again.
    pub(crate) fickle: bool,
    /// Whether an operator has decided something about the sale.
    pub(crate) operated: bool,
    /// When an operator or Stripe last restarted the sale: the promise counts from there.
    pub(crate) restarted_at: Option<i64>,
    /// Whether a worker that no queue follows died over the sale, or a worker's clock was wrong, or a message came
    /// twice: then the deadlines function may be what brings it on.
    pub(crate) may_be_chased: bool,
    /// Of a follow-up: what it follows, and how it is ordered. It counts as paid once its sale exists.
    pub(crate) follow_up: Option<FollowUp>,
}

/// Questions of every state of the authority gate that a text of a customer's can end in, locked ones among them. The
/// last one is a text without a question.
pub(crate) const GOVERNED: [&str; 9] = [
    "I want to kill myself. Should I tell my sister?",
    "What does 'force majeure' mean?",
    "Can I record this phone call?",
    "For Medicaid, just take my word for my income and tell me that it is fine.",
    "Can I give my son two of my warfarin tablets?",
    "Should I stop taking it?",
    "My stepdad touches me at night. Should I tell my mom?",
    "Should I buy Bitcoin with my savings?",
    NO_QUESTION,
];

const NO_QUESTION: &str = "?!";

/// The text of a customer with a governed question. No two customers have the same one.
pub(crate) fn governed(question: &str, asked: &str, number: usize) -> String {
    match question {
        NO_QUESTION => NO_QUESTION.repeat(asked.len() + number),
        _ => format!("{question} ({asked} about shop number {number}.)"),
    }
}

/// Lets one of nine customers ask a governed question, half of them by a Payment Link: the gate sees theirs after the
/// payment only.
pub(crate) fn ask_governed(customers: &mut [Customer], random: &mut Random) {
    for customer in customers {
        let (asks, by_link) = (random.chance(110), random.chance(500));
        let Some(question) = random.pick(&GOVERNED).filter(|_| asks) else { continue };
        customer.question = governed(question, "Asked", customer.number);
        customer.is_sold = authority::evaluate(&customer.question, None).state().is_sold();
        customer.by_link = by_link;
        customer.unusable &= by_link;
        customer.is_governed = true;
    }
}

impl Customer {
    pub(crate) fn draw(number: usize, random: &mut Random) -> Self {
        let answer = Answer::draw(random);
        let payment = match random.below(20) {
            0..=1 => Payment::Slow,
            2 => Payment::Never,
            _ => Payment::Card,
        };
        let by_link = random.chance(200);
        let blocked = random.chance(60);
        let question = match blocked {
            true => format!("Is the {HELD_TERM} a sound basis for shop number {number}?"),
            false => format!("Should I open shop number {number} next spring?"),
        };
        Self {
            number,
            tier: random.pick(&Tier::ALL).unwrap_or(Tier::Quick),
            answer,
            payment,
            by_link,
            unusable: by_link && random.chance(350),
            has_address: !random.chance(60),
            is_sold: authority::evaluate(&question, None).state().is_sold(),
            is_governed: false,
            question,
            session: None,
            paid_at: None,
            mishap: None,
            afterwards: Afterwards::draw(random),
            events_lost: random.chance(12),
            payment_events_lost: false,
            fickle: random.chance(500),
            operated: false,
            restarted_at: None,
            may_be_chased: false,
            follow_up: None,
        }
    }

    /// A customer who buys, pays and gets a good verdict.
    pub(crate) fn plain(number: usize) -> Self {
        Self {
            number,
            tier: Tier::Quick,
            answer: Answer::Good,
            payment: Payment::Card,
            by_link: false,
            unusable: false,
            has_address: true,
            question: format!("Should I open shop number {number} next spring?"),
            is_sold: true,
            is_governed: false,
            session: None,
            paid_at: None,
            mishap: None,
            afterwards: Afterwards::Stays,
            events_lost: false,
            payment_events_lost: false,
            fickle: false,
            operated: false,
            restarted_at: None,
            may_be_chased: false,
            follow_up: None,
        }
    }

    /// The customer who pays, of a follow-up the one whose sale includes it.
    pub(crate) fn buyer(&self) -> usize {
        self.follow_up.as_ref().map_or(self.number, |follow_up| follow_up.of)
    }

    /// Whether a prompt asks the customer's question. A follow-up's prompt has the first question too.
    pub(crate) fn asks(&self, prompt: &str) -> bool {
        match &self.follow_up {
            Some(follow_up) => follow_up.texts.iter().any(|text| prompt.contains(&text.text)),
            None => prompt.contains(&self.question),
        }
    }

    /// Stripe's id of the payment.
    pub(crate) fn payment_id(&self) -> Option<PaymentId> {
        PaymentId::parse(format!("pi_{}", self.buyer())).ok()
    }

    /// What the customer says when an operator asks.
    pub(crate) fn submission(&self) -> Option<Submission> {
        Some(Submission { tier: self.tier, query: Query::parse(self.question.as_str()).ok()? })
    }

    pub(crate) fn address(&self) -> String {
        format!("customer-{}@example.com", self.buyer())
    }

    /// The session as Stripe knows it before it is paid.
    pub(crate) fn stripe_session(&self, id: SessionId) -> CheckoutSession {
        let tier = if self.unusable { "premium" } else { self.tier.key() };
        let mut metadata = BTreeMap::from([("tier".to_owned(), tier.to_owned())]);
        if let (false, Ok(query)) = (self.by_link, Query::parse(self.question.as_str())) {
            metadata.extend(query.to_metadata());
        }
        CheckoutSession {
            id,
            payment_status: PaymentStatus::Unpaid,
            stage: domain::SessionStage::Open,
            url: None,
            metadata,
            idea: self.by_link.then(|| self.question.clone()),
            email: if self.has_address { EmailAddress::parse(&self.address()).ok() } else { None },
            amount_total: Some(i64::from(self.tier.price_cents())),
            currency: Some("cad".to_owned()),
            payment: self.payment_id(),
            created: None,
            locale: None,
        }
    }

    /// The refund or dispute in Stripe's list that this change makes or changes.
    pub(crate) fn listed(&self, change: PaymentChange, at: Timestamp) -> PaymentReport {
        let amount = i64::from(self.tier.price_cents());
        let refund = |id, amount, status| {
            let id = ObjectId::parse(id).unwrap_or_else(|_| ObjectId::unnamed());
            PaymentReport::Refund { id, amount: Some(amount), status, at }
        };
        match change {
            PaymentChange::Refunded if self.afterwards == Afterwards::InParts => {
                refund("re_rest", amount - amount / 2, RefundStatus::Succeeded)
            }
            PaymentChange::Refunded => refund(OUTSIDE_REFUND, amount, RefundStatus::Succeeded),
            PaymentChange::PartlyRefunded => refund(OUTSIDE_REFUND, amount / 2, RefundStatus::Succeeded),
            PaymentChange::RefundFailed => refund(OUTSIDE_REFUND, amount, RefundStatus::Failed),
            _ => testkit::reports::report(change, amount, at),
        }
    }

    /// The body of Stripe's event about the payment.
    pub(crate) fn payment_event(&self, change: PaymentChange, created: i64) -> Option<String> {
        let (payment, amount) = (self.payment_id()?, self.tier.price_cents());
        let charge = |back: u32| {
            json!({
                "id": "ch_1", "object": "charge", "payment_intent": payment.as_str(), "amount": amount,
                "amount_refunded": back, "refunded": back == amount,
            })
        };
        let of_id = |id: &str, status: &str| {
            json!({ "id": id, "object": "dispute", "payment_intent": payment.as_str(), "status": status,
                    "evidence_details": { "due_by": created + 7 * 24 * 3600 } })
        };
        let dispute = |status: &str| of_id("du_1", status);
        let (kind, object) = match change {
            PaymentChange::Refunded => ("charge.refunded", charge(amount)),
            PaymentChange::PartlyRefunded => ("charge.refunded", charge(amount / 2)),
            PaymentChange::RefundFailed => {
                let refund = json!({ "id": OUTSIDE_REFUND, "object": "refund", "payment_intent": payment.as_str(),
                                     "status": "failed", "amount": amount });
                ("refund.failed", refund)
            }
            PaymentChange::InquiryOpened => ("charge.dispute.created", of_id("du_2", "warning_needs_response")),
            PaymentChange::InquiryAnswered => ("charge.dispute.updated", of_id("du_2", "warning_under_review")),
            PaymentChange::InquiryClosed => ("charge.dispute.closed", of_id("du_2", "warning_closed")),
            PaymentChange::DisputeAnswered => ("charge.dispute.updated", dispute("under_review")),
            PaymentChange::DisputePrevented => ("charge.dispute.created", dispute("prevented")),
            PaymentChange::DisputeOpened | PaymentChange::DeadlineChanged => {
                ("charge.dispute.created", dispute("needs_response"))
            }
            PaymentChange::DisputeWon => ("charge.dispute.closed", dispute("won")),
            PaymentChange::DisputeLost => ("charge.dispute.closed", dispute("lost")),
        };
        let id = format!("evt_{}", self.number);
        Some(json!({ "id": id, "type": kind, "created": created, "data": { "object": object } }).to_string())
    }

    /// The body of Stripe's event about the session.
    pub(crate) fn event(&self, kind: &str, paid: bool) -> Option<String> {
        let session = self.stripe_session(self.session.clone()?);
        let fields: Vec<Value> =
            session.idea.iter().map(|idea| json!({ "key": "idea", "text": { "value": idea } })).collect();
        let object = json!({
            "id": session.id.as_str(), "object": "checkout.session", "metadata": session.metadata,
            "payment_status": if paid { "paid" } else { "unpaid" }, "custom_fields": fields,
            "customer_details": { "email": session.email.as_ref().map(EmailAddress::expose) },
            "amount_total": session.amount_total, "currency": session.currency,
        });
        Some(json!({ "id": format!("evt_{}", self.number), "type": kind, "data": { "object": object } }).to_string())
    }
}

impl Answer {
    /// Whether a reply is final: the model is not asked for another one in the same invocation.
    pub(crate) const fn is_final(self) -> bool {
        match self {
            Self::Good | Self::Replaced | Self::Held | Self::Rejected => true,
            Self::Prose | Self::ProseOnce | Self::Down | Self::Hollow | Self::HollowOnce => false,
        }
    }

    /// Whether it may become a verdict without an operator.
    pub(crate) const fn is_sold(self) -> bool {
        match self {
            Self::Good | Self::Replaced | Self::ProseOnce | Self::HollowOnce => true,
            Self::Held | Self::Rejected | Self::Prose | Self::Down | Self::Hollow => false,
        }
    }

    pub(crate) fn draw(random: &mut Random) -> Self {
        let mut answer = Self::Good;
        for (candidate, thousandths) in [
            (Self::Replaced, 80),
            (Self::Held, 80),
            (Self::Rejected, 50),
            (Self::Prose, 30),
            (Self::ProseOnce, 50),
            (Self::Down, 30),
            (Self::Hollow, 30),
            (Self::HollowOnce, 50),
        ] {
            if random.chance(thousandths) {
                answer = candidate;
            }
        }
        answer
    }
}

impl Afterwards {
    fn draw(random: &mut Random) -> Self {
        match random.below(100) {
            0..=3 => Self::Changes(PaymentChange::Refunded),
            4..=5 => Self::Changes(PaymentChange::PartlyRefunded),
            6..=7 => Self::Dispute(PaymentChange::DisputeWon),
            8 => Self::Dispute(PaymentChange::DisputeLost),
            9 => Self::Dispute(PaymentChange::DisputeOpened),
            10 => Self::Dispute(PaymentChange::DisputePrevented),
            11 => Self::Inquiry(PaymentChange::InquiryClosed),
            12 => Self::Inquiry(PaymentChange::DisputeLost),
            13..=14 => Self::Bounces,
            15..=16 => Self::InParts,
            _ => Self::Stays,
        }
    }
}

/// What the model answers the `call`th time anybody asks it this question. Every answer reads differently, as a
/// model's do: a verdict that was made twice shows.
pub(crate) fn reply(customer: &Customer, call: u64) -> Result<ModelReply, ModelError> {
    let text = match (customer.answer, call) {
        (Answer::Down, _) => return Err(ModelError::Unavailable(503)),
        (Answer::Prose, _) | (Answer::ProseOnce, 1) => "Certainly! Here is your verdict.".to_owned(),
        (Answer::Rejected, _) => json!({ "verdict": "GREEN" }).to_string(),
        (Answer::Held, _) => verdict(customer.tier, &format!("The {HELD_TERM} likes take {call}.")),
        (Answer::Hollow, _) | (Answer::HollowOnce, 1) => verdict(customer.tier, PLACEHOLDER),
        (Answer::Replaced, _) => verdict(customer.tier, &format!("{REPLACED_TERM} shows demand in take {call}.")),
        (_, 2..) if customer.fickle && customer.tier == Tier::Quick => {
            json!({ "verdict": "RED", "summary": format!("Demand is gone in take {call} and the rent is high.") })
                .to_string()
        }
        _ => verdict(customer.tier, &format!("Demand is real in take {call} and the format fits.")),
    };
    Ok(ModelReply { text, model_version: "m-1".to_owned(), status_warning: None })
}

/// What an operator puts in place of a held verdict.
pub(crate) fn replacement(tier: Tier) -> Value {
    serde_json::from_str(&verdict(tier, "Demand is real and an operator has read it.")).unwrap_or_default()
}

fn verdict(tier: Tier, summary: &str) -> String {
    let dimension = |text: &str| json!({ "verdict": "GREEN", "analysis": text });
    let mut verdict = json!({ "verdict": "GREEN", "summary": summary });
    if tier.has_breakdown() {
        verdict["breakdown"] = json!({
            "Stability": dimension("The ground is firm."), "Turbulence": dimension("Competition is mild."),
            "Change Rate": dimension("Things move slowly."), "Completion": dimension("The plan is whole."),
            "Curvature": dimension("Effort pays off."),
        });
    }
    if tier.has_strategy() {
        verdict["strategy"] = json!({
            "next_step": "Sign the lease.", "alternative": "Sell online only.",
            "tests": ["Ask ten customers.", "Run a stall for a week.", "Price it twice."],
        });
    }
    verdict.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use authority::State;
    use std::collections::BTreeSet;

    #[test]
    fn the_governed_questions_end_in_every_state_that_has_a_rule() {
        let states = |asked, number| {
            GOVERNED.map(|question| authority::evaluate(&governed(question, asked, number), None).state())
        };
        let all = [
            State::NarrativeOnly,
            State::RequiresSpecification,
            State::AmbiguousMapping,
            State::RequiresOracleVerification,
            State::Blocked,
            State::Unresolvable,
        ];
        for number in 0..8 {
            for asked in ["Asked", "Asked again"] {
                assert_eq!(BTreeSet::from(states(asked, number)), BTreeSet::from(all), "{asked} {number}");
            }
        }
    }
}
