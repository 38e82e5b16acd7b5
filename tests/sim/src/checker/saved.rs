//! Checks each change of a saved sale.

mod authority;
mod mail;
mod money;

use super::{Checked, Checker, Customer, Seen, is_clean};
use crate::{
    answer::{Answer, PLACEHOLDER},
    rules::Rule,
};
use domain::{
    Sale, SessionId,
    mail::Letter,
    money::Money,
    retry::RetryTable,
    sale::{AuditEntry, Fulfilment},
};
use testkit::{MODEL_DELAY, world::State};

/// Parts of records that name the author of a change.
const OPERATOR: &str = "\"event\":\"operator\"";
const PAYMENT_CHANGE: &str = "\"event\":\"payment_change\"";

impl Checker {
    /// A sale was saved, or its saving was refused.
    pub(super) fn saved(&mut self, state: &State, customer: &Customer, session: &SessionId) -> Checked {
        let Some((new, _)) = state.sales.get(session) else { return Ok(()) };
        let (clocks_are_right, retries) = (self.clocks_are_right, &self.retries);
        let seen = self.seen.entry(session.clone()).or_default();
        let fresh = || Sale::ordered(session.clone(), new.received_at());
        let old = seen.sale.take().unwrap_or_else(fresh);
        if old == *new {
            seen.sale = Some(old);
            return Ok(());
        }
        let step = Step { state, customer, session, old: &old, new, clocks_are_right, retries };
        let added = step.records()?;
        if new.is_erased() {
            step.erased(added)?;
            seen.erased_since = seen.erased_since.or(Some(state.now));
            seen.sale = Some(new.clone());
            seen.gone_since = if *new.money() == Money::Kept { None } else { seen.gone_since.or(Some(state.now)) };
            seen.authorised |= matches!(new.money(), Money::RefundAuthorised { .. });
            return Ok(());
        }
        step.approved(seen, added)?;
        step.fulfilment(seen, added)?;
        for letter in Letter::ALL {
            step.mail(letter, seen, added)?;
        }
        step.money(added)?;
        seen.reminders += usize::from(step.reminds());
        seen.authorised |= matches!(new.money(), Money::RefundAuthorised { .. });
        seen.gone_since = if *new.money() == Money::Kept { None } else { seen.gone_since.or(Some(state.now)) };
        step.still_the_first(seen)?;
        seen.drops += added.iter().filter(|entry| entry.line.contains("\"event\":\"silent_drop\"")).count();
        Rule::Recorded.require(seen.drops <= 1, || "a drop is recorded twice".to_owned())?;
        seen.sale = Some(new.clone());
        Ok(())
    }
}

/// One change of a sale.
struct Step<'a> {
    state: &'a State,
    customer: &'a Customer,
    session: &'a SessionId,
    old: &'a Sale,
    new: &'a Sale,
    clocks_are_right: bool,
    retries: &'a RetryTable,
}

impl<'a> Step<'a> {
    /// The lines of the records that were saved with the change.
    fn records(&self) -> Result<&'a [AuditEntry], crate::rules::Violation> {
        let count = |sale: &Sale| sale.audit().map_or(0, |head| head.count);
        let (before, now) = (count(self.old), count(self.new));
        Rule::Recorded.require(now >= before, || format!("{before} records became {now}"))?;
        let added = usize::try_from(now - before).unwrap_or(usize::MAX);
        let outbox = self.new.outbox();
        Rule::Recorded.require(outbox.len() >= added, || "a record was not saved with its change".to_owned())?;
        for entry in self.old.outbox() {
            let kept = outbox.contains(entry) || self.state.log.get(&entry.key) == Some(&entry.line);
            Rule::Recorded.require(kept, || "a record was dropped before it was published".to_owned())?;
        }
        Ok(outbox.get(outbox.len() - added..).unwrap_or_default())
    }

    /// An erasure is an operator's recorded decision. After it only the money changes, and its end is recorded.
    fn erased(&self, added: &[AuditEntry]) -> Checked {
        if !self.old.is_erased() {
            Rule::States.require(self.customer.operated, || "erased without an operator's decision".to_owned())?;
            let has_nothing = !matches!(self.old.fulfilment(), Fulfilment::Ready { .. }) && !self.old.is_served();
            let is_paid = self.old.not_paid().is_none() && !self.old.is_given();
            let is_owed = matches!(self.new.fulfilment(), Fulfilment::Erased { owed: true, .. });
            Rule::Money.require(is_owed == (has_nothing && is_paid), || {
                format!("erased, and forgotten whether it was delivered: {is_owed}")
            })?;
            return Self::recorded(added, "\"action\":\"erase\"");
        }
        self.money(added)?;
        let removed = |sale: &Sale| matches!(sale.fulfilment(), Fulfilment::Erased { removed_at: Some(_), .. });
        Rule::Forgotten.require(removed(self.new) || !removed(self.old), || "removed, and then not".to_owned())?;
        let followup = self.state.sales.get(&self.session.followup());
        let is_left = removed(self.new) && followup.is_some_and(|(followup, _)| !followup.is_erased());
        Rule::Forgotten.require(!is_left, || "removed, and its follow-up is not to be erased".to_owned())?;
        if removed(self.new) == removed(self.old) { Ok(()) } else { Self::recorded(added, "\"event\":\"erasure\"") }
    }

    fn fulfilment(&self, seen: &mut Seen, added: &[AuditEntry]) -> Checked {
        let (old, new) = (self.old.fulfilment(), self.new.fulfilment());
        if let Fulfilment::Ready { archived, .. } = new {
            let kept = !archived || self.state.archive.contains_key(self.session) || self.customer.mishap.is_some();
            Rule::FirstVerdict.require(kept, || "said to be archived, and is not".to_owned())?;
        }
        if std::mem::discriminant(old) == std::mem::discriminant(new) {
            return self.same(old, new);
        }
        let is_new = *self.old.fulfilment() == Fulfilment::Ordered { at: self.new.received_at() };
        match (old, new) {
            (Fulfilment::Ordered { .. }, Fulfilment::Generating { .. })
            | (Fulfilment::Generating { .. }, Fulfilment::Ordered { .. }) => Ok(()),
            (Fulfilment::Generating { .. }, Fulfilment::Ready { .. }) => self.ready(seen, added),
            (Fulfilment::Ready { .. }, Fulfilment::Ordered { .. }) => {
                let moved = self.new.regenerated_at() != self.old.regenerated_at();
                let lost = !self.state.archive.contains_key(self.session);
                Rule::FirstVerdict.require(moved && lost, || "generated again though it can be read".to_owned())
            }
            (Fulfilment::Generating { .. } | Fulfilment::Ready { .. }, Fulfilment::InReview { .. }) => {
                let held = self.state.quarantine.iter().any(|(session, _)| session == self.session);
                Rule::Reviewable.require(held, || "held, and there is nothing to review".to_owned())?;
                Self::recorded(added, "\"outcome\":\"QUARANTINE\"")
            }
            (Fulfilment::Generating { .. } | Fulfilment::Ordered { .. }, Fulfilment::Failed { .. }) => {
                self.declined()?;
                let refused = self.customer.answer == Answer::Rejected || seen.model_refused;
                if self.new.not_paid().is_some() {
                    let paid = self.customer.paid_at.is_some() && self.customer.mishap.is_none();
                    return Rule::Needless.require(!paid, || "a paid sale is said not to be paid".to_owned());
                }
                let cause = self.new.declined().is_some() || refused || self.table_is_over() || !self.clocks_are_right;
                let cause = cause || self.has_lost_its_first_verdict();
                Rule::Needless.require(cause, || "failed before the end of the retry table".to_owned())?;
                Self::recorded(added, "\"status\":\"ERROR\"")
            }
            (Fulfilment::Generating { .. } | Fulfilment::Ordered { .. }, Fulfilment::Unusable { .. }) => {
                Rule::States.require(self.customer.unusable, || "a usable session is called unusable".to_owned())?;
                Self::recorded(added, "\"status\":\"ERROR\"")
            }
            (Fulfilment::InReview { .. }, Fulfilment::Ready { .. }) => {
                let clean = self.state.cache.get(self.session);
                let clean = clean.is_some_and(|cached| cached.verdict.texts().into_iter().all(is_clean));
                Rule::NothingBlocked.require(clean, || "an operator let a blocked term through".to_owned())?;
                if seen.first.is_none() {
                    seen.first = self.state.cache.get(self.session).cloned();
                }
                Self::recorded(added, OPERATOR)
            }
            // The session was paid after it had been reported as unpaid.
            (
                Fulfilment::Failed { .. },
                Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } | Fulfilment::Unusable { .. },
            ) if self.old.not_paid().is_some() => Ok(()),
            (Fulfilment::InReview { .. }, Fulfilment::Unusable { .. })
            | (Fulfilment::Failed { .. } | Fulfilment::Unusable { .. }, Fulfilment::Ordered { .. }) => {
                Self::recorded(added, OPERATOR)
            }
            // The mail that asks for the question, held by gate 2.
            (Fulfilment::Unusable { .. }, Fulfilment::InReview { .. }) => {
                Self::recorded(added, "\"outcome\":\"QUARANTINE\"")
            }
            _ => Err(Rule::States.broken(format!("{} (new: {is_new}) became {}", word(old), word(new)))),
        }
    }

    /// Whether this is a follow-up whose first verdict neither the cache nor the archive has.
    fn has_lost_its_first_verdict(&self) -> bool {
        let paid = self.session.paid_session();
        let is_kept = self.state.cache.contains_key(&paid) || self.state.archive.contains_key(&paid);
        self.new.is_followup() && (!is_kept || self.customer.mishap.is_some())
    }

    /// Whether the sale has used up the attempts of the retry table, or its time, also for a throttled model's delay.
    fn table_is_over(&self) -> bool {
        let (table, waits_until) = (self.retries, self.new.changed_at().plus(MODEL_DELAY));
        self.old.model_wait().is_some_and(|wait| {
            table.wait_after(wait.failures + 1, 0.0).is_none() || table.end(wait.since) <= waits_until
        })
    }

    /// Whether operators count as reminded with this change.
    fn reminds(&self) -> bool {
        self.new.reminded_at() > self.old.reminded_at() && *self.new.money() == Money::Kept
    }

    /// A change within one state.
    fn same(&self, old: &Fulfilment, new: &Fulfilment) -> Checked {
        match (old, new) {
            (Fulfilment::Generating { owner: before, lease_until }, Fulfilment::Generating { owner: now, .. }) => {
                let alive = before != now && lease_until.as_millis() > self.state.now;
                Rule::Claims
                    .require(!alive || !self.clocks_are_right, || "a living worker's claim was taken".to_owned())
            }
            (Fulfilment::Ready { archived: true, .. }, Fulfilment::Ready { archived: false, .. })
                if self.customer.mishap.is_none() =>
            {
                Err(Rule::States.broken("archived, and then not"))
            }
            _ => Ok(()),
        }
    }

    fn ready(&self, seen: &mut Seen, added: &[AuditEntry]) -> Checked {
        Rule::PaidOnly.require(self.customer.paid_at.is_some(), || "a verdict for an unpaid session".to_owned())?;
        let Some(cached) = self.state.cache.get(self.session) else {
            return Err(Rule::CacheBeforeMail.broken("ready, and nothing is cached"));
        };
        let own = cached.query == self.customer.question && cached.tier == self.customer.tier;
        Rule::CacheBeforeMail.require(own, || "another sale's verdict is cached".to_owned())?;
        let follows = cached.first.is_some() == self.customer.follow_up.is_some();
        Rule::FollowUp.require(follows, || "a follow-up is cached without its first verdict".to_owned())?;
        let clean = cached.verdict.texts().into_iter().all(is_clean);
        Rule::NothingBlocked.require(clean, || "a blocked term is cached".to_owned())?;
        let rejected = matches!(self.customer.answer, Answer::Rejected | Answer::Prose | Answer::Down);
        Rule::NothingBlocked.require(!rejected, || "what the crosscheck rejects is cached".to_owned())?;
        let hollow = cached.verdict.texts().into_iter().any(|text| text.contains(PLACEHOLDER));
        Rule::NothingHollow.require(!hollow, || "a hollow verdict is cached".to_owned())?;
        if let Some(first) = &seen.first {
            let is_marked = cached.regen && self.new.regenerated_at().is_some();
            Rule::FirstVerdict.require(is_marked || cached == first, || "the first verdict was replaced".to_owned())?;
            return Self::recorded(added, "\"status\":\"REGENERATED\"");
        }
        seen.first = Some(cached.clone());
        Self::recorded(added, "\"outcome\":")?;
        Self::recorded(added, "\"event\":\"tmm_crosscheck\"")?;
        Self::recorded(added, "\"status\":\"OK\"")
    }

    /// The cached verdict is the first one, unless that was lost.
    fn still_the_first(&self, seen: &Seen) -> Checked {
        let (Some(first), Some(cached)) = (&seen.first, self.state.cache.get(self.session)) else { return Ok(()) };
        let same = cached == first || cached.regen || self.customer.mishap.is_some() || self.customer.operated;
        Rule::FirstVerdict.require(same, || "the first verdict was replaced".to_owned())
    }

    fn recorded(added: &[AuditEntry], what: &str) -> Checked {
        let found = added.iter().any(|entry| entry.line.contains(what));
        Rule::Recorded.require(found, || format!("a change without its record ({what})"))
    }
}

const fn word(fulfilment: &Fulfilment) -> &'static str {
    match fulfilment {
        Fulfilment::Ordered { .. } => "ordered",
        Fulfilment::Generating { .. } => "generating",
        Fulfilment::Ready { .. } => "ready",
        Fulfilment::InReview { .. } => "in review",
        Fulfilment::Failed { .. } => "failed",
        Fulfilment::Unusable { .. } => "unusable",
        Fulfilment::Erased { .. } => "erased",
    }
}
