//! The replies for the next vendor calls, in order. The index page describes the interface.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::http::{Body, Pace, Reply};
use crate::target::Target;

#[derive(Clone)]
pub(crate) struct Fault {
    pub(crate) action: Action,
    /// The time between the work and the reply.
    pub(crate) delay: Duration,
    /// The fault as requested, for the record of calls.
    pub(crate) source: Value,
}

#[derive(Clone)]
pub(crate) enum Action {
    /// The call is handled normally.
    Through,
    /// The call gets this reply without any work, or with `done` after the work. With `store`, Stripe stores it for the
    /// call's idempotency key, as it does with its own failures after the work had begun.
    Reply { reply: Reply, store: bool, done: bool },
    /// There is no work and no reply.
    Hang,
    /// The work is done and the reply is lost.
    Drop,
    /// The call is handled, but with this reply of the model.
    Model(ModelOverride),
}

/// Replacements for parts of a Gemini reply.
#[derive(Clone, Default)]
pub(crate) struct ModelOverride {
    pub(crate) text: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) block_reason: Option<String>,
    pub(crate) model_status: Option<Value>,
    pub(crate) model_version: Option<String>,
    /// How a streamed reply is sent.
    pub(crate) pace: Pace,
}

/// Why a fault was not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultError {
    #[error("replies[{index}]: {source}")]
    Shape { index: usize, source: serde_json::Error },
    #[error("replies[{index}]: give only one of status, hang, drop and the model's fields (verdict or text, …)")]
    Ambiguous { index: usize },
    #[error("replies[{index}]: headers, body, kind, store and done need a status")]
    StatusMissing { index: usize },
    #[error("replies[{index}]: status must be between 200 and 599, got {status}")]
    Status { index: usize, status: u16 },
    #[error("replies[{index}]: headers must be texts or numbers with valid names, got {name:?}")]
    Header { index: usize, name: String },
    #[error("replies[{index}]: give either verdict or text")]
    TwoTexts { index: usize },
    #[error("replies[{index}]: the model's fields are for the target gemini only")]
    NotGemini { index: usize },
    #[error("replies[{index}]: kind names an error of the target ses, in place of a body")]
    NotSes { index: usize },
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wire {
    status: Option<u16>,
    headers: BTreeMap<String, Value>,
    body: Option<Value>,
    kind: Option<String>,
    store: bool,
    done: bool,
    delay_ms: u64,
    hang: bool,
    drop: bool,
    verdict: Option<Map<String, Value>>,
    text: Option<String>,
    finish_reason: Option<String>,
    block_reason: Option<String>,
    model_status: Option<Value>,
    model_version: Option<String>,
    stream: Option<Pace>,
}

/// Parses the `replies` of a control call.
pub(crate) fn parse(target: Target, replies: Vec<Value>) -> Result<Vec<Fault>, FaultError> {
    replies.into_iter().enumerate().map(|(index, source)| parse_one(target, index, source)).collect()
}

fn parse_one(target: Target, index: usize, source: Value) -> Result<Fault, FaultError> {
    let wire: Wire = serde_json::from_value(source.clone()).map_err(|source| FaultError::Shape { index, source })?;
    if wire.verdict.is_some() && wire.text.is_some() {
        return Err(FaultError::TwoTexts { index });
    }
    let about_model = wire.verdict.is_some()
        || wire.text.is_some()
        || wire.finish_reason.is_some()
        || wire.block_reason.is_some()
        || wire.model_status.is_some()
        || wire.model_version.is_some()
        || wire.stream.is_some();
    if about_model && target != Target::Gemini {
        return Err(FaultError::NotGemini { index });
    }
    if wire.kind.is_some() && (target != Target::Ses || wire.body.is_some()) {
        return Err(FaultError::NotSes { index });
    }
    let kinds = [wire.status.is_some(), wire.hang, wire.drop, about_model];
    if kinds.into_iter().filter(|kind| *kind).count() > 1 {
        return Err(FaultError::Ambiguous { index });
    }
    let about_reply = wire.body.is_some() || wire.kind.is_some() || !wire.headers.is_empty() || wire.store || wire.done;
    if wire.status.is_none() && about_reply {
        return Err(FaultError::StatusMissing { index });
    }
    let delay = Duration::from_millis(wire.delay_ms);
    let action = if let Some(status) = wire.status {
        Action::Reply { store: wire.store, done: wire.done, reply: injected_reply(target, index, status, wire)? }
    } else if wire.hang {
        Action::Hang
    } else if wire.drop {
        Action::Drop
    } else if about_model {
        let text = wire.text.or_else(|| wire.verdict.map(|verdict| Value::Object(verdict).to_string()));
        Action::Model(ModelOverride {
            text,
            finish_reason: wire.finish_reason,
            block_reason: wire.block_reason,
            model_status: wire.model_status,
            model_version: wire.model_version,
            pace: wire.stream.unwrap_or_default(),
        })
    } else {
        Action::Through
    };
    Ok(Fault { action, delay, source })
}

fn injected_reply(target: Target, index: usize, status: u16, wire: Wire) -> Result<Reply, FaultError> {
    if !(200..=599).contains(&status) {
        return Err(FaultError::Status { index, status });
    }
    let body = match wire.body {
        Some(Value::String(text)) => Body::Text(text),
        Some(value) => Body::Json(value),
        None if status >= 400 => Body::Json(target.failure_body(status, wire.kind.as_deref())),
        None => Body::Empty,
    };
    let mut reply = Reply::new(status, body);
    for (name, value) in wire.headers {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            _ => return Err(FaultError::Header { index, name }),
        };
        let valid = hyper::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
            && hyper::header::HeaderValue::from_str(&text).is_ok();
        if !valid {
            return Err(FaultError::Header { index, name });
        }
        reply = reply.with_header(&name, text);
    }
    Ok(reply)
}

/// The unused faults, one queue per target.
#[derive(Default)]
pub(crate) struct Faults(BTreeMap<Target, VecDeque<Fault>>);

impl Faults {
    pub(crate) fn push(&mut self, target: Target, faults: Vec<Fault>) {
        self.0.entry(target).or_default().extend(faults);
    }

    /// Takes the fault for the next call to `target`, if there is one.
    pub(crate) fn next(&mut self, target: Target) -> Option<Fault> {
        self.0.get_mut(&target)?.pop_front()
    }

    pub(crate) fn pending(&self) -> Value {
        let queues = Target::ALL.map(|target| {
            let sources: Vec<Value> = self
                .0
                .get(&target)
                .map_or_else(Vec::new, |queue| queue.iter().map(|fault| fault.source.clone()).collect());
            (target.name().to_owned(), Value::Array(sources))
        });
        Value::Object(queues.into_iter().collect())
    }
}
