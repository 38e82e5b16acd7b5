//! What a transition did. The audit crate turns each event into its records, in one place.

use super::AuthorityDecision;
use crate::{
    CheckoutSession, Colour, Timestamp,
    inbox::Reply,
    mail::{Found, Letter, Next, Progress},
    money::{Authorisation, PaymentChange, PaymentId, PaymentReport, RefundStep},
    operator::Operator,
    verdict::Comparison,
};

/// What was charged, as Stripe has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// In the currency's smallest unit.
    pub amount_total: Option<i64>,
    /// The currency.
    pub currency: Option<String>,
}

impl Charge {
    /// What was charged for a session.
    #[must_use]
    pub fn of(session: &CheckoutSession) -> Self {
        Self { amount_total: session.amount_total, currency: session.currency.clone() }
    }
}

/// Where the content filter held a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldAt {
    /// Gate 1: a new verdict, before it was cached.
    BeforeCache,
    /// The authority gate: a new verdict that is not an answer of the kind that its question allows.
    AuthorityGate,
    /// Gate 2: a cached verdict, before it was shown.
    Page,
    /// Gate 2: a rendered mail.
    Mail(Letter),
}

impl HeldAt {
    /// The gate's number.
    #[must_use]
    pub const fn gate(self) -> u8 {
        match self {
            Self::BeforeCache | Self::AuthorityGate => 1,
            Self::Page | Self::Mail(_) => 2,
        }
    }
}

/// What an operator decided about a held sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The held text goes out as it is.
    Approve,
    /// Another verdict takes its place.
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

/// What a transition did to a sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The worker that had the right to make the verdict gave it back.
    ClaimReleased,
    /// The verdict is ordered: for the first time, again, or to be made anew.
    Ordered,
    /// The model is not asked for now, and the sale waits.
    ModelUnavailable,
    /// An attempt at the verdict failed, and the next one is due.
    ModelFailed {
        /// Why.
        reason: String,
        /// How many attempts have failed by now.
        failures: u32,
        /// When the next one is due.
        due: Timestamp,
    },
    /// The verdict is there.
    VerdictReady {
        /// Its colour.
        colour: Colour,
        /// The comparison with the first one, where it was made again.
        regenerated: Option<Comparison>,
    },
    /// The verdict was put back into the cache from the archive.
    Restored,
    /// The archive was asked to keep the verdict, and its mail was ordered.
    Dispatched,
    /// The verdict was read.
    Served,
    /// An operator sends a delivered mail once more.
    SentAgain(Operator),
    /// A newer block list holds back what was delivered.
    FoundAgain,
    /// An operator lets a delivered verdict stand that a newer block list holds back.
    FindingDismissed(Operator),
    /// The content filter holds a text.
    Held(HeldAt),
    /// No verdict could be made.
    Failed {
        /// Why.
        reason: String,
    },
    /// The paid session names no usable tier or question.
    Unusable {
        /// What is wrong with it.
        reason: String,
    },
    /// Operators are alerted to a silent drop of which only Stripe's event is known.
    DropAlerted,
    /// The silent drop is on record.
    DropRecorded {
        /// Whether this very event found the session unusable.
        found_now: bool,
        /// What is wrong with the session.
        reason: String,
        /// What was charged.
        charge: Charge,
    },
    /// The mail that asks for the submission is ordered.
    NoticeOrdered,
    /// The worker that had the right to deliver a mail gave it back.
    MailClaimReleased(Letter),
    /// The draft of a mail is recorded.
    MailDrafted(Letter),
    /// The mailbox accepted a mail.
    MailSent {
        /// Which.
        letter: Letter,
        /// What its attempts left.
        progress: Progress,
        /// For the verdict: how long the customer waited for it, in milliseconds.
        waited_ms: Option<u64>,
    },
    /// There is no address to send a mail to.
    MailNoAddress {
        /// Which.
        letter: Letter,
        /// What its attempts left.
        progress: Progress,
    },
    /// An attempt at a mail failed.
    MailFailed {
        /// Which.
        letter: Letter,
        /// What its attempts left, this one counted.
        progress: Progress,
        /// What follows.
        next: Next,
        /// A sentence that says why.
        detail: String,
    },
    /// It is decided that the money goes back.
    RefundAuthorised {
        /// By whom, and why.
        authorisation: Authorisation,
        /// What was charged.
        charge: Charge,
    },
    /// Stripe answered to a refund.
    RefundAnswered {
        /// How far the refund is.
        step: RefundStep,
        /// Who decided it.
        authorisation: Authorisation,
        /// When it was decided.
        decided_at: Timestamp,
        /// Why it failed, as a code.
        error: Option<String>,
        /// What was charged.
        charge: Charge,
        /// How often Stripe has answered without a confirmation.
        answers: u32,
    },
    /// An operator gave the money back another way than through Stripe.
    RefundedByHand(Operator),
    /// Stripe reported a detail of the payment that changes nothing by itself.
    PaymentDetail,
    /// Stripe reported a change of the payment.
    PaymentChanged {
        /// The payment.
        payment: PaymentId,
        /// What happened to it.
        change: PaymentChange,
        /// What Stripe reported.
        report: PaymentReport,
        /// How much has gone back by now, where that is known.
        returned: Option<i64>,
        /// What was charged.
        charge: Charge,
        /// The refund that this confirms: who decided it, and when.
        confirms: Option<(Authorisation, Timestamp)>,
    },
    /// Another amount than the tier's price was paid.
    AmountNoted {
        /// What was charged.
        charge: Charge,
        /// The tier's price in Canadian cents.
        price: u32,
    },
    /// An operator let a held sale go on.
    Freed {
        /// How.
        decision: Decision,
        /// Who.
        operator: Operator,
        /// When the sale's first event reached us.
        received_at: Timestamp,
        /// The colour of the verdict that is delivered, where it is a new one for the cache; with the comparison
        /// where the verdict had been made again.
        verdict: Option<(Colour, Option<Comparison>)>,
    },
    /// Somebody decided, or tried to decide, about a question that the authority gate declined.
    AuthorityDecided {
        /// Who.
        operator: Operator,
        /// In which role.
        role: String,
        /// By which credential.
        credential: String,
        /// What came of it.
        decision: AuthorityDecision,
    },
    /// An operator removes the cached verdict.
    CacheRemoved(Operator),
    /// An operator ordered the verdict again.
    Reattempted(Operator),
    /// An operator put dead letters back to their first attempt.
    Redriven(Operator, Vec<Letter>),
    /// An operator found out what became of mails with an unknown outcome.
    MailsSettled(Operator, Vec<Letter>, Found),
    /// The customer wrote back.
    Replied {
        /// The reply.
        reply: Reply,
        /// Whether the sale keeps it: it does not when it is full of replies that wait.
        kept: bool,
    },
    /// An operator is done with this many replies.
    RepliesSettled(Operator, usize),
    /// An operator decided that the sale is erased: nothing is made, sent or shown any more.
    Erased(Operator),
    /// Everything that was kept of the sale is removed.
    ErasureFinished,
    /// Messages were sent again because nothing had happened; how often by now.
    Chased(u32),
    /// Operators were reminded that a sale waits for a human.
    Reminded,
}
