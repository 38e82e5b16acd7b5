//! The transitions of the verdict: claimed, made, held, failed, unusable, regenerated.
//! The file has more than 300 lines because each transition is a short method, and many of them share the private
//! checks of the claim.

use super::{Claim, Event, Fulfilment, HeldAt, Part, REGENERATE_AFTER, REORDER_AFTER, Refused, Sale};
use crate::{
    Colour, Tier, Timestamp, Unusable,
    mail::{Letter, Mail},
    retry::{FailedAttempt, ModelWait, RetryTable, Unavailable},
    sale::event::Charge,
    verdict::{Comparison, Divergence},
};
use std::time::Duration;

/// For whom a worker claims a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimant {
    /// A customer.
    Customer,
    /// The smoke test. Its sale belongs to it from the beginning; no other sale becomes the smoke test's.
    SmokeTest {
        /// When its order reached us.
        received_at: Timestamp,
    },
}

/// The facts about a purchase that may be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purchase {
    /// Whether the smoke test bought it.
    pub smoke: bool,
    /// The tier.
    pub tier: Tier,
    /// The truncated SHA-256 of the question.
    pub query_hash: String,
    /// The keyed hash of the address, if there is one.
    pub email_tag: Option<String>,
    /// Where the customer is, as a language tag.
    pub locale: Option<String>,
}

/// The worker that holds a text back.
#[derive(Clone, Copy, Debug)]
pub enum HeldBy<'a> {
    /// The worker that made a verdict.
    Maker {
        /// The queue message of that worker.
        owner: &'a str,
        /// The purchase.
        purchase: &'a Purchase,
    },
    /// The worker that made a verdict that the authority gate refuses.
    AuthorityGate {
        /// The queue message of that worker.
        owner: &'a str,
        /// The purchase.
        purchase: &'a Purchase,
    },
    /// The result page.
    Page,
    /// The worker that delivers a mail.
    Mailer {
        /// The queue message of that worker.
        owner: &'a str,
        /// The mail.
        letter: Letter,
    },
}

/// The worker or page that finds a paid session unusable.
#[derive(Clone, Copy, Debug)]
pub enum FoundBy<'a> {
    /// The worker that claimed the verdict.
    Maker {
        /// The queue message of that worker.
        owner: &'a str,
    },
    /// The result page.
    Page,
}

impl Sale {
    /// Claims the verdict until `now + lease`.
    pub fn claim(&mut self, owner: &str, claimant: Claimant, now: Timestamp, lease: Duration) -> Claim {
        let smoke = match claimant {
            Claimant::SmokeTest { received_at } => {
                let fresh = *self == Self::ordered(self.session_id.clone(), received_at);
                if !self.smoke && !fresh {
                    return Claim::Foreign;
                }
                true
            }
            Claimant::Customer => self.smoke,
        };
        if !self.is_money_kept() {
            return Claim::Done;
        }
        // A customer's order for the smoke test's failed sale: Stripe is asked later whether it is paid.
        let reopened = claimant == Claimant::Customer && self.smoke;
        match &self.fulfilment {
            Fulfilment::Generating { lease_until, .. } if *lease_until > now => return Claim::Busy(*lease_until),
            Fulfilment::Ordered { .. } if self.waits_for_model(now).is_some() => {
                return Claim::NotYet(self.waits_for_model(now).unwrap_or(now));
            }
            Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } => {}
            // An order comes after this state only with a payment, or with a human's decision.
            Fulfilment::Failed { .. } if reopened || self.not_paid.is_some() => {}
            Fulfilment::Ready { .. }
            | Fulfilment::InReview { .. }
            | Fulfilment::Failed { .. }
            | Fulfilment::Unusable { .. }
            | Fulfilment::Erased { .. } => return Claim::Done,
        }
        self.smoke = smoke;
        self.not_paid = None;
        self.unavailable_until = None;
        self.fulfilment = Fulfilment::Generating { owner: owner.to_owned(), lease_until: now.plus(lease) };
        Claim::Granted
    }

    /// Whether `by` holds the claim on the verdict.
    #[must_use]
    pub fn generates(&self, by: &str) -> bool {
        matches!(&self.fulfilment, Fulfilment::Generating { owner, .. } if owner == by)
    }

    fn require_claim(&self, owner: &str, to: &'static str) -> Result<(), Refused> {
        if self.generates(owner) { Ok(()) } else { Err(self.refuse(to)) }
    }

    /// Releases a claim at once, so that the next delivery of the order need not wait for the lease to expire.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn release_claim(&mut self, owner: &str, now: Timestamp) -> Result<(), Refused> {
        let to = self.refuse("released");
        match &mut self.fulfilment {
            Fulfilment::Generating { owner: holder, lease_until } if holder == owner => {
                *lease_until = now;
                Ok(())
            }
            _ => Err(to),
        }
    }

    /// The time until which the sale waits for the model, if it does.
    #[must_use]
    pub fn waits_for_model(&self, now: Timestamp) -> Option<Timestamp> {
        self.unavailable_until.filter(|until| *until > now)
    }

    /// Makes the sale wait until the model may be called. This is not a failure of the sale, but it waits no longer
    /// than the table allows: a vendor's delay that ends later ends the sale at once, because it may not be shortened.
    /// `owner` is the worker that holds the claim; without one, the sale must be unclaimed.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost, or another worker holds it.
    pub fn model_unavailable(
        &mut self,
        owner: Option<&str>,
        unavailable: Unavailable,
        table: &RetryTable,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        match owner {
            Some(owner) => self.require_claim(owner, "ordered")?,
            None if self.is_unclaimed(now) => {}
            None => return Err(self.refuse("ordered")),
        }
        let wait = self.model_wait.get_or_insert(ModelWait { since: now, failures: 0 });
        let end = table.end(wait.since);
        if end <= now || matches!(unavailable, Unavailable::Delayed(until) if until > end) {
            return Ok(self.give_up("the model could not be asked in time".to_owned(), now));
        }
        self.fulfilment = Fulfilment::Ordered { at: now };
        self.unavailable_until = Some(unavailable.until());
        Ok(Event::ModelUnavailable)
    }

    fn is_unclaimed(&self, now: Timestamp) -> bool {
        let is_free = match &self.fulfilment {
            Fulfilment::Ordered { .. } => true,
            Fulfilment::Generating { lease_until, .. } => *lease_until <= now,
            _ => false,
        };
        is_free && self.is_money_kept()
    }

    /// Ends a claim whose attempt at the verdict failed: the next attempt is due by the table, at the latest when its
    /// time ends, or earlier when an open circuit lets a call through, but not before the end of a vendor's delay. The
    /// sale has failed after the last attempt, or when the delay ends after the table's time. `fraction`, a random
    /// number from 0 to 1, is for the jitter.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn model_failed(
        &mut self,
        owner: &str,
        purchase: &Purchase,
        FailedAttempt { reason, open_until, not_before }: FailedAttempt<'_>,
        table: &RetryTable,
        fraction: f64,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        self.require_claim(owner, "ordered")?;
        self.record_purchase(purchase);
        let wait = self.model_wait.get_or_insert(ModelWait { since: now, failures: 0 });
        wait.failures = wait.failures.saturating_add(1);
        let (failures, end) = (wait.failures, table.end(wait.since));
        let is_over = end <= now || not_before.is_some_and(|until| until > end);
        let Some(wait) = table.wait_after(failures, fraction).filter(|_| !is_over) else {
            return Ok(self.give_up(reason.to_owned(), now));
        };
        let due = now.plus(wait).min(end);
        let due = open_until.map_or(due, |until| due.min(until));
        let due = not_before.map_or(due, |end| due.max(end));
        self.fulfilment = Fulfilment::Ordered { at: now };
        self.unavailable_until = Some(due);
        Ok(Event::ModelFailed { reason: reason.to_owned(), failures, due })
    }

    fn give_up(&mut self, reason: String, now: Timestamp) -> Event {
        self.stop_waiting();
        self.fulfilment = Fulfilment::Failed { reason: reason.clone(), at: now };
        Event::Failed { reason }
    }

    /// Ends the sale's wait for the model.
    pub(super) fn stop_waiting(&mut self) {
        self.unavailable_until = None;
        self.model_wait = None;
    }

    /// Ends a claim with a verdict, which is cached in the same write.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn ready(
        &mut self,
        owner: &str,
        purchase: &Purchase,
        colour: Colour,
        verdict_hash: &str,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        self.require_claim(owner, "ready")?;
        self.record_purchase(purchase);
        self.stop_waiting();
        self.chased = 0;
        // The smoke test's data is removed after it, so none of it goes to the archive.
        self.fulfilment = Fulfilment::Ready { at: now, archived: self.smoke };
        let regenerated = self.record_verdict(colour, verdict_hash, now);
        Ok(Event::VerdictReady { colour, regenerated })
    }

    fn record_purchase(&mut self, purchase: &Purchase) {
        self.smoke = purchase.smoke;
        self.tier = Some(purchase.tier);
        self.query_hash = Some(purchase.query_hash.clone());
        self.email_tag.clone_from(&purchase.email_tag);
        self.locale.clone_from(&purchase.locale);
    }

    /// Records a verdict. A regenerated one is compared with the first. If the first was mailed, it stays the one that
    /// later ones are compared with (Regen Consistency, invariant 4).
    pub(super) fn record_verdict(&mut self, colour: Colour, verdict_hash: &str, now: Timestamp) -> Option<Comparison> {
        self.verdict_hash = Some(verdict_hash.to_owned());
        let comparison = self.comparison(colour, now);
        if comparison.is_some_and(|compared| compared.is_mailed) {
            self.page_colour = Some(colour).filter(|_| self.colour != Some(colour));
            self.order_divergence();
        } else {
            self.colour = Some(colour);
            self.page_colour = None;
        }
        comparison
    }

    /// The comparison of a verdict of this colour with the first one; `None` when it is the first.
    #[must_use]
    pub fn comparison(&self, second: Colour, now: Timestamp) -> Option<Comparison> {
        let is_mailed = self.sent_again
            || matches!(self.mail, Mail::Sent { .. } | Mail::Unknown { .. })
            || self.may_have_draft(now);
        self.regenerated_at.map(|_| Comparison { first: self.colour, second, is_mailed })
    }

    /// Orders the note, once, to a customer who has another verdict by mail than the page shows, if the two differ
    /// significantly (Regen Consistency, invariant 5).
    pub(super) fn order_divergence(&mut self) {
        let (Some(first), Some(second)) = (self.colour, self.page_colour) else { return };
        let differs = Divergence::between(first, second) == Divergence::Significant;
        if differs && matches!(self.mail, Mail::Sent { .. }) && self.divergence == Mail::NotOrdered {
            self.divergence = Mail::Ordered;
        }
    }

    /// Ends a claim without a verdict. `purchase` is the purchase by Stripe's data, if it is known.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn fail(
        &mut self,
        owner: &str,
        purchase: Option<&Purchase>,
        reason: &str,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        self.require_claim(owner, "failed")?;
        if let Some(purchase) = purchase {
            self.record_purchase(purchase);
        }
        Ok(self.give_up(reason.to_owned(), now))
    }

    /// Holds a text that the content filter stopped; a human decides. `now` is the time of its payload in the
    /// quarantine, so that operators can look the payload up.
    ///
    /// # Errors
    /// [`Refused`] when the worker has no claim, or the page's verdict is no longer ready.
    pub fn hold(&mut self, held_by: HeldBy<'_>, now: Timestamp) -> Result<Event, Refused> {
        let at = match held_by {
            HeldBy::Maker { owner, purchase } | HeldBy::AuthorityGate { owner, purchase } => {
                self.require_claim(owner, "in review")?;
                self.record_purchase(purchase);
                if matches!(held_by, HeldBy::Maker { .. }) { HeldAt::BeforeCache } else { HeldAt::AuthorityGate }
            }
            HeldBy::Page => {
                self.require_ready("in review")?;
                HeldAt::Page
            }
            HeldBy::Mailer { owner, letter } => {
                if letter == Letter::Refund {
                    // This mail contains only our own text, and no verdict depends on it.
                    return Err(self.refuse_mail(letter, "held"));
                }
                self.require_delivery(letter, owner, "held")?;
                *self.letter_mut(letter) = Mail::Held;
                HeldAt::Mail(letter)
            }
        };
        self.fulfilment = Fulfilment::InReview { gate: at.gate(), at: now };
        Ok(Event::Held(at))
    }

    pub(super) fn require_ready(&self, to: &'static str) -> Result<(), Refused> {
        if matches!(self.fulfilment, Fulfilment::Ready { .. }) { Ok(()) } else { Err(self.refuse(to)) }
    }

    /// Ends a sale whose paid session has no usable tier or question: its customer is asked (Silent Drop). The tier and
    /// the keyed hash of the address are noted where the session has them.
    ///
    /// # Errors
    /// [`Refused`] when the worker has no claim, or the page must not order.
    pub fn unusable(
        &mut self,
        found_by: FoundBy<'_>,
        tier: Option<Tier>,
        email_tag: Option<&str>,
        reason: &str,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        match found_by {
            FoundBy::Maker { owner } => self.require_claim(owner, "unusable")?,
            FoundBy::Page => self.require_orderable(now, "unusable")?,
        }
        self.not_paid = None;
        self.remember_dropped_session(tier, email_tag);
        self.fulfilment = Fulfilment::Unusable { at: now };
        Ok(Event::Unusable { reason: reason.to_owned() })
    }

    /// Records what the session of a silent drop shows, so that its records carry it (Audit Trail, invariant 8).
    fn remember_dropped_session(&mut self, tier: Option<Tier>, email_tag: Option<&str>) {
        self.tier = tier.or(self.tier);
        self.email_tag = email_tag.map(str::to_owned).or_else(|| self.email_tag.take());
    }

    /// What operators do about an unusable sale whose customer is not asked: they have a verdict, or an operator handed in
    /// their reply.
    pub const UNANNOUNCED: &'static str =
        "it cannot be answered, and the customer is not asked: try again or refund it";

    /// Whether a silent drop still has to be announced: its customer was not asked, and has no verdict.
    #[must_use]
    pub fn is_drop_open(&self) -> bool {
        let unanswered = matches!(self.fulfilment, Fulfilment::Ordered { .. } | Fulfilment::Unusable { .. });
        let untouched = self.notice == Mail::NotOrdered && self.mail == Mail::NotOrdered && self.is_money_kept();
        // An operator who submitted the customer's reply has ended the drop.
        unanswered && untouched && !self.resubmitted
    }

    /// Records the alert to a silent drop that only Stripe's signed event shows, because Stripe does not answer.
    ///
    /// # Errors
    /// [`Refused`] when the drop is not open, or operators were alerted already.
    pub fn drop_alerted(&mut self) -> Result<(), Refused> {
        if !self.is_drop_open() || self.drop_recorded || self.drop_alerted {
            return Err(self.refuse_drop("alerted"));
        }
        self.drop_alerted = true;
        Ok(())
    }

    /// Records a silent drop, with the amount charged (Silent Drop, invariant 7).
    ///
    /// # Errors
    /// [`Refused`] when the drop is not open, or recorded already.
    pub fn record_drop(
        &mut self,
        unusable: Unusable,
        tier: Option<Tier>,
        email_tag: Option<&str>,
        charge: Charge,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        if !self.is_drop_open() || self.drop_recorded {
            return Err(self.refuse_drop("recorded"));
        }
        let found_now = !matches!(self.fulfilment, Fulfilment::Unusable { .. });
        if found_now {
            self.fulfilment = Fulfilment::Unusable { at: now };
        }
        self.remember_dropped_session(tier, email_tag);
        self.drop_recorded = true;
        Ok(Event::DropRecorded { found_now, reason: unusable.to_string(), charge })
    }

    /// Records that the mail that asks for the submission is in its queue.
    ///
    /// # Errors
    /// [`Refused`] when the drop is not recorded, or not open any more.
    pub fn notice_ordered(&mut self) -> Result<(), Refused> {
        if !self.drop_recorded || !self.is_drop_open() {
            return Err(self.refuse_mail(Letter::SilentDrop, "ordered"));
        }
        self.notice = Mail::Ordered;
        Ok(())
    }

    /// Whether the result page should order the verdict (again): no worker handles it and the last order is old.
    #[must_use]
    pub fn needs_order(&self, now: Timestamp) -> bool {
        if !self.is_money_kept() {
            return false;
        }
        match &self.fulfilment {
            Fulfilment::Ordered { at } => at.plus(REORDER_AFTER) <= now && self.waits_for_model(now).is_none(),
            Fulfilment::Generating { lease_until, .. } => *lease_until <= now,
            Fulfilment::Failed { .. } if self.not_paid.is_some() => true,
            Fulfilment::Ready { .. }
            | Fulfilment::InReview { .. }
            | Fulfilment::Failed { .. }
            | Fulfilment::Unusable { .. }
            | Fulfilment::Erased { .. } => false,
        }
    }

    /// Allows the result page to order a sale that it created at this moment, or one that needs an order. The time shows
    /// which it is: if another process created the sale meanwhile, the page's change is decided again on that sale.
    fn require_orderable(&self, now: Timestamp, to: &'static str) -> Result<(), Refused> {
        let is_new = matches!(self.fulfilment, Fulfilment::Ordered { at } if at == now);
        if is_new || self.needs_order(now) { Ok(()) } else { Err(self.refuse(to)) }
    }

    /// Orders the verdict again from the result page. The page waits [`REORDER_AFTER`] before the next order, even if a
    /// worker's lease expired.
    ///
    /// # Errors
    /// [`Refused`] when no order is needed.
    pub fn order_again(&mut self, now: Timestamp) -> Result<Event, Refused> {
        self.require_orderable(now, "ordered")?;
        self.not_paid = None;
        self.fulfilment = Fulfilment::Ordered { at: now };
        Ok(Event::Ordered)
    }

    /// Reopens a sale whose verdict is in neither cache nor archive, so that it is regenerated (Regen Consistency,
    /// invariant 6).
    ///
    /// # Errors
    /// [`Refused`] when the sale is not ready, and within [`REGENERATE_AFTER`] of the last time.
    pub fn reopen(&mut self, now: Timestamp) -> Result<(), Refused> {
        self.require_ready("ordered")?;
        if self.regenerated_at.is_some_and(|last| last.plus(REGENERATE_AFTER) > now) {
            return Err(Refused { part: Part::Regeneration, from: "less than five minutes old", to: "ordered" });
        }
        self.regenerated_at = Some(now);
        self.waiting_since = now;
        self.stop_waiting();
        self.fulfilment = Fulfilment::Ordered { at: now };
        // A mail without a draft was never sent: its next attempt shows the verdict that is made now.
        if let Some(progress) = self.mail.progress_mut().filter(|progress| progress.draft.is_none()) {
            progress.body_hash = None;
        }
        Ok(())
    }

    /// Restores the archived verdict to the cache, in the same write.
    ///
    /// # Errors
    /// [`Refused`] when the sale is no longer ready.
    pub fn restore(&self) -> Result<Event, Refused> {
        self.require_ready("restored").map(|()| Event::Restored)
    }

    /// Records that the order of the verdict's mail is in its queue, and whether the archive has the verdict that was
    /// ready at `made_at`.
    ///
    /// # Errors
    /// [`Refused`] when that verdict is no longer ready: the page reopens a sale whose cache entry is lost before the
    /// archive has it.
    pub fn dispatched(&mut self, made_at: Timestamp, is_archived: bool) -> Result<(), Refused> {
        let refused = self.refuse("dispatched");
        match &mut self.fulfilment {
            Fulfilment::Ready { at, archived } if *at == made_at => *archived = *archived || is_archived,
            _ => return Err(refused),
        }
        if self.mail == Mail::NotOrdered {
            self.mail = Mail::Ordered;
        }
        Ok(())
    }
}
