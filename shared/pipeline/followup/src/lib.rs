//! The follow-up that a Strategy Session includes. It is ordered once, from the result page or by a reply to a mail,
//! and then the pipeline handles it like any sale (infra/decisions/followup.md).

mod memory_of_sale;

pub use memory_of_sale::{NoMemory, working_set};

use audit::{Change, CommitError, Context, Journal};
use authority::{Evaluation, Refusal, evaluate, evaluate_followup};
use domain::{
    Alert, FirstVerdict, Query, Sale, SessionId, Submission, Tier,
    alert::Severity,
    message::{Message, OrderedBy},
    ports::{CacheEntry, Meter, Queue, SaleStore, SaveError, StorageError, Submissions, VerdictArchive, Versioned},
};
use serde_json::json;

/// The number of attempts to save an order while the sale that includes it changes concurrently.
const MAX_CONFLICTS: u32 = 8;

/// The ports that an order uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub submissions: &'a dyn Submissions,
    pub orders: &'a dyn Queue,
    pub meter: &'a dyn Meter,
}

/// Why no follow-up was ordered.
#[derive(Debug, thiserror::Error)]
pub enum NotOrdered {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// The sale is erased, because the customer asked for it.
    #[error("the sale is erased")]
    Erased,
    /// The sale includes no follow-up, has no verdict now, or its money went back.
    #[error("the sale offers no follow-up")]
    NotOffered,
    /// A follow-up with another text was ordered before.
    #[error("the follow-up is used")]
    Used,
    /// The authority gate declines it. The follow-up is not used up.
    #[error("the follow-up is not answered: {}", .0.code)]
    Refused(Box<Refusal>),
    /// The store failed. The follow-up may have been ordered nevertheless; ordering the same text again is safe.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The sale kept changing.
    #[error("the sale kept changing")]
    Contended,
}

/// An ordered follow-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The sentences that its verdict is shown with, if the verdict will be a narrative one.
    pub notice: Option<String>,
}

/// Orders the follow-up that the session `paid` includes, unless another text was ordered before. One conditional write
/// creates the follow-up's sale with its text, so of several concurrent orders, from the page and by mail, one
/// succeeds. The same text may be ordered again: a customer who lost the reply learns that it is ordered.
///
/// # Errors
/// [`NotOrdered`].
pub async fn order(
    ports: Ports<'_>,
    paid: &SessionId,
    text: &Query,
    locale: Option<&str>,
    ordered_by: OrderedBy,
) -> Result<Ordered, NotOrdered> {
    let store = ports.journal.store;
    let id = paid.followup();
    for _ in 0..MAX_CONFLICTS {
        let (sale, entry) = store.load_with_verdict(paid).await?;
        let sale = sale.ok_or(NotOrdered::NoSale)?;
        if sale.value.is_erased() {
            return Err(NotOrdered::Erased);
        }
        // The country of the payment says more than the language of a browser.
        let evaluation = evaluated(&entry, text, sale.value.locale().or(locale));
        let refusal = Refusal::of(&evaluation);
        // A person in a crisis or an emergency gets the text for it, also where the follow-up is used or not offered.
        if let Some(urgent) = refusal.clone().filter(Refusal::is_urgent) {
            record(ports, sale, &evaluation, ordered_by).await;
            return Err(NotOrdered::Refused(Box::new(urgent)));
        }
        let ordered = Ordered { notice: evaluation.notice() };
        if let Some(known) = store.load(&id).await? {
            order_again(ports, known, ordered_by).await?;
            let kept = ports.submissions.find(&id).await?;
            if kept.is_some_and(|kept| kept.query == *text) {
                return Ok(ordered);
            }
            if refusal.is_some() {
                record(ports, sale, &evaluation, ordered_by).await;
            }
            return Err(NotOrdered::Used);
        }
        if !sale.value.offers_followup() {
            return Err(NotOrdered::NotOffered);
        }
        if let Some(refusal) = refusal {
            record(ports, sale, &evaluation, ordered_by).await;
            return Err(NotOrdered::Refused(Box::new(refusal)));
        }
        let opened = sale.value.ordered_followup(ports.journal.clock.now());
        let submission = Submission { tier: Tier::Strategy, query: text.clone() };
        match store.open_followup(&opened, &submission, sale.version).await {
            Ok(()) => {
                send(ports, &opened, ordered_by).await;
                return Ok(ordered);
            }
            Err(SaveError::Conflict) => {}
            Err(SaveError::Storage(error)) => return Err(error.into()),
        }
    }
    Err(NotOrdered::Contended)
}

/// Sends the order of a follow-up again, if it needs one: the first caller may have crashed before it sent the message.
/// The claim turns two messages into one verdict. A message that is younger than a minute, or waits for the model, gets
/// no second one, and the next one waits a minute too: a customer who repeats the request would fill the queue.
async fn order_again(ports: Ports<'_>, known: Versioned<Sale>, ordered_by: OrderedBy) -> Result<(), StorageError> {
    let reorder = |sale: &mut Sale, now| {
        if !sale.needs_order(now) {
            return Change::nothing(false);
        }
        Change::made(sale.order_again(now), &Context::at(now))
    };
    match ports.journal.commit(known, reorder).await {
        Ok(committed) => {
            if let (sale, true) = committed.settle().await {
                send(ports, &sale.value, ordered_by).await;
            }
            Ok(())
        }
        // Others work on it.
        Err(CommitError::Contended) => Ok(()),
        Err(CommitError::Storage(error)) => Err(error),
    }
}

/// Records that the authority gate declines a follow-up, in the stream of the sale that includes it. The record has no
/// hash of the text: it may be a short disclosure, which could be guessed. The answer to the customer does not depend on
/// the record; operators are alerted if its save fails. The verdict function records the evaluation of a follow-up that
/// is ordered.
async fn record(ports: Ports<'_>, sale: Versioned<Sale>, evaluation: &Evaluation, ordered_by: OrderedBy) {
    let session_id = sale.value.session_id().clone();
    let decline = |sale: &mut Sale, now| {
        if sale.is_erased() {
            return Change::nothing(false);
        }
        Change::made(sale.decline_followup(ordered_by, json!(evaluation.envelope())), &Context::at(now))
    };
    match ports.journal.commit(sale, decline).await {
        Ok(committed) => drop(committed.settle().await),
        Err(error) => {
            tracing::error!(session = session_id.prefix(), %error, "a declined follow-up is not recorded");
            let now = ports.journal.clock.now();
            let detail = "the authority gate declined a follow-up, and that is not recorded";
            let alert = Alert::event("ORACLE-FOLLOWUP", Severity::Error, now, "RECORD", &session_id, detail);
            let alerts = ports.journal.alerts;
            alerts.raise(alert).await;
            audit::report_unrecorded(alerts, ports.meter, &evaluation.envelope(), session_id.reference(), now).await;
        }
    }
}

/// The refusal of a reply that asks for no follow-up, if it tells of a crisis or an emergency, alone or after the first
/// question: its sources of help must not wait for a person who reads the reply. Recorded like a declined follow-up.
///
/// # Errors
/// [`StorageError`].
pub async fn urgent(ports: Ports<'_>, paid: &SessionId, text: &Query) -> Result<Option<Refusal>, StorageError> {
    let (sale, entry) = ports.journal.store.load_with_verdict(paid).await?;
    let Some(sale) = sale else { return Ok(None) };
    let evaluation = evaluated(&entry, text, sale.value.locale());
    let refusal = Refusal::of(&evaluation).filter(Refusal::is_urgent);
    if refusal.is_some() {
        record(ports, sale, &evaluation, OrderedBy::FollowupReply).await;
    }
    Ok(refusal)
}

/// Why the authority gate declines a follow-up with this text. `None` if it does not, or if a follow-up is ordered and
/// the text tells of no crisis or emergency: a person in one gets the text for it in any case.
///
/// # Errors
/// [`StorageError`].
pub async fn refusal(store: &dyn SaleStore, paid: &SessionId, text: &Query) -> Result<Option<Refusal>, StorageError> {
    let is_ordered = store.load(&paid.followup()).await?.is_some();
    let (sale, entry) = store.load_with_verdict(paid).await?;
    let locale = sale.as_ref().and_then(|sale| sale.value.locale());
    Ok(Refusal::of(&evaluated(&entry, text, locale)).filter(|refusal| refusal.is_urgent() || !is_ordered))
}

/// The refusal of a text that tells of a crisis or an emergency, judged without its sale, so that its author sees the
/// sources of help also while the store fails.
#[must_use]
pub fn urgent_alone(text: &Query, locale: Option<&str>) -> Option<Refusal> {
    Refusal::of(&evaluate(text.as_str(), locale)).filter(Refusal::is_urgent)
}

/// Evaluates a follow-up before it is ordered. The cache may no longer have the first verdict; the verdict function,
/// which also reads the archive, evaluates both together in any case.
fn evaluated(first: &CacheEntry, text: &Query, locale: Option<&str>) -> Evaluation {
    match first {
        CacheEntry::Hit(cached) => evaluate_followup(&[&cached.query], text.as_str(), locale),
        CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => evaluate(text.as_str(), locale),
    }
}

/// Sends the order of a new follow-up. The follow-up is ordered even if the queue refuses it: the result page sends the
/// order again after a minute, and the deadlines function after twenty.
async fn send(ports: Ports<'_>, sale: &Sale, ordered_by: OrderedBy) {
    let session_id = sale.session_id();
    let order = Message::order(session_id.clone(), sale.received_at(), ordered_by);
    if let Err(error) = ports.orders.send(&order).await {
        tracing::error!(session = session_id.prefix(), %error, "the order of a follow-up was not sent");
        let (now, detail) = (ports.journal.clock.now(), "the order was not sent: it is sent again when it is due");
        let alert = Alert::event("ORACLE-FOLLOWUP", Severity::Error, now, "ORDER", session_id, detail);
        ports.journal.alerts.raise(alert).await;
    }
}

/// The first question and its verdict, from the cache or else from the archive; `None` if neither has them.
///
/// # Errors
/// [`StorageError`].
pub async fn first_verdict(
    store: &dyn SaleStore,
    archive: &dyn VerdictArchive,
    paid: &SessionId,
) -> Result<Option<FirstVerdict>, StorageError> {
    match store.load_with_verdict(paid).await?.1 {
        CacheEntry::Hit(cached) => Ok(Some((*cached).into())),
        CacheEntry::Miss | CacheEntry::Removed | CacheEntry::Corrupt => Ok(archive.find(paid).await?.map(Into::into)),
    }
}

#[cfg(test)]
mod tests;
