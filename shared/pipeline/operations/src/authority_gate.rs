//! The human lock: people with the roles that a domain requires approve or reject a declined question. A lock for child
//! safety or self-harm cannot be lifted, and every attempt to override it is recorded (Authority Governance,
//! Appendix F).

use crate::{Done, Operator, PartFailed, Refusals};
use audit::{Change, CommitError, Context, Journal};
use domain::{
    Alert, Sale, SessionId, Timestamp,
    alert::Severity,
    message::{Message, OrderedBy},
    ports::{Queue, SaleStore, Versioned},
    sale::{APPROVAL_LASTS, Authority, AuthorityDecision, Declined, Event, NotApproved},
};

/// The ports of a decision.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub orders: &'a dyn Queue,
}

/// Why nothing was decided.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// The approval or the rejection is not valid.
    #[error(transparent)]
    NotApproved(#[from] NotApproved),
}

impl Refusals for DecideError {}

/// A person's decision about a declined question.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct HumanDecision<'a> {
    pub by: Authority<'a>,
    pub session: &'a SessionId,
    /// The time of the gate's decision that the person has read.
    pub read: Timestamp,
}

/// The gate's decision about a sale, whether a rejection gives the money back, and when the policy does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DeclinedSale {
    pub declined: Declined,
    pub gives_money_back: bool,
    pub refund_due: Option<Timestamp>,
}

impl DeclinedSale {
    /// The time by which the other people have to approve if one does so `now`: the first approval expires, and the
    /// policy gives the money back whatever approvals there are.
    #[must_use]
    pub fn approvable_until(&self, now: Timestamp) -> Timestamp {
        let first = self.declined.standing(now).into_iter().map(|approval| approval.at).min().unwrap_or(now);
        let expires = first.plus(APPROVAL_LASTS);
        self.refund_due.map_or(expires, |due| due.min(expires))
    }
}

/// Reads the gate's decision for the person who decides about it.
///
/// # Errors
/// [`DecideError`].
pub async fn show(store: &dyn SaleStore, session: &SessionId) -> Done<DeclinedSale, DecideError> {
    let sale = store.load(session).await?.ok_or(DecideError::NoSale)?.value;
    let not_declined = NotApproved::NotDeclined(sale.fulfilment().as_str());
    let declined = sale.declined().cloned().ok_or(DecideError::NotApproved(not_declined))?;
    let (gives_money_back, refund_due) = (sale.gives_money_back(), sale.declined_refund_due());
    Ok(DeclinedSale { declined, gives_money_back, refund_due })
}

/// Counts an approval; the last required approval orders the verdict.
///
/// # Errors
/// [`DecideError`].
pub async fn approve(ports: Ports<'_>, approval: HumanDecision<'_>) -> Done<AuthorityDecision, DecideError> {
    let HumanDecision { by, session, .. } = approval;
    // The row of a follow-up learns later that its session has stopped, and its order would be dropped.
    let is_stopped = ports.journal.stopped_by_session(session).await?;
    let approve = |sale: &mut Sale, now| {
        if is_stopped && sale.declined().is_some_and(|declined| !declined.is_locked()) {
            return Err(NotApproved::MoneyWentBack("stopped with its session"));
        }
        sale.approve_declined(by, now)
    };
    let (sale, decision) = decide(ports.journal, approval, approve).await?;
    if matches!(decision, AuthorityDecision::Approved { count, needed } if count >= needed) {
        let order = Message::order(session.clone(), sale.received_at(), OrderedBy::Operator);
        let not_sent = "the question is approved, but its message was not sent; the deadlines function sends it again";
        ports.orders.send(&order).await.map_err(|error| PartFailed::new(not_sent, error))?;
    }
    Ok(decision)
}

/// Rejects a declined question, which ends the wait for approvals. Returns whether the deadlines function refunds the
/// money next: not that of a follow-up, which has none of its own, nor that of a customer who has a verdict by mail.
///
/// # Errors
/// [`DecideError`].
pub async fn reject(journal: Journal<'_>, rejection: HumanDecision<'_>) -> Done<bool, DecideError> {
    let by = rejection.by;
    let reject = |sale: &mut Sale, _| sale.reject_declined(by).map(|event| (event, AuthorityDecision::Rejected));
    let (sale, _) = decide(journal, rejection, reject).await?;
    Ok(sale.gives_money_back())
}

async fn decide(
    journal: Journal<'_>,
    HumanDecision { by, session, read }: HumanDecision<'_>,
    transition: impl Fn(&mut Sale, Timestamp) -> Result<(Event, AuthorityDecision), NotApproved> + Send + Sync,
) -> Done<(Sale, AuthorityDecision), DecideError> {
    let sale = journal.store.load(session).await?.ok_or(DecideError::NoSale)?;
    let decided = |sale: &mut Sale, now| {
        // An attempt to override a lock is recorded even if the person has read another decision.
        if let Some(other) = sale.declined().filter(|declined| declined.at != read && !declined.is_locked()) {
            return Change::nothing(Err(NotApproved::OtherDecision(other.at)));
        }
        match transition(sale, now) {
            Ok((event, decision)) => Change::of(&event, &Context::at(now), Ok(decision)),
            Err(refused) => Change::nothing(Err(refused)),
        }
    };
    let (sale, decision) = journal.commit(sale, decided).await?.settle().await;
    if decision == Err(NotApproved::Locked) {
        record_override(journal, sale, by, false).await?;
        return Err(DecideError::from(NotApproved::Locked).into());
    }
    Ok((sale.value, decision.map_err(DecideError::from)?))
}

/// Who tries to override a lock with a command that asks for neither a role nor a credential.
pub(crate) const fn without_role(operator: &Operator) -> Authority<'_> {
    Authority { operator, role: "operator", credential: "none", identity: operator.identity() }
}

/// Records an attempt to override a locked outcome, and alerts operators. `is_locked_today` is whether today's rules
/// lock the question, whatever the gate decided when it was asked.
///
/// # Errors
/// [`CommitError`]: the attempt is not recorded.
pub(crate) async fn record_override(
    journal: Journal<'_>,
    sale: Versioned<Sale>,
    by: Authority<'_>,
    is_locked_today: bool,
) -> Result<(), CommitError> {
    let record = |sale: &mut Sale, now| match sale.refuse_override(by, is_locked_today) {
        Ok(event) => {
            let detail = "an operator tried to override a locked outcome; it was refused";
            let alert =
                Alert::event("ORACLE-AUTHORITY", Severity::Critical, now, "OVERRIDE", sale.session_id(), detail);
            Change::of(&event, &Context::at(now), ()).alerting(alert)
        }
        Err(_) => Change::nothing(()),
    };
    journal.commit(sale, record).await?.settle().await;
    Ok(())
}

/// The description of a declined sale, in a list and before a decision about it.
#[must_use]
pub fn describe(declined: &Declined, now: Timestamp) -> String {
    use domain::sale::HumanLock;
    let who = match &declined.lock {
        HumanLock::Never => "locked: nobody may approve".to_owned(),
        HumanLock::Nobody => "nobody may approve".to_owned(),
        HumanLock::People { persons, roles, sources } => {
            let standing = declined.standing(now).len();
            let (roles, sources) = (roles.join(" or "), sources.join(" or "));
            format!("{standing} of {persons} approvals by {roles}, credentials of {sources}")
        }
    };
    let Declined { state, reason, domain, at, .. } = declined;
    format!("{state} {reason} ({domain}): {who}; decided {}", at.to_iso())
}

#[cfg(test)]
mod tests;
