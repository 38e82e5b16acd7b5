//! Which call each path is, and what the calls need.

use crate::{Settings, exchange, recollection, reply, sign_in, subscription};
use audit::{ChatJournal, CommitError};
use domain::{
    StepError,
    chat::{InvalidSubscriberKey, SubscriberId, SubscriberKey},
    ports::{
        Breakers, ChatAccess, Mailbox, MemoryLogs, Meter, Model, Pause, Randomness, SecretSource, SignIns,
        StorageError, SubjectKeys, Subscribers, SubscriptionDesk,
    },
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};

/// The largest body that is read: 4,000 characters, each escaped at its longest, fit in.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// What the function needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: ChatJournal<'a>,
    pub sign_ins: &'a dyn SignIns,
    pub access: &'a dyn ChatAccess,
    pub subscribers: &'a dyn Subscribers,
    pub desk: &'a dyn SubscriptionDesk,
    pub mailbox: &'a dyn Mailbox,
    pub logs: &'a dyn MemoryLogs,
    pub keys: &'a dyn SubjectKeys,
    /// The key of subscribers' ids.
    pub secret: &'a dyn SecretSource,
    pub model: &'a dyn Model,
    pub breakers: &'a dyn Breakers,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}

/// Why a call could not be answered. Whether anything was done is unknown; the same call may come again.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// A store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The account could not be saved.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The memory could not be read or written.
    #[error("the memory could not be used")]
    Memory(#[from] memory::store::StoreError),
    /// There is no working set.
    #[error("no working set could be built")]
    WorkingSet(#[from] memory::working_set::BuildError),
    /// Something of the memory is not of its form.
    #[error("the memory holds what is no exchange: {0}")]
    Form(&'static str),
    /// The payment provider or a store did not answer; nothing is charged.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Nobody can be named.
    #[error(transparent)]
    Key(#[from] InvalidSubscriberKey),
    /// Nothing can be kept secret.
    #[error("there is no source of random secrets")]
    NoSecrets,
}

/// Handles one request.
pub async fn handle(ports: Ports<'_>, settings: &Settings, request: Request) -> Reply {
    if request.body().len() > MAX_BODY_BYTES {
        return Reply::error(413, "too_large", "The request is larger than 64 KiB.");
    }
    match route(ports, settings, &request).await {
        Ok(reply) => reply,
        Err(error) => {
            tracing::error!(error = telemetry::chain(&error), path = request.path(), "a call of the chat failed");
            reply::unavailable()
        }
    }
}

async fn route(ports: Ports<'_>, settings: &Settings, request: &Request) -> Result<Reply, NotDone> {
    let of_exchange = request.path().strip_prefix("/api/chat/exchanges/");
    match (request.method(), request.path()) {
        ("POST", "/api/chat/login") => return sign_in::login(ports, settings, request).await,
        ("POST", "/api/chat/session") => return sign_in::session(ports, request).await,
        ("DELETE", "/api/chat/session") => return sign_in::sign_out(ports, request).await,
        ("GET", "/api/chat/me" | "/api/chat/memory")
        | ("POST", "/api/chat/exchanges" | "/api/chat/subscribe" | "/api/chat/portal")
        | ("DELETE", "/api/chat/memory") => {}
        ("GET", _) if of_exchange.is_some() => {}
        _ => return Ok(reply::not_found()),
    }
    let Some(who) = sign_in::who(ports, request).await? else { return Ok(reply::signed_out()) };
    match (request.method(), request.path(), of_exchange) {
        ("GET", "/api/chat/me", _) => me(ports, &who).await,
        ("GET", "/api/chat/memory", _) => recollection::export(ports, &who).await,
        ("DELETE", ..) => recollection::erase(ports, &who).await,
        ("POST", "/api/chat/subscribe", _) => subscription::subscribe(ports, &who, request).await,
        ("POST", "/api/chat/portal", _) => subscription::portal(ports, &who).await,
        ("POST", ..) => exchange::ask(ports, settings, &who, request).await,
        (_, _, Some(id)) => exchange::look(ports, &who, id).await,
        _ => Ok(reply::not_found()),
    }
}

/// What the signed-in person has.
async fn me(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, NotDone> {
    let access = ports.access.access(who, ports.journal.clock.now()).await?;
    let account = ports.journal.load(who).await?;
    Ok(reply::me(access, account.value.free_left()))
}

/// The key of subscribers' ids.
pub(crate) async fn key(ports: Ports<'_>) -> Result<SubscriberKey, NotDone> {
    Ok(SubscriberKey::parse(&ports.secret.document().await?)?)
}
