//! A paid question that the authority gate declines, and the decisions of people with the required roles (Authority
//! Governance, human lock). No role can release a lock for child safety or self-harm.
//! The file has more than 300 lines because the fields of the decision are documented beside the transitions that check
//! and change them.

use super::{AuthorityDecision, Event, Fulfilment, Purchase, Refused, Sale};
use crate::{
    Timestamp,
    authority_state::State,
    mail::Mail,
    money::Money,
    operator::{CallerIdentity, Operator},
    texts,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, time::Duration};

/// How long an approval is valid: within this time the second person has to approve, and the verdict has to be made.
pub const APPROVAL_LASTS: Duration = Duration::from_secs(24 * 3600);

/// A source of help, as the page and the mail show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Helper {
    /// The name.
    pub name: String,
    /// A number or an address.
    pub contact: String,
}

/// Who may approve, by the ontology of the deciding domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HumanLock {
    /// No human may approve: child safety and self-harm.
    Never,
    /// The domain names no role for this question.
    Nobody,
    /// This many different people, each with one of these roles and a credential of one of these registers.
    People {
        /// The number of people.
        persons: u8,
        /// Their roles.
        roles: Vec<String>,
        /// The registers.
        sources: Vec<String>,
    },
}

/// One person's approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Their name.
    pub by: String,
    /// Their role.
    pub role: String,
    /// `REGISTER:NUMBER`, as the register publishes it.
    pub credential: String,
    /// Their AWS identity, as in [`Authority`]; missing in earlier approvals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<CallerIdentity>,
    /// When.
    pub at: Timestamp,
}

/// The person who decides, with their role and credential.
#[derive(Clone, Copy, Debug)]
pub struct Authority<'a> {
    /// The person.
    pub operator: &'a Operator,
    /// The role.
    pub role: &'a str,
    /// `REGISTER:NUMBER`.
    pub credential: &'a str,
    /// Their AWS identity; `None` if AWS did not name it, or if all people have the same one, as on the local stack.
    pub identity: Option<&'a CallerIdentity>,
}

/// The authority gate's decision, without text of the customer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declined {
    /// The terminal state.
    pub state: State,
    /// Its reason code.
    pub reason: String,
    /// The domain that decided.
    pub domain: String,
    /// Who may approve.
    pub lock: HumanLock,
    /// Sources of help.
    pub helpers: Vec<Helper>,
    /// What the customer may do instead.
    #[serde(default)]
    pub advice: Vec<String>,
    /// Whether it is a possible disclosure of self-harm: then the page and the mail contain no sales language.
    #[serde(default)]
    pub is_crisis: bool,
    /// Whether the question describes an emergency: the only advice is then to call.
    #[serde(default)]
    pub is_emergency: bool,
    /// When.
    pub at: Timestamp,
    /// Approvals so far.
    #[serde(default)]
    pub approvals: Vec<Approval>,
    /// When the last required approval came.
    #[serde(default)]
    pub approved_at: Option<Timestamp>,
}

/// Why an approval or a rejection is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApproved {
    /// There is nothing to decide: the state of the verdict.
    #[error("state of the sale: {0}; the authority gate has not declined it, or it is decided already")]
    NotDeclined(&'static str),
    /// Nothing is made: the state of the money.
    #[error("state of the money: {0}; nothing is made for money that went back or is about to")]
    MoneyWentBack(&'static str),
    /// The gate has decided again since the operator read its decision, or they named another time.
    #[error(
        "the authority gate's latest decision is of {0}, to the millisecond: read the question and that decision \
             (oracle authority queue), and repeat the command"
    )]
    OtherDecision(Timestamp),
    /// The domain names no role for it.
    #[error("nobody may approve this question: refund it, or order it with another question")]
    Nobody,
    /// The lock cannot be lifted. The attempt is recorded.
    #[error("child safety and self-harm are not subject to human lock; the attempt is on record")]
    Locked,
    /// The role must not decide this.
    #[error("{role:?} may not decide this: {}", roles.join(", "))]
    Role {
        /// The role given.
        role: String,
        /// The roles that may.
        roles: Vec<String>,
    },
    /// The credential is not from a register of the domain.
    #[error("the credential must be REGISTER:NUMBER of one of: {}", .0.join(", "))]
    Credential(Vec<String>),
    /// The same person or credential has approved already.
    #[error("{0} or this credential has approved already: another person has to")]
    SamePerson(String),
    /// The same AWS identity has approved already.
    #[error("{0} has approved already: another person has to, with their own AWS identity")]
    SameIdentity(String),
}

impl Declined {
    /// The sentence for the customer, without a word about money.
    #[must_use]
    pub const fn sentence(&self) -> &'static str {
        match self.state {
            _ if self.is_crisis => texts::CRISIS,
            _ if self.is_emergency => texts::EMERGENCY,
            State::RequiresSpecification | State::AmbiguousMapping => texts::DECLINED_INCOMPLETE,
            State::RequiresOracleVerification => texts::DECLINED_UNVERIFIED,
            State::Unresolvable => texts::DECLINED_UNREADABLE,
            State::Authorized | State::NarrativeOnly | State::Blocked => texts::DECLINED,
        }
    }

    /// Whether the question leaves out facts, which the advice names.
    #[must_use]
    pub const fn is_incomplete(&self) -> bool {
        matches!(self.state, State::RequiresSpecification | State::AmbiguousMapping)
    }

    /// Whether approval is impossible for everyone.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.lock == HumanLock::Never
    }

    /// Whether people can still approve it.
    #[must_use]
    pub const fn is_for_humans(&self) -> bool {
        matches!(self.lock, HumanLock::People { .. })
    }

    /// The approvals that are still valid.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> Vec<&Approval> {
        self.approvals.iter().filter(|approval| approval.at.plus(APPROVAL_LASTS) > now).collect()
    }
}

impl Sale {
    /// The authority gate's decision, while it is the reason that there is no verdict; `None` if people approved the
    /// question and its verdict failed later for another reason, until the approvals have lapsed
    /// ([`Self::has_lapsed_approvals`]).
    #[must_use]
    pub const fn declined(&self) -> Option<&Declined> {
        match (&self.fulfilment, &self.declined) {
            (Fulfilment::Failed { .. }, Some(declined)) if declined.approved_at.is_none() => Some(declined),
            _ => None,
        }
    }

    /// Whether people approved the question, no verdict was made, and the approvals are no longer valid: the authority
    /// gate would decline it again. The next reminder of the sale then ends the approvals, so that the policy refunds
    /// it as any other declined question.
    #[must_use]
    pub fn has_lapsed_approvals(&self, now: Timestamp) -> bool {
        let approved_at = self.declined.as_ref().and_then(|declined| declined.approved_at);
        matches!(self.fulfilment, Fulfilment::Failed { .. })
            && self.not_paid.is_none()
            && self.is_money_kept()
            && approved_at.is_some_and(|at| at.plus(APPROVAL_LASTS) <= now)
    }

    /// Whether no role may approve the declined question and no policy refunds it. Such a sale has ended; an operator may
    /// still refund it.
    #[must_use]
    pub fn is_declined_for_good(&self) -> bool {
        !self.may_be_refunded_by_policy() && self.declined().is_some_and(|declined| !declined.is_for_humans())
    }

    /// Whether a policy may refund a sale that is held or declined. It may not if the verdict was given away (nothing
    /// was paid), for a follow-up (the money is its session's), or if the customer has a verdict by mail. Then humans
    /// decide, and a declined question that no role may approve has ended.
    #[must_use]
    pub fn may_be_refunded_by_policy(&self) -> bool {
        !self.given && !self.is_served()
    }

    /// Whether a possible disclosure of self-harm ended the sale. Its mail goes at once, whatever becomes of the money.
    #[must_use]
    pub const fn is_crisis(&self) -> bool {
        matches!(self.declined(), Some(declined) if declined.is_crisis)
    }

    /// Whether the page and the mail about a declined question may say that the payment goes back: a policy may refund
    /// it, and no dispute leaves the decision to a bank.
    #[must_use]
    pub fn gives_money_back(&self) -> bool {
        self.may_be_refunded_by_policy() && !matches!(self.money, Money::Disputed { .. })
    }

    /// Whether people have approved exactly this question, and the approvals are still valid.
    #[must_use]
    pub fn is_approved(&self, query_hash: &str, reason: &str, now: Timestamp) -> bool {
        self.query_hash.as_deref() == Some(query_hash)
            && self.declined.as_ref().is_some_and(|declined| {
                let is_valid = declined.approved_at.is_some_and(|at| at.plus(APPROVAL_LASTS) > now);
                is_valid && !declined.is_locked() && declined.reason == reason
            })
    }

    /// Ends a claim without a verdict, because the question must not be answered. After a possible disclosure of self-harm
    /// the mail with sources of help is ordered at once; that about a follow-up stands on its page.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn decline(
        &mut self,
        owner: &str,
        purchase: &Purchase,
        declined: Declined,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        let reason = format!("authority gate: {} {}", declined.state, declined.reason);
        let event = self.fail(owner, Some(purchase), &reason, now)?;
        if declined.is_crisis && !self.is_followup() && self.refund_letter.is_not_ordered() {
            self.refund_letter = Mail::Ordered;
        }
        self.declined = Some(declined);
        Ok(event)
    }

    /// Counts an approval. The last required approval orders the verdict. Returns the count with the event.
    ///
    /// # Errors
    /// [`NotApproved`]. For a lock, the attempt must be recorded: [`Self::refuse_override`].
    pub fn approve_declined(
        &mut self,
        by: Authority<'_>,
        now: Timestamp,
    ) -> Result<(Event, AuthorityDecision), NotApproved> {
        let declined = self.decidable()?;
        let HumanLock::People { persons, roles, sources } = &declined.lock else { return Err(NotApproved::Nobody) };
        check(by, roles, sources)?;
        let name = by.operator.name();
        let mut standing: Vec<Approval> = declined.standing(now).into_iter().cloned().collect();
        if standing.iter().any(|one| is_one_person(one, name, by.credential)) {
            return Err(NotApproved::SamePerson(name.to_owned()));
        }
        if let Some(identity) = by.identity
            && standing.iter().any(|one| one.identity.as_ref() == Some(identity))
        {
            return Err(NotApproved::SameIdentity(identity.as_str().to_owned()));
        }
        let needed = usize::from(*persons);
        standing.push(Approval {
            by: name.to_owned(),
            role: by.role.to_owned(),
            credential: by.credential.to_owned(),
            identity: by.identity.cloned(),
            at: now,
        });
        let count = standing.len();
        if let Some(declined) = &mut self.declined {
            declined.approvals = standing;
            declined.approved_at = (count >= needed).then_some(now);
        }
        if count >= needed {
            self.fulfilment = Fulfilment::Ordered { at: now };
            self.waiting_since = now;
            self.chased = 0;
        }
        let decision = AuthorityDecision::Approved { count, needed };
        Ok((decided(by, decision.clone()), decision))
    }

    /// Rejects a declined question: the money goes back next, or the sale has ended ([`Self::is_declined_for_good`]).
    ///
    /// # Errors
    /// [`NotApproved`].
    pub fn reject_declined(&mut self, by: Authority<'_>) -> Result<Event, NotApproved> {
        let declined = match self.decidable() {
            // A rejection lifts nothing, so it must not be recorded as an attempt to override the lock.
            Err(NotApproved::Locked) => return Err(NotApproved::Nobody),
            decidable => decidable?,
        };
        let HumanLock::People { roles, sources, .. } = &declined.lock else { return Err(NotApproved::Nobody) };
        check(by, roles, sources)?;
        if let Some(declined) = &mut self.declined {
            declined.lock = HumanLock::Nobody;
        }
        Ok(decided(by, AuthorityDecision::Rejected))
    }

    /// Records an attempt to override a lock: that of the gate's decision, or, if `is_locked_today`, that of today's
    /// rules about a question which was answered. It changes nothing else ("All override attempts logged for compliance
    /// review").
    ///
    /// # Errors
    /// [`NotApproved::NotDeclined`] without a lock.
    pub fn refuse_override(&self, by: Authority<'_>, is_locked_today: bool) -> Result<Event, NotApproved> {
        if is_locked_today || self.declined().is_some_and(Declined::is_locked) {
            return Ok(decided(by, AuthorityDecision::OverrideRefused));
        }
        Err(NotApproved::NotDeclined(self.fulfilment.as_str()))
    }

    fn decidable(&self) -> Result<&Declined, NotApproved> {
        let declined = self.declined().ok_or(NotApproved::NotDeclined(self.fulfilment.as_str()))?;
        if declined.is_locked() {
            return Err(NotApproved::Locked);
        }
        if self.is_money_kept() { Ok(declined) } else { Err(NotApproved::MoneyWentBack(self.money.as_str())) }
    }
}

/// Whether an approval may be by the person who approves now: all words of one name are in the other, or the licence is
/// the same but for its spelling ("md-12345", "MD12345").
fn is_one_person(one: &Approval, name: &str, credential: &str) -> bool {
    let words = |name: &str| -> BTreeSet<String> {
        let lower = name.to_lowercase();
        lower.split(|of: char| !of.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let number = |text: &str| -> String { text.to_lowercase().chars().filter(|of| of.is_alphanumeric()).collect() };
    let (before, now) = (words(&one.by), words(name));
    before.is_subset(&now) || now.is_subset(&before) || number(&one.credential) == number(credential)
}

fn decided(by: Authority<'_>, decision: AuthorityDecision) -> Event {
    Event::AuthorityDecided {
        operator: by.operator.clone(),
        role: by.role.to_owned(),
        credential: by.credential.to_owned(),
        decision,
    }
}

/// Checks that the matrix names the role, and that the credential is a number in one of the domain's registers.
fn check(by: Authority<'_>, roles: &[String], sources: &[String]) -> Result<(), NotApproved> {
    if !roles.iter().any(|role| role == by.role) {
        return Err(NotApproved::Role { role: by.role.to_owned(), roles: roles.to_vec() });
    }
    let is_number = |number: &str| {
        (3..=40).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let known = by
        .credential
        .split_once(':')
        .is_some_and(|(source, number)| sources.iter().any(|known| known == source) && is_number(number));
    if known { Ok(()) } else { Err(NotApproved::Credential(sources.to_vec())) }
}
