//! The Bridge: a subscriber accepts the agreement, and posts messages on the page or by mail; operators grant and revoke
//! access and reply from the command line. The rules are in [`domain::chat::Bridge`].
//!
//! Names, addresses and texts are sealed under the key of the account's memory, so an erasure of the memory destroys
//! them with the key.

mod customer;
mod drafts;
mod letters;
mod mailed;
mod operator;
mod reply;
mod sealed;

pub use customer::{
    AcceptanceRequest, Alerting, Checked, InvalidAcceptance, StepNotTaken, accept, check, post, record_unposted,
};
pub use letters::{Letters, mail_letters};
pub use mailed::{post_mail, subscriber_of};
pub use operator::{DecideError, FindError, Row, find, grant, listed, revoke, settle};
pub use reply::{Replied, ReplyError, reply};
pub use sealed::{Held, Person, ThreadMessage, unsent_reply};

use audit::{BridgeJournal, Change, Record};
use domain::{
    Alert, ErrorCode, StepError, Timestamp,
    alert::Severity,
    chat::{ANSWER_WITHIN, Account, Bridge, BridgeEvent, BridgeRefused, BridgeState, SubscriberId},
    ports::{ChatAccounts, SubjectKeys, Versioned},
};

/// The stores of Bridges.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    /// The Bridges.
    pub journal: BridgeJournal<'a>,
    /// The chat's accounts, which name the memory in use.
    pub accounts: &'a dyn ChatAccounts,
    /// The memories' keys.
    pub keys: &'a dyn SubjectKeys,
}

/// The error of a sealed text that does not open under the memory's key.
fn unreadable(what: &str) -> StepError {
    ErrorCode::Malformed.because(format!("the Bridge holds a sealed {what} that cannot be opened"))
}

/// Loads a subscriber's Bridge. Erases it first if its memory is erased or under erasure.
///
/// # Errors
/// [`StepError`]: the call can be repeated.
pub async fn load(ports: Ports<'_>, who: &SubscriberId) -> Result<Held, StepError> {
    let account = ports.accounts.load(who).await?.map_or_else(|| Account::new(who.clone()), |found| found.value);
    let mut bridge = ports.journal.load(who).await?;
    let memory = account.memory();
    // An acceptance that raced with the erasure is sealed under the destroyed key.
    let is_of_other = bridge.value.acceptance().is_some_and(|acceptance| acceptance.memory() != memory);
    if is_of_other || account.is_erasing() {
        (bridge, _) = commit(ports, bridge, |bridge, now| Ok(bridge.erase(now))).await?;
    }
    Ok(Held::new(bridge, memory))
}

/// The Bridge, unless it was erased since a text for it was sealed: the text's key is destroyed then, also if the Bridge is
/// accepted and granted again.
fn of_memory<'b>(bridge: &'b mut Bridge, memory: &str) -> Result<&'b mut Bridge, BridgeRefused> {
    let is_same = bridge.acceptance().is_some_and(|acceptance| acceptance.memory() == memory);
    if is_same { Ok(bridge) } else { Err(BridgeRefused::Closed(BridgeState::Offered)) }
}

/// Commits one step with its audit record and alert.
async fn commit(
    ports: Ports<'_>,
    bridge: Versioned<Bridge>,
    step: impl Fn(&mut Bridge, Timestamp) -> Step + Send + Sync,
) -> Result<(Versioned<Bridge>, Step), StepError> {
    let decide = |bridge: &mut Bridge, now| {
        let done = step(bridge, now);
        change(bridge, done, now)
    };
    Ok(ports.journal.commit(bridge, decide).await?.settle().await)
}

/// The outcome of a step.
type Step = Result<Option<BridgeEvent>, BridgeRefused>;

/// The change that a step has made, with its audit record and alert.
fn change(bridge: &Bridge, done: Step, now: Timestamp) -> Change<Step> {
    match done {
        Ok(Some(event)) => {
            let alert = alert(&event, bridge.id(), now);
            Change::recorded(vec![Record::bridge(now, event.clone())], Ok(Some(event))).alerting_all(alert)
        }
        unchanged => Change::nothing(unchanged),
    }
}

/// The alert that a customer waits for operators, or has no mail about a change. Contains no text, name or address.
fn alert(event: &BridgeEvent, who: &SubscriberId, now: Timestamp) -> Option<Alert> {
    let (operation, what) = match event {
        BridgeEvent::Accepted { .. } => ("BRIDGE_ACCEPTED", "a customer accepted the agreement: grant or revoke"),
        BridgeEvent::MessagePosted { .. } => ("BRIDGE_MESSAGE", "a customer's message waits for a reply"),
        BridgeEvent::LetterAbandoned { about } => {
            let detail = format!(
                "no mail about the Bridge being {about} is known to be sent: look for it, and write to the member"
            );
            // A storm withholds errors, and no list has the letter.
            return Some(Alert::about("ORACLE-BRIDGE", Severity::Warn, now, "BRIDGE_LETTER", who.prefix(), &detail));
        }
        _ => return None,
    };
    let digits = who.prefix();
    let due = now.plus(ANSWER_WITHIN).to_iso();
    let detail = format!("{what}; due {due}; oracle bridge show {digits}");
    Some(Alert::about("ORACLE-BRIDGE", Severity::Warn, now, operation, digits, &detail))
}

#[cfg(test)]
mod tests;
