//! Simulates Microsoft's token endpoint: refresh_token and client_credentials grants.

use hyper::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::credentials::{GRAPH_CLIENT, GRAPH_CLIENT_SECRET, GRAPH_REFRESH_TOKEN, GRAPH_TENANT};
use crate::http::{Reply, Request, parse_form};
use crate::state::State;
use crate::tokens::Access;

const ACCESS_TOKEN_LIFE: SignedDuration = SignedDuration::from_secs(3_599);
/// How long an old refresh token stays valid after it was replaced.
const REFRESH_TOKEN_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);
const GRAPH: &str = "https://graph.microsoft.com/";

struct LoginError {
    status: u16,
    error: &'static str,
    number: u32,
    description: String,
}

fn refused(status: u16, error: &'static str, number: u32, description: impl Into<String>) -> LoginError {
    LoginError { status, error, number, description: description.into() }
}

pub(crate) fn handle(state: &mut State, request: &Request) -> Reply {
    let now = state.now();
    let reply = match route(state, request, now) {
        Ok(value) => Reply::json(200, value),
        Err(error) => {
            let trace = state.identifiers.uuid();
            let correlation = state.identifiers.uuid();
            let time = now.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
            Reply::json(
                error.status,
                json!({
                    "error": error.error,
                    "error_description": format!(
                        "AADSTS{}: {} Trace ID: {trace} Correlation ID: {correlation} Timestamp: {time}",
                        error.number, error.description
                    ),
                    "error_codes": [error.number],
                    "timestamp": time,
                    "trace_id": trace,
                    "correlation_id": correlation,
                }),
            )
        }
    };
    reply.with_header("Cache-Control", "no-store, no-cache").with_header("Pragma", "no-cache")
}

fn route(state: &mut State, request: &Request, now: Timestamp) -> Result<Value, LoginError> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().skip(1).map(String::as_str).collect();
    let [tenant, "oauth2", "v2.0", "token"] = segments.as_slice() else {
        return Err(refused(404, "invalid_request", 90_018, format!("There is no endpoint at {}.", request.path)));
    };
    if request.method != Method::POST {
        return Err(refused(405, "invalid_request", 900_561, "The endpoint only accepts POST requests."));
    }
    if *tenant != GRAPH_TENANT {
        return Err(refused(
            400,
            "invalid_request",
            90_002,
            format!("Tenant '{tenant}' not found. Check to make sure you have the correct tenant ID."),
        ));
    }
    let encoded = request.media_type() == "application/x-www-form-urlencoded";
    let fields = if encoded { parse_form(&request.body) } else { Vec::new() };
    let field = |name: &str| {
        let found = fields.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    };
    let required = |name: &str| {
        field(name).ok_or_else(|| {
            refused(
                400,
                "invalid_request",
                900_144,
                format!("The request body must contain the following parameter: '{name}'."),
            )
        })
    };
    let grant = required("grant_type")?;
    let client = required("client_id")?;
    if client != GRAPH_CLIENT {
        return Err(refused(
            400,
            "unauthorized_client",
            700_016,
            format!("Application with identifier '{client}' was not found in the directory."),
        ));
    }
    let secret = field("client_secret");
    if secret.is_some_and(|secret| secret != GRAPH_CLIENT_SECRET) {
        return Err(refused(401, "invalid_client", 7_000_215, "Invalid client secret provided."));
    }
    match grant {
        "refresh_token" => refresh(state, required("refresh_token")?, field("scope"), now),
        "client_credentials" => {
            if secret.is_none() {
                return Err(refused(
                    401,
                    "invalid_client",
                    7_000_216,
                    "'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.",
                ));
            }
            let scope = required("scope")?;
            if scope != format!("{GRAPH}.default") {
                return Err(refused(
                    400,
                    "invalid_scope",
                    1_002_012,
                    format!(
                        "The provided value for scope {scope} is not valid. Client credential flows must have a \
                         scope value with /.default suffixed to the resource identifier (application ID URI)."
                    ),
                ));
            }
            let token = issue(state, state.config.graph_scopes.clone(), now);
            Ok(json!({
                "token_type": "Bearer",
                "expires_in": ACCESS_TOKEN_LIFE.as_secs(),
                "ext_expires_in": ACCESS_TOKEN_LIFE.as_secs(),
                "access_token": token,
            }))
        }
        other => Err(refused(
            400,
            "unsupported_grant_type",
            70_003,
            format!("The app requested an unsupported grant type '{other}'."),
        )),
    }
}

fn refresh(state: &mut State, token: &str, scope: Option<&str>, now: Timestamp) -> Result<Value, LoginError> {
    let issued = state.login.refresh.get(token);
    if token != GRAPH_REFRESH_TOKEN {
        let Some(issued) = issued else {
            return Err(refused(400, "invalid_grant", 9_002_313, "Invalid request. Request is malformed or invalid."));
        };
        if now.duration_since(*issued) >= REFRESH_TOKEN_LIFE {
            return Err(refused(
                400,
                "invalid_grant",
                700_082,
                "The refresh token has expired due to inactivity. The token was inactive for 90.00:00:00.",
            ));
        }
    }
    let (scopes, offline) = scopes(scope, &state.config.graph_scopes)?;
    let access_token = issue(state, scopes.clone(), now);
    let granted: Vec<String> = scopes.iter().map(|scope| format!("{GRAPH}{scope}")).collect();
    let mut value = json!({
        "token_type": "Bearer",
        "scope": granted.join(" "),
        "expires_in": ACCESS_TOKEN_LIFE.as_secs(),
        "ext_expires_in": ACCESS_TOKEN_LIFE.as_secs(),
        "access_token": access_token,
    });
    if offline {
        let refresh_token = state.identifiers.prefixed("0.sandbox-refresh-", 48);
        state.login.refresh.insert(refresh_token.clone(), now);
        value["refresh_token"] = json!(refresh_token);
    }
    Ok(value)
}

/// The requested scopes, and whether a new refresh token is requested. Without scopes, all consented ones are meant.
fn scopes(scope: Option<&str>, consented: &[String]) -> Result<(Vec<String>, bool), LoginError> {
    let all = || consented.to_vec();
    let Some(scope) = scope else {
        return Ok((all(), true));
    };
    let mut granted = Vec::new();
    let mut offline = false;
    for name in scope.split_whitespace() {
        let short = name.strip_prefix(GRAPH).unwrap_or(name);
        match short {
            "offline_access" => offline = true,
            "openid" | "profile" | "email" => {}
            ".default" => {
                granted = all();
                offline = true;
            }
            _ => match consented.iter().find(|scope| scope.eq_ignore_ascii_case(short)) {
                Some(scope) => granted.push(scope.clone()),
                None => {
                    return Err(refused(
                        400,
                        "invalid_grant",
                        65_001,
                        format!(
                            "The user or administrator has not consented to use the application for the scope {name}."
                        ),
                    ));
                }
            },
        }
    }
    Ok((granted, offline))
}

fn issue(state: &mut State, scopes: Vec<String>, now: Timestamp) -> String {
    let token = state.identifiers.prefixed("sandbox-access-", 64);
    let access = Access { expires_at: now + ACCESS_TOKEN_LIFE, scopes };
    state.login.access.insert(token.clone(), access);
    token
}
