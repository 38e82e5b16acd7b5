//! One sale, from the first sign of payment to its end: the state every function reads and writes.
//!
//! The record is saved whole, on condition that nobody saved it in between, so each transition below happens
//! exactly once however often a message is delivered. The audit records of a transition are saved with it
//! (`outbox`) and published afterwards: a transition without its records, or a record without its transition,
//! cannot exist.

pub use crate::mail::{Draft, Letter, Mail, Progress};
use crate::{
    Alert, Colour, Measurement, SessionId, Tier, Timestamp,
    inbox::Reply,
    money::{Money, PaymentChange},
    verdict::Divergence,
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
}

/// Where the sale's audit stream stands.
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
    pub session_id: SessionId,
    /// Whether it is the smoke test's, and no customer's: nobody paid, nobody waits, nobody is to be alerted of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoke: bool,
    /// The tier, once Stripe has been asked.
    pub tier: Option<Tier>,
    /// Truncated SHA-256 of the question.
    pub query_hash: Option<String>,
    /// Truncated SHA-256 of the verdict.
    pub verdict_hash: Option<String>,
    /// Keyed hash of the address.
    pub email_tag: Option<String>,
    /// When the triggering event reached us.
    pub received_at: Timestamp,
    /// The verdict.
    pub fulfilment: Fulfilment,
    /// The mail with the verdict.
    pub mail: Mail,
    /// The mail that asks for the submission (Silent Drop).
    #[serde(default)]
    pub notice: Mail,
    /// The mail that tells of a diverging regeneration.
    #[serde(default)]
    pub divergence: Mail,
    /// What became of the money.
    #[serde(default)]
    pub money: Money,
    /// What Stripe has reported of the payment: each kind once, in order of arrival.
    #[serde(default)]
    pub payment_changes: Vec<PaymentChange>,
    /// Whether the log tells that another amount than the tier's price was paid.
    #[serde(default)]
    pub amount_noted: bool,
    /// When the verdict was last generated again, if ever.
    pub regenerated_at: Option<Timestamp>,
    /// Until when the model is not asked (its breaker is open).
    #[serde(default)]
    pub unavailable_until: Option<Timestamp>,
    /// The colour of the first verdict, which a regenerated one is compared with.
    #[serde(default)]
    pub colour: Option<Colour>,
    /// Whether the log tells of the silent drop.
    #[serde(default)]
    pub drop_recorded: bool,
    /// Whether an operator's submission stands in for what Stripe has (Silent Drop, re-attempt).
    #[serde(default)]
    pub resubmitted: bool,
    /// Since when somebody waits for the verdict: it was ordered, or is to be made anew.
    pub waiting_since: Timestamp,
    /// When anything changed last.
    pub changed_at: Timestamp,
    /// When operators were last reminded of it.
    #[serde(default)]
    pub reminded_at: Option<Timestamp>,
    /// How often machines were sent after it because nothing happened.
    #[serde(default)]
    pub chased: u32,
    /// How often the verdict was read.
    pub retrievals: u32,
    /// The customer's replies to its mails, oldest first (Silent Drop, GAP-SD-09).
    #[serde(default)]
    pub replies: Vec<Reply>,
    /// The audit stream.
    pub audit: Option<AuditHead>,
    /// Audit records that may not have reached the log yet.
    pub outbox: Vec<AuditEntry>,
    /// Alerts that may not have reached operators yet.
    #[serde(default)]
    pub alerts: Vec<Alert>,
}

/// The answer to somebody who wants to work on a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Go ahead; nobody else will until the lease ends.
    Granted,
    /// Another message's invocation is at work, and its message will come back if it dies: drop this one.
    BusyElsewhere,
    /// This very message is already being worked on (it was delivered twice, or its worker died a moment ago):
    /// keep it and look again later.
    BusyHere,
    /// Not before this moment.
    NotYet(Timestamp),
    /// There is nothing left to do.
    Done,
}

/// At least this long between two orders for the same sale from its result page.
pub const REORDER_AFTER: Duration = Duration::from_secs(60);

/// At least this long between two regenerations of one verdict (Regen Consistency, invariant 8).
pub const REGENERATE_AFTER: Duration = Duration::from_secs(300);

/// Retrievals recorded one by one in the audit log; later ones only count. Whoever holds the link can reload it
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
            money: Money::Kept,
            payment_changes: Vec::new(),
            amount_noted: false,
            regenerated_at: None,
            unavailable_until: None,
            colour: None,
            drop_recorded: false,
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

    /// Takes the right to generate the verdict until `now + lease`.
    pub fn claim_generation(&mut self, owner: &str, now: Timestamp, lease: Duration) -> Claim {
        if self.money != Money::Kept {
            return Claim::Done;
        }
        match &self.fulfilment {
            Fulfilment::Ordered { .. } => {}
            Fulfilment::Generating { owner: holder, lease_until } if *lease_until > now => {
                return if holder == owner { Claim::BusyHere } else { Claim::BusyElsewhere };
            }
            Fulfilment::Generating { .. } => {}
            Fulfilment::Ready { .. }
            | Fulfilment::InReview { .. }
            | Fulfilment::Failed { .. }
            | Fulfilment::Unusable { .. } => return Claim::Done,
        }
        self.fulfilment = Fulfilment::Generating { owner: owner.to_owned(), lease_until: now.plus(lease) };
        Claim::Granted
    }

    /// Whether `owner` still has the right to generate.
    #[must_use]
    pub fn generates(&self, by: &str) -> bool {
        matches!(&self.fulfilment, Fulfilment::Generating { owner, .. } if owner == by)
    }

    /// Whether the result page should ask (again) for the verdict: nobody works on it and the last order is old.
    #[must_use]
    pub fn needs_order(&self, now: Timestamp) -> bool {
        if self.money != Money::Kept {
            return false;
        }
        match &self.fulfilment {
            Fulfilment::Ordered { at } => {
                at.plus(REORDER_AFTER) <= now && self.unavailable_until.is_none_or(|until| until <= now)
            }
            Fulfilment::Generating { lease_until, .. } => *lease_until <= now,
            Fulfilment::Ready { .. }
            | Fulfilment::InReview { .. }
            | Fulfilment::Failed { .. }
            | Fulfilment::Unusable { .. } => false,
        }
    }

    /// Opens the sale for a regeneration: its verdict is in neither cache nor archive (Regen Consistency,
    /// invariant 6). Refused within [`REGENERATE_AFTER`] of the last one.
    pub fn reopen_for_regeneration(&mut self, now: Timestamp) -> bool {
        let too_soon = self.regenerated_at.is_some_and(|last| last.plus(REGENERATE_AFTER) > now);
        if too_soon || !matches!(self.fulfilment, Fulfilment::Ready { .. }) {
            return false;
        }
        self.regenerated_at = Some(now);
        self.waiting_since = now;
        self.fulfilment = Fulfilment::Ordered { at: now };
        true
    }

    /// One of the mails.
    #[must_use]
    pub const fn letter(&self, letter: Letter) -> &Mail {
        match letter {
            Letter::Verdict => &self.mail,
            Letter::SilentDrop => &self.notice,
            Letter::Divergence => &self.divergence,
        }
    }

    /// One of the mails, to be changed.
    pub const fn letter_mut(&mut self, letter: Letter) -> &mut Mail {
        match letter {
            Letter::Verdict => &mut self.mail,
            Letter::SilentDrop => &mut self.notice,
            Letter::Divergence => &mut self.divergence,
        }
    }

    /// Compares a verdict that was made again with the first one, and orders the note about it where they differ
    /// significantly and the customer has the first by mail (Regen Consistency, invariant 5 and tertiary output).
    /// Nothing where the first is not known.
    pub fn note_divergence(&mut self, second: Colour) -> Option<Divergence> {
        let divergence = self.colour.map(|first| Divergence::between(first, second));
        let differs = divergence == Some(Divergence::Significant);
        if differs && matches!(self.mail, Mail::Sent { .. }) && self.divergence == Mail::NotOrdered {
            self.divergence = Mail::Ordered;
        }
        divergence
    }

    /// Takes the right to deliver a mail until `now + lease`. What earlier attempts left is kept. Nothing is sent
    /// to a customer whose money went back.
    pub fn claim_mail(&mut self, letter: Letter, owner: &str, now: Timestamp, lease: Duration) -> Claim {
        if self.money != Money::Kept {
            return Claim::Done;
        }
        let mail = self.letter_mut(letter);
        let progress = match mail {
            Mail::NotOrdered | Mail::Ordered => Progress::default(),
            Mail::Sending { owner: holder, lease_until, .. } if *lease_until > now => {
                return if holder == owner { Claim::BusyHere } else { Claim::BusyElsewhere };
            }
            Mail::Retrying { due, .. } if *due > now => return Claim::NotYet(*due),
            Mail::Sending { progress, .. } | Mail::Retrying { progress, .. } => progress.clone(),
            Mail::Sent { .. } | Mail::NoAddress | Mail::Held | Mail::Dead { .. } | Mail::Unknown { .. } => {
                return Claim::Done;
            }
        };
        *mail = Mail::Sending { owner: owner.to_owned(), lease_until: now.plus(lease), progress };
        Claim::Granted
    }

    /// What the attempts so far have left, if `owner` still has the right to deliver.
    pub fn delivering(&mut self, letter: Letter, by: &str) -> Option<&mut Progress> {
        match self.letter_mut(letter) {
            Mail::Sending { owner, progress, .. } if owner == by => Some(progress),
            _ => None,
        }
    }

    /// Ends the current attempt at once, so that the next delivery of the message need not wait for the lease.
    pub const fn release_mail(&mut self, letter: Letter, now: Timestamp) {
        if let Mail::Sending { lease_until, .. } = self.letter_mut(letter) {
            *lease_until = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(100);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn sale() -> Sale {
        Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
    }

    #[test]
    fn one_claim_at_a_time() {
        let mut sale = sale();
        assert_eq!(sale.claim_generation("a", at(0), LEASE), Claim::Granted);
        assert_eq!(sale.claim_generation("b", at(99), LEASE), Claim::BusyElsewhere);
        assert_eq!(sale.claim_generation("a", at(99), LEASE), Claim::BusyHere);
        assert!(sale.generates("a") && !sale.generates("b"));
        assert_eq!(sale.claim_generation("b", at(100), LEASE), Claim::Granted);
        assert!(sale.generates("b") && !sale.generates("a"));
    }

    #[test]
    fn an_ended_sale_is_not_worked_on_again() {
        let ends = [
            Fulfilment::Ready { at: at(1), archived: false },
            Fulfilment::InReview { gate: 1, at: at(1) },
            Fulfilment::Failed { reason: "x".into(), at: at(1) },
            Fulfilment::Unusable { at: at(1) },
        ];
        for end in ends {
            let mut sale = Sale { fulfilment: end.clone(), ..sale() };
            assert_eq!(sale.claim_generation("a", at(1_000_000), LEASE), Claim::Done);
            assert!(!sale.needs_order(at(1_000_000)));
            assert_eq!(sale.fulfilment, end);
        }
    }

    #[test]
    fn the_page_orders_again_only_what_nobody_works_on() {
        let mut sale = sale();
        assert!(!sale.needs_order(at(59)));
        assert!(sale.needs_order(at(60)));
        sale.claim_generation("a", at(60), LEASE);
        assert!(!sale.needs_order(at(159)));
        assert!(sale.needs_order(at(160)));
    }

    #[test]
    fn a_recorded_draft_survives_the_worker() {
        let mut sale = sale();
        let letter = Letter::Verdict;
        assert_eq!(sale.claim_mail(letter, "a", at(0), LEASE), Claim::Granted);
        let recorded = Draft { id: "d1".into(), internet_message_id: "<1@x>".into() };
        sale.delivering(letter, "a").unwrap().draft = Some(recorded.clone());
        assert_eq!(sale.claim_mail(letter, "b", at(1), LEASE), Claim::BusyElsewhere);
        assert_eq!(sale.claim_mail(letter, "b", at(100), LEASE), Claim::Granted);
        assert!(sale.delivering(letter, "a").is_none());
        assert_eq!(sale.delivering(letter, "b").unwrap().draft, Some(recorded));
        sale.mail = Mail::Sent { at: at(101) };
        assert_eq!(sale.claim_mail(letter, "b", at(999), LEASE), Claim::Done);
    }

    #[test]
    fn a_retry_keeps_what_it_has_and_waits_until_it_is_due() {
        let progress = Progress { failures: vec!["503".into()], ..Progress::default() };
        let mut sale = Sale { mail: Mail::Retrying { due: at(300), progress: progress.clone() }, ..sale() };
        assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(299), LEASE), Claim::NotYet(at(300)));
        assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(300), LEASE), Claim::Granted);
        assert_eq!(*sale.delivering(Letter::Verdict, "a").unwrap(), progress);
    }

    #[test]
    fn nothing_is_made_or_sent_for_money_that_went_back() {
        let authorisation = crate::money::Authorisation::parse("o", "r").unwrap();
        let ends = [
            Money::RefundAuthorised { authorisation, at: at(1) },
            Money::Refunded { at: at(1) },
            Money::Disputed { at: at(1), refund: None },
        ];
        for money in ends {
            let mut sale = Sale { money, ..sale() };
            assert_eq!(sale.claim_generation("a", at(1_000), LEASE), Claim::Done);
            assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(1_000), LEASE), Claim::Done);
            assert!(!sale.needs_order(at(1_000)));
        }
    }

    #[test]
    fn regeneration_is_limited_to_one_in_five_minutes() {
        let ready = Fulfilment::Ready { at: at(0), archived: true };
        let mut sale = Sale { fulfilment: ready.clone(), ..sale() };
        assert!(sale.reopen_for_regeneration(at(10)));
        assert!(!sale.reopen_for_regeneration(at(11)), "it is not ready now");
        sale.fulfilment = ready;
        assert!(!sale.reopen_for_regeneration(at(309)));
        assert!(sale.reopen_for_regeneration(at(310)));
    }

    #[test]
    fn the_record_survives_storage() {
        let mut sale = sale();
        sale.claim_generation("a", at(0), LEASE);
        let stored = serde_json::to_string(&sale).unwrap();
        assert_eq!(serde_json::from_str::<Sale>(&stored).unwrap(), sale);
    }
}
