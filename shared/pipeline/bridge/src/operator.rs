//! Operators' list of Bridges and their decisions.

use crate::{Held, Ports, commit, load};
use domain::{
    StepError, Timestamp,
    chat::{Bridge, BridgeEvent, BridgeRefused, ExchangeId, MailStep, Post, SubscriberId},
    operator::Operator,
    ports::{Bridges, MailError, Mailbox, StorageError, Versioned},
};
use serde::Serialize;

/// One Bridge of a list. Contains no name, address or text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The first digits of the subscriber's id, which every command takes.
    pub bridge: String,
    /// The kind of work in `oracle list`.
    pub work: &'static str,
    /// The state.
    pub state: &'static str,
    /// The operators' open task, if there is one.
    pub task: Option<&'static str>,
    /// When the task is due, UTC.
    pub due: Option<String>,
    /// Whether the due time is past.
    pub overdue: bool,
    /// When the agreement was accepted, UTC.
    pub accepted_at: Option<String>,
    /// When access ends or has ended, UTC.
    pub expires: Option<String>,
}

impl Row {
    fn of(bridge: &Bridge, now: Timestamp) -> Self {
        let work = bridge.work(now);
        Self {
            bridge: bridge.id().prefix().to_owned(),
            work: "bridge",
            state: bridge.state(now).as_str(),
            task: work.map(|work| work.task.as_str()),
            due: work.map(|work| work.due.to_iso()),
            overdue: work.is_some_and(|work| work.due <= now),
            accepted_at: bridge.acceptance().map(|acceptance| acceptance.at().to_iso()),
            expires: bridge.expires().map(Timestamp::to_iso),
        }
    }
}

/// Every Bridge whose agreement is accepted. Those with an open task come first, the most urgent at the top.
///
/// # Errors
/// [`StorageError`]
pub async fn listed(store: &dyn Bridges, now: Timestamp) -> Result<Vec<Row>, StorageError> {
    let mut rows = Vec::new();
    for id in store.listed().await? {
        let accepted = store.load(&id).await?.filter(|found| found.value.acceptance().is_some());
        rows.extend(accepted.map(|found| Row::of(&found.value, now)));
    }
    rows.sort_by(|a, b| (a.due.is_none(), &a.due, &a.accepted_at).cmp(&(b.due.is_none(), &b.due, &b.accepted_at)));
    Ok(rows)
}

/// The reason why no single Bridge is found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No accepted Bridge begins with these digits.
    #[error("there is no Bridge {0}")]
    None(String),
    /// More than one accepted Bridge begins with these digits.
    #[error("several Bridges begin with {0}: give more digits")]
    Several(String),
    /// The table failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The subscriber whose accepted Bridge begins with these digits. A whole id is looked up without the list, which lags behind.
///
/// # Errors
/// [`FindError`]
pub async fn find(store: &dyn Bridges, digits: &str) -> Result<SubscriberId, FindError> {
    if let Ok(id) = SubscriberId::parse(digits) {
        return store.load(&id).await?.map(|_| id).ok_or_else(|| FindError::None(digits.to_owned()));
    }
    let mut named: Vec<_> =
        store.listed().await?.into_iter().filter(|id| !digits.is_empty() && id.as_str().starts_with(digits)).collect();
    match (named.pop(), named.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => Err(FindError::None(digits.to_owned())),
        _ => Err(FindError::Several(digits.to_owned())),
    }
}

/// The reason why a decision is refused.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// The operator gave no reason.
    #[error("a reason is needed (--reason)")]
    NoReason,
    /// The state does not allow it.
    #[error(transparent)]
    Refused(#[from] BridgeRefused),
    /// The mailbox still has the draft of a mail that is said not to be sent, and may be sending it.
    #[error(
        "the mailbox still has the draft of this mail: repeat the reply, or remove the draft and repeat this command"
    )]
    DraftExists,
    /// A mail that is said not to be sent is among the sent items.
    #[error("the mail is among the sent items: settle it with --sent")]
    MailSent,
    /// The mailbox did not say whether a mail was sent. Nothing is recorded.
    #[error("the mailbox cannot be read")]
    Mailbox(#[source] MailError),
    /// The Bridge could not be used.
    #[error(transparent)]
    Bridge(#[from] StepError),
}

async fn decide(
    ports: Ports<'_>,
    held: Held,
    step: impl Fn(&mut Bridge, Timestamp) -> Result<Option<BridgeEvent>, BridgeRefused> + Send + Sync,
) -> Result<Versioned<Bridge>, DecideError> {
    let (bridge, done) = commit(ports, held.bridge, step).await?;
    done?;
    Ok(bridge)
}

/// Grants access until `expires`. Repeating it changes nothing.
///
/// # Errors
/// [`DecideError`]
pub async fn grant(
    ports: Ports<'_>,
    who: &SubscriberId,
    operator: &Operator,
    expires: Timestamp,
) -> Result<Versioned<Bridge>, DecideError> {
    let reason = operator.reason().ok_or(DecideError::NoReason)?;
    let held = load(ports, who).await?;
    decide(ports, held, |bridge, now| bridge.grant(operator, reason, expires, now)).await
}

/// Ends access, or declines it before a grant.
///
/// # Errors
/// [`DecideError`]
pub async fn revoke(
    ports: Ports<'_>,
    who: &SubscriberId,
    operator: &Operator,
) -> Result<Versioned<Bridge>, DecideError> {
    let reason = operator.reason().ok_or(DecideError::NoReason)?;
    let held = load(ports, who).await?;
    decide(ports, held, |bridge, now| bridge.revoke(operator, reason, now).map(Some)).await
}

/// Records what an operator has found out about the mail of the reply `id`: the member has it, or it was not sent, and
/// repeating the reply makes a new draft. Repeating it changes nothing.
///
/// A recorded draft that the mailbox still has, or has sent, is not given up: the next one would be a second mail.
///
/// # Errors
/// [`DecideError`]
pub async fn settle(
    ports: Ports<'_>,
    mailbox: &dyn Mailbox,
    who: &SubscriberId,
    operator: &Operator,
    id: &ExchangeId,
    is_sent: bool,
) -> Result<Versioned<Bridge>, DecideError> {
    let reason = operator.reason().ok_or(DecideError::NoReason)?;
    let held = load(ports, who).await?;
    if !is_sent && let Some(MailStep::Drafted(draft)) = held.bridge.value.message(id).and_then(Post::mail) {
        // In this order: a draft that is sent in between is among the sent items.
        if mailbox.draft_exists(draft).await.map_err(DecideError::Mailbox)? {
            return Err(DecideError::DraftExists);
        }
        if mailbox.was_sent(draft).await.map_err(DecideError::Mailbox)? {
            return Err(DecideError::MailSent);
        }
    }
    decide(ports, held, |bridge, _| bridge.settle_mail(id, operator, reason, is_sent)).await
}
