//! The Bridge of one subscriber: a message thread with the operators (Product Tiers, GAP-3). Messages can be posted
//! only while an operator's grant lasts, and only a subscriber who has accepted the agreement can be granted access.
//!
//! | state | meaning | next states |
//! |---|---|---|
//! | offered | the agreement is not accepted | accepted |
//! | accepted | the exact bytes of one version are accepted; no message can be posted | granted, revoked, accepted (another version) |
//! | granted | messages can be posted until the grant expires | expired, revoked, granted (another expiry) |
//! | expired | the time of the grant is over; no message can be posted, except replies to those that wait for one | granted, revoked, accepted |
//! | revoked | an operator ended or declined the access; no message can be posted | accepted |
//!
//! `expired` is computed from the grant and the time, so access ends without a scheduled job. The member receives a mail
//! about each grant, expiry and revocation ([`AccessLetter`]). An erasure leads from
//! every state to `offered` and removes the thread. The schedule then removes its mails from the mailbox.
//!
//! The file has more than 300 lines because every transition is a method on the private stage of one Bridge.

mod letter;
mod state;
mod thread;
mod work;

use super::{SubscriberId, agreement::Agreement};
use crate::{
    Timestamp,
    audit_trail::{AuditTrail, Audited},
    operator::Operator,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub use letter::{AccessChange, AccessLetter};
pub use state::{BridgeEvent, BridgeRefused, BridgeState, LONGEST_GRANT, SignedBy};
pub use thread::{Author, MailStep, Post};
pub use work::{ANSWER_WITHIN, BridgeTask, BridgeWork};

/// The prefix of a Bridge's stream of audit records. It has the form of a session id, and Stripe issues none of this
/// form.
pub const BRIDGE_PREFIX: &str = "cs_bridge_";

/// The time from an erasure to the removal of its mails: by then every worker that began to send one earlier has ended.
const MAILS_SETTLE: Duration = Duration::from_secs(600);

/// An accepted agreement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    version: u32,
    sha256: String,
    at: Timestamp,
    memory: String,
    person: String,
}

impl Acceptance {
    /// The version of the accepted text.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// The SHA-256 of the accepted text.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// When it was accepted.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// The memory under whose key the name, the address and the thread are sealed.
    #[must_use]
    pub fn memory(&self) -> &str {
        &self.memory
    }

    /// The sealed name and address.
    #[must_use]
    pub fn person(&self) -> &str {
        &self.person
    }
}

/// A grant of access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Grant {
    by: String,
    reason: String,
    at: Timestamp,
    expires: Timestamp,
}

/// The stored stage. The state `expired` is a stored grant whose time is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "lowercase")]
enum BridgeStage {
    #[default]
    Offered,
    Accepted {
        acceptance: Acceptance,
    },
    Granted {
        acceptance: Acceptance,
        grant: Grant,
    },
    Revoked {
        acceptance: Acceptance,
        by: String,
        reason: String,
        at: Timestamp,
    },
}

/// The Bridge of one subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bridge {
    id: SubscriberId,
    #[serde(flatten)]
    stage: BridgeStage,
    #[serde(default)]
    thread: Vec<Post>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    letter: Option<AccessLetter>,
    /// When it was erased, while its mails are in the mailbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    erased_at: Option<Timestamp>,
    /// The mailbox's ids of the posted mails. An erasure keeps them until these mails are removed: the mailbox may have
    /// put one into a conversation without a mail of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    posted_mails: Vec<String>,
    #[serde(flatten)]
    trail: AuditTrail,
}

impl Bridge {
    /// The Bridge of a subscriber who has not accepted the agreement.
    #[must_use]
    pub const fn new(id: SubscriberId) -> Self {
        Self {
            id,
            stage: BridgeStage::Offered,
            thread: Vec::new(),
            letter: None,
            erased_at: None,
            posted_mails: Vec::new(),
            trail: AuditTrail::new(),
        }
    }

    /// The subscriber.
    #[must_use]
    pub const fn id(&self) -> &SubscriberId {
        &self.id
    }

    /// The state at this time.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> BridgeState {
        match &self.stage {
            BridgeStage::Offered => BridgeState::Offered,
            BridgeStage::Accepted { .. } => BridgeState::Accepted,
            BridgeStage::Granted { grant, .. } if now < grant.expires => BridgeState::Granted,
            BridgeStage::Granted { .. } => BridgeState::Expired,
            BridgeStage::Revoked { .. } => BridgeState::Revoked,
        }
    }

    /// Whether messages can be posted now.
    #[must_use]
    pub fn is_granted(&self, now: Timestamp) -> bool {
        self.state(now) == BridgeState::Granted
    }

    /// Whether operators' replies can be mailed now: also after the expiry, for what was posted before it.
    #[must_use]
    pub fn can_mail(&self, now: Timestamp) -> bool {
        matches!(self.state(now), BridgeState::Granted | BridgeState::Expired)
    }

    /// The acceptance, in every state but `offered`.
    #[must_use]
    pub const fn acceptance(&self) -> Option<&Acceptance> {
        match &self.stage {
            BridgeStage::Offered => None,
            BridgeStage::Accepted { acceptance }
            | BridgeStage::Granted { acceptance, .. }
            | BridgeStage::Revoked { acceptance, .. } => Some(acceptance),
        }
    }

    /// When the grant ends or has ended.
    #[must_use]
    pub const fn expires(&self) -> Option<Timestamp> {
        match &self.stage {
            BridgeStage::Granted { grant, .. } => Some(grant.expires),
            _ => None,
        }
    }

    /// The operator's last decision: name, reason and time.
    #[must_use]
    pub fn decision(&self) -> Option<(&str, &str, Timestamp)> {
        match &self.stage {
            BridgeStage::Granted { grant, .. } => Some((&grant.by, &grant.reason, grant.at)),
            BridgeStage::Revoked { by, reason, at, .. } => Some((by, reason, *at)),
            BridgeStage::Offered | BridgeStage::Accepted { .. } => None,
        }
    }

    /// The messages, oldest first.
    #[must_use]
    pub fn thread(&self) -> &[Post] {
        &self.thread
    }

    /// Accepts the exact text of an agreement. `person` is the subscriber's sealed name and address, `memory` the
    /// memory under whose key it is sealed. Accepting the same text again changes nothing and returns `None`.
    ///
    /// # Errors
    /// [`BridgeRefused::Transition`] while access is granted under another text.
    pub fn accept(
        &mut self,
        agreement: &Agreement,
        memory: &str,
        person: &str,
        now: Timestamp,
    ) -> Result<Option<BridgeEvent>, BridgeRefused> {
        let state = self.state(now);
        let is_same = self.acceptance().is_some_and(|known| agreement.is(known.version, &known.sha256));
        match state {
            BridgeState::Accepted | BridgeState::Granted if is_same => return Ok(None),
            BridgeState::Granted => {
                return Err(BridgeRefused::Transition { from: state, to: BridgeState::Accepted });
            }
            BridgeState::Offered | BridgeState::Accepted | BridgeState::Expired | BridgeState::Revoked => {}
        }
        let (version, sha256) = (agreement.version, agreement.sha256.to_owned());
        let (memory, person) = (memory.to_owned(), person.to_owned());
        self.stage = BridgeStage::Accepted {
            acceptance: Acceptance { version, sha256: sha256.clone(), at: now, memory, person },
        };
        self.letter = None;
        Ok(Some(BridgeEvent::Accepted { version, sha256 }))
    }

    /// Grants access until `expires`, or changes the end of a grant. Granting the same end again changes nothing and
    /// returns `None`.
    ///
    /// # Errors
    /// [`BridgeRefused::Transition`] without an acceptance or after a revocation, [`BridgeRefused::Expiry`], and
    /// [`BridgeRefused::MailsLeft`] after an erasure until the mails are removed, because new ones would go with them.
    pub fn grant(
        &mut self,
        operator: &Operator,
        reason: &str,
        expires: Timestamp,
        now: Timestamp,
    ) -> Result<Option<BridgeEvent>, BridgeRefused> {
        let from = self.state(now);
        let acceptance = match &self.stage {
            BridgeStage::Accepted { acceptance } | BridgeStage::Granted { acceptance, .. } => acceptance.clone(),
            BridgeStage::Offered | BridgeStage::Revoked { .. } => {
                return Err(BridgeRefused::Transition { from, to: BridgeState::Granted });
            }
        };
        if self.erased_at.is_some() {
            return Err(BridgeRefused::MailsLeft(from));
        }
        if expires <= now || expires.since(now) > LONGEST_GRANT {
            return Err(BridgeRefused::Expiry);
        }
        if self.expires() == Some(expires) {
            return Ok(None);
        }
        let by = SignedBy::of(operator);
        let grant = Grant { by: by.by.clone(), reason: reason.to_owned(), at: now, expires };
        self.stage = BridgeStage::Granted { acceptance, grant };
        self.letter = Some(AccessLetter::new(AccessChange::Granted { expires }, now));
        Ok(Some(BridgeEvent::Granted { by, reason: reason.to_owned(), expires: expires.to_iso() }))
    }

    /// Ends access, or declines it before it was granted.
    ///
    /// # Errors
    /// [`BridgeRefused::Transition`] without an acceptance, or if access is already revoked.
    pub fn revoke(&mut self, operator: &Operator, reason: &str, now: Timestamp) -> Result<BridgeEvent, BridgeRefused> {
        let from = self.state(now);
        let (acceptance, kind) = match &self.stage {
            BridgeStage::Accepted { acceptance } => (acceptance.clone(), AccessChange::Declined),
            BridgeStage::Granted { acceptance, .. } => (acceptance.clone(), AccessChange::Revoked),
            BridgeStage::Offered | BridgeStage::Revoked { .. } => {
                return Err(BridgeRefused::Transition { from, to: BridgeState::Revoked });
            }
        };
        self.letter = Some(AccessLetter::new(kind, now));
        let (by, reason) = (SignedBy::of(operator), reason.to_owned());
        self.stage = BridgeStage::Revoked { acceptance, by: by.by.clone(), reason: reason.clone(), at: now };
        Ok(BridgeEvent::Revoked { by, reason })
    }

    /// Removes the thread, the name and the address, and ends any access. Returns `None` if there was nothing to
    /// remove.
    pub fn erase(&mut self, now: Timestamp) -> Option<BridgeEvent> {
        if self.stage == BridgeStage::Offered && self.thread.is_empty() {
            return None;
        }
        self.stage = BridgeStage::Offered;
        self.thread.clear();
        self.letter = None;
        self.erased_at = Some(now);
        Some(BridgeEvent::Erased)
    }

    /// When the mails of an erased Bridge can be removed from the mailbox; `None` if there are none to remove.
    #[must_use]
    pub fn mails_due(&self) -> Option<Timestamp> {
        self.erased_at.map(|at| at.plus(MAILS_SETTLE))
    }

    /// The mailbox's ids of the mails whose texts were posted, until an erasure has removed them.
    #[must_use]
    pub fn posted_mails(&self) -> &[String] {
        &self.posted_mails
    }

    /// Keeps the mailbox's id of a mail whose text is posted.
    pub fn record_posted_mail(&mut self, mail: &str) {
        self.posted_mails.push(mail.to_owned());
    }

    /// Records that the mails of an erased Bridge are removed. Returns `None` if that is already recorded.
    pub fn record_mails_removed(&mut self) -> Option<BridgeEvent> {
        self.erased_at.take().map(|_| {
            self.posted_mails.clear();
            BridgeEvent::MailsRemoved
        })
    }
}

impl Audited for Bridge {
    type Id = SubscriberId;

    /// A customer may keep posting while the log fails.
    const MOST_WAITING: usize = 20;

    fn unstored(id: &SubscriberId) -> Option<Self> {
        Some(Self::new(id.clone()))
    }

    fn id(&self) -> &SubscriberId {
        &self.id
    }

    fn stream(&self) -> String {
        format!("{BRIDGE_PREFIX}{}", self.id.as_str())
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
