//! Simulates Microsoft Graph's mail calls for one mailbox.

mod draft;
mod error;
mod mailbox;
mod prefer;
mod query;
pub(crate) mod store;

use serde_json::{Value, json};

use crate::credentials::GRAPH_SENDER;
use crate::http::{Body, Reply, Request};
use crate::state::State;
use crate::tokens::TokenError;
use error::GraphError;
pub(crate) use mailbox::put_in_inbox;

/// What the filters for sign-in mails contain: the beginning of the names that `domain::SessionId::of_sign_in_mails` makes.
const SIGN_IN_MAILS: &str = "cs_link_";

/// Whether a call only polls: an inbox without unread messages, or expired sign-in mails. Schedules do that every few
/// minutes, and must not use up a fault that a test planned for another call.
pub(crate) fn is_idle_look(state: &State, request: &Request) -> bool {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let is_idle = match segments.as_slice() {
        [_, _, "users", _, "mailFolders", "inbox", "messages"] => !mailbox::has_unread(state),
        [_, _, "users", _, "messages"] => {
            request.query_value("$filter").is_some_and(|filter| filter.contains(SIGN_IN_MAILS))
        }
        _ => false,
    };
    is_idle && request.method == hyper::Method::GET
}

pub(crate) fn handle(state: &mut State, request: &Request) -> Reply {
    let request_id = state.identifiers.uuid();
    let reply = route(state, request).unwrap_or_else(|error| {
        let client_request_id = match request.header("client-request-id") {
            "" => request_id.as_str(),
            given => given,
        };
        let reply = Reply::json(
            error.status,
            json!({"error": {
                "code": error.code,
                "message": error.message,
                "innerError": {
                    "date": state.now().strftime("%Y-%m-%dT%H:%M:%S").to_string(),
                    "request-id": request_id,
                    "client-request-id": client_request_id,
                },
            }}),
        );
        if error.status == 401 { reply.with_header("WWW-Authenticate", "Bearer realm=\"\"") } else { reply }
    });
    let preferences = prefer::Preferences::of(request);
    let mut reply = reply.with_header("request-id", request_id);
    if let Body::Json(value) = &mut reply.body {
        preferences.honour(value);
    }
    match preferences.applied() {
        Some(applied) if reply.status < 400 => reply.with_header("Preference-Applied", applied),
        _ => reply,
    }
}

fn route(state: &mut State, request: &Request) -> Result<Reply, GraphError> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().skip(1).map(String::as_str).collect();
    let ["v1.0", "users", user, rest @ ..] = segments.as_slice() else {
        admit(state, request, "")?;
        return Err(unknown_resource(request));
    };
    let method = request.method.as_str();
    let sends = method == "POST" && matches!(rest, ["sendMail"] | ["messages", _, "send"]);
    let scope = if sends { "Mail.Send" } else { "Mail.ReadWrite" };
    admit(state, request, scope)?;
    if !user.eq_ignore_ascii_case(GRAPH_SENDER) {
        return Err(GraphError::new(404, "ErrorInvalidUser", format!("The requested user '{user}' is invalid.")));
    }
    check_length(request)?;
    let now = state.now();
    mailbox::remove_sent(state, now);
    match (method, rest) {
        ("POST", ["messages"]) => {
            let draft = draft::parse_message(&json_body(request)?)?;
            let message = mailbox::create_draft(state, draft, now);
            Ok(Reply::json(201, entity(state, store::shown(&message))))
        }
        ("POST", ["messages", id, "send"]) => {
            mailbox::send_draft(state, id, now)?;
            Ok(Reply::empty(202))
        }
        ("POST", ["sendMail"]) => {
            let (message, save) = draft::parse_send_mail(&json_body(request)?)?;
            mailbox::send(state, message, save, now)?;
            Ok(Reply::empty(202))
        }
        ("GET", ["messages", id]) => {
            let options = query::Options::of_item(request)?;
            let message = mailbox::find(state, id)?;
            let value = options.select(message);
            Ok(Reply::json(200, entity(state, value)))
        }
        ("DELETE", ["messages", id]) | ("POST", ["messages", id, "permanentDelete"]) => {
            mailbox::delete(state, id)?;
            Ok(Reply::empty(204))
        }
        ("GET", ["messages"]) => list(state, request, None),
        ("GET", ["mailFolders", folder, "messages"]) => list(state, request, Some(folder)),
        _ => Err(unknown_resource(request)),
    }
}

fn admit(state: &State, request: &Request, scope: &str) -> Result<(), GraphError> {
    let refused = |message: &str| GraphError::new(401, "InvalidAuthenticationToken", message.to_owned());
    let Some(token) = request.bearer() else {
        return Err(refused("Access token is empty."));
    };
    match state.login.check(token, state.now()) {
        Err(TokenError::Unknown) => Err(refused("IDX14100: JWT is not well formed, there are no dots (.).")),
        Err(TokenError::Expired) => Err(refused("Lifetime validation failed, the token is expired.")),
        Ok(access) if !scope.is_empty() && !access.scopes.iter().any(|held| held == scope) => {
            Err(GraphError::new(403, "ErrorAccessDenied", "Access is denied. Check credentials and try again."))
        }
        Ok(_) => Ok(()),
    }
}

/// Graph's documentation requires `Content-Length: 0` for a POST without a body, and Graph refuses a call without it.
fn check_length(request: &Request) -> Result<(), GraphError> {
    let stated = request.headers.contains_key("content-length") || request.headers.contains_key("transfer-encoding");
    if request.method == hyper::Method::POST && !stated {
        return Err(GraphError::new(411, "LengthRequired", "The request must be chunked or have a content length."));
    }
    Ok(())
}

fn unknown_resource(request: &Request) -> GraphError {
    let last = request.segments().last().cloned().unwrap_or_default();
    GraphError::bad(format!("Resource not found for the segment '{last}'."))
}

fn json_body(request: &Request) -> Result<Value, GraphError> {
    if request.media_type() != "application/json" {
        let message =
            "A supported MIME type could not be found that matches the content type of the response: application/json.";
        return Err(GraphError::new(415, "RequestBodyRead", message));
    }
    serde_json::from_slice(&request.body).map_err(|error| {
        GraphError::bad(format!("Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format. {error}"))
    })
}

/// A message with the annotation of single entities.
fn entity(state: &State, mut message: Value) -> Value {
    let context = format!(
        "{}/graph/v1.0/$metadata#users('{}')/messages/$entity",
        state.public_url,
        GRAPH_SENDER.replace('@', "%40")
    );
    message["@odata.context"] = json!(context);
    message
}

fn list(state: &State, request: &Request, folder: Option<&str>) -> Result<Reply, GraphError> {
    let options = query::Options::of_list(request)?;
    let messages = mailbox::list(state, folder)?;
    let page = options.page(messages);
    let mut value = json!({
        "@odata.context": format!("{}/graph/v1.0/$metadata#users/messages", state.public_url),
        "value": page.items,
    });
    if let Some(count) = page.count {
        value["@odata.count"] = json!(count);
    }
    if let Some(skip) = page.next_skip {
        let link = query::next_link(&state.public_url, request, skip);
        value["@odata.nextLink"] = json!(link);
    }
    Ok(Reply::json(200, value))
}
