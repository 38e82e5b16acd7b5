//! One subscriber's account: the free exchanges that are used, and the exchanges that are at work or were answered last.
//! Each step is one conditional write of the whole account: a reply is kept and counted in the same one.
//!
//! | stage of an exchange | what is true | what follows |
//! |---|---|---|
//! | claimed | one invocation makes the reply; of the free ones, its place is reserved | answered, apologised, or claimed anew after its lease |
//! | answered | the reply is kept and counted | the memory has it too |
//! | apologised | there is no reply; nothing is counted | nothing |
//! | erased | its text is gone | nothing |

use super::{
    SubscriberId,
    exchange::{Exchange, ExchangeId, Stage},
};
use crate::{
    Alert, SessionId, Timestamp,
    sale::{AuditEntry, AuditHead},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Exchanges that are free, ever (Product Tiers, VC-9).
pub const FREE_EXCHANGES: u32 = 3;

/// What the id of an account's stream of records begins with: it has the form of a session id, and Stripe gives out none
/// of this form.
pub const CHAT_PREFIX: &str = "cs_chat_";

/// Exchanges that an account holds; what came before is in the memory.
const KEPT: usize = 12;

/// Exchanges that may be at work at the same time.
const MOST_OPEN: usize = 4;

/// Exchanges that may begin within an hour.
const MOST_AN_HOUR: u32 = 60;

const HOUR: Duration = Duration::from_secs(3600);

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The client's id.
    pub id: ExchangeId,
    /// Keyed digest of the message.
    pub fingerprint: String,
    /// Whoever makes the reply.
    pub owner: String,
    /// Whether it counts against the free ones.
    pub is_free: bool,
}

/// What a claim finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The caller makes the reply.
    Granted,
    /// Somebody does.
    Busy,
    /// It was answered.
    Answered(String),
    /// It was apologised for.
    Apologised,
    /// It was erased.
    Erased,
    /// The id was used for another message.
    OtherMessage,
    /// The free exchanges are used or reserved.
    UsedUp,
    /// Too many at the same time, or within the hour: again after this.
    TooMany(Duration),
}

/// The exchange is not in the stage that the step needs, or the caller does not hold it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the exchange is at another stage")]
pub struct Refused;

/// One account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    id: SubscriberId,
    used: u32,
    exchanges: Vec<Exchange>,
    /// Which of the subscriber's memories is in use: an erasure ends one for good.
    generation: u32,
    erasing: bool,
    hour: Timestamp,
    within_hour: u32,
    #[serde(default)]
    audit: Option<AuditHead>,
    #[serde(default)]
    outbox: Vec<AuditEntry>,
    #[serde(default)]
    alerts: Vec<Alert>,
}

impl Account {
    /// Somebody who has never asked anything.
    #[must_use]
    pub const fn new(id: SubscriberId) -> Self {
        Self {
            id,
            used: 0,
            exchanges: Vec::new(),
            generation: 0,
            erasing: false,
            hour: Timestamp::from_seconds(0),
            within_hour: 0,
            audit: None,
            outbox: Vec::new(),
            alerts: Vec::new(),
        }
    }

    /// Whose it is.
    #[must_use]
    pub const fn id(&self) -> &SubscriberId {
        &self.id
    }

    /// The id of its stream of records.
    #[must_use]
    pub fn stream(&self) -> String {
        format!("{CHAT_PREFIX}{}", self.id.as_str())
    }

    /// The same as a session's id, by which alerts and the model's records name it.
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
        self.erasing
    }

    /// Free exchanges that are left.
    #[must_use]
    pub const fn free_left(&self) -> u32 {
        FREE_EXCHANGES.saturating_sub(self.used)
    }

    /// An exchange.
    #[must_use]
    pub fn exchange(&self, id: &ExchangeId) -> Option<&Exchange> {
        self.exchanges.iter().find(|exchange| exchange.id == *id)
    }

    /// Replies that the memory does not have yet, oldest first.
    pub fn unlogged(&self) -> impl Iterator<Item = (&ExchangeId, &str, Timestamp)> {
        self.exchanges.iter().filter_map(|exchange| match &exchange.stage {
            Stage::Answered { sealed, at, logged: false } => Some((&exchange.id, sealed.as_str(), *at)),
            _ => None,
        })
    }

    /// Whether a claim would take a free exchange that nobody has taken yet.
    #[must_use]
    pub fn would_reserve(&self, ask: &Ask, now: Timestamp) -> bool {
        ask.is_free && self.exchange(&ask.id).is_none() && self.clone().claim(ask, now, HOUR) == Claimed::Granted
    }

    /// Takes the making of a reply, for as long as the lease lasts. A free one reserves its place: no more than three are
    /// used and at work together, so that nobody's reply is thrown away.
    pub fn claim(&mut self, ask: &Ask, now: Timestamp, lease: Duration) -> Claimed {
        if let Some(known) = self.exchange(&ask.id) {
            if known.fingerprint != ask.fingerprint && known.stage != Stage::Erased {
                return Claimed::OtherMessage;
            }
            match &known.stage {
                Stage::Claimed { owner, until } if *until > now && *owner != ask.owner => return Claimed::Busy,
                Stage::Claimed { .. } => {}
                Stage::Answered { sealed, .. } => return Claimed::Answered(sealed.clone()),
                Stage::Apologised => return Claimed::Apologised,
                Stage::Erased => return Claimed::Erased,
            }
        }
        let others = || self.exchanges.iter().filter(|exchange| exchange.id != ask.id && exchange.is_open(now));
        let reserved = others().filter(|exchange| exchange.is_free).count();
        if ask.is_free && self.used as usize + reserved >= FREE_EXCHANGES as usize {
            return Claimed::UsedUp;
        }
        if others().count() >= MOST_OPEN {
            return Claimed::TooMany(Duration::from_secs(5));
        }
        if now.millis_since(self.hour) >= HOUR.as_millis() as u64 {
            (self.hour, self.within_hour) = (now, 0);
        }
        if self.within_hour >= MOST_AN_HOUR {
            let over = self.hour.plus(HOUR).millis_since(now);
            return Claimed::TooMany(Duration::from_millis(over.max(1000)));
        }
        self.within_hour += 1;
        self.exchanges.retain(|exchange| exchange.id != ask.id);
        self.make_room(now);
        let stage = Stage::Claimed { owner: ask.owner.clone(), until: now.plus(lease) };
        let (id, fingerprint, is_free) = (ask.id.clone(), ask.fingerprint.clone(), ask.is_free);
        self.exchanges.push(Exchange { id, fingerprint, is_free, stage });
        Claimed::Granted
    }

    /// Forgets the oldest exchanges that may go. One that was answered is found in the memory.
    fn make_room(&mut self, now: Timestamp) {
        while self.exchanges.len() >= KEPT {
            let Some(oldest) = self.exchanges.iter().position(|exchange| exchange.may_go(now)) else { return };
            self.exchanges.remove(oldest);
        }
    }

    fn held(&mut self, id: &ExchangeId, owner: &str) -> Result<&mut Exchange, Refused> {
        let is_it = |exchange: &&mut Exchange| exchange.id == *id && exchange.is_held_by(owner);
        self.exchanges.iter_mut().find(is_it).ok_or(Refused)
    }

    /// Keeps a reply and, where it is a free one, counts it: one write.
    ///
    /// # Errors
    /// [`Refused`] where the claim is another's by now, or the free ones were used meanwhile.
    pub fn answer(&mut self, id: &ExchangeId, owner: &str, sealed: String, now: Timestamp) -> Result<(), Refused> {
        let is_used_up = self.used >= FREE_EXCHANGES;
        let exchange = self.held(id, owner)?;
        if exchange.is_free && is_used_up {
            return Err(Refused);
        }
        exchange.stage = Stage::Answered { sealed, at: now, logged: false };
        if exchange.is_free {
            self.used += 1;
        }
        Ok(())
    }

    /// Ends a claim with an apology. Nothing is counted.
    ///
    /// # Errors
    /// [`Refused`] where the claim is another's by now.
    pub fn apologise(&mut self, id: &ExchangeId, owner: &str) -> Result<(), Refused> {
        self.held(id, owner)?.stage = Stage::Apologised;
        Ok(())
    }

    /// Ends a claim whose lease is over with an apology: whoever held it is gone. Returns whether it did.
    pub fn give_up(&mut self, id: &ExchangeId, now: Timestamp) -> bool {
        let gone = |exchange: &&mut Exchange| {
            exchange.id == *id && matches!(exchange.stage, Stage::Claimed { until, .. } if until <= now)
        };
        let found = self.exchanges.iter_mut().find(gone);
        found.map(|exchange| exchange.stage = Stage::Apologised).is_some()
    }

    /// Ends a claim as though it had never been.
    ///
    /// # Errors
    /// [`Refused`] where the claim is another's by now.
    pub fn release(&mut self, id: &ExchangeId, owner: &str) -> Result<(), Refused> {
        self.held(id, owner)?;
        self.exchanges.retain(|exchange| exchange.id != *id);
        Ok(())
    }

    /// The memory has the reply.
    ///
    /// # Errors
    /// [`Refused`] where there is none, or that is known.
    pub fn logged(&mut self, id: &ExchangeId) -> Result<(), Refused> {
        let found = self.exchanges.iter_mut().find(|exchange| exchange.id == *id).ok_or(Refused)?;
        match &mut found.stage {
            Stage::Answered { logged: logged @ false, .. } => *logged = true,
            _ => return Err(Refused),
        }
        Ok(())
    }

    /// Begins an erasure: texts go with this write, whoever makes a reply keeps it from nobody any more. What is counted
    /// stays counted. Returns whether it was not begun before.
    pub fn begin_erasure(&mut self) -> bool {
        for exchange in &mut self.exchanges {
            exchange.stage = Stage::Erased;
            exchange.fingerprint.clear();
        }
        !std::mem::replace(&mut self.erasing, true)
    }

    /// The memory is erased: the next exchange begins another.
    ///
    /// # Errors
    /// [`Refused`] where no erasure was begun.
    pub fn erased(&mut self) -> Result<(), Refused> {
        if !std::mem::replace(&mut self.erasing, false) {
            return Err(Refused);
        }
        self.generation += 1;
        Ok(())
    }

    /// The head of its stream of records.
    #[must_use]
    pub const fn audit(&self) -> Option<&AuditHead> {
        self.audit.as_ref()
    }

    /// Records that wait to be published.
    #[must_use]
    pub fn outbox(&self) -> &[AuditEntry] {
        &self.outbox
    }

    /// What waits to be published.
    pub fn outbox_mut(&mut self) -> (&mut Vec<AuditEntry>, &mut Vec<Alert>) {
        (&mut self.outbox, &mut self.alerts)
    }

    /// Puts a record into the outbox.
    pub fn append_record(&mut self, entry: AuditEntry, head: AuditHead) {
        self.outbox.push(entry);
        self.audit = Some(head);
    }

    /// Keeps alerts until they are raised.
    pub fn keep_alerts(&mut self, alerts: impl IntoIterator<Item = Alert>) {
        self.alerts.extend(alerts);
    }
}

#[cfg(test)]
mod tests;
