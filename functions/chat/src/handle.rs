//! Routes each request to its call.

use crate::{Settings, bridge, exchange, recollection, reply, sign_in, subscription};
use audit::{BridgeJournal, ChatJournal, CommitError};
use domain::{
    StepError,
    chat::{InvalidSubscriberKey, SubscriberId, SubscriberKey},
    ports::{
        Breakers, ChatAccess, Mailbox, MemoryLogs, Meter, Model, Pause, Randomness, ReplyBeginnings, SecretSource,
        SignIns, StorageError, SubjectKeys, Subscribers, SubscriptionDesk,
    },
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};

/// The largest accepted body in bytes. A message of 4,000 characters fits, even with every character escaped.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// The ports of the function.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: ChatJournal<'a>,
    pub bridges: BridgeJournal<'a>,
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
    pub beginnings: &'a dyn ReplyBeginnings,
    pub breakers: &'a dyn Breakers,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}

/// The reason why a call failed. It may have had an effect; the client may repeat it safely.
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
    /// The Bridge could not be read or changed.
    #[error(transparent)]
    Bridge(#[from] ::bridge::BridgeError),
    /// The working set could not be built.
    #[error("no working set could be built")]
    WorkingSet(#[from] memory::working_set::BuildError),
    /// A stored part of the memory does not parse.
    #[error("a stored part of the memory does not parse: {0}")]
    Form(&'static str),
    /// The memory was erased while it was read.
    #[error("the memory was erased meanwhile")]
    Erased,
    /// An erasure that was interrupted could not be finished.
    #[error(transparent)]
    NotErased(#[from] forgetting::NotErased),
    /// The payment provider or a store did not answer; nothing is charged.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The stored key of subscribers' ids is unusable.
    #[error(transparent)]
    Key(#[from] InvalidSubscriberKey),
    /// The operating system supplied no random bytes.
    #[error("the operating system supplied no random bytes")]
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

/// Whether the request is from our own page, or from no page at all. A form of another site could sign its visitors in to
/// an account of its owner, who would read what they write there. Browsers name the origin of such a form.
fn is_from_our_page(settings: &Settings, request: &Request) -> bool {
    let Some(origin) = request.header("origin") else { return true };
    let own = settings.site.split('/').take(3).eq(origin.split('/'));
    let host = origin.split_once("://").map(|(_, host)| host);
    own || (host.is_some() && host == request.header("host"))
}

async fn route(ports: Ports<'_>, settings: &Settings, request: &Request) -> Result<Reply, NotDone> {
    if !is_from_our_page(settings, request) {
        return Ok(reply::other_site());
    }
    let of_exchange = request.path().strip_prefix("/api/chat/exchanges/");
    match (request.method(), request.path()) {
        ("POST", "/api/chat/login") => return sign_in::login(ports, settings, request).await,
        ("POST", "/api/chat/session") => return sign_in::session(ports, request).await,
        ("DELETE", "/api/chat/session") => return sign_in::sign_out(ports, request).await,
        ("GET", "/api/chat/me" | "/api/chat/memory" | "/api/chat/bridge" | "/api/chat/bridge/messages")
        | ("POST", "/api/chat/exchanges" | "/api/chat/subscribe" | "/api/chat/portal")
        | ("POST", "/api/chat/bridge/acceptance" | "/api/chat/bridge/messages")
        | ("DELETE", "/api/chat/memory") => {}
        ("GET", _) if of_exchange.is_some() => {}
        _ => return Ok(reply::not_found()),
    }
    let Some(who) = sign_in::who(ports, request).await? else { return Ok(reply::signed_out()) };
    match (request.method(), request.path(), of_exchange) {
        ("GET", "/api/chat/me", _) => me(ports, &who).await,
        ("GET", "/api/chat/memory", _) => recollection::export(ports, &who, request.query("newest").as_deref()).await,
        ("GET", "/api/chat/bridge", _) => bridge::status(ports, &who).await,
        ("GET", "/api/chat/bridge/messages", _) => bridge::messages(ports, &who).await,
        ("POST", "/api/chat/bridge/acceptance", _) => bridge::accept(ports, &who, request).await,
        ("POST", "/api/chat/bridge/messages", _) => bridge::post(ports, &who, request).await,
        ("DELETE", ..) => recollection::erase(ports, &who).await,
        ("POST", "/api/chat/subscribe", _) => subscription::subscribe(ports, &who, request).await,
        ("POST", "/api/chat/portal", _) => subscription::portal(ports, &who).await,
        ("POST", ..) => exchange::ask(ports, settings, &who, request).await,
        (_, _, Some(id)) => exchange::look(ports, &who, id).await,
        _ => Ok(reply::not_found()),
    }
}

/// GET: the plan of the signed-in customer.
async fn me(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, NotDone> {
    let access = bridge::access(ports, who, ports.journal.clock.now()).await?;
    let account = ports.journal.load(who).await?;
    Ok(reply::me(access, account.value.free_left()))
}

/// The key of subscribers' ids.
pub(crate) async fn key(ports: Ports<'_>) -> Result<SubscriberKey, NotDone> {
    Ok(SubscriberKey::parse(&ports.secret.document().await?)?)
}
