//! Erases a sale on a customer's request, and shows beforehand what that would do.

use crate::{Done, NotDone, Operator, PartFailed, Refusals};
use audit::{Change, Context};
use domain::{Sale, SessionId, StepError, Timestamp, erasure::Store, mail::Letter, sale::Fulfilment};
use erasure::{Outcome, Ports};
use serde::Serialize;
use std::collections::BTreeMap;

/// Why nothing is erased.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// The smoke test removes its own data.
    #[error("the sale is the smoke test's: it belongs to no customer, and is removed by itself")]
    SmokeTest,
    /// The payment may still arrive: a bank transfer takes days. A payment for an erased sale appears on no list.
    #[error(
        "the session is not paid, but may still be: erase it when it is paid or over, at most 31 days after it was ordered"
    )]
    MayStillBePaid,
    /// A reason is missing: the log is kept for years and has to say why data was removed.
    #[error("an erasure needs a reason: --reason")]
    NoReason,
}

impl Refusals for EraseError {}

/// The effects that an erasure would have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The sale.
    pub session_id: SessionId,
    /// The state of the verdict.
    pub verdict: &'static str,
    /// Work in progress that would end.
    pub ends: Vec<String>,
    /// The number of objects that would be removed, by store.
    pub removes: BTreeMap<&'static str, u64>,
    /// The state of the money: erasing does not move it.
    pub money: &'static str,
    /// Whether the customer paid, has no verdict, and would have to be refunded by hand.
    pub owed: bool,
    /// When the erasure was decided, if it was.
    pub decided_at: Option<Timestamp>,
}

/// The effects that erasing a sale and its follow-up would have; the id of either names both.
///
/// # Errors
/// [`EraseError`].
pub async fn plan(ports: Ports<'_>, session: &SessionId) -> Done<Plan, EraseError> {
    let session = &session.paid_session();
    let sale = ports.journal.store.load(session).await?.ok_or(EraseError::NoSale)?.value;
    let followup = ports.journal.store.load(&session.followup()).await?.map(|followup| followup.value);
    if sale.smoke() {
        return Err(EraseError::SmokeTest.into());
    }
    if sale.may_still_be_paid() {
        return Err(EraseError::MayStillBePaid.into());
    }
    let replies: Vec<String> = match sale.fulfilment() {
        Fulfilment::Erased { replies, .. } => replies.clone(),
        _ => sale.replies().iter().map(|reply| reply.message.clone()).collect(),
    };
    // An earlier run may have decided, and failed at what fails now.
    let not_looked = |error: StepError| -> NotDone<EraseError> {
        if sale.is_erased() {
            let what = "the erasure is decided; the remaining data could not be read and is removed automatically";
            NotDone::Unfinished(PartFailed::new(what, error))
        } else {
            let what = "the stored data could not be read, so nothing is decided: repeat the command";
            NotDone::Undecided(PartFailed::new(what, error))
        }
    };
    let mut removes = by_name(&erasure::look(ports, session, &replies).await.map_err(not_looked)?);
    if let Some(followup) = &followup {
        add(&mut removes, by_name(&erasure::look(ports, followup.session_id(), &[]).await.map_err(not_looked)?));
    }
    Ok(Plan {
        session_id: session.clone(),
        verdict: sale.fulfilment().as_str(),
        ends: ends(&sale, followup.as_ref()),
        removes,
        money: sale.money().as_str(),
        owed: sale.is_owed(),
        decided_at: match sale.fulfilment() {
            Fulfilment::Erased { at, .. } => Some(*at),
            _ => None,
        },
    })
}

fn ends(sale: &Sale, followup: Option<&Sale>) -> Vec<String> {
    let followup = followup.into_iter().flat_map(pending).map(|what| format!("follow-up: {what}"));
    pending(sale).into_iter().chain(followup).collect()
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

/// The result of an erasure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Erased {
    /// Whether it was decided before.
    pub decided_before: bool,
    /// The number of objects that were removed now, by store.
    pub removed: BTreeMap<&'static str, u64>,
    /// When the stores are checked once more; `None` when that was done.
    pub settles_at: Option<Timestamp>,
    /// Whether its customer has paid, has no verdict, and no refund is decided.
    pub owed: bool,
}

/// Decides that a sale and its follow-up, if one was ordered, are erased, and removes their data. The session's sale is
/// decided first: from then on no follow-up of it can be ordered.
///
/// # Errors
/// [`EraseError`]. Repeating is safe.
pub async fn erase(ports: Ports<'_>, operator: &Operator, session: &SessionId) -> Done<Erased, EraseError> {
    if operator.reason().is_none() {
        return Err(EraseError::NoReason.into());
    }
    let (paid, followup) = (session.paid_session(), session.followup());
    let (decided_before, owed) = decide(ports, operator, &paid).await?.ok_or(EraseError::NoSale)?;
    let followed = decide(ports, operator, &followup).await?.map(|(decided_before, _)| decided_before);
    // Both are decided before anything is removed, so that the deadlines function removes what a store refuses now.
    let mut erased = remove(ports, &paid).await?;
    if followed.is_some() {
        let other = remove(ports, &followup).await?;
        add(&mut erased.removed, other.removed);
        erased.settles_at = erased.settles_at.max(other.settles_at);
    }
    Ok(Erased { decided_before: decided_before && followed.unwrap_or(true), owed, ..erased })
}

/// Decides about one of the two sales. Returns whether it was decided before, and whether it is owed; `None` if there is
/// no such sale.
async fn decide(ports: Ports<'_>, operator: &Operator, session: &SessionId) -> Done<Option<(bool, bool)>, EraseError> {
    let journal = ports.journal;
    let Some(sale) = journal.store.load(session).await? else { return Ok(None) };
    if sale.value.smoke() {
        return Err(EraseError::SmokeTest.into());
    }
    let decide = |sale: &mut Sale, now| match sale.erase(operator, now) {
        Ok(event) => Change::of(&event, &Context::at(now), Ok(false)),
        Err(_) if sale.may_still_be_paid() => Change::nothing(Err(EraseError::MayStillBePaid)),
        Err(_) => Change::nothing(Ok(true)),
    };
    let (sale, decided_before) = journal.commit(sale, decide).await?.settle().await;
    Ok(Some((decided_before?, sale.value.is_owed())))
}

async fn remove(ports: Ports<'_>, session: &SessionId) -> Done<Erased, EraseError> {
    let not_removed =
        "it is decided, but not everything is removed yet; it is tried again within 20 minutes, then every five";
    let carried_out = erasure::carry_out(ports, session).await;
    let (removed, settles_at) = match carried_out.map_err(|error| PartFailed::new(not_removed, error))? {
        Outcome::Finished(counts) => (by_name(&counts), None),
        Outcome::Settling(counts, at) => (by_name(&counts), Some(at)),
        Outcome::AlreadyFinished | Outcome::NotDecided => (BTreeMap::new(), None),
    };
    Ok(Erased { decided_before: false, removed, settles_at, owed: false })
}

fn add(counts: &mut BTreeMap<&'static str, u64>, more: BTreeMap<&'static str, u64>) {
    for (store, count) in more {
        *counts.entry(store).or_default() += count;
    }
}

#[cfg(test)]
mod tests;
