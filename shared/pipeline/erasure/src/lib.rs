//! The right to be forgotten. First an operator decides, and the decision is recorded with the sale: from then on
//! nothing is made, sent or shown. Then the sale's data is removed from every store: once at once, and once more when
//! no worker that began before the decision can still write. After a crash the deadlines function continues.

use audit::{Change, Context, Journal};
use domain::{
    ErrorCode, Operator, Sale, SessionId, StepError, Timestamp,
    erasure::Store,
    ports::{SaleData, StoredMails},
    sale::Fulfilment,
};
use std::collections::BTreeMap;

/// The most mails that one attempt removes. The mailbox removes one a call, and a run of the deadlines function has 20 s
/// for its erasures.
const REMOVED_AT_ONCE: usize = 100;

/// The ports that an erasure uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub data: &'a dyn SaleData,
    pub mails: &'a dyn StoredMails,
}

/// The number of a sale's objects per store, present or removed.
pub type Counts = BTreeMap<Store, u64>;

/// The state of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every store is empty, and no worker can still write to one.
    Finished(Counts),
    /// Every store is empty; they are checked once more at this time.
    Settling(Counts, Timestamp),
    /// It was completed before.
    AlreadyFinished,
    /// The erasure of this sale was not decided.
    NotDecided,
}

/// Counts the sale's data in every store. Of a very long conversation only the listed messages are counted.
///
/// # Errors
/// [`StepError`] when a store or the mailbox does not answer.
pub async fn look(ports: Ports<'_>, session: &SessionId, replies: &[String]) -> Result<Counts, StepError> {
    let mut counts = Counts::new();
    for store in Store::ALL {
        let kept = match store {
            Store::Mailbox => ports.mails.of_sale(session, replies).await?.ids.len() as u64,
            Store::Table | Store::Archive | Store::DeadLetters | Store::Quarantine => {
                ports.data.kept(store, session).await?
            }
        };
        counts.insert(store, kept);
    }
    Ok(counts)
}

/// Removes the data of a sale that is to be erased from every store. Repeating is safe.
///
/// # Errors
/// [`StepError`]: call it again. A store that fails does not prevent emptying the others.
pub async fn carry_out(ports: Ports<'_>, session: &SessionId) -> Result<Outcome, StepError> {
    let journal = ports.journal;
    let Some(sale) = journal.store.load(session).await? else { return Ok(Outcome::NotDecided) };
    let Fulfilment::Erased { at, replies, removed_at, .. } = sale.value.fulfilment().clone() else {
        return Ok(Outcome::NotDecided);
    };
    if removed_at.is_some() {
        journal.flush(sale).await;
        return Ok(Outcome::AlreadyFinished);
    }
    // The data of the session goes even if its follow-up cannot be decided yet.
    let decided = decide_followup(journal, session).await;
    // Read before the stores are emptied: a worker that writes later began after the decision.
    let looked_at = journal.clock.now();
    let counts = empty(ports, session, &replies).await?;
    decided?;
    let settled_at = at.plus(domain::sale::ERASURE_SETTLES_AFTER);
    if looked_at < settled_at {
        journal.flush(sale).await;
        return Ok(Outcome::Settling(counts, settled_at));
    }
    let finish = |sale: &mut Sale, now| Change::made(sale.erasure_finished(now), &Context::new(now, at));
    journal.commit(sale, finish).await?.settle().await;
    Ok(Outcome::Finished(counts))
}

/// Decides about the follow-up that an erased session includes: the command decides about both, and may have died between
/// the two. No follow-up can be ordered any more.
async fn decide_followup(journal: Journal<'_>, session: &SessionId) -> Result<(), StepError> {
    let followup = if session.is_followup() { None } else { journal.store.load(&session.followup()).await? };
    let Some(followup) = followup.filter(|followup| !followup.value.is_erased()) else { return Ok(()) };
    let policy = Operator::policy("erasure", "the session that includes it is erased")?;
    let decide = |sale: &mut Sale, now| match sale.erase(&policy, now) {
        Ok(event) => Change::of(&event, &Context::at(now), Ok(())),
        Err(_) if sale.is_erased() => Change::nothing(Ok(())),
        Err(refused) => Change::nothing(Err(refused)),
    };
    let (_, decided) = journal.commit(followup, decide).await?.settle().await;
    decided.map_err(|refused| ErrorCode::Malformed.of(refused))
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

async fn empty_mailbox(mails: &dyn StoredMails, session: &SessionId, replies: &[String]) -> Result<u64, StepError> {
    let removed = mails.remove_of_sale(session, replies, REMOVED_AT_ONCE).await?;
    let more = || ErrorCode::Mailbox.because("the mailbox has more mails of the sale: the next attempt goes on");
    removed.map(|count| count as u64).ok_or_else(more)
}
