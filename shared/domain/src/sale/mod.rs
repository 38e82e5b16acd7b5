//! One sale, from the first sign of payment to its end: the state every function reads and writes.
//!
//! The record is saved whole, on condition that nobody saved it in between, so each transition happens exactly once
//! however often a message is delivered. The audit records of a transition are saved with it (`outbox`) and published
//! afterwards: a transition without its records, or a record without its transition, cannot exist.
//!
//! A sale changes by its methods only. Each takes the time as `now` and returns the [`Event`] that the audit crate
//! turns into records, or [`Refused`], which names the state that the sale is in and the one that was asked for.
//!
//! The table has every transition, who makes it, and the states that it leads between: of the verdict, of a mail, of the
//! money. A transition without states changes details of the state that it is made in. The test `exploration` walks
//! through every state that the transitions reach, writes this table from what it finds, and requires of each state that
//! it is an end, a human's work, or machines' work that leads to one of these.
//!
//! | transition | made by | verdict | mail | money |
//! |---|---|---|---|---|
//! | claim | verdict | failed, ordered → generating | | |
//! | claim (smoke test) | verdict | ordered → generating | | |
//! | decline | verdict | generating → failed | | |
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
//! | unpaid | verdict | generating → failed | | |
//! | unpaid (nothing to pay) | verdict | generating → failed | | |
//! | unusable | verdict | generating → unusable | | |
//! | hold (page) | result | ready → in review | | |
//! | order_again | result | failed, generating → ordered | | |
//! | reopen | result | ready → ordered | | |
//! | restore | result | | | |
//! | serve | result | | | |
//! | unusable (page) | result | failed, generating, ordered → unusable | | |
//! | claim_mail | email-sender, email-retry | | not ordered, ordered, retrying → sending | |
//! | hold (mail) | email-sender, email-retry | failed, generating, ordered, ready, unusable → in review | sending → held | |
//! | mail_drafted | email-sender, email-retry | | | |
//! | mail_failed | email-sender, email-retry | | sending → dead; sending → retrying | |
//! | mail_failed (final) | email-sender, email-retry | | sending → dead | |
//! | mail_failed (may have gone) | email-sender, email-retry | | sending → unknown | |
//! | mail_no_address | email-sender, email-retry | | sending → without an address | |
//! | mail_sent | email-sender, email-retry | | sending → sent | |
//! | release_mail | email-sender, email-retry | | | |
//! | drop_alerted | silent-drop | | | |
//! | notice_ordered | silent-drop | | not ordered → ordered | |
//! | record_drop | silent-drop | ordered → unusable | | |
//! | payment_reported | payment-events | | not ordered → ordered | kept, refund authorised, refund failed, refunded → disputed; disputed → kept; disputed → refund authorised; refund authorised, refunded → refund failed; disputed, kept, refund authorised, refund failed → refunded |
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
//! | replied | inbox-watch | | | |
//! | append_record, keep_alerts | every function | | | |
//! | outbox_mut | every function | | | |
//! | found_again | cache-health | | | |
//! | approve_declined | operator | failed → ordered | | |
//! | dismiss_finding | operator | | | |
//! | erase | operator | failed, generating, in review, ordered, ready, unusable → erased | dead, held, ordered, retrying, sending, sent, unknown, without an address → not ordered | |
//! | free | operator | in review → ready; in review → unusable | held, ordered → not ordered; held, not ordered → ordered; sending → retrying | |
//! | reattempt | operator | failed, unusable → ordered | | |
//! | reattempt (resubmits) | operator | failed, unusable → ordered | | |
//! | redrive | operator | | dead → retrying | |
//! | refunded_by_hand | operator | | | refund authorised, refund failed → refunded |
//! | reject_declined | operator | | | |
//! | remove_from_cache | operator | | | |
//! | replace_finding | operator | | | |
//! | send_again | operator | | sent → retrying | |
//! | settle_mails (not sent) | operator | | unknown → retrying | |
//! | settle_mails (sent) | operator | | unknown → sent | |
//! | settle_replies | operator | | | |

mod attention;
mod decisions;
mod declined;
mod erasure;
mod event;
mod finding;
mod followup;
mod fulfilment;
mod letters;
mod not_paid;
pub mod open_work;
mod outbox;
mod payment;
mod refused;
mod replies;

pub use crate::mail::{Draft, Letter, Mail, Progress};
pub use decisions::NewVerdict;
pub use declined::{APPROVAL_LASTS, Approval, Authority, AuthorityDecision, Declined, Helper, HumanLock, NotApproved};
pub use erasure::ERASURE_SETTLES_AFTER;
pub use event::{Charge, Decision, Event, HeldAt};
pub use finding::{Finding, Settled};
pub use fulfilment::{Claimant, Finder, Holder, Purchase};
pub use letters::Rendered;
pub use not_paid::NotPaid;
pub use payment::RefundAnswer;
pub use refused::Refused;

use crate::{
    Alert, Colour, Measurement, SessionId, Tier, Timestamp,
    inbox::Reply,
    money::{Money, PaymentHistory},
    retry::ModelWait,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How far the verdict has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Fulfilment {
    /// Somebody asked for it.
    Ordered {
        /// When it was last asked for.
        at: Timestamp,
    },
    /// One invocation works on it.
    Generating {
        /// The queue message it works for.
        owner: String,
        /// Until when it has the right to.
        lease_until: Timestamp,
    },
    /// The verdict is cached.
    Ready {
        /// When.
        at: Timestamp,
        /// Whether the archive has it too.
        archived: bool,
    },
    /// The content filter held it; a human decides.
    InReview {
        /// Which gate held it.
        gate: u8,
        /// When.
        at: Timestamp,
    },
    /// No verdict could be made; a human decides.
    Failed {
        /// Why, as a code.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// The paid session names no usable tier or question; a human decides (Silent Drop).
    Unusable {
        /// When it was noticed.
        at: Timestamp,
    },
    /// The customer asked to be forgotten: nothing is made, sent or shown any more.
    Erased {
        /// When that was decided.
        at: Timestamp,
        /// The mailbox's ids of the customer's replies, by which they are removed; none once they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replies: Vec<String>,
        /// When everything was removed; `None` while a worker that began before may still write something.
        removed_at: Option<Timestamp>,
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

/// The end of the sale's audit stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The day on which the stream was opened: the first part of every key in it.
    pub opened: String,
    /// How many records the stream has.
    pub count: u64,
    /// SHA-256 of the last record's line; of nothing before the first.
    pub hash: String,
}

/// One audit record, finished and waiting to be published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The object key.
    pub key: String,
    /// The JSON line, without its line break.
    pub line: String,
    /// What the record counts for, once it is in the log: stored only where there is something to count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<Measurement>,
}

/// One sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sale {
    /// The Stripe session.
    session_id: SessionId,
    /// Whether it is the smoke test's, and no customer's: nobody paid, nobody waits, nobody is to be alerted of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    smoke: bool,
    /// The tier, once Stripe has been asked.
    tier: Option<Tier>,
    /// Truncated SHA-256 of the question.
    query_hash: Option<String>,
    /// Truncated SHA-256 of the verdict.
    verdict_hash: Option<String>,
    /// Keyed hash of the address.
    email_tag: Option<String>,
    /// When the triggering event reached us.
    received_at: Timestamp,
    /// The verdict.
    fulfilment: Fulfilment,
    /// The mail with the verdict.
    mail: Mail,
    /// The mail that asks for the submission (Silent Drop).
    #[serde(default)]
    notice: Mail,
    /// The mail that tells of a diverging regeneration.
    #[serde(default)]
    divergence: Mail,
    /// The mail that tells that the money went back by policy.
    #[serde(default, skip_serializing_if = "Mail::is_not_ordered")]
    refund_letter: Mail,
    /// What became of the money.
    #[serde(default)]
    money: Money,
    /// What Stripe has reported of the payment.
    #[serde(default, alias = "payment_changes", skip_serializing_if = "PaymentHistory::is_empty")]
    payment: PaymentHistory,
    /// How many attempts at a refund came to nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    refund_attempts: u32,
    /// Whether the log tells that another amount than the tier's price was paid.
    #[serde(default)]
    amount_noted: bool,
    /// When the verdict was last generated again, if ever.
    regenerated_at: Option<Timestamp>,
    /// Until when the model is not asked: its breaker is open, or an attempt failed and the next one is not due.
    #[serde(default)]
    unavailable_until: Option<Timestamp>,
    /// How the sale has waited for the model, since its verdict was last ordered anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model_wait: Option<ModelWait>,
    /// The colour of the first verdict, which a regenerated one is compared with.
    #[serde(default)]
    colour: Option<Colour>,
    /// What Stripe said of the session when its order was worked on, where that was not that it is paid. The sale has
    /// failed then, until somebody pays after all, or a human decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_paid: Option<NotPaid>,
    /// What a newer block list found in the verdict after it was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finding: Option<Finding>,
    /// Whether an operator has sent the delivered mail once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sent_again: bool,
    /// Whether an operator gives away what nobody paid for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    given: bool,
    /// What the authority gate refused after payment, and who has approved it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declined: Option<Declined>,
    /// Whether the log tells of the silent drop.
    #[serde(default)]
    drop_recorded: bool,
    /// Whether operators were alerted to the silent drop before Stripe answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drop_alerted: bool,
    /// Whether an operator's submission stands in for what Stripe has (Silent Drop, re-attempt).
    #[serde(default)]
    resubmitted: bool,
    /// Since when somebody waits for the verdict: it was ordered, or is to be made anew.
    waiting_since: Timestamp,
    /// When anything changed last.
    changed_at: Timestamp,
    /// When operators were last reminded of it.
    #[serde(default)]
    reminded_at: Option<Timestamp>,
    /// How often machines were sent after it because nothing happened.
    #[serde(default)]
    chased: u32,
    /// How often the verdict was read.
    retrievals: u32,
    /// The customer's replies to its mails, oldest first (Silent Drop, GAP-SD-09).
    #[serde(default)]
    replies: Vec<Reply>,
    /// The audit stream.
    audit: Option<AuditHead>,
    /// Audit records that may not have reached the log yet.
    outbox: Vec<AuditEntry>,
    /// Alerts that may not have reached operators yet.
    #[serde(default)]
    alerts: Vec<Alert>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The answer to somebody who wants to work on a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Go ahead; nobody else will until the lease ends.
    Granted,
    /// An invocation is at work until this moment, for this or another message. Its message may be gone before its
    /// work is done, so this one is kept until there is nothing left to do.
    Busy(Timestamp),
    /// Not before this moment.
    NotYet(Timestamp),
    /// Not as the sale stands: what it is about is still being made.
    Unready,
    /// There is nothing left to do.
    Done,
    /// The sale is somebody else's: this message never had anything to do with it.
    Foreign,
}

/// At least this long between two orders for the same sale from its result page.
pub const REORDER_AFTER: Duration = Duration::from_secs(60);

/// At least this long between two regenerations of one verdict (Regen Consistency, invariant 8).
pub const REGENERATE_AFTER: Duration = Duration::from_secs(300);

/// Retrievals recorded one by one in the audit log; later ones only count. Any holder of the link can reload it
/// for ever, and the log must not grow with that.
pub const MAX_RECORDED_RETRIEVALS: u32 = 100;

impl Sale {
    /// A sale nobody has worked on.
    #[must_use]
    pub const fn ordered(session_id: SessionId, received_at: Timestamp) -> Self {
        Self {
            session_id,
            smoke: false,
            tier: None,
            query_hash: None,
            verdict_hash: None,
            email_tag: None,
            received_at,
            fulfilment: Fulfilment::Ordered { at: received_at },
            mail: Mail::NotOrdered,
            notice: Mail::NotOrdered,
            divergence: Mail::NotOrdered,
            refund_letter: Mail::NotOrdered,
            money: Money::Kept,
            payment: PaymentHistory::new(),
            refund_attempts: 0,
            amount_noted: false,
            regenerated_at: None,
            unavailable_until: None,
            model_wait: None,
            colour: None,
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
            replies: Vec::new(),
            audit: None,
            outbox: Vec::new(),
            alerts: Vec::new(),
        }
    }

    /// The Stripe session.
    #[must_use]
    pub const fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// Whether it is the smoke test's, and no customer's.
    #[must_use]
    pub const fn smoke(&self) -> bool {
        self.smoke
    }

    /// The tier, once Stripe has been asked.
    #[must_use]
    pub const fn tier(&self) -> Option<Tier> {
        self.tier
    }

    /// Truncated SHA-256 of the question.
    #[must_use]
    pub fn query_hash(&self) -> Option<&str> {
        self.query_hash.as_deref()
    }

    /// Truncated SHA-256 of the verdict.
    #[must_use]
    pub fn verdict_hash(&self) -> Option<&str> {
        self.verdict_hash.as_deref()
    }

    /// Keyed hash of the address.
    #[must_use]
    pub fn email_tag(&self) -> Option<&str> {
        self.email_tag.as_deref()
    }

    /// When the triggering event reached us.
    #[must_use]
    pub const fn received_at(&self) -> Timestamp {
        self.received_at
    }

    /// How far the verdict is.
    #[must_use]
    pub const fn fulfilment(&self) -> &Fulfilment {
        &self.fulfilment
    }

    /// The mail with the verdict.
    #[must_use]
    pub const fn mail(&self) -> &Mail {
        &self.mail
    }

    /// The mail that asks for the submission (Silent Drop).
    #[must_use]
    pub const fn notice(&self) -> &Mail {
        &self.notice
    }

    /// The mail about a diverging regeneration.
    #[must_use]
    pub const fn divergence(&self) -> &Mail {
        &self.divergence
    }

    /// What became of the money.
    #[must_use]
    pub const fn money(&self) -> &Money {
        &self.money
    }

    /// What Stripe has reported of the payment.
    #[must_use]
    pub const fn payment(&self) -> &PaymentHistory {
        &self.payment
    }

    /// Whether the log has it that another amount than the tier's price was paid.
    #[must_use]
    pub const fn is_amount_noted(&self) -> bool {
        self.amount_noted
    }

    /// When the verdict was last generated again, if ever.
    #[must_use]
    pub const fn regenerated_at(&self) -> Option<Timestamp> {
        self.regenerated_at
    }

    /// Until when the model is not asked: its breaker is open, or the next attempt is not due.
    #[must_use]
    pub const fn unavailable_until(&self) -> Option<Timestamp> {
        self.unavailable_until
    }

    /// How the sale has waited for the model, since its verdict was last ordered anew.
    #[must_use]
    pub const fn model_wait(&self) -> Option<&ModelWait> {
        self.model_wait.as_ref()
    }

    /// Whether an attempt at the verdict failed and the sale is tried again by itself.
    #[must_use]
    pub fn is_tried_again(&self) -> bool {
        let is_open = matches!(self.fulfilment, Fulfilment::Ordered { .. } | Fulfilment::Generating { .. });
        is_open && self.model_wait.as_ref().is_some_and(|wait| wait.failures > 0)
    }

    /// The colour of the first verdict.
    #[must_use]
    pub const fn colour(&self) -> Option<Colour> {
        self.colour
    }

    /// Whether the silent drop is on record.
    #[must_use]
    pub const fn is_drop_recorded(&self) -> bool {
        self.drop_recorded
    }

    /// Whether an operator's submission takes the place of what Stripe has (Silent Drop, re-attempt).
    #[must_use]
    pub const fn is_resubmitted(&self) -> bool {
        self.resubmitted
    }

    /// Since when the customer waits for the verdict.
    #[must_use]
    pub const fn waiting_since(&self) -> Timestamp {
        self.waiting_since
    }

    /// When anything changed last.
    #[must_use]
    pub const fn changed_at(&self) -> Timestamp {
        self.changed_at
    }

    /// When operators were last reminded of it.
    #[must_use]
    pub const fn reminded_at(&self) -> Option<Timestamp> {
        self.reminded_at
    }

    /// How often messages were sent again, or Stripe was asked again, because nothing had happened.
    #[must_use]
    pub const fn chased(&self) -> u32 {
        self.chased
    }

    /// How often the verdict was read, as far as that is recorded.
    #[must_use]
    pub const fn retrievals(&self) -> u32 {
        self.retrievals
    }

    /// The customer's replies to its mails, oldest first.
    #[must_use]
    pub fn replies(&self) -> &[Reply] {
        &self.replies
    }

    /// The end of the audit stream; `None` before the first record.
    #[must_use]
    pub const fn audit(&self) -> Option<&AuditHead> {
        self.audit.as_ref()
    }

    /// Audit records that may not have reached the log yet.
    #[must_use]
    pub fn outbox(&self) -> &[AuditEntry] {
        &self.outbox
    }

    /// Alerts that may not have reached operators yet.
    #[must_use]
    pub fn alerts(&self) -> &[Alert] {
        &self.alerts
    }
}

#[cfg(test)]
mod exploration;
#[cfg(test)]
mod tests;
