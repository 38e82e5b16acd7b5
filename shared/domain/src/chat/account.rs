//! One subscriber's account: how many free exchanges are used, and the latest exchanges. Each step is one conditional
//! write of the whole account, so one write both stores a reply and counts it.
//!
//! | stage of an exchange | meaning | next |
//! |---|---|---|
//! | claimed | one invocation makes the reply; a free exchange reserves one of the three places | answered, apologised, or claimed again after its lease |
//! | answered | the reply is stored and counted | the memory holds it too |
//! | apologised | no reply was accepted; nothing is counted | final |
//! | erased | the text is erased | final |
//!
//! The file has more than 300 lines because each step of an exchange and of an erasure is a documented method on the
//! private fields of one account.

use super::{
    Erasure, SubscriberId,
    exchange::{Exchange, ExchangeId, ExchangeStage},
};
use crate::{
    SessionId, Timestamp,
    audit_trail::{AuditTrail, Audited},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// How many exchanges are free in all (Product Tiers, VC-9).
pub const FREE_EXCHANGES: u32 = 3;

/// The prefix of an account's stream of audit records. It has the form of a session id, and Stripe issues no id of this
/// form.
pub const CHAT_PREFIX: &str = "cs_chat_";

/// How many exchanges an account lists. Older ones are in the memory.
const KEPT: usize = 12;

/// The bytes of kept replies that an account lists: a row of the table has 400 KB at most, and a reply may have 96 KB.
const KEPT_BYTES: usize = 200_000;

/// How many exchanges may run at the same time.
const MOST_OPEN: usize = 4;

/// How many exchanges may begin within an hour.
const MOST_AN_HOUR: u32 = 60;

/// How many declined messages are recorded in a day (UTC); as many escalated ones are recorded beside them. Anybody who is
/// signed in can send them at no cost, and the log must not grow with that.
pub const MOST_DECLINES_A_DAY: u32 = 100;

const HOUR: Duration = Duration::from_secs(3600);

/// A request to make the reply of an exchange.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The client's id.
    pub id: ExchangeId,
    /// Keyed digest of the message.
    pub fingerprint: String,
    /// The invocation that makes the reply.
    pub owner: String,
    /// Whether it counts against the free ones.
    pub is_free: bool,
    /// The authority gate's evaluation of the message, in the form of its record.
    pub evaluation: Value,
}

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The caller makes the reply.
    Granted,
    /// Another invocation makes the reply.
    Busy,
    /// The exchange was answered.
    Answered(String),
    /// The exchange ended with the apology.
    Apologised,
    /// The exchange was erased.
    Erased,
    /// The id was used for another message.
    OtherMessage,
    /// The free exchanges are used or reserved.
    UsedUp,
    /// The memory is being erased: the exchange belongs to the next one.
    Erasing,
    /// Too many exchanges run at the same time or began within the hour. The client may try again after this time.
    TooMany(Duration),
}

/// The exchange is not in the stage that the step needs, or the caller no longer holds its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the exchange is at another stage")]
pub struct Refused;

/// How many declined messages were recorded on the day of the last one. Stored as `[day, [others, escalated]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, [u32; 2])", into = "(String, [u32; 2])")]
struct DeclinedToday {
    day: String,
    others: u32,
    escalated: u32,
}

impl From<(String, [u32; 2])> for DeclinedToday {
    fn from((day, [others, escalated]): (String, [u32; 2])) -> Self {
        Self { day, others, escalated }
    }
}

impl From<DeclinedToday> for (String, [u32; 2]) {
    fn from(declined: DeclinedToday) -> Self {
        (declined.day, [declined.others, declined.escalated])
    }
}

/// One account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    id: SubscriberId,
    used: u32,
    exchanges: Vec<Exchange>,
    /// The number of the memory in use. An erasure ends one memory, and the next has the next number.
    generation: u32,
    #[serde(default)]
    erasure: Option<Erasure>,
    hour: Timestamp,
    within_hour: u32,
    #[serde(default)]
    declined: DeclinedToday,
    #[serde(flatten)]
    trail: AuditTrail,
}

impl Account {
    /// The account of a subscriber who has sent no message yet.
    #[must_use]
    pub const fn new(id: SubscriberId) -> Self {
        Self {
            id,
            used: 0,
            exchanges: Vec::new(),
            generation: 0,
            erasure: None,
            hour: Timestamp::from_seconds(0),
            within_hour: 0,
            declined: DeclinedToday { day: String::new(), others: 0, escalated: 0 },
            trail: AuditTrail::new(),
        }
    }

    /// The subscriber who owns the account.
    #[must_use]
    pub const fn id(&self) -> &SubscriberId {
        &self.id
    }

    /// The id of the stream as a session id. Alerts and the model's records name the account by it.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        SessionId::parse(self.stream()).ok()
    }

    /// The log of the memory in use. Its subject has the same id.
    #[must_use]
    pub fn memory(&self) -> String {
        format!("chat-{}-{}", self.id.as_str(), self.generation)
    }

    /// Whether its memory is being erased.
    #[must_use]
    pub const fn is_erasing(&self) -> bool {
        self.erasure.is_some()
    }

    /// The erasure that has not ended, if any.
    #[must_use]
    pub const fn erasure(&self) -> Option<&Erasure> {
        self.erasure.as_ref()
    }

    /// Counts the schedule's attempt to finish the erasure, if one is due. Returns the number of failed attempts before
    /// it.
    pub fn attempt_erasure(&mut self, now: Timestamp) -> Option<u32> {
        let erasure = self.erasure.as_mut().filter(|erasure| erasure.due() <= now)?;
        Some(erasure.attempt(now))
    }

    /// How many free exchanges are left.
    #[must_use]
    pub const fn free_left(&self) -> u32 {
        FREE_EXCHANGES.saturating_sub(self.used)
    }

    /// The exchange with this id, if the account lists it.
    #[must_use]
    pub fn exchange(&self, id: &ExchangeId) -> Option<&Exchange> {
        self.exchanges.iter().find(|exchange| exchange.id == *id)
    }

    /// Replies that the memory does not hold yet, oldest first.
    pub fn unlogged(&self) -> impl Iterator<Item = (&ExchangeId, &str, Timestamp)> {
        self.exchanges.iter().filter_map(|exchange| match &exchange.stage {
            ExchangeStage::Answered { sealed, at, logged: false } => Some((&exchange.id, sealed.as_str(), *at)),
            _ => None,
        })
    }

    /// Whether a claim of this exchange would take another of the free exchanges.
    #[must_use]
    pub fn would_reserve(&self, ask: &Ask, now: Timestamp) -> bool {
        ask.is_free && self.exchange(&ask.id).is_none() && self.refusal(ask, now).is_none()
    }

    /// Claims the exchange for one invocation until the lease ends. A free exchange reserves a place: the used and the
    /// running ones are never more than three together, so that no finished reply has to be discarded.
    pub fn claim(&mut self, ask: &Ask, now: Timestamp, lease: Duration) -> Claimed {
        if let Some(refusal) = self.refusal(ask, now) {
            return refusal;
        }
        if self.is_next_hour(now) {
            (self.hour, self.within_hour) = (now, 0);
        }
        self.within_hour += 1;
        self.exchanges.retain(|exchange| exchange.id != ask.id);
        self.make_room(now);
        let (owner, evaluation) = (ask.owner.clone(), Some(ask.evaluation.clone()));
        let stage = ExchangeStage::Claimed { owner, until: now.plus(lease), evaluation };
        let (id, fingerprint, is_free) = (ask.id.clone(), ask.fingerprint.clone(), ask.is_free);
        self.exchanges.push(Exchange { id, fingerprint, is_free, stage });
        Claimed::Granted
    }

    /// The outcome of a claim that is not granted now; `None` for one that is.
    fn refusal(&self, ask: &Ask, now: Timestamp) -> Option<Claimed> {
        if let Some(known) = self.exchange(&ask.id) {
            if known.fingerprint != ask.fingerprint && known.stage != ExchangeStage::Erased {
                return Some(Claimed::OtherMessage);
            }
            match &known.stage {
                ExchangeStage::Claimed { owner, until, .. } if *until > now && *owner != ask.owner => {
                    return Some(Claimed::Busy);
                }
                ExchangeStage::Claimed { .. } => {}
                ExchangeStage::Answered { sealed, .. } => return Some(Claimed::Answered(sealed.clone())),
                ExchangeStage::Apologised => return Some(Claimed::Apologised),
                ExchangeStage::Erased => return Some(Claimed::Erased),
            }
        }
        // A reply is sealed under the key of the memory that is being erased. The next memory's key could not open it.
        if self.is_erasing() {
            return Some(Claimed::Erasing);
        }
        let others = || self.exchanges.iter().filter(|exchange| exchange.id != ask.id && exchange.is_open(now));
        let reserved = others().filter(|exchange| exchange.is_free).count();
        if ask.is_free && self.used as usize + reserved >= FREE_EXCHANGES as usize {
            return Some(Claimed::UsedUp);
        }
        if others().count() >= MOST_OPEN {
            return Some(Claimed::TooMany(Duration::from_secs(5)));
        }
        let over = self.hour.plus(HOUR).millis_since(now).max(1000);
        let is_over_limit = !self.is_next_hour(now) && self.within_hour >= MOST_AN_HOUR;
        is_over_limit.then(|| Claimed::TooMany(Duration::from_millis(over)))
    }

    /// Whether the hour in which claims are counted has ended.
    fn is_next_hour(&self, now: Timestamp) -> bool {
        now.millis_since(self.hour) >= HOUR.as_millis() as u64
    }

    /// Takes the evaluations of the claims that are over, which no record has yet. The caller records them.
    pub fn take_evaluations(&mut self, is_over: impl Fn(&Exchange) -> bool) -> Vec<(ExchangeId, Value)> {
        let mut taken = Vec::new();
        for exchange in &mut self.exchanges {
            if is_over(exchange)
                && let ExchangeStage::Claimed { evaluation, .. } = &mut exchange.stage
                && let Some(evaluation) = evaluation.take()
            {
                taken.push((exchange.id.clone(), evaluation));
            }
        }
        taken
    }

    /// The end of the first claim whose evaluation no record has.
    #[must_use]
    pub fn evaluation_due(&self) -> Option<Timestamp> {
        let claims = self.exchanges.iter().filter_map(|exchange| match &exchange.stage {
            ExchangeStage::Claimed { until, evaluation: Some(_), .. } => Some(*until),
            _ => None,
        });
        claims.min()
    }

    /// Counts a declined message and returns whether to record it: at most [`MOST_DECLINES_A_DAY`] are. Escalated messages
    /// have a limit of their own, so that other messages cannot use it up.
    pub fn count_declined(&mut self, is_escalated: bool, now: Timestamp) -> bool {
        let today = now.to_date();
        if self.declined.day != today {
            self.declined = DeclinedToday { day: today, ..DeclinedToday::default() };
        }
        let counted = if is_escalated { &mut self.declined.escalated } else { &mut self.declined.others };
        let is_recorded = *counted < MOST_DECLINES_A_DAY;
        *counted += u32::from(is_recorded);
        is_recorded
    }

    /// Removes the oldest removable exchanges from the list. The memory holds those that were answered.
    fn make_room(&mut self, now: Timestamp) {
        self.remove_oldest(now, |exchanges| exchanges.len() >= KEPT);
    }

    fn remove_oldest(&mut self, now: Timestamp, are_too_many: impl Fn(&[Exchange]) -> bool) {
        while are_too_many(&self.exchanges) {
            let Some(oldest) = self.exchanges.iter().position(|exchange| exchange.may_go(now)) else { return };
            self.exchanges.remove(oldest);
        }
    }

    fn held(&mut self, id: &ExchangeId, owner: &str) -> Result<&mut Exchange, Refused> {
        let is_it = |exchange: &&mut Exchange| exchange.id == *id && exchange.is_held_by(owner);
        self.exchanges.iter_mut().find(is_it).ok_or(Refused)
    }

    /// Stores a reply and counts a free one, in one write.
    ///
    /// # Errors
    /// [`Refused`] if another invocation has taken over the claim, or the free exchanges were used meanwhile.
    pub fn answer(&mut self, id: &ExchangeId, owner: &str, sealed: String, now: Timestamp) -> Result<(), Refused> {
        let is_used_up = self.used >= FREE_EXCHANGES;
        let exchange = self.held(id, owner)?;
        if exchange.is_free && is_used_up {
            return Err(Refused);
        }
        exchange.stage = ExchangeStage::Answered { sealed, at: now, logged: false };
        if exchange.is_free {
            self.used += 1;
        }
        let bytes = |exchange: &Exchange| match &exchange.stage {
            ExchangeStage::Answered { sealed, .. } => sealed.len(),
            _ => 0,
        };
        self.remove_oldest(now, |exchanges| exchanges.iter().map(bytes).sum::<usize>() > KEPT_BYTES);
        Ok(())
    }

    /// Ends a claim with an apology. Nothing is counted.
    ///
    /// # Errors
    /// [`Refused`] if another invocation has taken over the claim.
    pub fn apologise(&mut self, id: &ExchangeId, owner: &str) -> Result<(), Refused> {
        self.held(id, owner)?.stage = ExchangeStage::Apologised;
        Ok(())
    }

    /// Ends a claim with the apology if its lease has expired. Returns whether it did.
    pub fn give_up(&mut self, id: &ExchangeId, now: Timestamp) -> bool {
        let gone = |exchange: &&mut Exchange| {
            exchange.id == *id && matches!(exchange.stage, ExchangeStage::Claimed { until, .. } if until <= now)
        };
        let found = self.exchanges.iter_mut().find(gone);
        found.map(|exchange| exchange.stage = ExchangeStage::Apologised).is_some()
    }

    /// Removes the claimed exchange from the account.
    ///
    /// # Errors
    /// [`Refused`] if another invocation has taken over the claim.
    pub fn release(&mut self, id: &ExchangeId, owner: &str) -> Result<(), Refused> {
        self.held(id, owner)?;
        self.exchanges.retain(|exchange| exchange.id != *id);
        Ok(())
    }

    /// Marks a reply as held by the memory.
    ///
    /// # Errors
    /// [`Refused`] if the exchange has no reply, or its reply is already marked.
    pub fn logged(&mut self, id: &ExchangeId) -> Result<(), Refused> {
        let found = self.exchanges.iter_mut().find(|exchange| exchange.id == *id).ok_or(Refused)?;
        match &mut found.stage {
            ExchangeStage::Answered { logged: logged @ false, .. } => *logged = true,
            _ => return Err(Refused),
        }
        Ok(())
    }

    /// Whether it lists nothing that an erasure would remove, and none has begun.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.erasure.is_none() && self.exchanges.iter().all(|exchange| exchange.stage == ExchangeStage::Erased)
    }

    /// Begins an erasure: removes all texts and ends all claims in this write. Counts stay. Returns `false` if an
    /// erasure was already begun.
    pub fn begin_erasure(&mut self, now: Timestamp) -> bool {
        for exchange in &mut self.exchanges {
            exchange.stage = ExchangeStage::Erased;
            exchange.fingerprint.clear();
        }
        let is_new = self.erasure.is_none();
        self.erasure.get_or_insert_with(|| Erasure::begun(now));
        is_new
    }

    /// Ends an erasure. The next exchange starts another memory.
    ///
    /// # Errors
    /// [`Refused`] if no erasure was begun.
    pub fn erased(&mut self) -> Result<(), Refused> {
        self.erasure.take().ok_or(Refused)?;
        self.generation += 1;
        Ok(())
    }
}

impl Audited for Account {
    type Id = SubscriberId;

    /// A customer may keep asking while the log fails.
    const MOST_WAITING: usize = 20;

    fn unstored(id: &SubscriberId) -> Option<Self> {
        Some(Self::new(id.clone()))
    }

    fn id(&self) -> &SubscriberId {
        &self.id
    }

    fn stream(&self) -> String {
        format!("{CHAT_PREFIX}{}", self.id.as_str())
    }

    fn trail(&self) -> &AuditTrail {
        &self.trail
    }

    fn trail_mut(&mut self) -> &mut AuditTrail {
        &mut self.trail
    }
}

#[cfg(test)]
mod tests;
