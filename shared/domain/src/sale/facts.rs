//! What is known about a sale.

use super::{AuditEntry, AuditHead, Fulfilment, Mail, Sale};
use crate::{
    Alert, Colour, SessionId, Tier, Timestamp,
    inbox::Reply,
    money::{Money, PaymentHistory},
    retry::ModelWait,
};

impl Sale {
    /// The Stripe session.
    #[must_use]
    pub const fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// Whether it is a smoke test's.
    #[must_use]
    pub const fn smoke(&self) -> bool {
        self.smoke
    }

    /// The tier, once Stripe has been asked.
    #[must_use]
    pub const fn tier(&self) -> Option<Tier> {
        self.tier
    }

    /// The truncated SHA-256 of the question.
    #[must_use]
    pub fn query_hash(&self) -> Option<&str> {
        self.query_hash.as_deref()
    }

    /// The truncated SHA-256 of the verdict.
    #[must_use]
    pub fn verdict_hash(&self) -> Option<&str> {
        self.verdict_hash.as_deref()
    }

    /// The keyed hash of the address.
    #[must_use]
    pub fn email_tag(&self) -> Option<&str> {
        self.email_tag.as_deref()
    }

    /// Where the customer is, as a language tag.
    #[must_use]
    pub fn locale(&self) -> Option<&str> {
        self.locale.as_deref()
    }

    /// When the triggering event reached us.
    #[must_use]
    pub const fn received_at(&self) -> Timestamp {
        self.received_at
    }

    /// The state of the verdict.
    #[must_use]
    pub const fn fulfilment(&self) -> &Fulfilment {
        &self.fulfilment
    }

    /// Whether the verdict is ready, and the archive does not have it or its mail is not ordered yet.
    #[must_use]
    pub fn is_undispatched(&self) -> bool {
        matches!(self.fulfilment, Fulfilment::Ready { archived, .. } if !archived || self.mail == Mail::NotOrdered)
    }

    /// Whether the customer has a verdict, although a later one, or its mail that was sent again, may be held or have failed. A
    /// customer of a follow-up has the first verdict, so only a human refunds the money of both (infra/decisions/followup.md).
    #[must_use]
    pub fn is_served(&self) -> bool {
        matches!(self.mail, Mail::Sent { .. }) || self.sent_again || self.is_followup()
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

    /// The state of the money.
    #[must_use]
    pub const fn money(&self) -> &Money {
        &self.money
    }

    /// Stripe's reports about the payment.
    #[must_use]
    pub const fn payment(&self) -> &PaymentHistory {
        &self.payment
    }

    /// Whether the log has a record that another amount than the tier's price was paid.
    #[must_use]
    pub const fn is_amount_noted(&self) -> bool {
        self.amount_noted
    }

    /// When the verdict was last regenerated, if ever.
    #[must_use]
    pub const fn regenerated_at(&self) -> Option<Timestamp> {
        self.regenerated_at
    }

    /// The time before which the model is not called: its breaker is open, or the next attempt is not due.
    #[must_use]
    pub const fn unavailable_until(&self) -> Option<Timestamp> {
        self.unavailable_until
    }

    /// The wait for the model since the verdict was last ordered, or a dispute was won.
    #[must_use]
    pub const fn model_wait(&self) -> Option<&ModelWait> {
        self.model_wait.as_ref()
    }

    /// Whether an attempt at the verdict failed and will be retried automatically.
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

    /// Whether the silent drop is recorded.
    #[must_use]
    pub const fn is_drop_recorded(&self) -> bool {
        self.drop_recorded
    }

    /// Whether an operator's submission replaces Stripe's data (Silent Drop, re-attempt).
    #[must_use]
    pub const fn is_resubmitted(&self) -> bool {
        self.resubmitted
    }

    /// The time since which the customer waits for the verdict.
    #[must_use]
    pub const fn waiting_since(&self) -> Timestamp {
        self.waiting_since
    }

    /// When the sale last changed.
    #[must_use]
    pub const fn changed_at(&self) -> Timestamp {
        self.changed_at
    }

    /// When operators were last reminded of it.
    #[must_use]
    pub const fn reminded_at(&self) -> Option<Timestamp> {
        self.reminded_at
    }

    /// The number of times that messages were sent again, or Stripe was asked again, because the sale made no progress.
    #[must_use]
    pub const fn chased(&self) -> u32 {
        self.chased
    }

    /// The number of recorded retrievals of the verdict.
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
        self.trail.head()
    }

    /// Audit records that may not have reached the log yet.
    #[must_use]
    pub fn outbox(&self) -> &[AuditEntry] {
        self.trail.outbox()
    }

    /// Alerts that may not have reached operators yet.
    #[must_use]
    pub fn alerts(&self) -> &[Alert] {
        self.trail.alerts()
    }
}
