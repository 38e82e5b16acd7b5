//! The memory of an account: an encrypted event log under a key of its own. The customer can export and erase it.
//! The file has more than 300 lines because reading, appending and exporting a memory all use the private log and seal
//! of `OpenMemory`.

use crate::Ports;
use audit::Change;
use aws::SubjectSeal;
use domain::{
    ErrorCode, Metric, StepError, Timestamp,
    chat::{Account, ExchangeId, Message, SubscriberId, VoiceReply},
    ports::{Seal, SubjectKey, Versioned},
};
use lens::{Mode, WorkingSet, canonical};
use memory::{
    Event, EventLog, Handle, InvalidHandle, PinKind, Pins,
    event::{FactCommitted, ModeChanged},
    log::AppendError,
    policy,
    store::{self, StoreError},
    truncate::Budget,
    working_set::{self, Request},
};
use prompt::chat_version;
use runtime::http::Reply;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, cmp::Reverse};

/// The largest part of the memory that a model sees.
const BUDGET: Budget = Budget::of_bytes(24_000);

/// The authority gate evaluates a message together with this many earlier ones. With the longest messages they have
/// 24,000 characters, and the model sees no more of a memory than [`BUDGET`].
const EVALUATED: usize = 6;

/// The model sees this many of the newest exchanges, whatever words they share with the message: "How so?" shares none with the
/// reply that it is about. Together they take at most this many bytes, because an item above the budget leaves no room for any
/// other.
const LATEST: usize = 2;
const LATEST_BYTES: usize = 18_000;

/// The largest number of exchanges that a page can ask for.
const MOST_NEWEST: usize = 500;

/// The largest part of a memory in one reply, in bytes as [`escaped_bytes`] counts them. Lambda limits a reply with its
/// envelope to 6,291,556 bytes, so the rest is for headers, commas and the envelope.
const LARGEST_REPLY: usize = 6_000_000;

/// Shown in place of a memory that no reply can hold (infra/runbook.md: an operator exports it).
const TOO_LARGE: &str = "Your memory is too large to be downloaded here. Please write to oracle@42sisters.ai, and we will \
    send it to you.";

/// From this many bytes of records on operators learn of a memory: every exchange reads all of it, in the 28 seconds
/// that the model needs too (infra/decisions/chat.md, "A long memory").
const LARGE_MEMORY: usize = 8_000_000;

/// The kind under which an exchange is stored as a fact.
const KIND: &str = "EXCHANGE";

/// One exchange as the memory stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredExchange {
    pub(crate) asked: String,
    pub(crate) replies: Vec<VoiceReply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<String>,
}

/// A memory that has been read and decrypted.
pub(crate) struct OpenMemory {
    name: String,
    key: SubjectKey,
    seal: SubjectSeal,
    log: EventLog,
}

/// The error of a stored part of a memory that is not in its form.
pub(crate) fn malformed(what: &str) -> StepError {
    ErrorCode::Malformed.because(format!("a stored part of the memory does not parse: {what}"))
}

/// The error of a memory that cannot be read or written.
fn unusable(error: impl Into<StoreError>) -> StepError {
    let error: StoreError = error.into();
    error.code().because_of("the memory could not be used", error)
}

/// The error of a memory that was erased while it was read.
fn erased() -> StepError {
    ErrorCode::Erased.because("the memory was erased meanwhile")
}

fn handle(text: &str) -> Result<Handle, StepError> {
    Handle::parse(text).map_err(|_| malformed("a name"))
}

fn seal_of(key: &SubjectKey, log: &str) -> Result<SubjectSeal, StepError> {
    SubjectSeal::new(key, log).ok_or_else(|| malformed("a key"))
}

/// The seal under which the account encrypts its replies. The account stores a reply until the memory holds it, and
/// repeats it to a client that asks again.
fn kept(key: &SubjectKey, name: &str) -> Result<SubjectSeal, StepError> {
    seal_of(key, &format!("{name}/kept"))
}

/// Decrypts an exchange that the account stores.
fn open_kept(key: &SubjectKey, name: &str, sealed: &str) -> Result<StoredExchange, StepError> {
    let sealed = hex::decode(sealed).map_err(|_| malformed("a kept reply"))?;
    let plain = kept(key, name)?.open(0, &sealed).ok_or_else(|| malformed("a kept reply"))?;
    serde_json::from_slice(&plain).map_err(|_| malformed("a kept reply"))
}

/// The exchange that the account stores under `sealed`, without a read of the memory.
pub(crate) async fn kept_exchange(
    ports: Ports<'_>,
    account: &Account,
    sealed: &str,
) -> Result<StoredExchange, StepError> {
    let name = account.memory();
    // The account stores a reply, so the key existed: it was destroyed since the account was read.
    let key = ports.keys.find(&name).await?.ok_or_else(erased)?;
    open_kept(&key, &name, sealed)
}

/// The seal of the beginnings of an exchange's replies. They are in the same store as the account, and no other seal of
/// the memory uses this name.
pub(crate) fn seal_of_beginnings(
    key: &SubjectKey,
    account: &Account,
    id: &ExchangeId,
) -> Result<SubjectSeal, StepError> {
    seal_of(key, &format!("{}/begun/{}", account.memory(), id.as_str()))
}

impl OpenMemory {
    /// The memory's key.
    pub(crate) const fn key(&self) -> &SubjectKey {
        &self.key
    }

    /// Reads the account's memory; makes its key if it has none.
    pub(crate) async fn of(ports: Ports<'_>, account: &Account) -> Result<Self, StepError> {
        let name = account.memory();
        let (key, records) = futures_util::join!(ports.keys.find_or_create(&name), store::complete(ports.logs, &name));
        Self::open_records(ports, account, key?, records.map_err(unusable)?)
    }

    /// Reads the account's memory; `None` if it has no key, and so holds nothing.
    pub(crate) async fn existing(ports: Ports<'_>, account: &Account) -> Result<Option<Self>, StepError> {
        let name = account.memory();
        let (key, records) = futures_util::join!(ports.keys.find(&name), store::complete(ports.logs, &name));
        let Some(key) = key? else { return Ok(None) };
        Self::open_records(ports, account, key, records.map_err(unusable)?).map(Some)
    }

    fn open_records(
        ports: Ports<'_>,
        account: &Account,
        key: SubjectKey,
        records: Vec<memory::log::Record>,
    ) -> Result<Self, StepError> {
        let name = account.memory();
        let seal = seal_of(&key, &name)?;
        let log = EventLog::boot(handle(&name)?, records, &seal).map_err(unusable)?;
        if log.state().is_erased() {
            // Erased since the account was read.
            return Err(erased());
        }
        let bytes: usize = log.records().iter().map(|record| record.body.len()).sum();
        if bytes >= LARGE_MEMORY {
            ports.meter.record(&[Metric::ChatMemoryLarge.once()], ports.journal.clock.now());
            tracing::warn!(subscriber = account.id().prefix(), bytes, "a memory is large");
        }
        Ok(Self { name, key, seal, log })
    }

    /// Encrypts an exchange for the account. Two calls with the same id and exchange return the same bytes.
    pub(crate) fn seal(&self, stored: &StoredExchange) -> Result<String, StepError> {
        let plain = serde_json::to_vec(stored).map_err(|_| malformed("an exchange"))?;
        Ok(hex::encode(kept(&self.key, &self.name)?.seal(0, &plain)))
    }

    /// Decrypts an exchange that the account stores.
    pub(crate) fn open(&self, sealed: &str) -> Result<StoredExchange, StepError> {
        open_kept(&self.key, &self.name, sealed)
    }

    /// The newest exchanges as events of the export, in order, and whether there are earlier ones.
    fn newest(&self, most: usize) -> Result<Reply, StepError> {
        let is_exchange = |event: &Event| matches!(&event.payload, memory::Payload::FactCommitted(fact) if fact.kind.as_str() == KIND);
        let written = |event: Event| {
            let value = canonical::value_of(&event).map_err(|_| malformed("an event"))?;
            String::from_utf8(value.to_bytes()).map_err(|_| malformed("an event"))
        };
        let exchanges = self.log.newest_events(&self.seal).filter(is_exchange);
        let (shown, has_earlier) = end_of(exchanges.map(written), most)?;
        Ok(Reply::json_text(200, format!(r#"{{"earlier":{has_earlier},"events":[{}]}}"#, shown.join(","))))
    }

    /// An exchange that the account no longer lists.
    pub(crate) fn exchange(&self, id: &ExchangeId) -> Option<StoredExchange> {
        stored_exchange(self.log.event(&handle(id.as_str()).ok()?, &self.seal)?)
    }

    /// The customer's latest answered messages, at most [`EVALUATED`], oldest first.
    pub(crate) fn latest_asked(&self) -> Vec<String> {
        let exchanges = self.log.newest_events(&self.seal).filter_map(stored_exchange);
        let mut asked: Vec<String> = exchanges.map(|stored| stored.asked).take(EVALUATED).collect();
        asked.reverse();
        asked
    }

    /// The query that orders the working set: the message, and the names of the latest exchanges, so that these come first.
    /// The words of the names are in every exchange's name, except the random digits, so the other exchanges keep their
    /// order.
    fn query(&self, message: &Message) -> String {
        let mut exchanges: Vec<_> = self.log.state().facts().canon().map(|(_, fact)| fact).collect();
        exchanges.sort_by_key(|fact| Reverse(fact.created_event_id));
        let mut query = message.as_str().to_owned();
        let mut bytes = 0;
        for fact in exchanges.into_iter().take(LATEST) {
            bytes += fact.content.payload.to_bytes().len();
            if bytes > LATEST_BYTES {
                break;
            }
            query.push('\n');
            query.push_str(fact.content.stable_key.as_str());
        }
        query
    }

    /// The working set that a model sees beside this message. It is built from the log as the exchange will extend it: with
    /// the running system's pins.
    pub(crate) fn working_set(&self, message: &Message) -> Result<WorkingSet, StepError> {
        let running = running_pins()?;
        let mut state = Cow::Borrowed(self.log.state());
        for event in opening(&self.log, &running, 0).map_err(unusable)? {
            let state = state.to_mut();
            state.check(&event.payload).map_err(|refusal| unusable(AppendError::from(refusal)))?;
            state.apply(event);
        }
        let query = self.query(message);
        let request = Request { campaign_id: self.log.campaign_id(), scene_id: None, query: &query, budget: BUDGET };
        let built = working_set::build(&state, &request, &running);
        Ok(built.map_err(|error| ErrorCode::Memory.because_of("no working set could be built", error))?.set)
    }

    /// Appends an exchange to the memory, in one write with the events that must precede it. Appending it twice has no
    /// further effect.
    async fn remember(
        &mut self,
        ports: Ports<'_>,
        id: &ExchangeId,
        stored: &StoredExchange,
        at: Timestamp,
    ) -> Result<(), StepError> {
        let running = running_pins()?;
        let exchange = Event {
            at: at.as_millis(),
            campaign_id: self.log.campaign_id().clone(),
            key: Some(handle(id.as_str())?),
            payload: fact(id, stored)?.into(),
        };
        let events = |log: &EventLog| {
            let mut events = opening(log, &running, at.as_millis())?;
            events.push(exchange.clone());
            Ok(events)
        };
        match store::append_all(ports.logs, &self.name, &mut self.log, &events, &self.seal).await {
            // The memory was erased meanwhile, so there is nothing to append to.
            Ok(_) | Err(StoreError::Append(AppendError::Refused(memory::Refusal::Erased))) => Ok(()),
            Err(error) => Err(unusable(error)),
        }
    }
}

/// The exchange that an event adds.
fn stored_exchange(event: Event) -> Option<StoredExchange> {
    let memory::Payload::FactCommitted(fact) = event.payload else { return None };
    serde_json::from_slice(&fact.payload.to_bytes()).ok()
}

/// An exchange as a fact.
fn fact(id: &ExchangeId, stored: &StoredExchange) -> Result<FactCommitted, StepError> {
    let (source, stable_key) = (handle("chat")?, handle(&format!("exchange-{}", id.as_str()))?);
    let payload = canonical::value_of(stored).map_err(|_| malformed("an exchange"))?;
    Ok(FactCommitted::unlocked(source, handle(KIND)?, stable_key, Mode::Companion, payload))
}

/// The pins of the running system: its policies and the version of the chat's prompts.
fn running_pins() -> Result<Pins, StepError> {
    let mut pins = policy::pins();
    let version = handle(&format!("sha256:{}", chat_version()))?;
    pins.0.insert(PinKind::PromptTemplates, [(handle("chat")?, version)].into());
    Ok(pins)
}

/// The events that must precede an exchange: the world with its pins, and the mode, in a new log; a recorded revision if
/// a release changed the pins; usually none.
fn opening(log: &EventLog, running: &Pins, at: i64) -> Result<Vec<Event>, InvalidHandle> {
    let mut needed = memory::alignment(log.state(), &Handle::parse("chat")?, running, &Handle::parse("release")?)?;
    if log.records().is_empty() {
        needed.push((Handle::parse("mode")?, ModeChanged { mode: Mode::Companion }.into()));
    }
    let campaign_id = log.campaign_id();
    let event = |(key, payload)| Event { at, campaign_id: campaign_id.clone(), key: Some(key), payload };
    Ok(needed.into_iter().map(event).collect())
}

/// Appends the replies that the account stores and the memory lacks. After a failure the account's next call does it.
pub(crate) async fn catch_up(
    ports: Ports<'_>,
    account: Versioned<Account>,
    opened: &mut OpenMemory,
) -> Result<Versioned<Account>, StepError> {
    let waiting: Vec<(ExchangeId, String, Timestamp)> =
        account.value.unlogged().map(|(id, sealed, at)| (id.clone(), sealed.to_owned(), at)).collect();
    if waiting.is_empty() {
        return Ok(account);
    }
    for (id, sealed, at) in &waiting {
        let stored = opened.open(sealed)?;
        opened.remember(ports, id, &stored, *at).await?;
    }
    let name = opened.name.clone();
    let logged = |account: &mut Account, _| {
        let mut changed = false;
        if account.memory() == name {
            for (id, ..) in &waiting {
                changed |= account.logged(id).is_ok();
            }
        }
        if changed { Change::save(()) } else { Change::nothing(()) }
    };
    Ok(ports.journal.commit(account, logged).await?.settle().await.0)
}

/// Loads the account, or makes a new one, and finishes an erasure that was interrupted.
pub(crate) async fn ready(ports: Ports<'_>, who: &SubscriberId) -> Result<Versioned<Account>, StepError> {
    let account = ports.journal.load(who).await?;
    if account.value.is_erasing() { finish(ports, account).await } else { Ok(account) }
}

/// GET: the whole memory as its document, or only the `newest` exchanges, which a page shows.
pub(crate) async fn export(ports: Ports<'_>, who: &SubscriberId, newest: Option<&str>) -> Result<Reply, StepError> {
    let newest = match newest.map(|text| text.parse().ok().filter(|most| (1..=MOST_NEWEST).contains(most))) {
        Some(None) => {
            let sentence = format!("newest must be a number from 1 to {MOST_NEWEST}.");
            return Ok(Reply::error(400, "newest_invalid", &sentence));
        }
        Some(Some(most)) => Some(most),
        None => None,
    };
    let account = ready(ports, who).await?;
    let mut opened = OpenMemory::of(ports, &account.value).await?;
    catch_up(ports, account, &mut opened).await?;
    if let Some(most) = newest {
        return opened.newest(most);
    }
    let document = memory::export::export(&opened.log, &opened.seal).map_err(|_| malformed("an event"))?;
    whole(document)
}

/// The bytes of a JSON text in Lambda's envelope, which escapes each quotation mark and backslash once more.
fn escaped_bytes(text: &[u8]) -> usize {
    text.len() + text.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

fn whole(document: Vec<u8>) -> Result<Reply, StepError> {
    if escaped_bytes(&document) > LARGEST_REPLY {
        return Ok(Reply::error(413, "too_large", TOO_LARGE));
    }
    let document = String::from_utf8(document).map_err(|_| malformed("an event"))?;
    Ok(Reply::json_text(200, document))
}

/// As many of the events, which come newest first, as `most` and one reply allow, in their order; and whether there are
/// more.
fn end_of(
    events: impl Iterator<Item = Result<String, StepError>>,
    most: usize,
) -> Result<(Vec<String>, bool), StepError> {
    let (mut shown, mut bytes) = (Vec::new(), 0);
    let mut has_earlier = false;
    for event in events {
        let event = event?;
        bytes += escaped_bytes(event.as_bytes());
        has_earlier = shown.len() == most || bytes > LARGEST_REPLY;
        if has_earlier {
            break;
        }
        shown.push(event);
    }
    shown.reverse();
    Ok((shown, has_earlier))
}

/// Finishes an erasure. After a crash the account's next call or the schedule repeats it.
pub(crate) async fn finish(ports: Ports<'_>, account: Versioned<Account>) -> Result<Versioned<Account>, StepError> {
    let Ports { journal, bridges, logs, keys, .. } = ports;
    let forgetting = forgetting::Ports { journal, bridges, logs, keys };
    forgetting::finish(forgetting, account).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lambda refuses replies above 6 MB. A larger export is a 413 with instructions; the newest exchanges still load.
    #[test]
    fn a_memory_beyond_one_reply_is_refused_with_a_sentence_and_its_end_is_shown() {
        assert_eq!(whole(vec![b' '; LARGEST_REPLY]).unwrap().status(), 200);
        let refused = whole(vec![b' '; LARGEST_REPLY + 1]).unwrap();
        assert!(refused.status() == 413 && refused.body().contains("oracle@42sisters.ai"));
        for escaped in [b'"', b'\\'] {
            assert_eq!(whole(vec![escaped; LARGEST_REPLY / 2]).unwrap().status(), 200);
            assert_eq!(whole(vec![escaped; 3_400_000]).unwrap().status(), 413, "6.8 MB in the envelope");
        }
        let event = |number: usize| Ok(format!("{number}{}", " ".repeat(999_999)));
        let of = |count: usize, most| end_of((0..count).map(event), most).unwrap();
        let (shown, has_earlier) = of(8, 500);
        assert_eq!((shown.len(), has_earlier, shown[5].trim_end()), (6, true, "0"));
        let quoted = (0..5).map(|_| Ok("\"".repeat(1_000_000)));
        assert_eq!(end_of(quoted, 500).unwrap().0.len(), 3);
        assert_eq!((of(3, 500).0.len(), of(3, 500).1), (3, false));
        assert_eq!((of(3, 2).0.len(), of(3, 2).1), (2, true));
        assert_eq!(end_of([Err(erased())].into_iter(), 1).unwrap_err().code(), ErrorCode::Erased);
    }
}
