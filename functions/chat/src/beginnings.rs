//! Publishes the beginnings of replies while the model writes them, for the page that waits.
//!
//! A beginning has only whole sentences, and passes the checks of a whole reply, except for the phrases that the authority
//! gate requires: those may come later. It is stored beside the account,
//! sealed under the memory's key, so that an erasure makes it unreadable. It is only for the page that waits: a failure
//! to store it does not fail the exchange, and only the exchange's own reply is final.

use crate::{
    Ports,
    account_memory::{self, malformed},
    checks,
};
use async_trait::async_trait;
use authority::Evaluation;
use aws::SubjectSeal;
use crosscheck::chat::beginning;
use domain::{
    ErrorCode, StepError, Timestamp,
    chat::{Account, Ask, Exchange, ExchangeStage, Message, SubscriberId, Voice, VoiceReply},
    ports::{Listener, Seal},
};
use futures_util::lock::Mutex;
use runtime::{telemetry, within};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// The shortest time between two writes of an exchange.
const BETWEEN_WRITES: Duration = Duration::from_millis(200);

/// The beginnings of an exchange's replies, as they are stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredBeginnings {
    /// The invocation that makes the replies. Those of an invocation that lost its claim are not shown.
    owner: String,
    pub(crate) replies: Vec<VoiceReply>,
    /// The notice that a reply in a governed domain is delivered with.
    pub(crate) notice: Option<String>,
}

/// The exchange whose beginnings are published.
pub(crate) struct BeginningPublisher<'a> {
    pub(crate) ports: Ports<'a>,
    pub(crate) who: &'a SubscriberId,
    pub(crate) ask: &'a Ask,
    pub(crate) notice: Option<&'a str>,
    /// The end of the claim.
    pub(crate) until: Timestamp,
    /// The longest time of a write.
    pub(crate) write_time: Duration,
    pub(crate) seal: SubjectSeal,
    pub(crate) state: Mutex<State>,
}

/// The readable texts, and those of them that are stored.
#[derive(Default)]
pub(crate) struct State {
    readable: BTreeMap<Voice, String>,
    written: Vec<VoiceReply>,
    written_at: Option<Timestamp>,
    has_failed: bool,
}

impl State {
    fn replies(&self) -> Vec<VoiceReply> {
        let begun = self.readable.iter().filter(|(_, text)| !text.is_empty());
        begun.map(|(voice, text)| VoiceReply { voice: *voice, text: text.clone() }).collect()
    }

    /// Whether a stored sentence of this voice is not part of its text any more.
    fn is_withdrawn(&self, voice: Voice) -> bool {
        let text = self.readable.get(&voice).map_or("", String::as_str);
        self.written.iter().any(|reply| reply.voice == voice && !text.starts_with(&reply.text))
    }
}

impl BeginningPublisher<'_> {
    /// Makes a voice's sentences unreadable: its reply was rejected.
    pub(crate) async fn withdraw(&self, voice: Voice) {
        self.publish(voice, String::new(), false).await;
    }

    /// Stores what is readable now, if a page could gain by it. A sentence that is withdrawn is removed at once.
    async fn publish(&self, voice: Voice, text: String, is_complete: bool) {
        let mut state = self.state.lock().await;
        state.readable.insert(voice, text);
        let replies = state.replies();
        if replies == state.written {
            return;
        }
        let now = self.ports.journal.clock.now();
        let is_early = state.written_at.is_some_and(|at| now < at.plus(BETWEEN_WRITES));
        // The reply to the request follows a complete text at once.
        if (is_complete || is_early || state.has_failed) && !state.is_withdrawn(voice) {
            return;
        }
        state.written_at = Some(now);
        state.written.clone_from(&replies);
        if let Err(error) = self.write(replies).await {
            let (code, error) = (error.code().as_str(), telemetry::chain(&error));
            tracing::warn!(code, error, "the page gets the reply without its beginnings");
            state.has_failed = true;
        }
    }

    async fn write(&self, replies: Vec<VoiceReply>) -> Result<(), StepError> {
        let beginnings =
            StoredBeginnings { owner: self.ask.owner.clone(), replies, notice: self.notice.map(str::to_owned) };
        let plain = serde_json::to_vec(&beginnings).map_err(|_| malformed("a beginning"))?;
        let sealed = hex::encode(self.seal.seal(0, &plain));
        let put = self.ports.beginnings.put(self.who, &self.ask.id, &sealed, self.until);
        Ok(within(self.ports.pause, self.write_time, put)
            .await
            .map_err(|error| ErrorCode::Storage.because_of("a beginning was not stored", error))??)
    }
}

/// Receives one voice's reply while the model writes it.
pub(crate) struct VoiceListener<'a> {
    publisher: &'a BeginningPublisher<'a>,
    voice: Voice,
    message: &'a Message,
    evaluation: &'a Evaluation,
    /// The whole sentences that were checked last, and those of them that are readable.
    checked: String,
    readable: String,
}

impl<'a> VoiceListener<'a> {
    pub(crate) const fn new(
        publisher: &'a BeginningPublisher<'a>,
        voice: Voice,
        message: &'a Message,
        evaluation: &'a Evaluation,
    ) -> Self {
        Self { publisher, voice, message, evaluation, checked: String::new(), readable: String::new() }
    }
}

#[async_trait]
impl Listener for VoiceListener<'_> {
    async fn hear(&mut self, raw: &str) {
        let begun = beginning(raw, self.message.as_str());
        let (text, is_complete) = begun.map_or_else(Default::default, |begun| (begun.text, begun.is_complete));
        if text != self.checked {
            self.readable = checks::readable(&text, self.evaluation).unwrap_or_default();
            self.checked = text;
        }
        self.publisher.publish(self.voice, self.readable.clone(), is_complete).await;
    }
}

/// The readable beginnings of an exchange that is being answered.
pub(crate) async fn find(ports: Ports<'_>, account: &Account, exchange: &Exchange) -> Option<StoredBeginnings> {
    let read = read(ports, account, exchange).await.unwrap_or_else(|error| {
        let (code, error) = (error.code().as_str(), telemetry::chain(&error));
        tracing::warn!(code, error, "the beginnings of a reply cannot be read");
        None
    });
    read.filter(|beginnings| !beginnings.replies.is_empty())
}

async fn read(ports: Ports<'_>, account: &Account, exchange: &Exchange) -> Result<Option<StoredBeginnings>, StepError> {
    let ExchangeStage::Claimed { owner, .. } = &exchange.stage else { return Ok(None) };
    let name = account.memory();
    let (sealed, key) = futures_util::join!(ports.beginnings.find(account.id(), &exchange.id), ports.keys.find(&name));
    let (Some(sealed), Some(key)) = (sealed?, key?) else { return Ok(None) };
    let seal = account_memory::seal_of_beginnings(&key, account, &exchange.id)?;
    // What was sealed under the key of an erased memory does not open.
    let plain = hex::decode(sealed).ok().and_then(|sealed| seal.open(0, &sealed));
    let beginnings: Option<StoredBeginnings> = plain.and_then(|plain| serde_json::from_slice(&plain).ok());
    Ok(beginnings.filter(|beginnings| beginnings.owner == *owner))
}
