//! One sale, from the first report of a payment to its end: the state that every function reads and writes.
//!
//! The record is saved whole, on condition that no other process has saved it in between, so each transition happens
//! exactly once however often a message is delivered. The audit records of a transition are saved with it (`outbox`)
//! and published afterwards: a transition without its records, or a record without its transition, cannot exist.
//!
//! A sale changes by its methods only. A transition that is recorded returns the [`Event`] that the audit crate turns into
//! records; one that the sale's state does not allow returns [`Refused`] or [`NotApproved`], which name the state of
//! the part that does not allow it.
//!
//! The table has every transition, its maker, and the states that it connects: of the verdict, of a mail, of the money.
//! A transition without states changes details of the current state. The test `exploration` visits every state that
//! each of four large parts of the transitions reaches, and takes 20,000 random walks through all transitions
//! together. It writes this table from the result, and requires of each state that it is an end, work for a human, or
//! automatic work that leads to one of these.
//!
//! | transition | made by | verdict | mail | money |
//! |---|---|---|---|---|
//! | claim | verdict | failed, ordered → generating | | |
//! | claim (smoke test) | verdict | failed, ordered → generating | | |
//! | decline | verdict | generating → failed | | |
//! | decline (crisis) | verdict | generating → failed | not ordered → ordered | |
//! | decline (locked) | verdict | generating → failed | | |
//! | dispatched | verdict | | not ordered → ordered | |
//! | dispatched (not archived) | verdict | | not ordered → ordered | |
//! | fail | verdict | generating → failed | | |
//! | hold (authority gate) | verdict | generating → in review | | |
//! | hold (gate 1) | verdict | generating → in review | | |
//! | model_failed | verdict | generating → ordered | | |
//! | model_failed (last) | verdict | generating → failed | | |
//! | model_unavailable | verdict | generating → ordered | | |
//! | model_unavailable (no claim) | verdict | generating → ordered | | |
//! | model_unavailable (too long) | verdict | generating → failed | | |
//! | ready | verdict | generating → ready | not ordered → ordered | |
//! | release_claim | verdict | | | |
//! | reopen | verdict | ready → ordered | | |
//! | unpaid | verdict | generating → failed | | |
//! | unpaid (nothing to pay) | verdict | generating → failed | | |
//! | unusable | verdict | generating → unusable | | |
//! | decline_followup | result | | | |
//! | hold (page) | result | ready → in review | | |
//! | order_again | result | failed, generating → ordered | | |
//! | reopen | result | ready → ordered | | |
//! | restore | result | | | |
//! | serve | result | | | |
//! | unusable (page) | result | failed, generating, ordered → unusable | | |
//! | claim_mail | email-sender, email-retry | | not ordered, ordered, retrying → sending | |
//! | claim_mail_early | email-sender, email-retry | | retrying → sending | |
//! | hold (mail) | email-sender, email-retry | failed, generating, ordered, ready, unusable → in review | sending → held | |
//! | mail_drafted | email-sender, email-retry | | | |
//! | mail_failed | email-sender, email-retry | | sending → dead; sending → retrying | |
//! | mail_failed (final) | email-sender, email-retry | | sending → dead | |
//! | mail_failed (may have gone) | email-sender, email-retry | | sending → unknown | |
//! | mail_no_address | email-sender, email-retry | | sending → without an address | |
//! | mail_sent | email-sender, email-retry | | not ordered → ordered; sending → sent | |
//! | release_mail | email-sender, email-retry | | | |
//! | reopen | email-sender, email-retry | ready → ordered | | |
//! | drop_alerted | silent-drop | | | |
//! | notice_ordered | silent-drop | | not ordered → ordered | |
//! | record_drop | silent-drop | ordered → unusable | | |
//! | payment_reported | payment-events | | not ordered → ordered | kept, refund authorised, refund failed, refunded → disputed; disputed → kept; disputed → refund authorised; disputed, refund authorised, refunded → refund failed; disputed, kept, refund authorised, refund failed → refunded |
//! | erase | deadlines, operator | failed, generating, in review, ordered, ready, unusable → erased | dead, held, ordered, retrying, sending, sent, unknown, without an address → not ordered | |
//! | erasure_finished | deadlines, operator | | | |
//! | refund_answered | deadlines, operator | | not ordered → ordered | refund authorised → refunded |
//! | refund_answered (bounced) | deadlines, operator | | | refund authorised → refund failed |
//! | refund_answered (not yet) | deadlines, operator | | | |
//! | refund_answered (refused) | deadlines, operator | | | |
//! | refund_authorised | deadlines, operator | | | kept, refund failed → refund authorised |
//! | chase | deadlines | | | |
//! | chase_refused | deadlines | | | |
//! | lapse | deadlines | | | |
//! | refund_authorised (by policy) | deadlines | | | kept, refund failed → refund authorised |
//! | remind | deadlines | | | |
//! | amount_noted | reconcile | | | |
//! | decline_followup | inbox-watch | | | |
//! | replied | inbox-watch | | | |
//! | saved | every function | | | |
//! | trail_mut (publishes) | every function | | | |
//! | trail_mut (records) | every function | | | |
//! | found_again | cache-health | | | |
//! | approve_declined | operator | failed → ordered | | |
//! | dismiss_finding | operator | | | |
//! | free | operator | in review → ready; in review → unusable | held, ordered → not ordered; held, not ordered → ordered; sending → retrying | |
//! | reattempt | operator | failed, unusable → ordered | | |
//! | reattempt (resubmits) | operator | failed, unusable → ordered | | |
//! | redrive | operator | | dead → retrying | |
//! | refunded_by_hand | operator | | | disputed, kept, refund authorised, refund failed → refunded |
//! | refuse_override | operator | | | |
//! | reject_declined | operator | | | |
//! | remove_from_cache | operator | | | |
//! | replace_finding | operator | | not ordered → ordered | |
//! | send_again | operator | | sent → retrying | |
//! | settle_mails (not sent) | operator | | unknown → retrying | |
//! | settle_mails (sent) | operator | | not ordered → ordered; unknown → sent | |
//! | settle_replies | operator | | | |
//!
//! The file has more than 300 lines because the table has a line for every transition, and every field of a sale is
//! documented.

mod attention;
mod authority_decision;
mod decisions;
mod declined;
mod erasure;
mod event;
mod facts;
mod finding;
mod followup;
mod fulfilment;
mod letters;
mod not_paid;
pub mod open_work;
mod payment;
mod refused;
mod replies;
mod trail;

pub use crate::audit_trail::{AuditEntry, AuditHead};
pub use crate::mail::{Draft, Letter, Mail, Progress};
pub use authority_decision::AuthorityDecision;
pub use decisions::NewVerdict;
pub use declined::{APPROVAL_LASTS, Approval, Authority, Declined, Helper, HumanLock, NotApproved};
pub use erasure::ERASURE_SETTLES_AFTER;
pub use event::{Charge, Decision, Event, HeldAt};
pub use finding::{Finding, Settled};
pub use fulfilment::{Claimant, FoundBy, HeldBy, Purchase};
pub use letters::Rendered;
pub use not_paid::{NotPaid, SLOWEST_PAYMENT};
pub use payment::RefundAnswer;
pub use refused::{Part, Refused};

use crate::{
    Colour, Gate, SessionId, Tier, Timestamp,
    audit_trail::AuditTrail,
    inbox::Reply,
    money::{Money, PaymentHistory},
    retry::ModelWait,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, time::Duration};

/// The state of the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Fulfilment {
    /// It was ordered.
    Ordered {
        /// When it was last ordered.
        at: Timestamp,
    },
    /// One invocation has claimed it.
    Generating {
        /// The queue message of that invocation.
        owner: String,
        /// The end of the lease.
        lease_until: Timestamp,
    },
    /// The verdict is cached.
    Ready {
        /// When.
        at: Timestamp,
        /// Whether the archive has it too.
        archived: bool,
    },
    /// The content filter holds it; a human decides.
    InReview {
        /// The gate that holds it.
        gate: Gate,
        /// When.
        at: Timestamp,
    },
    /// No verdict could be made; a human decides.
    Failed {
        /// The error, in a sentence for operators.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// The paid session has no usable tier or question; a human decides (Silent Drop).
    Unusable {
        /// When it was found.
        at: Timestamp,
    },
    /// The customer asked for erasure: nothing is made, sent or shown any more.
    Erased {
        /// When that was decided.
        at: Timestamp,
        /// The mailbox's ids of the customer's replies, by which they are deleted; empty afterwards.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replies: Vec<String>,
        /// When everything was removed; `None` while a worker that began earlier may still write.
        removed_at: Option<Timestamp>,
        /// Whether it was paid and not delivered.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        owed: bool,
    },
}

impl Fulfilment {
    /// Its name in errors and in the table above.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Ordered { .. } => "ordered",
            Self::Generating { .. } => "generating",
            Self::Ready { .. } => "ready",
            Self::InReview { .. } => "in review",
            Self::Failed { .. } => "failed",
            Self::Unusable { .. } => "unusable",
            Self::Erased { .. } => "erased",
        }
    }
}

/// One sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sale {
    /// The Stripe session.
    session_id: SessionId,
    /// Whether it is a smoke test's: then there is no payment, no customer waits, and no alert is raised.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    smoke: bool,
    /// The tier, once Stripe has been asked.
    tier: Option<Tier>,
    /// The truncated SHA-256 of the question.
    query_hash: Option<String>,
    /// The truncated SHA-256 of the verdict.
    verdict_hash: Option<String>,
    /// The keyed hash of the address.
    email_tag: Option<String>,
    /// Where the customer is, as a language tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    /// When the triggering event reached us.
    received_at: Timestamp,
    /// The verdict.
    fulfilment: Fulfilment,
    /// The mail with the verdict.
    mail: Mail,
    /// The mail that asks for the submission (Silent Drop).
    #[serde(default)]
    notice: Mail,
    /// The mail about a diverging regeneration.
    #[serde(default)]
    divergence: Mail,
    /// The mail about a refund by policy, or with sources of help after a possible disclosure of self-harm.
    #[serde(default, skip_serializing_if = "Mail::is_not_ordered")]
    refund_letter: Mail,
    /// The state of the money.
    #[serde(default)]
    money: Money,
    /// Stripe's reports about the payment.
    #[serde(default, alias = "payment_changes", skip_serializing_if = "PaymentHistory::is_empty")]
    payment: PaymentHistory,
    /// The number of refund attempts without success.
    #[serde(default, skip_serializing_if = "crate::serde_skip::is_zero")]
    refund_attempts: u32,
    /// Whether an operator recorded that they refund the money by other means than Stripe.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refunded_by_hand: bool,
    /// Whether the log has a record that another amount than the tier's price was paid.
    #[serde(default)]
    amount_noted: bool,
    /// When the verdict was last regenerated, if ever.
    regenerated_at: Option<Timestamp>,
    /// The model is not called before this time: its breaker is open, or an attempt failed and the next one is not due.
    #[serde(default)]
    unavailable_until: Option<Timestamp>,
    /// The wait for the model since the verdict was last ordered, or a dispute was won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model_wait: Option<ModelWait>,
    /// The colour of the first verdict, which a regenerated one is compared with: the mailed one, or, before a mail has
    /// one, the current one.
    #[serde(default)]
    colour: Option<Colour>,
    /// The colour of the verdict on the page, if a regeneration made it another than that of the mailed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    page_colour: Option<Colour>,
    /// Stripe's answer about the session when its order was handled, if it was not "paid". Then the sale has failed,
    /// until it is paid after all, or a human decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_paid: Option<NotPaid>,
    /// The finding of a newer block list in the delivered verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finding: Option<Finding>,
    /// Whether an operator has sent the delivered mail once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sent_again: bool,
    /// Whether an operator gives the verdict away without a payment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    given: bool,
    /// The authority gate's decision after payment, with the approvals since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declined: Option<Declined>,
    /// Whether the log has a record of the silent drop.
    #[serde(default)]
    drop_recorded: bool,
    /// Whether operators were alerted to the silent drop before Stripe answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drop_alerted: bool,
    /// Whether an operator's submission replaces Stripe's data (Silent Drop, re-attempt).
    #[serde(default)]
    resubmitted: bool,
    /// The time since which the customer waits for the verdict: when it was ordered, or reopened for a regeneration.
    waiting_since: Timestamp,
    /// When the sale last changed.
    changed_at: Timestamp,
    /// When operators were last reminded of it.
    #[serde(default)]
    reminded_at: Option<Timestamp>,
    /// The number of restarts because the sale made no progress.
    #[serde(default)]
    chased: u32,
    /// The number of retrievals of the verdict.
    retrievals: u32,
    /// The versions of the block list whose terms in the verdict were recorded after [`MAX_RECORDED_RETRIEVALS`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    filtered_by: BTreeSet<String>,
    /// The number of recorded follow-ups that the authority gate declined.
    #[serde(default, skip_serializing_if = "crate::serde_skip::is_zero")]
    followups_declined: u32,
    /// The customer's replies to its mails, oldest first (Silent Drop, GAP-SD-09).
    #[serde(default)]
    replies: Vec<Reply>,
    /// The records and alerts of its changes.
    #[serde(flatten)]
    trail: AuditTrail,
}

/// The reply to a worker that claims a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The worker holds the claim until the lease ends.
    Granted,
    /// Another invocation holds the claim until this time, for this or another message. Its message may be deleted
    /// before its work is done, so this one is kept until nothing is left to do.
    Busy(Timestamp),
    /// The claim is not possible before this time.
    NotYet(Timestamp),
    /// The claim is not possible in the sale's state: the verdict that it needs is still being made.
    Unready,
    /// There is nothing left to do.
    Done,
    /// The message is a smoke test's and the sale a customer's: they have nothing to do with each other.
    Foreign,
}

/// The shortest time between two orders for the same sale from its result page.
pub const REORDER_AFTER: Duration = Duration::from_secs(60);

/// What operators read where a worker finds that a verdict has to be made again.
pub const VERDICT_LOST: &str = "neither the cache nor the archive has the verdict: it is made again";

/// The shortest time between two regenerations of one verdict (Regen Consistency, invariant 8).
pub const REGENERATE_AFTER: Duration = Duration::from_secs(300);

/// The number of retrievals that are recorded separately in the audit log. Any holder of the link can reload it without
/// limit, and the log must not grow with that: of later ones only the first for each block list with terms in the
/// verdict is recorded.
pub const MAX_RECORDED_RETRIEVALS: u32 = 100;

/// The number of declined follow-ups of a sale that are recorded, for the same reason.
pub const MAX_RECORDED_DECLINES: u32 = 100;

impl Sale {
    /// A new sale without any work done.
    #[must_use]
    pub const fn ordered(session_id: SessionId, received_at: Timestamp) -> Self {
        Self {
            session_id,
            smoke: false,
            tier: None,
            query_hash: None,
            verdict_hash: None,
            email_tag: None,
            locale: None,
            received_at,
            fulfilment: Fulfilment::Ordered { at: received_at },
            mail: Mail::NotOrdered,
            notice: Mail::NotOrdered,
            divergence: Mail::NotOrdered,
            refund_letter: Mail::NotOrdered,
            money: Money::Kept,
            payment: PaymentHistory::new(),
            refund_attempts: 0,
            refunded_by_hand: false,
            amount_noted: false,
            regenerated_at: None,
            unavailable_until: None,
            model_wait: None,
            colour: None,
            page_colour: None,
            not_paid: None,
            given: false,
            finding: None,
            sent_again: false,
            declined: None,
            drop_recorded: false,
            drop_alerted: false,
            resubmitted: false,
            waiting_since: received_at,
            changed_at: received_at,
            reminded_at: None,
            chased: 0,
            retrievals: 0,
            filtered_by: BTreeSet::new(),
            followups_declined: 0,
            replies: Vec::new(),
            trail: AuditTrail::new(),
        }
    }
}

#[cfg(test)]
mod exploration;
#[cfg(test)]
mod tests;
