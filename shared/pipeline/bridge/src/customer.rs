//! A customer's steps on the page.

use crate::{
    Held, Ports, change, commit, load, of_memory,
    sealed::{Person, Sealer},
};
use audit::{Body, Change, Record};
use authority::Evaluation;
use domain::{
    Alert, EmailAddress, StepError, Timestamp,
    alert::Severity,
    chat::{Bridge, BridgeRefused, CURRENT_AGREEMENT, ExchangeId, Message, SubscriberId, SubscriberKey},
    ports::Versioned,
    recorded_words::{self, InvalidWords},
};
use serde_json::json;

/// A customer's request to accept the agreement.
#[derive(Clone, Debug)]
pub struct AcceptanceRequest {
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

/// A request whose text, address and name are valid.
#[derive(Clone)]
pub struct Checked {
    person: Person,
}

/// The reason why a request to accept the agreement is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAcceptance {
    /// The page showed another text than the current one.
    #[error("the agreement has changed: read and accept version {}", CURRENT_AGREEMENT.version)]
    Changed,
    /// The address is not the one with which the customer is signed in.
    #[error("the address is not the one that is signed in")]
    OtherAddress,
    /// The name cannot be stored.
    #[error("name: {0}")]
    Name(#[from] InvalidWords),
}

/// Checks a request to accept the agreement. Reads no store.
///
/// # Errors
/// [`InvalidAcceptance`]
pub fn check(key: &SubscriberKey, who: &SubscriberId, asked: &AcceptanceRequest) -> Result<Checked, InvalidAcceptance> {
    if !CURRENT_AGREEMENT.is(asked.version, &asked.sha256) {
        return Err(InvalidAcceptance::Changed);
    }
    if SubscriberId::of(key, &asked.address) != *who {
        return Err(InvalidAcceptance::OtherAddress);
    }
    let person = Person { name: recorded_words::parse(&asked.name)?, address: asked.address.expose().to_owned() };
    Ok(Checked { person })
}

/// The reason why a customer's step is not taken.
#[derive(Debug, thiserror::Error)]
pub enum StepNotTaken {
    /// The state of the Bridge or the thread does not allow it.
    #[error(transparent)]
    Refused(#[from] BridgeRefused),
    /// The Bridge could not be used.
    #[error(transparent)]
    Bridge(#[from] StepError),
}

/// Accepts the agreement for a signed-in subscriber. Repeating it changes nothing.
///
/// # Errors
/// [`StepNotTaken`]
pub async fn accept(
    ports: Ports<'_>,
    who: &SubscriberId,
    checked: &Checked,
) -> Result<Versioned<Bridge>, StepNotTaken> {
    let held = load(ports, who).await?;
    let memory = held.memory().to_owned();
    let sealer = Sealer::make(ports.keys, &memory).await?;
    let sealed = sealer.seal_person(&checked.person)?;
    let step = |bridge: &mut Bridge, now| bridge.accept(&CURRENT_AGREEMENT, &memory, &sealed, now);
    let (bridge, done) = commit(ports, held.bridge, step).await?;
    done?;
    Ok(bridge)
}

/// Posts a customer's message. Repeating it with the same id and text changes nothing. `disclosed` is the evaluation of
/// a message that may disclose self-harm: the write that posts the message also records it and alerts operators.
///
/// # Errors
/// [`StepNotTaken`]
pub async fn post(
    ports: Ports<'_>,
    who: &SubscriberId,
    id: &ExchangeId,
    message: &Message,
    disclosed: Option<&Evaluation>,
) -> Result<Versioned<Bridge>, StepNotTaken> {
    let held = load(ports, who).await?;
    post_text(ports, held, id, message, disclosed, None).await
}

/// As [`post`]. `mail` is the mailbox's id of the mail that has the message.
pub(crate) async fn post_text(
    ports: Ports<'_>,
    held: Held,
    id: &ExchangeId,
    message: &Message,
    disclosed: Option<&Evaluation>,
    mail: Option<&str>,
) -> Result<Versioned<Bridge>, StepNotTaken> {
    let state = held.bridge.value.state(ports.journal.clock.now());
    if !held.bridge.value.is_granted(ports.journal.clock.now()) {
        return Err(BridgeRefused::Closed(state).into());
    }
    let memory = held.memory().to_owned();
    let sealed = held.sealer(ports.keys).await?.seal_message(id, message.as_str())?;
    let decide = |bridge: &mut Bridge, now| {
        let posted = of_memory(bridge, &memory).and_then(|bridge| bridge.post(id, &sealed, now));
        if let (Ok(Some(_)), Some(mail)) = (&posted, mail) {
            bridge.record_posted_mail(mail);
        }
        let change = change(bridge, posted, now);
        match (&change.answer, disclosed) {
            (Ok(Some(_)), Some(disclosed)) => {
                let detail = format!("read it now; oracle bridge show {}", bridge.id().prefix());
                record(change, id, disclosed, now).alerting(disclosure(bridge.id(), &detail, now))
            }
            _ => change,
        }
    };
    let committed = ports.journal.commit(held.bridge, decide).await.map_err(StepError::from)?;
    let (bridge, done) = committed.settle().await;
    done?;
    Ok(bridge)
}

/// Whether operators are alerted to a message that could not be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alerting {
    /// They are.
    This,
    /// They are, and read that further messages of the hour are only recorded.
    Last,
    /// The message is only recorded.
    Nothing,
}

/// Records a message that may disclose self-harm and could not be posted, and alerts operators as `alerting` says. The
/// text is not kept. If the Bridge can be neither read nor written, the alert is raised without a record.
///
/// # Errors
/// [`StepError`]: there may be no record.
pub async fn record_unposted(
    ports: Ports<'_>,
    who: &SubscriberId,
    id: &ExchangeId,
    disclosed: &Evaluation,
    alerting: Alerting,
) -> Result<(), StepError> {
    let recorded = try_record_unposted(ports, who, id, disclosed, alerting).await;
    if recorded.is_err() {
        let alert =
            disclosure(who, "it is neither posted, kept nor recorded: write to the member", ports.journal.clock.now());
        ports.journal.alerts.raise(alert).await;
    }
    recorded
}

async fn try_record_unposted(
    ports: Ports<'_>,
    who: &SubscriberId,
    id: &ExchangeId,
    disclosed: &Evaluation,
    alerting: Alerting,
) -> Result<(), StepError> {
    let decide = |bridge: &mut Bridge, now| {
        let (what_to_do, others) = match bridge.acceptance() {
            Some(_) => ("write to the member".to_owned(), ": oracle bridge list has all who wait for a grant"),
            // The address comes with an acceptance. A subscriber's is at Stripe too.
            None => {
                (format!("no address is known here; Stripe's customer: oracle subscriptions show {}", who.prefix()), "")
            }
        };
        let more = match alerting {
            Alerting::Last => format!("; more of this hour are recorded without an alert{others}"),
            Alerting::This | Alerting::Nothing => String::new(),
        };
        let detail = format!("it could not be posted and is not kept: {what_to_do}{more}");
        let change = record(Change::recorded(Vec::new(), ()), id, disclosed, now);
        if alerting == Alerting::Nothing { change } else { change.alerting(disclosure(bridge.id(), &detail, now)) }
    };
    let bridge = ports.journal.load(who).await?;
    Ok(ports.journal.commit_persistently(bridge, decide).await?)
}

/// Adds the record of a message that may disclose self-harm, without a word of it.
fn record<T>(change: Change<T>, id: &ExchangeId, disclosed: &Evaluation, now: Timestamp) -> Change<T> {
    let details = json!({ "bridge_message": id, "authority": disclosed.envelope() });
    change.with_record(Record::new(now, now, Body::AuthorityEvaluated { details }))
}

/// The alert about a message that may disclose self-harm, without a word of it.
fn disclosure(who: &SubscriberId, what_to_do: &str, now: Timestamp) -> Alert {
    let detail = format!("a message may disclose self-harm: {what_to_do}");
    Alert::about("ORACLE-BRIDGE", Severity::Critical, now, "BRIDGE_DISCLOSURE", who.prefix(), &detail)
}
