//! The Bridge: its agreement, its acceptance, and the thread.

use crate::{Ports, account_memory, limits, ports, reply};
use authority::{Evaluation, Refusal, evaluate};
use bridge::{AcceptanceRequest, Alerting, Held, InvalidAcceptance, StepNotTaken};
use domain::{
    EmailAddress, Metric, StepError, Timestamp,
    chat::{Access, Author, Bridge, BridgeRefused, CURRENT_AGREEMENT, ExchangeId, Message, Plan, SubscriberId},
};
use runtime::http::{Reply, Request};
use serde_json::{Value, json};

/// The name under which customers see operators.
const OPERATORS: &str = "42 Sisters AI";

const fn bridge_ports(ports: Ports<'_>) -> bridge::Ports<'_> {
    bridge::Ports { journal: ports.bridges, accounts: ports.journal.store, keys: ports.keys }
}

/// The subscriber's paid access, or that of the Bridge while it is granted.
pub(crate) async fn access(ports: Ports<'_>, who: &SubscriberId, now: Timestamp) -> Result<Access, StepError> {
    let (paid, bridge) = futures_util::join!(ports.access.access(who, now), ports.bridges.load(who));
    let (paid, bridge) = (paid?, bridge?);
    let plan = if bridge.value.is_granted(now) { Plan::Bridge } else { paid.plan };
    Ok(Access { plan, ..paid })
}

/// GET: the state, the current agreement, and the acceptance.
pub(crate) async fn status(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, StepError> {
    account_memory::ready(ports, who).await?;
    let held = bridge::load(bridge_ports(ports), who).await?;
    Ok(Reply::json(200, &describe(&held.bridge.value, ports.journal.clock.now())))
}

fn describe(bridge: &Bridge, now: Timestamp) -> Value {
    let mut body = json!({
        "state": bridge.state(now).as_str(),
        "agreement": {
            "version": CURRENT_AGREEMENT.version,
            "sha256": CURRENT_AGREEMENT.sha256,
            "text": CURRENT_AGREEMENT.text,
        },
    });
    if let Some(accepted) = bridge.acceptance() {
        body["accepted"] =
            json!({ "version": accepted.version(), "sha256": accepted.sha256(), "at": accepted.at().to_iso() });
    }
    if let Some(expires) = bridge.expires() {
        body["expires"] = expires.to_iso().into();
    }
    body
}

fn parse_acceptance(request: &Request) -> Result<AcceptanceRequest, Reply> {
    let fields = reply::fields(request)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let version = fields.get("version").and_then(Value::as_u64).and_then(|version| u32::try_from(version).ok());
    let version = version.ok_or_else(|| Reply::error(400, "version_invalid", "version must be a number"))?;
    let address = EmailAddress::parse(&text("email"))
        .map_err(|_| Reply::error(400, "email_invalid", "email must be an email address"))?;
    Ok(AcceptanceRequest { version, sha256: text("sha256"), name: text("name"), address })
}

/// POST: accepts the agreement that the page showed.
pub(crate) async fn accept(ports: Ports<'_>, who: &SubscriberId, request: &Request) -> Result<Reply, StepError> {
    let asked = match parse_acceptance(request) {
        Ok(asked) => asked,
        Err(reply) => return Ok(reply),
    };
    let key = ports::key(ports).await?;
    let checked = match bridge::check(&key, who, &asked) {
        Ok(checked) => checked,
        Err(invalid) => return Ok(of_invalid(&invalid)),
    };
    account_memory::ready(ports, who).await?;
    // Counted after the check: a mistyped address or name is no work for an operator.
    if let Some(wait) = limits::ACCEPTANCE.take(ports, who).await? {
        return Ok(reply::too_many(wait));
    }
    let now = ports.journal.clock.now();
    Ok(match bridge::accept(bridge_ports(ports), who, &checked).await {
        Ok(bridge) => Reply::json(200, &describe(&bridge.value, now)),
        Err(StepNotTaken::Refused(refused)) => of_refusal(refused),
        Err(StepNotTaken::Bridge(error)) => return Err(error),
    })
}

fn of_invalid(invalid: &InvalidAcceptance) -> Reply {
    match invalid {
        InvalidAcceptance::Changed => Reply::error(409, "agreement_changed", &invalid.to_string()),
        InvalidAcceptance::OtherAddress => {
            let sentence = "Please give the email address with which you are signed in.";
            Reply::error(400, "email_other", sentence)
        }
        InvalidAcceptance::Name(_) => Reply::error(400, "name_invalid", &invalid.to_string()),
    }
}

fn of_refusal(refused: BridgeRefused) -> Reply {
    match refused {
        BridgeRefused::Closed(_) | BridgeRefused::Transition { .. } => {
            let sentence = "Messages can be sent only while you have access to the Bridge.";
            Reply::error(403, "bridge_closed", sentence)
        }
        BridgeRefused::OtherMessage => reply::other_message(),
        BridgeRefused::Full => {
            let sentence = "The thread is full. Please write to oracle@42sisters.ai.";
            Reply::error(409, "thread_full", sentence)
        }
        BridgeRefused::Expiry
        | BridgeRefused::MailsLeft(_)
        | BridgeRefused::NoSuchMessage
        | BridgeRefused::NoSuchMail => reply::unavailable(),
    }
}

/// GET: the thread, which is also its export.
pub(crate) async fn messages(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, StepError> {
    account_memory::ready(ports, who).await?;
    let held = bridge::load(bridge_ports(ports), who).await?;
    Ok(Reply::json(200, &thread(ports, &held).await?))
}

async fn thread(ports: Ports<'_>, held: &Held) -> Result<Value, StepError> {
    let shown = held.messages(ports.keys).await?;
    let message = |it: &bridge::ThreadMessage| {
        let from = match it.author {
            Author::Customer => "you",
            Author::Operator(_) => OPERATORS,
        };
        json!({ "id": it.id, "from": from, "at": it.at.to_iso(), "text": it.text })
    };
    let messages: Vec<_> = shown.iter().map(message).collect();
    let mut body = json!({ "messages": messages });
    if let Some(person) = held.person(ports.keys).await? {
        body["accepted_by"] = json!({ "name": person.name, "email": person.address });
    }
    Ok(body)
}

fn parse_message(request: &Request) -> Result<(ExchangeId, Message, Option<String>), Reply> {
    let fields = reply::fields(request)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let id = ExchangeId::parse(text("id")).map_err(|error| Reply::error(400, "id_invalid", &error.to_string()))?;
    let message =
        Message::parse(text("text")).map_err(|error| Reply::error(400, "text_invalid", &error.to_string()))?;
    Ok((id, message, fields.get("locale").and_then(Value::as_str).map(str::to_owned)))
}

/// POST: adds a message to the thread. Repeating the same id and text changes nothing. A message that may disclose
/// self-harm is posted too, because a person reads the thread; its reply is the sources of help. If it cannot be posted,
/// the reply is the same, and operators are alerted that they cannot read it, up to a limit a day, as [`alerting`] says.
pub(crate) async fn post(ports: Ports<'_>, who: &SubscriberId, request: &Request) -> Result<Reply, StepError> {
    let (id, message, locale) = match parse_message(request) {
        Ok(parsed) => parsed,
        Err(reply) => return Ok(reply),
    };
    let disclosed = Some(evaluate(message.as_str(), locale.as_deref())).filter(Evaluation::is_crisis);
    let delivered = deliver(ports, who, &id, &message, disclosed.as_ref()).await;
    let Some(disclosed) = disclosed else { return delivered };
    let is_posted = delivered.as_ref().is_ok_and(|reply| reply.status() == 200);
    if !is_posted && let Err(error) = record_unposted(ports, who, &id, &disclosed).await {
        ports.meter.record(&[Metric::AuditWriteFailed.once()], ports.journal.clock.now());
        let (code, error) = (error.code().as_str(), runtime::telemetry::chain(&error));
        tracing::error!(code, error, "a message that may disclose self-harm is neither posted nor recorded");
    }
    Refusal::of(&disclosed).map_or(delivered, |refusal| Ok(Reply::json(422, &json!(refusal))))
}

/// Records a message that may disclose self-harm and could not be posted, and alerts operators as [`alerting`] says.
/// Anybody who is signed in can send such messages at no cost, so only some of a day's are recorded. If they cannot be
/// counted, each is.
async fn record_unposted(
    ports: Ports<'_>,
    who: &SubscriberId,
    id: &ExchangeId,
    disclosed: &Evaluation,
) -> Result<(), StepError> {
    match limits::UNPOSTED_DISCLOSURE.take(ports, who).await {
        Ok(Some(_)) => {
            tracing::warn!(subscriber = who.prefix(), "too many messages that may disclose self-harm: not recorded");
            Ok(())
        }
        Ok(None) | Err(_) => {
            let alerting = alerting(ports, who).await;
            bridge::record_unposted(bridge_ports(ports), who, id, disclosed, alerting).await
        }
    }
}

/// Whether operators are alerted to a message that could not be posted. Mailboxes and acceptances cost nothing. So
/// people without a subscription, to whom no operator has granted access, share a limit of alerts an hour, in which
/// each person has two, and the alerts about others are still read. If the access or the limit cannot be read,
/// operators are alerted.
async fn alerting(ports: Ports<'_>, who: &SubscriberId) -> Alerting {
    let (paid, bridge) =
        futures_util::join!(ports.access.access(who, ports.journal.clock.now()), ports.bridges.load(who));
    let (Ok(paid), Ok(bridge)) = (paid, bridge) else { return Alerting::This };
    // A revocation or a new acceptance removes the grant, but not the messages that were posted under it.
    let was_granted = bridge.value.expires().is_some() || !bridge.value.thread().is_empty();
    if was_granted || paid != Access::default() {
        return Alerting::This;
    }
    let shared = match bridge.value.acceptance() {
        Some(_) => limits::UNGRANTED_DISCLOSURES,
        None => limits::UNREACHABLE_DISCLOSURES,
    };
    shared.take(ports, who).await.unwrap_or(Alerting::This)
}

async fn deliver(
    ports: Ports<'_>,
    who: &SubscriberId,
    id: &ExchangeId,
    message: &Message,
    disclosed: Option<&Evaluation>,
) -> Result<Reply, StepError> {
    account_memory::ready(ports, who).await?;
    let known = ports.bridges.load(who).await?;
    if known.value.message(id).is_none()
        && let Some(wait) = limits::MESSAGE.take(ports, who).await?
    {
        return Ok(reply::too_many(wait));
    }
    Ok(match bridge::post(bridge_ports(ports), who, id, message, disclosed).await {
        Ok(bridge) => {
            let at = bridge.value.message(id).map(|post| post.at().to_iso());
            Reply::json(200, &json!({ "id": id, "from": "you", "at": at, "text": message.as_str() }))
        }
        Err(StepNotTaken::Refused(refused)) => of_refusal(refused),
        Err(StepNotTaken::Bridge(error)) => return Err(error),
    })
}
