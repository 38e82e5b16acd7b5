//! The right to be forgotten. First an operator decides, and that goes on record with the sale: from then on nothing is
//! made, sent or shown. Then every store is emptied of the sale, at once and once more when no worker that began before
//! can write anything any more. A process that dies anywhere in between is followed by another (the deadlines function).

use audit::{Change, Context, Journal};
use domain::{
    Sale, SessionId, StepError, Timestamp,
    erasure::Store,
    ports::{SaleData, SaleMails},
    sale::Fulfilment,
};
use std::collections::BTreeMap;

/// What an erasure needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub data: &'a dyn SaleData,
    pub mails: &'a dyn SaleMails,
}

/// How many objects each store keeps, or kept, of a sale.
pub type Counts = BTreeMap<Store, u64>;

/// How an erasure stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every store is empty, and nobody can write into it any more.
    Finished(Counts),
    /// Every store is empty; from this moment on it is looked at once more.
    Settling(Counts, Timestamp),
    /// It was finished before.
    AlreadyFinished,
    /// Nobody decided that this sale is erased.
    NotDecided,
}

/// What the stores keep of a sale now.
///
/// # Errors
/// [`StepError`] when a store or the mailbox does not answer.
pub async fn look(ports: Ports<'_>, session: &SessionId, replies: &[String]) -> Result<Counts, StepError> {
    let mut counts = Counts::new();
    for store in Store::ALL {
        let kept = match store {
            Store::Mailbox => ports.mails.of_sale(session, replies).await?.len() as u64,
            Store::Table | Store::Archive | Store::DeadLetters | Store::Quarantine => {
                ports.data.kept(store, session).await?
            }
        };
        counts.insert(store, kept);
    }
    Ok(counts)
}

/// Empties every store of a sale that is to be erased. Repeating it is safe.
///
/// # Errors
/// [`StepError`]: call it again. One store that fails keeps no other from being emptied.
pub async fn carry_out(ports: Ports<'_>, session: &SessionId) -> Result<Outcome, StepError> {
    let journal = ports.journal;
    let Some(sale) = journal.store.load(session).await? else { return Ok(Outcome::NotDecided) };
    let Fulfilment::Erased { at, replies, removed_at } = sale.value.fulfilment().clone() else {
        return Ok(Outcome::NotDecided);
    };
    if removed_at.is_some() {
        journal.flush(sale).await;
        return Ok(Outcome::AlreadyFinished);
    }
    // Read before the stores are emptied: a later write began after the decision.
    let looked_at = journal.clock.now();
    let counts = empty(ports, session, &replies).await?;
    let settled_at = at.plus(domain::sale::ERASURE_SETTLES_AFTER);
    if looked_at < settled_at {
        journal.flush(sale).await;
        return Ok(Outcome::Settling(counts, settled_at));
    }
    let finish = |sale: &mut Sale, now| match sale.erasure_finished(now) {
        Ok(event) => Change::of(&event, &Context::new(now, at), ()),
        Err(_) => Change::nothing(()),
    };
    journal.commit(sale, finish).await?.settle().await;
    Ok(Outcome::Finished(counts))
}

async fn empty(ports: Ports<'_>, session: &SessionId, replies: &[String]) -> Result<Counts, StepError> {
    let mut counts = Counts::new();
    let mut failed = None;
    for store in Store::ALL {
        let removed = match store {
            Store::Mailbox => empty_mailbox(ports.mails, session, replies).await,
            Store::Table | Store::Archive | Store::DeadLetters | Store::Quarantine => {
                ports.data.remove(store, session).await.map_err(StepError::from)
            }
        };
        match removed {
            Ok(count) => drop(counts.insert(store, count)),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(counts), Err)
}

async fn empty_mailbox(mails: &dyn SaleMails, session: &SessionId, replies: &[String]) -> Result<u64, StepError> {
    let found = mails.of_sale(session, replies).await?;
    for id in &found {
        mails.remove(id).await?;
    }
    Ok(found.len() as u64)
}
