//! A customer's steps on the page.

use crate::{
    BridgeError, Ports, change, commit, load, of_memory,
    sealed::{Person, Sealer},
};
use audit::{Body, Record};
use authority::Evaluation;
use domain::{
    Alert, EmailAddress, Timestamp,
    alert::Severity,
    chat::{Bridge, BridgeRefused, CURRENT_AGREEMENT, ExchangeId, Message, SubscriberId, SubscriberKey},
    ports::Versioned,
    words::{self, InvalidWords},
};
use serde_json::json;

/// A customer's request to accept the agreement.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The version that the page showed.
    pub version: u32,
    /// The SHA-256 of the text that the page showed.
    pub sha256: String,
    /// The customer's name.
    pub name: String,
    /// The address with which the customer is signed in. Replies are mailed to it. The customer sends it because no
    /// store has it in the clear.
    pub address: EmailAddress,
}

/// The reason why an acceptance is refused.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The page showed another text than the current one.
    #[error("the agreement has changed: read and accept version {}", CURRENT_AGREEMENT.version)]
    Changed,
    /// The address is not the one with which the customer is signed in.
    #[error("the address is not the one that is signed in")]
    OtherAddress,
    /// The name cannot be stored.
    #[error("name: {0}")]
    Name(#[from] InvalidWords),
    /// The state does not allow it.
    #[error(transparent)]
    Refused(#[from] BridgeRefused),
    /// The Bridge could not be used.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
}

/// Accepts the agreement for a signed-in subscriber. Repeating it changes nothing.
///
/// # Errors
/// [`AcceptError`]
pub async fn accept(
    ports: Ports<'_>,
    key: &SubscriberKey,
    who: &SubscriberId,
    asked: &Asked,
) -> Result<Versioned<Bridge>, AcceptError> {
    if !CURRENT_AGREEMENT.is(asked.version, &asked.sha256) {
        return Err(AcceptError::Changed);
    }
    if SubscriberId::of(key, &asked.address) != *who {
        return Err(AcceptError::OtherAddress);
    }
    let person = Person { name: words::parse(&asked.name)?, address: asked.address.expose().to_owned() };
    let held = load(ports, who).await?;
    let memory = held.memory().to_owned();
    let sealer = Sealer::make(ports.keys, &memory).await?;
    let sealed = sealer.seal_person(&person)?;
    let step = |bridge: &mut Bridge, now| bridge.accept(&CURRENT_AGREEMENT, &memory, &sealed, now);
    let (bridge, done) = commit(ports, held.bridge, step).await.map_err(BridgeError::from)?;
    done?;
    Ok(bridge)
}

/// The reason why a message is refused.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The state of the Bridge or the thread does not allow it.
    #[error(transparent)]
    Refused(#[from] BridgeRefused),
    /// The Bridge could not be used.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
}

/// Posts a customer's message. Repeating it with the same id and text changes nothing. `disclosed` is the evaluation of
/// a message that may disclose self-harm: the write that posts the message also records it and alerts operators.
///
/// # Errors
/// [`PostError`]
pub async fn post(
    ports: Ports<'_>,
    who: &SubscriberId,
    id: &ExchangeId,
    message: &Message,
    disclosed: Option<&Evaluation>,
) -> Result<Versioned<Bridge>, PostError> {
    let held = load(ports, who).await?;
    let state = held.bridge.value.state(ports.journal.clock.now());
    if !held.bridge.value.is_granted(ports.journal.clock.now()) {
        return Err(BridgeRefused::Closed(state).into());
    }
    let memory = held.memory().to_owned();
    let sealed = held.sealer(ports.keys).await?.seal_message(id, message.as_str())?;
    let decide = |bridge: &mut Bridge, now| {
        let posted = of_memory(bridge, &memory).and_then(|bridge| bridge.post(id, &sealed, now));
        let mut change = change(bridge, posted, now);
        if let (Ok(Some(_)), Some(disclosed)) = (&change.answer, disclosed) {
            let details = json!({ "bridge_message": id, "authority": disclosed.envelope() });
            let body = Body::AuthorityEvaluated { details };
            change.records.push(Record { timestamp: now, triggered_at: now, body });
            change.alerts.push(disclosure_alert(bridge, now));
        }
        change
    };
    let committed = ports.journal.commit(held.bridge, decide).await.map_err(BridgeError::from)?;
    let (bridge, done) = committed.settle().await;
    done?;
    Ok(bridge)
}

fn disclosure_alert(bridge: &Bridge, now: Timestamp) -> Alert {
    let digits = bridge.id().prefix();
    let detail = format!("a message may disclose self-harm: read it now; oracle bridge show {digits}");
    Alert::about("ORACLE-BRIDGE", Severity::Error, now, "BRIDGE_DISCLOSURE", digits, &detail)
}
