//! The Model Context Protocol over HTTP (streamable HTTP, one JSON reply per request) offers the same sales as one
//! tool. The protocol's sessions and streams are not supported: they need a server that keeps state between requests.

use crate::{Ports, Settings, reply, request};
use chain::wire::{self, PAYMENT_REQUIRED, PAYMENT_RESPONSE, X_PAYMENT_RESPONSE};
use domain::toll::Offer;
use runtime::http::{Reply, Request};
use serde_json::{Map, Value, json};

/// The path of the protocol's endpoint.
pub(crate) const PATH: &str = "/mcp";

/// The supported versions of the protocol, newest first. The parts in use are the same in all of them.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The header that names the version after initialization.
const VERSION: &str = "MCP-Protocol-Version";

const TOOL: &str = "oracle_query";

/// The `_meta` fields of a call's payment and of a result's receipt (x402's transport for MCP).
const PAYMENT: &str = "x402/payment";
const RECEIPT: &str = "x402/payment-response";

/// Errors of JSON-RPC 2.0.
const UNREADABLE: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const UNKNOWN_METHOD: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;

type Failure = (i64, String);

/// A message that the client sends.
enum Message {
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    /// A message without an id, which gets no reply.
    Notification,
}

/// Answers one HTTP request.
pub(crate) async fn answer(ports: Ports<'_>, settings: &Settings, request: &Request) -> Reply {
    if request.method() != "POST" {
        let sentence = "There is no stream here: send each message by POST.";
        return Reply::error(405, "method_not_allowed", sentence).header("allow", "POST");
    }
    if let Some(version) = request.header(VERSION).filter(|version| !VERSIONS.contains(version)) {
        return failed(400, &Value::Null, (INVALID_REQUEST, format!("version {version} is not supported")));
    }
    let (id, method, params) = match read(request.body()) {
        Ok(Message::Request { id, method, params }) => (id, method, params),
        Ok(Message::Notification) => return Reply::text(202, String::new()),
        Err(failure) => return failed(400, &Value::Null, failure),
    };
    // A call may repeat a purchase that has begun.
    if settings.terms.pay_to.is_none() && method != "tools/call" {
        return reply::closed();
    }
    let result = match method.as_str() {
        "initialize" => Ok(hello(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": [tool()] })),
        "tools/call" => call(ports, settings, &params, request.network()).await,
        _ => Err((UNKNOWN_METHOD, format!("there is no method {method}"))),
    };
    match result {
        Ok(result) => Reply::json(200, &json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Err(failure) => failed(200, &id, failure),
    }
}

fn failed(status: u16, id: &Value, (code, message): Failure) -> Reply {
    Reply::json(status, &json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
}

fn read(body: &[u8]) -> Result<Message, Failure> {
    let invalid = |why: &str| (INVALID_REQUEST, why.to_owned());
    let message: Value = serde_json::from_slice(body)
        .map_err(|_| (UNREADABLE, "the body must be a JSON document in UTF-8".to_owned()))?;
    let Value::Object(mut message) = message else { return Err(invalid("the body must be one JSON object")) };
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(invalid("jsonrpc must be \"2.0\""));
    }
    let Some(Value::String(method)) = message.remove("method") else { return Err(invalid("method must be a string")) };
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(invalid("params must be an object")),
    };
    match message.remove("id") {
        None => Ok(Message::Notification),
        Some(id) if id.is_string() || id.is_i64() || id.is_u64() => Ok(Message::Request { id, method, params }),
        Some(_) => Err(invalid("id must be a string or an integer")),
    }
}

fn hello(params: &Map<String, Value>) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|version| asked == Some(version)).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "oracle", "title": "Oracle by 42 Sisters AI", "version": env!("CARGO_PKG_VERSION") },
        "instructions": format!(
            "{TOOL} sells a verdict on a question for USDC (x402). A call without a payment says what to pay; the same call \
             with the payment in _meta[\"{PAYMENT}\"] is answered. Nothing is charged without an answer."
        ),
    })
}

/// The offer's name in a call of the tool.
fn name(offer: Offer) -> Value {
    json!(offer)
}

fn tool() -> Value {
    let longest = Offer::ALL.into_iter().map(Offer::longest).max();
    let offers: Vec<String> = Offer::ALL
        .into_iter()
        .map(|offer| {
            let (name, price) = (name(offer), offer.dollars());
            format!("{} ({price:.2} USDC): {}", name.as_str().unwrap_or_default(), offer.description())
        })
        .collect();
    json!({
        "name": TOOL,
        "title": "Oracle verdict",
        "description": format!("A verdict on a decision, a plan or an idea, paid in USDC. {}", offers.join(" ")),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 1, "maxLength": longest, "description": "The question." },
                "offer": { "enum": Offer::ALL.map(name), "default": name(Offer::Query) },
                "locale": { "type": "string", "description": "The asker's language tag, such as en-CA." },
            },
            "required": ["query"],
        },
    })
}

/// Handles one call of the tool as the same request over HTTP.
async fn call(
    ports: Ports<'_>,
    settings: &Settings,
    params: &Map<String, Value>,
    network: Option<String>,
) -> Result<Value, Failure> {
    let invalid = |why: &str| (INVALID_PARAMS, why.to_owned());
    let field = |name: &str| params.get(name).unwrap_or(&Value::Null);
    if field("name") != TOOL {
        return Err(invalid("there is no such tool"));
    }
    let arguments = field("arguments");
    let offer = match &arguments["offer"] {
        Value::Null => Offer::Query,
        chosen => serde_json::from_value(chosen.clone()).map_err(|_| invalid("there is no such offer"))?,
    };
    let request =
        Request::post(offer.path(), json!({ "query": arguments["query"], "locale": arguments["locale"] }).to_string());
    let request = match &field("_meta")[PAYMENT] {
        Value::Null => request,
        payment => {
            let payment = wire::encode(payment).map_err(|_| invalid("the payment cannot be read"))?;
            request.with_header("payment-signature", &payment)
        }
    };
    // The first address of a network stands for it.
    let request = match network {
        Some(network) => request.with_address(&network),
        None => request,
    };
    Ok(result(&request::sell(ports, settings, request).await))
}

/// Translates an HTTP reply into the tool's result.
fn result(reply: &Reply) -> Value {
    let decoded = |header: &str| reply.header_value(header).and_then(|value| wire::decode::<Value>(value).ok());
    let body: Value = serde_json::from_str(reply.body()).unwrap_or_default();
    let text = |text: String| json!([{ "type": "text", "text": text }]);
    if reply.status() == 200 {
        let receipt = decoded(PAYMENT_RESPONSE).or_else(|| decoded(X_PAYMENT_RESPONSE));
        return json!({
            "content": text(reply.body().to_owned()),
            "structuredContent": body,
            "isError": false,
            "_meta": { RECEIPT: receipt },
        });
    }
    let Some(required) = decoded(PAYMENT_REQUIRED) else {
        return json!({ "content": text(reply.body().to_owned()), "structuredContent": body, "isError": true });
    };
    let error = json!({ "x402/error": { "code": 402, "message": required["error"], "data": required } });
    json!({ "content": text(error.to_string()), "structuredContent": required, "isError": true })
}
