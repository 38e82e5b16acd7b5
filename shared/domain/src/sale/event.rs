//! The effects of transitions. The audit crate turns each event into its records, in one place.

use super::AuthorityDecision;
use crate::{
    CheckoutSession, Colour, Gate, Timestamp,
    inbox::Reply,
    mail::{Letter, MailOutcome, Next, Progress},
    message::OrderedBy,
    money::{Authorisation, PaymentChange, PaymentId, PaymentReport, RefundStep},
    operator::Operator,
    verdict::Comparison,
};
use serde_json::Value;

/// The amount charged, by Stripe's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// In the currency's smallest unit.
    pub amount_total: Option<i64>,
    /// The currency.
    pub currency: Option<String>,
}

impl Charge {
    /// The amount charged for a session.
    #[must_use]
    pub fn of(session: &CheckoutSession) -> Self {
        Self { amount_total: session.amount_total, currency: session.currency.clone() }
    }
}

/// The place where the content filter held a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldAt {
    /// Gate 1: a new verdict, before it was cached.
    BeforeCache,
    /// The authority gate: a new verdict that is not the kind of answer that its question allows.
    AuthorityGate,
    /// Gate 2: a cached verdict, before it was shown.
    Page,
    /// Gate 2: a rendered mail.
    Mail(Letter),
}

impl HeldAt {
    /// The gate at which it was held.
    #[must_use]
    pub const fn gate(self) -> Gate {
        match self {
            Self::BeforeCache | Self::AuthorityGate => Gate::BeforeCache,
            Self::Page | Self::Mail(_) => Gate::BeforeDelivery,
        }
    }
}

/// An operator's decision about a held sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The held text is delivered unchanged.
    Approve,
    /// Another verdict replaces it.
    Replace,
}

impl Decision {
    /// Its name in the audit log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Replace => "replace",
        }
    }
}

/// The effect of a transition on a sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The result page ordered the verdict: for the first time, or again.
    Ordered,
    /// The model cannot be called now, and the sale waits.
    ModelUnavailable,
    /// An attempt at the verdict failed, and the next one is due.
    ModelFailed {
        /// The error.
        reason: String,
        /// The number of failed attempts by now.
        failures: u32,
        /// When the next one is due.
        due: Timestamp,
    },
    /// The verdict is ready.
    VerdictReady {
        /// Its colour.
        colour: Colour,
        /// The comparison with the first one, if it was regenerated.
        regenerated: Option<Comparison>,
    },
    /// The verdict was restored to the cache from the archive.
    Restored,
    /// The verdict was retrieved.
    Served,
    /// An operator sends a delivered mail once more.
    SentAgain(Operator),
    /// A newer block list would hold a delivered verdict.
    FoundAgain,
    /// An operator dismissed such a finding: the delivered verdict stays.
    FindingDismissed(Operator),
    /// The content filter holds a text.
    Held(HeldAt),
    /// No verdict could be made.
    Failed {
        /// The error.
        reason: String,
    },
    /// The paid session names no usable tier or question.
    Unusable {
        /// The reason.
        reason: String,
    },
    /// The silent drop is recorded.
    DropRecorded {
        /// Whether this same event found the session unusable.
        found_now: bool,
        /// The reason why the session is unusable.
        reason: String,
        /// The amount charged.
        charge: Charge,
    },
    /// The draft of a mail is recorded.
    MailDrafted(Letter),
    /// The mailbox accepted a mail.
    MailSent {
        /// The kind of mail.
        letter: Letter,
        /// The progress of its attempts.
        progress: Progress,
        /// For the verdict: how long the customer waited for it, in milliseconds.
        waited_ms: Option<u64>,
    },
    /// There is no address to send a mail to.
    MailNoAddress {
        /// The kind of mail.
        letter: Letter,
        /// The progress of its attempts.
        progress: Progress,
    },
    /// An attempt at a mail failed.
    MailFailed {
        /// The kind of mail.
        letter: Letter,
        /// The progress of its attempts, including this one.
        progress: Progress,
        /// The next step.
        next: Next,
        /// The error as a sentence.
        detail: String,
    },
    /// A refund is decided.
    RefundAuthorised {
        /// By whom, and why.
        authorisation: Authorisation,
        /// The amount charged.
        charge: Charge,
    },
    /// Stripe answered a request for a refund.
    RefundAnswered {
        /// The step of the refund.
        step: RefundStep,
        /// Who decided it.
        authorisation: Authorisation,
        /// When it was decided.
        decided_at: Timestamp,
        /// The error as a code, if it failed.
        error: Option<String>,
        /// The amount charged.
        charge: Charge,
        /// The number of answers without a confirmation.
        answers: u32,
    },
    /// An operator refunded the money by other means than Stripe.
    RefundedByHand(Operator),
    /// Stripe reported a detail of the payment that has no effect of its own.
    PaymentDetail,
    /// Stripe reported a change of the payment.
    PaymentChanged {
        /// The payment.
        payment: PaymentId,
        /// The change.
        change: PaymentChange,
        /// Stripe's report.
        report: PaymentReport,
        /// The amount that has gone back by now, if known.
        returned: Option<i64>,
        /// The amount charged.
        charge: Charge,
        /// The refund that this confirms: who decided it, and when.
        confirms: Option<(Authorisation, Timestamp)>,
    },
    /// Another amount than the tier's price was paid.
    AmountNoted {
        /// The amount charged.
        charge: Charge,
        /// The tier's price in Canadian cents.
        price: u32,
    },
    /// An operator released a held sale.
    Freed {
        /// The decision.
        decision: Decision,
        /// The operator.
        operator: Operator,
        /// When the sale's first event reached us.
        received_at: Timestamp,
        /// The colour of the delivered verdict, if it is new to the cache; with the comparison if the verdict had been
        /// regenerated.
        verdict: Option<(Colour, Option<Comparison>)>,
    },
    /// A person decided, or tried to decide, about a question that the authority gate declined.
    AuthorityDecided {
        /// The person.
        operator: Operator,
        /// Their role.
        role: String,
        /// Their credential.
        credential: String,
        /// The result.
        decision: AuthorityDecision,
    },
    /// The authority gate declined a follow-up before it was ordered.
    FollowupDeclined {
        /// The way by which the customer asked for it.
        ordered_by: OrderedBy,
        /// The gate's evaluation, in the form of its record.
        evaluation: Value,
    },
    /// An operator removes the cached verdict.
    CacheRemoved(Operator),
    /// An operator ordered the verdict again.
    Reattempted(Operator),
    /// An operator moved dead letters back to their first attempt.
    Redriven(Operator, Vec<Letter>),
    /// An operator recorded the outcome of mails whose outcome was unknown.
    MailsSettled(Operator, Vec<Letter>, MailOutcome),
    /// The customer replied to a mail, or a mail came back.
    Replied {
        /// The reply.
        reply: Reply,
        /// Whether the sale stores it: not if it is full of waiting replies.
        kept: bool,
    },
    /// An operator settled this many replies.
    RepliesSettled(Operator, usize),
    /// An operator decided that the sale is erased: nothing is made, sent or shown any more.
    Erased(Operator),
    /// All data of the sale is removed.
    ErasureFinished,
}
