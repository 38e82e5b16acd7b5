//! The listener, the routing of requests to the vendors, and the effect of faults.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::faults::{Action, Fault};
use crate::http::{Body, Reply, Request, parse_form};
use crate::state::{Shared, State};
use crate::stream::{self, Cut, Sent};
use crate::target::Target;
use crate::{alerts, calls, chain, control, gemini, graph, login, pages, ses, stripe, webhook};

const LARGEST_BODY: usize = 10 * 1024 * 1024;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections for as long as the task runs.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) -> Infallible {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely the process has no free descriptors: other connections have to close first.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(Arc::clone(&shared), request));
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // Clients that disconnect and connections that are cut on purpose end here; neither is reported.
            drop(connection.await);
        });
    }
}

async fn answer(shared: Arc<Shared>, request: hyper::Request<Incoming>) -> Result<Response<Sent>, Cut> {
    // Watched from before the reply, so that no release is missed.
    let watch = stream::Watch::of(&shared);
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, LARGEST_BODY).collect().await else {
        return Ok(written(Reply::empty(413), watch));
    };
    let request = Request {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parse_form(parts.uri.query().unwrap_or("").as_bytes()),
        headers: parts.headers,
        body: body.to_bytes(),
    };
    respond(&shared, &request).await.map(|reply| written(reply, watch))
}

async fn respond(shared: &Arc<Shared>, request: &Request) -> Result<Reply, Cut> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        [] | ["mailbox"] if request.method != hyper::Method::GET => Ok(Reply::empty(405)),
        [] => Ok(Reply::html(200, pages::index())),
        ["mailbox"] => Ok(Reply::html(200, pages::mailbox(&shared.lock()))),
        ["alerts"] if request.method == hyper::Method::GET => Ok(Reply::html(200, pages::alerts(&shared.lock()))),
        ["alerts", topic] => Ok(alerts::receive(shared, request, topic).await),
        ["control", rest @ ..] => Ok(control::handle(shared, request, rest).await),
        ["stripe", "pay", session] => Ok(pages::pay(shared, request, session).await),
        ["stripe", "portal", token] => Ok(pages::portal(shared, request, token)),
        [name, ..] => match Target::from_name(name) {
            Some(target) => vendor_call(shared, target, request).await,
            None => Ok(Reply::html(404, pages::not_found())),
        },
    }
}

/// Records the call, applies its fault, and replies.
async fn vendor_call(shared: &Arc<Shared>, target: Target, request: &Request) -> Result<Reply, Cut> {
    let mut resets = shared.watch_resets();
    let (reply, delay, cut) = {
        let mut guard = shared.lock();
        let state = &mut *guard;
        let idle = target == Target::Graph && graph::is_idle_look(state, request);
        let fault = if idle { None } else { state.faults.next(target) };
        let now = state.now();
        let source = fault.as_ref().map(|fault| &fault.source);
        let call = state.calls.begin(now, target, request, source);
        let (reply, delay, cut) = met(state, target, request, fault);
        if let Some(record) = reply.as_ref().and_then(|reply| state.calls.finish(call, reply, !cut)) {
            calls::record(state.config.record.as_deref(), &record);
        }
        (reply, delay, cut)
    };
    webhook::deliver_unreported(shared);
    if !delay.is_zero() {
        // The work is done by now: a client with a shorter time-out has an unknown outcome.
        tokio::time::sleep(delay).await;
    }
    match reply {
        Some(reply) if !cut => Ok(reply),
        Some(_) => Err(Cut),
        None => {
            // Held until the client disconnects, which ends this future, or until a reset.
            drop(resets.changed().await);
            Err(Cut)
        }
    }
}

/// The reply to a call (`None` if it hangs), the delay before it, and whether it is lost.
fn met(state: &mut State, target: Target, request: &Request, fault: Option<Fault>) -> (Option<Reply>, Duration, bool) {
    let (action, delay) = fault.map_or_else(|| (Action::Through, Duration::ZERO), |fault| (fault.action, fault.delay));
    let work = |state: &mut State, replacement| match target {
        Target::Stripe => stripe::handle(state, request),
        Target::Gemini => gemini::handle(state, request, replacement),
        Target::Graph => graph::handle(state, request),
        Target::Login => login::handle(state, request),
        Target::Ses => ses::handle(state, request),
        Target::Facilitator => chain::facilitator(state, request),
        Target::Rpc => chain::node(state, request),
    };
    match action {
        Action::Through => (Some(work(state, None)), delay, false),
        Action::Drop => (Some(work(state, None)), delay, true),
        Action::Model(replacement) => (Some(work(state, Some(&replacement))), delay, false),
        Action::Hang => (None, delay, false),
        Action::Reply { reply, store, done } => {
            if done {
                drop(work(state, None));
            }
            if store && target == Target::Stripe {
                stripe::keep_reply(state, request, &reply);
            }
            (Some(reply), delay, false)
        }
    }
}

fn written(reply: Reply, watch: stream::Watch) -> Response<Sent> {
    let (kind, body) = match reply.body {
        Body::Empty => ("", Sent::whole("")),
        Body::Json(value) => ("application/json; charset=utf-8", Sent::whole(value.to_string())),
        Body::Text(text) => ("text/plain; charset=utf-8", Sent::whole(text)),
        Body::Html(text) => ("text/html; charset=utf-8", Sent::whole(text)),
        Body::Events(events) => ("text/event-stream", Sent::events(events, watch)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if !kind.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    for (name, value) in reply.headers {
        // Headers of faults are checked when they are set; all others are our own.
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
            headers.insert(name, value);
        }
    }
    response
}
