//! What a saved sale may have become, and what must be there when it has.

use super::{Checked, Checker, Customer, Seen, is_clean};
use crate::{
    cast::{Afterwards, Answer, PLACEHOLDER},
    rules::Rule,
};
use domain::{
    Sale, SessionId,
    mail::{Letter, Mail, Progress},
    money::Money,
    retry::RetryTable,
    sale::{AuditEntry, Fulfilment},
};
use testkit::world::State;

/// Parts of records that tell who changed something.
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

    /// Decided by an operator, on record; from then on only the money changes, and the end of the erasure is on record.
    fn erased(&self, added: &[AuditEntry]) -> Checked {
        if !self.old.is_erased() {
            Rule::States.require(self.customer.operated, || "erased without an operator's decision".to_owned())?;
            return Self::recorded(added, "\"action\":\"erase\"");
        }
        self.money(added)?;
        let removed = |sale: &Sale| matches!(sale.fulfilment(), Fulfilment::Erased { removed_at: Some(_), .. });
        Rule::Forgotten.require(removed(self.new) || !removed(self.old), || "removed, and then not".to_owned())?;
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
                let is_declined = self.new.declined().is_some();
                Rule::Authority
                    .require(!is_declined || !self.customer.is_sold, || "declined what is sold".to_owned())?;
                let refused = self.customer.answer == Answer::Rejected || seen.model_refused;
                if self.new.not_paid().is_some() {
                    let paid = self.customer.paid_at.is_some() && self.customer.mishap.is_none();
                    return Rule::Needless.require(!paid, || "a paid sale is said not to be paid".to_owned());
                }
                let cause = is_declined || refused || self.table_is_over() || !self.clocks_are_right;
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

    /// Whether the sale was tried as often, or waited as long, as the table says.
    fn table_is_over(&self) -> bool {
        let table = self.retries;
        self.old.model_wait().is_some_and(|wait| {
            table.wait_after(wait.failures + 1, 0.0).is_none() || table.is_over(wait.since, self.new.changed_at())
        })
    }

    /// Money moves with its record, and by an authority that may decide it.
    fn money(&self, added: &[AuditEntry]) -> Checked {
        let (old, new) = (&self.old.money(), &self.new.money());
        if old == new {
            return Ok(());
        }
        let payment = self.customer.payment_id();
        let back = payment.is_some_and(|payment| {
            let made = self.state.refunds_of(&payment).any(|made| !made.status.is_void());
            // A refund that bounces later had succeeded when Stripe reported it.
            let bounces = self.customer.afterwards == Afterwards::Bounces;
            made || bounces || self.state.given_back.contains(&payment)
        });
        match (old, new) {
            (Money::Kept, Money::RefundAuthorised { authorisation, .. }) => {
                let by_policy = authorisation.by().starts_with("policy");
                let may = if by_policy {
                    // A follow-up has no money of its own.
                    !self.new.is_followup()
                        && (matches!(self.new.fulfilment(), Fulfilment::InReview { .. }) || self.new.declined().is_some())
                } else {
                    self.customer.operated
                };
                Rule::Money.require(may, || "a refund without the right to decide it".to_owned())?;
                Rule::PaidOnly.require(self.customer.paid_at.is_some(), || "a refund of nothing".to_owned())?;
                Self::recorded(added, "\"step\":\"authorised\"")
            }
            (Money::RefundAuthorised { .. }, Money::Refunded { .. }) => {
                Rule::Money.require(back, || "said to be refunded, and is not".to_owned())?;
                Self::recorded(added, "\"step\":\"confirmed\"")
            }
            (Money::RefundFailed { .. }, Money::RefundAuthorised { .. }) => {
                Rule::Money.require(self.customer.operated, || "a machine issues a refund again".to_owned())?;
                Self::recorded(added, "\"step\":\"authorised\"")
            }
            (Money::Refunded { .. } | Money::RefundAuthorised { .. }, Money::RefundFailed { .. }) => {
                Self::recorded(added, PAYMENT_CHANGE)
            }
            (_, Money::Refunded { .. }) => {
                Rule::Money.require(back, || "said to be refunded, and is not".to_owned())?;
                Self::recorded(added, PAYMENT_CHANGE)
            }
            (_, Money::Disputed { .. })
            | (Money::Disputed { refund: None, .. }, Money::Kept)
            // A refund that was authorised before the dispute is carried out once the dispute is won.
            | (Money::Disputed { refund: Some(_), .. }, Money::RefundAuthorised { .. }) => {
                Self::recorded(added, PAYMENT_CHANGE)
            }
            _ => Err(Rule::Money.broken(format!("{old:?} became {new:?}"))),
        }
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

    fn mail(&self, letter: Letter, seen: &Seen, added: &[AuditEntry]) -> Checked {
        let (old, new) = (self.old.letter(letter), self.new.letter(letter));
        if old == new {
            return Ok(());
        }
        if self.new.regenerated_at() != self.old.regenerated_at() {
            let same = without_hash(old) == without_hash(new);
            return Rule::States.require(same, || "a reopened sale's mail changes more than its text".to_owned());
        }
        match (old, new) {
            (Mail::NotOrdered, Mail::Ordered) if letter == Letter::Refund => {
                let back = matches!(self.new.money(), Money::Refunded { .. });
                Rule::Money.require(back, || "a refund letter is ordered without a refund".to_owned())
            }
            (Mail::NotOrdered, Mail::Ordered) => {
                let can_be_read = matches!(
                    self.new.fulfilment(),
                    Fulfilment::Ready { .. } | Fulfilment::Unusable { .. } | Fulfilment::InReview { .. }
                );
                Rule::CacheBeforeMail.require(can_be_read, || "a mail is ordered without a verdict".to_owned())
            }
            (Mail::NotOrdered | Mail::Ordered, Mail::Sending { progress, .. }) => {
                Rule::States.require(*progress == Progress::default(), || "a mail begins in the middle".to_owned())
            }
            (
                Mail::Sending { owner: before, lease_until, progress: had },
                Mail::Sending { owner: now, progress: has, .. },
            ) => {
                let alive = before != now && lease_until.as_millis() > self.state.now;
                Rule::Claims.require(!alive || !self.clocks_are_right, || {
                    "a living worker's claim on the mail was taken".to_owned()
                })?;
                self.progress(had, has, added)
            }
            (Mail::Retrying { progress: had, .. }, Mail::Sending { progress: has, .. }) => {
                self.progress(had, has, added)
            }
            (Mail::Sending { progress: had, .. }, Mail::Retrying { due, progress: has }) => {
                Rule::PaidOnly
                    .require(self.customer.paid_at.is_some(), || "a retry for an unpaid session".to_owned())?;
                let early = had.early.is_some() && has.failures == had.failures && *due >= had.early.unwrap_or(*due);
                let failed = has.failures.len() == had.failures.len() + 1 && has.failures.len() <= 4;
                Rule::States
                    .require(failed || early || self.customer.operated, || "a retry without a failure".to_owned())?;
                self.progress(had, has, added)
            }
            (Mail::Sending { .. }, Mail::Sent { .. }) => {
                let out = |it: &testkit::world::Delivered| {
                    it.session == *self.session && super::kind(&it.subject) == Some(letter)
                };
                let out = self.state.sent.iter().any(|(_, it)| out(it));
                Rule::OneMail.require(out, || "said to be sent, and is not".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_SENT\"")
            }
            (Mail::Sending { .. }, Mail::NoAddress) => {
                Rule::States.require(!self.customer.has_address, || "there is an address".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_FAILED\"")
            }
            (Mail::Sending { .. }, Mail::Held) => Self::recorded(added, "\"status\":\"EMAIL_FAILED\""),
            (Mail::Sending { progress, .. }, Mail::Dead { .. } | Mail::Unknown { .. }) => {
                let most = if letter == Letter::Divergence { 1 } else { 4 };
                let used_up = progress.failures.len() >= most;
                let another_text = self.customer.mishap.is_some() || self.customer.operated;
                let cause = used_up || matches!(new, Mail::Dead { .. }) && (seen.mail_refused || another_text);
                Rule::Needless
                    .require(cause, || "a mail is a dead letter before its retries are used up".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_FAILED\"")
            }
            (Mail::Dead { progress: had, .. }, Mail::Retrying { progress: has, .. }) => {
                let kept = had.draft == has.draft;
                Rule::OneMail.require(kept, || "a recorded draft was forgotten".to_owned())?;
                Self::recorded(added, OPERATOR)
            }
            _ => {
                let what = format!("{} mail: {} became {}", letter.as_str(), mail_word(old), mail_word(new));
                Rule::States.require(self.customer.operated, || what)?;
                Self::recorded(added, OPERATOR)
            }
        }
    }

    /// A recorded draft stays the one, and every failure has its record.
    fn progress(&self, had: &Progress, has: &Progress, added: &[AuditEntry]) -> Checked {
        let kept = had.draft.is_none() || had.draft == has.draft;
        Rule::OneMail.require(kept, || "a recorded draft was replaced".to_owned())?;
        if has.failures == had.failures {
            return Ok(());
        }
        let more = has.failures.starts_with(&had.failures);
        Rule::States.require(more || self.customer.operated, || "a failure was forgotten".to_owned())?;
        Self::recorded(added, "\"status\":\"EMAIL_FAILED\"")
    }

    /// What is cached is the first verdict, unless that was lost.
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

/// A mail without the hash of the text that its attempts have rendered.
fn without_hash(mail: &Mail) -> Mail {
    let mut mail = mail.clone();
    if let Mail::Sending { progress, .. } | Mail::Retrying { progress, .. } | Mail::Dead { progress, .. } = &mut mail {
        progress.body_hash = None;
    }
    mail
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

const fn mail_word(mail: &Mail) -> &'static str {
    match mail {
        Mail::NotOrdered => "not ordered",
        Mail::Ordered => "ordered",
        Mail::Sending { .. } => "sending",
        Mail::Sent { .. } => "sent",
        Mail::NoAddress => "no address",
        Mail::Held => "held",
        Mail::Retrying { .. } => "retrying",
        Mail::Dead { .. } => "dead",
        Mail::Unknown { .. } => "unknown",
    }
}
