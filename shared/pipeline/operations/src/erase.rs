//! A customer asks to be forgotten: what that would do, and doing it.

use crate::Operator;
use audit::{Change, CommitError, Context};
use domain::{
    Sale, SessionId, StepError, Timestamp, erasure::Store, mail::Letter, money::Money, ports::StorageError,
    sale::Fulfilment,
};
use erasure::{Outcome, Ports};
use serde::Serialize;
use std::collections::BTreeMap;

/// Why nothing is erased.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// Nobody has seen this sale.
    #[error("there is no such sale")]
    NoSale,
    /// The smoke test removes what it leaves by itself.
    #[error("the sale is the smoke test's: it belongs to no customer, and is removed by itself")]
    SmokeTest,
    /// The log is kept for years: it says why something is gone.
    #[error("an erasure needs a reason: --reason")]
    NoReason,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The sale could not be changed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// It is decided, and not everything could be removed.
    #[error("it is decided, but not everything is removed yet; it is tried again every five minutes")]
    Step(#[from] StepError),
}

impl EraseError {
    /// Whether the answer is no, rather than that something broke.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::NoSale | Self::SmokeTest | Self::NoReason)
    }
}

/// What an erasure would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The sale.
    pub session_id: SessionId,
    /// How far the verdict is.
    pub verdict: &'static str,
    /// What is under way and would end.
    pub ends: Vec<String>,
    /// What would be removed, by store.
    pub removes: BTreeMap<&'static str, u64>,
    /// Where the money is: erasing does not move it.
    pub money: &'static str,
    /// Whether the customer paid, has no verdict, and would have to be refunded by hand.
    pub owed: bool,
    /// When the erasure was decided, if it was.
    pub decided_at: Option<Timestamp>,
}

/// What an erasure would do to a sale.
///
/// # Errors
/// [`EraseError`].
pub async fn plan(ports: Ports<'_>, session: &SessionId) -> Result<Plan, EraseError> {
    let sale = ports.journal.store.load(session).await?.ok_or(EraseError::NoSale)?.value;
    if sale.smoke() {
        return Err(EraseError::SmokeTest);
    }
    let replies: Vec<String> = match sale.fulfilment() {
        Fulfilment::Erased { replies, .. } => replies.clone(),
        _ => sale.replies().iter().map(|reply| reply.message.clone()).collect(),
    };
    let counts = erasure::look(ports, session, &replies).await?;
    Ok(Plan {
        session_id: session.clone(),
        verdict: sale.fulfilment().as_str(),
        ends: pending(&sale),
        removes: by_name(&counts),
        money: sale.money().as_str(),
        owed: is_owed(&sale),
        decided_at: match sale.fulfilment() {
            Fulfilment::Erased { at, .. } => Some(*at),
            _ => None,
        },
    })
}

/// Paid, not delivered, and no refund decided.
fn is_owed(sale: &Sale) -> bool {
    let has_verdict = matches!(sale.fulfilment(), Fulfilment::Ready { .. } | Fulfilment::Erased { .. });
    *sale.money() == Money::Kept && !has_verdict
}

fn pending(sale: &Sale) -> Vec<String> {
    let verdict = match sale.fulfilment() {
        Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } => Some("the verdict is ordered".to_owned()),
        Fulfilment::InReview { .. } => Some("the verdict is held for review".to_owned()),
        Fulfilment::Failed { .. } => Some("a failed verdict waits for a decision".to_owned()),
        Fulfilment::Unusable { .. } => Some("the customer was to be asked for the question".to_owned()),
        Fulfilment::Ready { .. } | Fulfilment::Erased { .. } => None,
    };
    let wanted = Letter::ALL.into_iter().filter(|letter| sale.letter(*letter).is_pending());
    let mails = wanted.map(|letter| format!("{} mail: {}", letter.as_str(), sale.letter(letter).as_str()));
    let replies = sale.waiting_replies().count();
    let replies = (replies > 0).then(|| format!("replies that nobody has read yet: {replies}"));
    verdict.into_iter().chain(mails).chain(replies).collect()
}

fn by_name(counts: &erasure::Counts) -> BTreeMap<&'static str, u64> {
    counts.iter().map(|(store, count): (&Store, &u64)| (store.as_str(), *count)).collect()
}

/// What came of an erasure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Erased {
    /// Whether it was decided before.
    pub decided_before: bool,
    /// What was removed now, by store.
    pub removed: BTreeMap<&'static str, u64>,
    /// When the stores are looked at once more; `None` when that was done.
    pub settles_at: Option<Timestamp>,
}

/// Decides that a sale is erased, and removes what is kept of it.
///
/// # Errors
/// [`EraseError`]. Repeating is safe.
pub async fn erase(ports: Ports<'_>, operator: &Operator, session: &SessionId) -> Result<Erased, EraseError> {
    if operator.reason().is_none() {
        return Err(EraseError::NoReason);
    }
    let journal = ports.journal;
    let sale = journal.store.load(session).await?.ok_or(EraseError::NoSale)?;
    if sale.value.smoke() {
        return Err(EraseError::SmokeTest);
    }
    let decide = |sale: &mut Sale, now| match sale.erase(operator, now) {
        Ok(event) => Change::of(&event, &Context::at(now), false),
        Err(_) => Change::nothing(true),
    };
    let (_, decided_before) = journal.commit(sale, decide).await?.settle().await;
    let (removed, settles_at) = match erasure::carry_out(ports, session).await? {
        Outcome::Finished(counts) => (by_name(&counts), None),
        Outcome::Settling(counts, at) => (by_name(&counts), Some(at)),
        Outcome::AlreadyFinished | Outcome::NotDecided => (BTreeMap::new(), None),
    };
    Ok(Erased { decided_before, removed, settles_at })
}

#[cfg(test)]
mod tests;
