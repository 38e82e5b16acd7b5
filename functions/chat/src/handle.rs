//! Routes each request to its call.

use crate::{Ports, Settings, account_memory, bridge, erasure, exchange, limits, reply, sign_in, subscription};
use domain::{StepError, chat::SubscriberId};
use runtime::{
    http::{Reply, Request},
    telemetry,
};

/// The largest accepted body in bytes. A message of 4,000 characters fits, even with every character escaped.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Handles one request.
pub async fn handle(ports: Ports<'_>, settings: &Settings, request: Request) -> Reply {
    if request.body().len() > MAX_BODY_BYTES {
        return Reply::error(413, "too_large", "The request is larger than 64 KiB.");
    }
    match route(ports, settings, &request).await {
        Ok(reply) => reply,
        Err(error) => {
            let (code, error) = (error.code().as_str(), telemetry::chain(&error));
            tracing::error!(code, error, path = request.path(), "a call of the chat failed");
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

async fn route(ports: Ports<'_>, settings: &Settings, request: &Request) -> Result<Reply, StepError> {
    if !is_from_our_page(settings, request) {
        return Ok(reply::other_site());
    }
    let of_exchange = request.path().strip_prefix("/api/chat/exchanges/");
    match (request.method(), request.path()) {
        ("POST", "/api/chat/login") => return sign_in::login(ports, settings, request).await,
        ("POST", "/api/chat/session") => return sign_in::session(ports, settings, request).await,
        ("DELETE", "/api/chat/session") => return sign_in::sign_out(ports, settings, request).await,
        ("GET", "/api/chat/me" | "/api/chat/memory" | "/api/chat/bridge" | "/api/chat/bridge/messages")
        | ("POST", "/api/chat/exchanges" | "/api/chat/subscribe" | "/api/chat/portal")
        | ("POST", "/api/chat/bridge/acceptance" | "/api/chat/bridge/messages")
        | ("DELETE", "/api/chat/memory") => {}
        ("GET", _) if of_exchange.is_some() => {}
        _ => return Ok(reply::not_found()),
    }
    let who = match sign_in::who(ports, settings, request).await {
        Ok(Some(who)) => who,
        Ok(None) => return Ok(reply::signed_out()),
        Err(error) if (request.method(), request.path()) == ("POST", "/api/chat/exchanges") => {
            return exchange::refuse_unknown(ports, request, error.into()).await;
        }
        Err(error) => return Err(error.into()),
    };
    match (request.method(), request.path(), of_exchange) {
        ("GET", "/api/chat/me", _) => me(ports, &who).await,
        ("GET", "/api/chat/memory", _) => memory(ports, &who, request).await,
        ("GET", "/api/chat/bridge", _) => bridge::status(ports, &who).await,
        ("GET", "/api/chat/bridge/messages", _) => bridge::messages(ports, &who).await,
        ("POST", "/api/chat/bridge/acceptance", _) => bridge::accept(ports, &who, request).await,
        ("POST", "/api/chat/bridge/messages", _) => bridge::post(ports, &who, request).await,
        ("DELETE", ..) => erasure::erase(ports, &who).await,
        ("POST", "/api/chat/subscribe", _) => subscription::subscribe(ports, &who, request).await,
        ("POST", "/api/chat/portal", _) => subscription::portal(ports, &who).await,
        ("POST", ..) => exchange::ask(ports, settings, &who, request).await,
        (_, _, Some(id)) => exchange::get_exchange(ports, &who, id).await,
        _ => Ok(reply::not_found()),
    }
}

/// GET: the plan of the signed-in customer.
async fn me(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, StepError> {
    let access = bridge::access(ports, who, ports.journal.clock.now()).await?;
    let account = ports.journal.load(who).await?;
    let has_lapsed = access.paid_until.is_none() && has_paid(ports, who).await?;
    Ok(reply::me(who, access, account.value.free_left(), has_lapsed))
}

/// GET: the memory of the signed-in customer, as its document or only the newest exchanges.
async fn memory(ports: Ports<'_>, who: &SubscriberId, request: &Request) -> Result<Reply, StepError> {
    if let Some(wait) = limits::MEMORY.take(ports, who).await? {
        return Ok(reply::too_many(wait));
    }
    account_memory::export(ports, who, request.query("newest").as_deref()).await
}

/// Whether an invoice of the subscriber was ever paid.
async fn has_paid(ports: Ports<'_>, who: &SubscriberId) -> Result<bool, StepError> {
    let known = ports.subscribers.load(who).await?;
    Ok(known.is_some_and(|known| known.value.billing().paid_invoices().0 > 0))
}
