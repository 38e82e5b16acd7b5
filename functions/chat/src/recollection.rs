//! What an account remembers: one log for each memory, sealed under a key of its own, which its owner can read and erase.

use crate::{NotDone, Ports};
use audit::{Change, ChatStatus, Record};
use aws::SubjectSeal;
use domain::{
    Timestamp,
    chat::{Account, ExchangeId, Message, Refused, Said, SubscriberId},
    ports::{Seal, SubjectKey, Versioned},
};
use lens::{Mode, WorkingSet, canonical};
use memory::{
    Event, EventLog, Handle,
    event::{FactCommitted, ModeChanged, PrecisionTag, Provenance, SubjectErased},
    log::AppendError,
    policy,
    store::{self, StoreError},
    truncate::Budget,
    working_set::{self, Request},
};
use runtime::http::Reply;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How much of the memory a model sees.
const BUDGET: Budget = Budget::of_bytes(24_000);

/// The kind of fact that an exchange is.
const KIND: &str = "EXCHANGE";

/// One exchange, as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) asked: String,
    pub(crate) replies: Vec<Said>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<String>,
}

/// A memory that is open.
pub(crate) struct Opened {
    name: String,
    key: SubjectKey,
    seal: SubjectSeal,
    log: EventLog,
}

/// Opens nothing: its key is gone.
struct Shut;

impl Seal for Shut {
    fn seal(&self, _: u64, _: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    fn open(&self, _: u64, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

fn handle(text: &str) -> Result<Handle, NotDone> {
    Handle::parse(text).map_err(|_| NotDone::Form("a name"))
}

fn seal_of(key: &SubjectKey, log: &str) -> Result<SubjectSeal, NotDone> {
    SubjectSeal::new(key, log).ok_or(NotDone::Form("a key"))
}

/// The seal of replies that an account keeps until the memory has them, and for those who ask again.
fn kept(key: &SubjectKey, name: &str) -> Result<SubjectSeal, NotDone> {
    seal_of(key, &format!("{name}/kept"))
}

impl Opened {
    /// Reads the account's memory; makes its key if it has none.
    pub(crate) async fn of(ports: Ports<'_>, account: &Account) -> Result<Self, NotDone> {
        let name = account.memory();
        let key = ports.keys.find_or_create(&name).await?;
        let seal = seal_of(&key, &name)?;
        let log = store::load(ports.logs, &name, &handle(&name)?, &seal).await?;
        Ok(Self { name, key, seal, log })
    }

    /// A turn, sealed for the account. A reply to the same id is the same bytes.
    pub(crate) fn seal(&self, turn: &Turn) -> Result<String, NotDone> {
        let plain = serde_json::to_vec(turn).map_err(|_| NotDone::Form("a turn"))?;
        Ok(hex::encode(kept(&self.key, &self.name)?.seal(0, &plain)))
    }

    /// A turn of the account.
    pub(crate) fn open(&self, sealed: &str) -> Result<Turn, NotDone> {
        let sealed = hex::decode(sealed).map_err(|_| NotDone::Form("a kept reply"))?;
        let plain = kept(&self.key, &self.name)?.open(0, &sealed).ok_or(NotDone::Form("a kept reply"))?;
        serde_json::from_slice(&plain).map_err(|_| NotDone::Form("a kept reply"))
    }

    fn turns(&self) -> impl Iterator<Item = (Option<Handle>, Turn)> {
        self.log.events(&self.seal).into_iter().filter_map(|event| {
            let memory::Payload::FactCommitted(fact) = event.payload else { return None };
            Some((event.key, serde_json::from_slice(&fact.payload.to_bytes()).ok()?))
        })
    }

    /// The turn of an exchange that the account has forgotten.
    pub(crate) fn turn(&self, id: &ExchangeId) -> Option<Turn> {
        let is_it = |key: &Option<Handle>| key.as_ref().is_some_and(|key| key.as_str() == id.as_str());
        self.turns().find(|(key, _)| is_it(key)).map(|(_, turn)| turn)
    }

    /// What was asked last.
    pub(crate) fn last_asked(&self) -> Option<String> {
        self.turns().last().map(|(_, turn)| turn.asked)
    }

    /// What a model may see beside this message.
    pub(crate) fn working_set(&self, message: &Message) -> Result<WorkingSet, NotDone> {
        let request =
            Request { campaign_id: self.log.campaign_id(), scene_id: None, query: message.as_str(), budget: BUDGET };
        Ok(working_set::build(self.log.state(), &request, &policy::pins())?.set)
    }

    async fn append(
        &mut self,
        ports: Ports<'_>,
        key: &str,
        at: i64,
        payload: impl Into<memory::Payload> + Send,
    ) -> Result<(), NotDone> {
        let campaign_id = self.log.campaign_id().clone();
        let event = Event { at, campaign_id, key: Some(handle(key)?), payload: payload.into() };
        match store::append(ports.logs, &self.name, &mut self.log, event, &self.seal).await {
            // Erased meanwhile: there is nothing left to remember it in.
            Ok(_) | Err(StoreError::Append(AppendError::Refused(memory::Refusal::Erased))) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Remembers an exchange. Doing it again is no error.
    async fn remember(&mut self, ports: Ports<'_>, id: &ExchangeId, turn: &Turn, at: Timestamp) -> Result<(), NotDone> {
        if self.log.records().is_empty() {
            self.append(ports, "mode", 0, ModeChanged { mode: Mode::Companion }).await?;
        }
        let fact = FactCommitted {
            fact_id: None,
            kind: handle(KIND)?,
            payload: canonical::value_of(turn).map_err(|_| NotDone::Form("a turn"))?,
            provenance: Provenance {
                source: handle("chat")?,
                rule_ref: None,
                generator_spec: None,
                event_ids: Vec::new(),
                commit_ids: Vec::new(),
            },
            visibility_mask: [Mode::Companion].into(),
            precision_tag: PrecisionTag::Unlocked,
            stable_key: handle(&format!("exchange-{}", id.as_str()))?,
            detail_handle: None,
            gist: None,
            precision_tokens: Default::default(),
        };
        self.append(ports, id.as_str(), at.as_millis(), fact).await
    }
}

/// Puts into the memory what the account has and the memory lacks. Nothing is lost where it fails: the next call of the
/// account does it.
pub(crate) async fn catch_up(
    ports: Ports<'_>,
    account: Versioned<Account>,
    opened: &mut Opened,
) -> Result<Versioned<Account>, NotDone> {
    let waiting: Vec<(ExchangeId, String, Timestamp)> =
        account.value.unlogged().map(|(id, sealed, at)| (id.clone(), sealed.to_owned(), at)).collect();
    if waiting.is_empty() {
        return Ok(account);
    }
    for (id, sealed, at) in &waiting {
        let turn = opened.open(sealed)?;
        opened.remember(ports, id, &turn, *at).await?;
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

/// The account with a memory that is whole, or a new one.
pub(crate) async fn ready(ports: Ports<'_>, who: &SubscriberId) -> Result<Versioned<Account>, NotDone> {
    let account = ports.journal.load(who).await?;
    if account.value.is_erasing() { finish(ports, account).await } else { Ok(account) }
}

/// GET: everything that is remembered.
pub(crate) async fn export(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, NotDone> {
    let account = ready(ports, who).await?;
    let mut opened = Opened::of(ports, &account.value).await?;
    catch_up(ports, account, &mut opened).await?;
    let document = memory::export::export(&opened.log, &opened.seal).map_err(|_| NotDone::Form("an event"))?;
    let document = String::from_utf8(document).map_err(|_| NotDone::Form("an event"))?;
    Ok(Reply::json_text(200, document))
}

/// DELETE: everything is erased before the reply says so.
pub(crate) async fn erase(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, NotDone> {
    let account = ports.journal.load(who).await?;
    let begin = |account: &mut Account, now| {
        if account.begin_erasure() {
            Change::recorded(vec![Record::chat(now, now, ChatStatus::Erased, json!({ "step": "begun" }))], ())
        } else {
            Change::nothing(())
        }
    };
    let (account, ()) = ports.journal.commit(account, begin).await?.settle().await;
    finish(ports, account).await?;
    Ok(Reply::json(202, &json!({ "status": "erased" })))
}

/// Ends an erasure: the log's last event says so, the key is destroyed, another memory begins. A crash in between is
/// followed by the account's next call.
async fn finish(ports: Ports<'_>, account: Versioned<Account>) -> Result<Versioned<Account>, NotDone> {
    let name = account.value.memory();
    let campaign = handle(&name)?;
    let key = ports.keys.find(&name).await?;
    let seal: Box<dyn Seal> = match &key {
        Some(key) => Box::new(seal_of(key, &name)?),
        None => Box::new(Shut),
    };
    let mut log = store::load(ports.logs, &name, &campaign, &*seal).await?;
    let erasure = SubjectErased {
        subject: campaign.clone(),
        requested_by: handle("subscriber")?,
        reason: "asked for on the page".to_owned(),
    };
    let event =
        Event { at: ports.journal.clock.now().as_millis(), campaign_id: campaign, key: None, payload: erasure.into() };
    store::erase(ports.logs, ports.keys, &name, &mut log, event, &*seal).await?;
    let erased = |account: &mut Account, now| match (account.memory() == name).then(|| account.erased()) {
        Some(Ok(())) => {
            Change::recorded(vec![Record::chat(now, now, ChatStatus::Erased, json!({ "step": "done" }))], ())
        }
        Some(Err(Refused)) | None => Change::nothing(()),
    };
    Ok(ports.journal.commit(account, erased).await?.settle().await.0)
}
