//! The customers of a world: what they buy, the model's answers to them, and the later changes of their payments.

mod follow_ups;
mod stripe;

pub(crate) use follow_ups::{draw as draw_follow_ups, of as follow_up_of};

use crate::{
    answer::{Answer, HELD_TERM},
    follow_up::FollowUp,
    governed::{GOVERNED, governed},
};
use domain::{
    Query, SessionId, Submission, Tier,
    money::{PaymentChange, PaymentId},
};
use testkit::Random;

/// When the customer pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    /// At once.
    Card,
    /// The session completes unpaid, and is paid some minutes later.
    Slow,
    /// Never, although the session completes.
    Never,
}

/// How the payment changes on Stripe's side, some time after it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// Nothing.
    Stays,
    /// All or part of it is refunded, and no function of ours requested that.
    Changes(PaymentChange),
    /// The customer's bank opens a dispute, which ends with this change.
    Dispute(PaymentChange),
    /// The bank opens an inquiry, which ends with this change.
    Inquiry(PaymentChange),
    /// A refund is issued and fails later.
    Bounces,
    /// It is refunded in two parts.
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
    /// The session names a tier that does not exist.
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
    /// An event from outside that no code can repair alone, by name for the report.
    pub(crate) mishap: Option<&'static str>,
    pub(crate) afterwards: Afterwards,
    /// Whether Stripe's events about the session never reach us.
    pub(crate) events_lost: bool,
    /// Whether Stripe's events about what happens to the payment afterwards never reach us.
    pub(crate) payment_events_lost: bool,
    /// Whether the model gives another verdict when it is asked again.
    pub(crate) fickle: bool,
    /// Whether an operator has decided something about the sale.
    pub(crate) operated: bool,
    /// When an operator or Stripe last restarted the sale: the promise counts from there.
    pub(crate) restarted_at: Option<i64>,
    /// Whether only the deadlines function may restart the sale: a worker without a queue message died, a worker's
    /// clock was wrong, or a message was delivered twice.
    pub(crate) may_be_chased: bool,
    /// The sale that a follow-up belongs to, and how it is ordered. A follow-up counts as paid once its sale exists.
    pub(crate) follow_up: Option<FollowUp>,
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

    /// The customer who pays; for a follow-up, the customer whose sale includes it.
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
        if customer.answer == Answer::Good && customer.number % 2 == 0 {
            customer.answer = Answer::UnreferredOnce;
        }
    }
}
