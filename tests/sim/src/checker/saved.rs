//! What a saved sale may have become, and what must be there when it has.

use super::{Checked, Checker, Customer, Seen, is_clean};
use crate::{cast::Answer, rules::Rule};
use domain::{
    Sale, SessionId,
    sale::{Fulfilment, Mail},
};
use testkit::world::State;

impl Checker {
    /// A sale was saved, or its saving was refused.
    pub(super) fn saved(&mut self, state: &State, customer: &Customer, session: &SessionId) -> Checked {
        let Some((new, _)) = state.sales.get(session) else { return Ok(()) };
        let clocks_are_right = self.clocks_are_right;
        let seen = self.seen.entry(session.clone()).or_default();
        let fresh = || Sale::ordered(session.clone(), new.received_at);
        let old = seen.sale.clone().unwrap_or_else(fresh);
        if old == *new {
            return Ok(());
        }
        let step = Step { state, customer, session, old: &old, new, clocks_are_right };
        let added = step.records()?;
        step.fulfilment(seen, added)?;
        step.mail(seen, added)?;
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
}

impl<'a> Step<'a> {
    /// The lines of the records that were saved with the change.
    fn records(&self) -> Result<&'a [domain::sale::AuditEntry], crate::rules::Violation> {
        let count = |sale: &Sale| sale.audit.as_ref().map_or(0, |head| head.count);
        let (before, now) = (count(self.old), count(self.new));
        Rule::Recorded.require(now >= before, || format!("{before} records became {now}"))?;
        let added = usize::try_from(now - before).unwrap_or(usize::MAX);
        let outbox = &self.new.outbox;
        Rule::Recorded.require(outbox.len() >= added, || "a record was not saved with its change".to_owned())?;
        for entry in &self.old.outbox {
            let kept = outbox.contains(entry) || self.state.log.get(&entry.key) == Some(&entry.line);
            Rule::Recorded.require(kept, || "a record was dropped before it was published".to_owned())?;
        }
        Ok(outbox.get(outbox.len() - added..).unwrap_or_default())
    }

    fn fulfilment(&self, seen: &mut Seen, added: &[domain::sale::AuditEntry]) -> Checked {
        let (old, new) = (&self.old.fulfilment, &self.new.fulfilment);
        if let Fulfilment::Ready { archived, .. } = new {
            let kept = !archived || self.state.archive.contains_key(self.session) || self.customer.mishap.is_some();
            Rule::FirstVerdict.require(kept, || "said to be archived, and is not".to_owned())?;
        }
        if std::mem::discriminant(old) == std::mem::discriminant(new) {
            return self.same(old, new);
        }
        let is_new = self.old.fulfilment == Fulfilment::Ordered { at: self.new.received_at };
        match (old, new) {
            (Fulfilment::Ordered { .. }, Fulfilment::Generating { .. })
            | (Fulfilment::Generating { .. }, Fulfilment::Ordered { .. }) => Ok(()),
            (Fulfilment::Generating { .. }, Fulfilment::Ready { .. }) => self.ready(seen, added),
            (Fulfilment::Ready { .. }, Fulfilment::Ordered { .. }) => {
                let moved = self.new.regenerated_at != self.old.regenerated_at;
                let lost = !self.state.archive.contains_key(self.session);
                Rule::FirstVerdict.require(moved && lost, || "generated again though it can be read".to_owned())
            }
            (Fulfilment::Generating { .. } | Fulfilment::Ready { .. }, Fulfilment::InReview { .. }) => {
                let held = self.state.quarantine.iter().any(|(session, _)| session == self.session);
                Rule::Reviewable.require(held, || "held, and there is nothing to review".to_owned())?;
                Self::recorded(added, "\"outcome\":\"QUARANTINE\"")
            }
            (Fulfilment::Generating { .. }, Fulfilment::Failed { .. }) => {
                let answers =
                    matches!(self.customer.answer, Answer::Good | Answer::Replaced | Answer::Held | Answer::ProseOnce);
                let cause = !answers || seen.model_refused || seen.model_troubles >= 2;
                Rule::Needless.require(cause, || "given up although the model would have answered".to_owned())?;
                Self::recorded(added, "\"status\":\"ERROR\"")
            }
            (Fulfilment::Generating { .. } | Fulfilment::Ordered { .. }, Fulfilment::Unusable { .. }) => {
                Rule::States.require(self.customer.unusable, || "a usable session is called unusable".to_owned())?;
                Self::recorded(added, "\"status\":\"ERROR\"")
            }
            _ => Err(Rule::States.broken(format!("{} (new: {is_new}) became {}", word(old), word(new)))),
        }
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

    fn ready(&self, seen: &mut Seen, added: &[domain::sale::AuditEntry]) -> Checked {
        Rule::PaidOnly.require(self.customer.paid_at.is_some(), || "a verdict for an unpaid session".to_owned())?;
        let Some(cached) = self.state.cache.get(self.session) else {
            return Err(Rule::CacheBeforeMail.broken("ready, and nothing is cached"));
        };
        let own = cached.query == self.customer.question && cached.tier == self.customer.tier;
        Rule::CacheBeforeMail.require(own, || "somebody else's verdict is cached".to_owned())?;
        let clean = cached.verdict.texts().into_iter().all(is_clean);
        Rule::NothingBlocked.require(clean, || "a blocked term is cached".to_owned())?;
        let rejected = matches!(self.customer.answer, Answer::Rejected | Answer::Prose | Answer::Down);
        Rule::NothingBlocked.require(!rejected, || "what the crosscheck rejects is cached".to_owned())?;
        if let Some(first) = &seen.first {
            let told = cached.regen && self.new.regenerated_at.is_some();
            Rule::FirstVerdict.require(told || cached == first, || "the first verdict was replaced".to_owned())?;
            return Self::recorded(added, "\"status\":\"REGENERATED\"");
        }
        seen.first = Some(cached.clone());
        Self::recorded(added, "\"outcome\":")?;
        Self::recorded(added, "\"event\":\"tmm_crosscheck\"")?;
        Self::recorded(added, "\"status\":\"OK\"")
    }

    fn mail(&self, seen: &Seen, added: &[domain::sale::AuditEntry]) -> Checked {
        let (old, new) = (&self.old.mail, &self.new.mail);
        if old == new {
            return Ok(());
        }
        match (old, new) {
            (Mail::NotOrdered, Mail::Ordered) => {
                let can_be_read = matches!(
                    self.new.fulfilment,
                    Fulfilment::Ready { .. } | Fulfilment::Unusable { .. } | Fulfilment::InReview { .. }
                );
                Rule::CacheBeforeMail.require(can_be_read, || "a mail is ordered without a verdict".to_owned())
            }
            (Mail::NotOrdered | Mail::Ordered, Mail::Sending { draft: None, .. }) => Ok(()),
            (
                Mail::Sending { owner: before, lease_until, draft: had, .. },
                Mail::Sending { owner: now, draft: has, .. },
            ) => {
                Rule::OneMail.require(had.is_none() || had == has, || "a recorded draft was replaced".to_owned())?;
                let alive = before != now && lease_until.as_millis() > self.state.now;
                Rule::Claims.require(!alive || !self.clocks_are_right, || {
                    "a living worker's claim on the mail was taken".to_owned()
                })
            }
            (Mail::Sending { .. }, Mail::Sent { .. }) => {
                let out = self.state.sent.iter().any(|(_, letter)| letter.session == *self.session);
                Rule::OneMail.require(out, || "said to be sent, and is not".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_SENT\"")
            }
            (Mail::Sending { .. }, Mail::NoAddress) => {
                Rule::States.require(!self.customer.has_address, || "there is an address".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_FAILED\"")
            }
            (Mail::Sending { .. }, Mail::Held | Mail::Failed { .. } | Mail::Unknown) => {
                let lags = self.state.sent_items_lag > 0 || self.customer.mishap.is_some();
                let cause = match new {
                    Mail::Failed { .. } => seen.mail_refused,
                    Mail::Unknown => lags,
                    _ => true,
                };
                Rule::Needless.require(cause, || "a mail was given up that could have gone".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_FAILED\"")
            }
            _ => Err(Rule::States.broken(format!("mail: {} became {}", mail_word(old), mail_word(new)))),
        }
    }

    /// What is cached is the first verdict, unless that was lost.
    fn still_the_first(&self, seen: &Seen) -> Checked {
        let (Some(first), Some(cached)) = (&seen.first, self.state.cache.get(self.session)) else { return Ok(()) };
        let same = cached == first || cached.regen || self.customer.mishap.is_some();
        Rule::FirstVerdict.require(same, || "the first verdict was replaced".to_owned())
    }

    fn recorded(added: &[domain::sale::AuditEntry], what: &str) -> Checked {
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
    }
}

const fn mail_word(mail: &Mail) -> &'static str {
    match mail {
        Mail::NotOrdered => "not ordered",
        Mail::Ordered => "ordered",
        Mail::Sending { .. } => "sending",
        Mail::Sent { .. } => "sent",
        Mail::NoAddress => "no address",
        Mail::Held => "held",
        Mail::Failed { .. } => "failed",
        Mail::Unknown => "unknown",
    }
}
