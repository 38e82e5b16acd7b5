//! The control calls; the index page describes them.
//! The file has more than 300 lines because it has one short branch for each control call, and the form of each call's
//! body.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::chain::{ledger as chain, wallet};
use crate::config::ConfigChange;
use crate::credentials::GRAPH_SENDER;
use crate::http::{Reply, Request};
use crate::state::{Shared, State};
use crate::stripe::{
    disputes, events, refunds,
    sessions::{self, PayError},
    subscriptions,
};
use crate::target::Target;
use crate::{faults, graph, stripe, webhook};

const MOST_DELIVERIES: usize = 100;

/// A control call that cannot be carried out.
struct ControlError {
    status: u16,
    message: String,
}

impl ControlError {
    fn bad(message: impl std::fmt::Display) -> Self {
        Self { status: 400, message: message.to_string() }
    }
}

impl From<PayError> for ControlError {
    fn from(error: PayError) -> Self {
        let status = match error {
            PayError::Unknown(_) => 404,
            PayError::NotOpen { .. } => 409,
            PayError::Email(_) => 400,
        };
        Self { status, message: error.to_string() }
    }
}

/// Handles one control call; `path` is the part after /control.
pub(crate) async fn handle(shared: &Arc<Shared>, request: &Request, path: &[&str]) -> Reply {
    route(shared, request, path)
        .await
        .unwrap_or_else(|error| Reply::json(error.status, json!({"error": error.message})))
}

async fn route(shared: &Arc<Shared>, request: &Request, path: &[&str]) -> Result<Reply, ControlError> {
    let ok = |value: Value| Ok(Reply::json(200, value));
    match (request.method.as_str(), path) {
        ("POST", ["reset"]) => {
            shared.reset();
            ok(json!({"reset": true}))
        }
        ("POST", ["release"]) => {
            shared.release();
            ok(json!({"released": true}))
        }
        ("POST", ["configure"]) => {
            let change: ConfigChange = body(request)?;
            let mut state = shared.lock();
            state.config = change.apply(&state.config).map_err(ControlError::bad)?;
            ok(state.config.public_value())
        }
        ("GET", ["configure"]) => ok(shared.lock().config.public_value()),
        ("POST", ["faults"]) => {
            let new: NewFaults = body(request)?;
            let target = Target::from_name(&new.target).ok_or_else(|| unknown_target(&new.target))?;
            let parsed = faults::parse(target, new.replies).map_err(ControlError::bad)?;
            let mut state = shared.lock();
            state.faults.push(target, parsed);
            ok(state.faults.pending())
        }
        ("GET", ["faults"]) => ok(shared.lock().faults.pending()),
        ("GET", ["calls"]) => {
            let target = match request.query_value("target") {
                None | Some("") => None,
                Some(name) => Some(Target::from_name(name).ok_or_else(|| unknown_target(name))?),
            };
            ok(shared.lock().calls.list(target))
        }
        ("GET", ["chain"]) => {
            let mut state = shared.lock();
            let now = state.now();
            ok(state.chain.value(now))
        }
        ("POST", ["chain", "faults"]) => {
            let new: ChainFaults = body(request)?;
            if let Some(name) = new.faults.iter().find(|name| !chain::FAULTS.contains(&name.as_str())) {
                return Err(ControlError::bad(format!("no fault {name:?}; there are {}", chain::FAULTS.join(", "))));
            }
            let mut state = shared.lock();
            new.faults.iter().for_each(|name| state.chain.plan(name));
            let now = state.now();
            ok(state.chain.value(now))
        }
        ("POST", ["chain", "mine"]) => {
            let new: Blocks = body(request)?;
            let mut state = shared.lock();
            let now = state.now();
            state.chain.mine(new.blocks);
            ok(state.chain.value(now))
        }
        ("POST", ["chain", "pay"]) => {
            let new: NewPayment = body(request)?;
            let mut state = shared.lock();
            let seed = new.seed.unwrap_or_else(|| state.identifiers.uuid());
            let now = state.now();
            ok(json!({"payment_signature": wallet::pay(&new.required, &seed, now).map_err(ControlError::bad)?}))
        }
        ("POST", ["chain", "transfer"]) => {
            let new: NewTransfer = body(request)?;
            let mut state = shared.lock();
            let now = state.now();
            let to = new.to.unwrap_or_else(|| chain::PAY_TO.to_owned()).to_ascii_lowercase();
            ok(json!({"transaction": state.chain.transfer(now, chain::WALLET, &to, new.value, None)}))
        }
        ("GET", ["mails"]) => ok(Value::Array(shared.lock().mailbox.accepted.clone())),
        ("GET", ["alerts"]) => ok(Value::Array(shared.lock().alerts.clone())),
        ("GET", ["deliveries"]) => ok(Value::Array(shared.lock().deliveries.clone())),
        ("POST", ["inbox"]) => {
            let message: NewMessage = body(request)?;
            let mut state = shared.lock();
            let now = state.now();
            let fields = message.into_fields(&state, now)?;
            let message = graph::put_in_inbox(&mut state, fields, now);
            Ok(Reply::json(201, message))
        }
        ("POST", ["stripe", "session"]) => {
            let given: Map<String, Value> = body(request)?;
            let mut state = shared.lock();
            let now = state.now();
            ok(sessions::plant(&mut state, given, now))
        }
        ("POST", ["stripe", "event"]) => {
            let event = recorded_event(&mut shared.lock(), body(request)?)?;
            let attempt = webhook::deliver(shared, &event).await;
            let status = if attempt.was_answered() { 200 } else { 502 };
            Ok(Reply::json(status, attempt.value()))
        }
        ("POST", ["stripe", "refund"]) => {
            let given: refunds::Given = body(request)?;
            deliver_events_of(shared, given.lost, |state, now| refunds::put(state, &given, now))
        }
        ("POST", ["stripe", "dispute"]) => {
            let given: disputes::Given = body(request)?;
            deliver_events_of(shared, given.lost, |state, now| disputes::put(state, &given, now))
        }
        ("POST", ["stripe", "subscription"]) => {
            let played: subscriptions::Played = body(request)?;
            deliver_events_of(shared, played.lost, |state, _| subscriptions::put(state, &played))
        }
        ("POST", ["clock"]) => {
            let moved: subscriptions::Moved = body(request)?;
            deliver_events_of(shared, false, |state, _| subscriptions::advance(state, &moved))
        }
        ("POST", ["stripe", "pay"]) => pay(shared, body(request)?).await,
        ("GET" | "POST", _) => Err(ControlError {
            status: 404,
            message: format!("no control call {} {}; GET / lists them", request.method, request.path),
        }),
        _ => Err(ControlError { status: 405, message: format!("{} is not allowed here", request.method) }),
    }
}

/// Changes the account and delivers the events about it, or drops them.
fn deliver_events_of(
    shared: &Arc<Shared>,
    lost: bool,
    change: impl FnOnce(&mut State, Timestamp) -> Result<Value, String>,
) -> Result<Reply, ControlError> {
    let changed = {
        let mut state = shared.lock();
        let now = state.now();
        let known = state.unreported.len();
        let changed = change(&mut state, now).map_err(ControlError::bad)?;
        if lost {
            state.unreported.truncate(known);
        }
        changed
    };
    webhook::deliver_unreported(shared);
    Ok(Reply::json(200, changed))
}

/// Parses a JSON body; an empty one counts as an empty object.
fn body<T: DeserializeOwned>(request: &Request) -> Result<T, ControlError> {
    let bytes: &[u8] = if request.body.is_empty() { b"{}" } else { &request.body };
    serde_json::from_slice(bytes)
        .map_err(|error| ControlError::bad(format!("the body is not what is expected: {error}")))
}

fn unknown_target(name: &str) -> ControlError {
    ControlError::bad(format!("no target {name:?}; there are {}", Target::names()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewFaults {
    target: String,
    replies: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payment {
    session_id: String,
    email: Option<String>,
    #[serde(default = "one")]
    deliveries: usize,
}

const fn one() -> usize {
    1
}

async fn pay(shared: &Arc<Shared>, payment: Payment) -> Result<Reply, ControlError> {
    if payment.deliveries > MOST_DELIVERIES {
        return Err(ControlError::bad(format!(
            "deliveries must be at most {MOST_DELIVERIES}, got {}",
            payment.deliveries
        )));
    }
    let is_lost = payment.deliveries == 0;
    let (session, event) = complete(shared, &payment.session_id, payment.email.as_deref(), is_lost)?;
    webhook::deliver_unreported(shared);
    // All concurrently, as Stripe's own duplicates may come.
    let tasks: Vec<_> = (0..payment.deliveries)
        .map(|_| {
            let shared = Arc::clone(shared);
            let event = event.clone();
            tokio::spawn(async move { webhook::deliver(&shared, &event).await.value() })
        })
        .collect();
    let mut deliveries = Vec::with_capacity(tasks.len());
    for task in tasks {
        deliveries
            .push(task.await.unwrap_or_else(|error| json!({"status": null, "body": null, "error": error.to_string()})));
    }
    Ok(Reply::json(200, json!({"session": session, "event": event["id"], "deliveries": deliveries})))
}

/// Pays a session and returns it with its event. A subscription has further events, unless they are dropped.
pub(crate) fn complete(
    shared: &Shared,
    session_id: &str,
    email: Option<&str>,
    is_lost: bool,
) -> Result<(Value, Value), PayError> {
    let mut state = shared.lock();
    let now = state.now();
    let known = state.unreported.len();
    let session = sessions::pay(&mut state, session_id, email, now)?;
    if is_lost {
        state.unreported.truncate(known);
    }
    let event = events::event(&mut state, "checkout.session.completed", &session);
    Ok((session, event))
}

/// Completes an event and its object, and updates the account accordingly.
fn recorded_event(state: &mut State, given: Map<String, Value>) -> Result<Value, ControlError> {
    let Some(kind) = given.get("type").and_then(Value::as_str) else {
        return Err(ControlError::bad("an event needs a type"));
    };
    let object = given.get("data").and_then(|data| data.get("object"));
    let Some(object) = object.and_then(Value::as_object) else {
        return Err(ControlError::bad("an event needs data.object"));
    };
    let about_session = kind.starts_with("checkout.session.")
        || object.get("object").is_some_and(|object| object == "checkout.session");
    let whole = if about_session {
        let now = state.now();
        sessions::record_event(state, kind, object, now);
        sessions::completed_fields(Value::Object(object.clone()), now)
    } else {
        stripe::objects::of_event(kind, object)
    };
    let mut event = events::event(state, kind, &whole);
    if let Value::Object(fields) = &mut event {
        fields.extend(given);
        fields["data"]["object"] = whole;
    }
    Ok(event)
}

/// A request for faults of the chain and its facilitator, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainFaults {
    faults: Vec<String>,
}

/// A request for blocks that are mined at once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocks {
    blocks: u64,
}

/// A request for a payment from the funded wallet for a 402 reply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPayment {
    /// The value of the PAYMENT-REQUIRED header.
    required: String,
    /// The seed of the nonce; without it, each payment has another nonce.
    seed: Option<String>,
}

/// A request for a transfer from the funded wallet, like one made by hand.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTransfer {
    to: Option<String>,
    value: u64,
}

/// A message from elsewhere. A null receivedDateTime stays null; a missing one becomes now.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewMessage {
    from: String,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    body: String,
    /// The quoted text below the body, which is not part of its uniqueBody.
    #[serde(default)]
    quoted: String,
    #[serde(default, deserialize_with = "given")]
    received_date_time: Option<Value>,
    #[serde(default)]
    is_read: bool,
    internet_message_id: Option<String>,
    conversation_id: Option<String>,
    /// The internetMessageId of an accepted mail: the message is a reply to it, in its conversation.
    in_reply_to: Option<String>,
    /// Headers as name and value.
    #[serde(default)]
    headers: Map<String, Value>,
}

/// Distinguishes null from a missing field.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl NewMessage {
    fn into_fields(self, state: &State, now: Timestamp) -> Result<Map<String, Value>, ControlError> {
        let received = match self.received_date_time {
            None => json!(graph::store::time(now)),
            Some(Value::Null) => Value::Null,
            Some(value) => {
                let at = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
                let at = at.ok_or_else(|| {
                    ControlError::bad(format!(
                        "receivedDateTime must be a time such as 2026-11-20T09:00:00Z, got {value}"
                    ))
                })?;
                json!(graph::store::time(at))
            }
        };
        let (name, address) = match self.from.split_once('<') {
            Some((name, address)) => (name.trim(), address.trim_end_matches('>').trim()),
            None => (self.from.as_str(), self.from.as_str()),
        };
        let from = json!({"emailAddress": {"name": name, "address": address}});
        let to = json!([{"emailAddress": {"name": "Oracle", "address": GRAPH_SENDER}}]);
        let mut fields = Map::new();
        fields.insert("from".to_owned(), from.clone());
        fields.insert("sender".to_owned(), from);
        fields.insert("toRecipients".to_owned(), to);
        fields.insert("subject".to_owned(), json!(self.subject));
        let whole =
            if self.quoted.is_empty() { self.body.clone() } else { format!("{}\r\n\r\n{}", self.body, self.quoted) };
        fields.insert("body".to_owned(), json!({"contentType": "text", "content": whole}));
        fields.insert("uniqueBody".to_owned(), json!({"contentType": "text", "content": self.body}));
        fields.insert("receivedDateTime".to_owned(), received);
        fields.insert("isRead".to_owned(), json!(self.is_read));
        if let Some(id) = self.internet_message_id {
            fields.insert("internetMessageId".to_owned(), json!(id));
        }
        // The mailbox writes its own result above the headers of the message.
        let judged = self.headers.keys().any(|name| name.eq_ignore_ascii_case("authentication-results"));
        let domain = address.rsplit_once('@').map_or("", |(_, domain)| domain);
        let vouched = format!("spf=pass smtp.mailfrom={domain};dmarc=pass action=none header.from={domain}");
        let judgement = (!judged).then(|| json!({"name": "Authentication-Results", "value": vouched}));
        let given = self.headers.into_iter().map(|(name, value)| json!({"name": name, "value": value}));
        let mut headers: Vec<Value> = judgement.into_iter().chain(given).collect();
        let mut conversation = self.conversation_id;
        if let Some(mail) = self.in_reply_to {
            let mut accepted = state.mailbox.accepted.iter();
            let found = accepted.find(|accepted| accepted["internet_message_id"] == mail);
            let found = found.ok_or_else(|| ControlError::bad(format!("no accepted mail {mail:?}")))?;
            conversation = found["conversation_id"].as_str().map(str::to_owned);
            headers.push(json!({"name": "In-Reply-To", "value": mail}));
        }
        if let Some(conversation) = conversation {
            fields.insert("conversationId".to_owned(), json!(conversation));
        }
        fields.insert("internetMessageHeaders".to_owned(), Value::Array(headers));
        Ok(fields)
    }
}
