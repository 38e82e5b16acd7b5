//! The tool over the Model Context Protocol: the same sale as over HTTP.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use runtime::http::{Reply, Request};
use serde_json::{Value, json};
use support::*;
use testkit::World;

fn post(world: &World, message: &Value) -> Reply {
    send(world, Request::post("/mcp", message.to_string())).unwrap()
}

/// The result or the error of a method.
fn ask(world: &World, method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": 7, "method": method });
    if !params.is_null() {
        message["params"] = params;
    }
    let reply = post(world, &message);
    let body: Value = serde_json::from_str(reply.body()).unwrap();
    assert_eq!((reply.status(), &body["jsonrpc"], &body["id"]), (200, &json!("2.0"), &json!(7)), "{body}");
    if body["error"].is_null() { body["result"].clone() } else { body["error"].clone() }
}

fn buy(world: &World, arguments: &Value, payment: Option<&Value>) -> Value {
    let mut params = json!({ "name": "oracle_query", "arguments": arguments });
    if let Some(payment) = payment {
        params["_meta"] = json!({ "x402/payment": payment });
    }
    ask(world, "tools/call", params)
}

#[test]
fn a_client_introduces_itself_and_finds_one_tool_with_its_prices() {
    let world = world();
    for (asked, spoken) in [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("2031-01-01", "2025-11-25")] {
        let hello = ask(&world, "initialize", json!({ "protocolVersion": asked, "capabilities": {} }));
        assert_eq!((&hello["protocolVersion"], &hello["serverInfo"]["name"]), (&json!(spoken), &json!("oracle")));
        assert!(hello["capabilities"]["tools"].is_object());
    }
    let ready = post(&world, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!((ready.status(), ready.body()), (202, ""));
    assert_eq!(ask(&world, "ping", Value::Null), json!({}));
    let tools = ask(&world, "tools/list", json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 1);
    let tool = &tools["tools"][0];
    assert_eq!(
        tool["inputSchema"]["properties"]["offer"]["enum"],
        json!(["query", "query_full", "query_premium", "analyze"])
    );
    let description = tool["description"].as_str().unwrap();
    for price in ["query (0.05 USDC)", "query_full (0.25 USDC)", "query_premium (1.00 USDC)", "analyze (0.25 USDC)"] {
        assert!(description.contains(price), "{price}: {description}");
    }
}

#[test]
fn without_an_address_for_payments_there_is_no_tool_and_a_purchase_that_has_begun_is_finished() {
    let (world, payment) = offered();
    assert_eq!(query(&world, &payment).status(), 200);
    let reply = |method: &str, payment: Option<&Value>| {
        let params = json!({
            "name": "oracle_query", "arguments": { "query": QUESTION }, "_meta": { "x402/payment": payment },
        });
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        send_to(&world, None, Request::post("/mcp", message.to_string()))
    };
    for method in ["initialize", "ping", "tools/list"] {
        assert_code(&reply(method, None), 404, "not_found");
    }
    assert!(reply("tools/call", None).body().contains("Nothing is sold for USDC here."));
    assert!(reply("tools/call", Some(&payment)).body().contains(r#""isError":false"#));
}

#[test]
fn a_tool_asks_for_its_price_and_answers_once_it_is_paid() {
    let world = world();
    let arguments = json!({ "query": QUESTION });
    let asked = buy(&world, &arguments, None);
    assert_eq!((&asked["isError"], &asked["structuredContent"]["x402Version"]), (&json!(true), &json!(2)));
    let wrapped: Value = serde_json::from_str(asked["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&wrapped["x402/error"]["code"], &wrapped["x402/error"]["data"]),
        (&json!(402), &asked["structuredContent"])
    );

    let required = serde_json::from_value(asked["structuredContent"].clone()).unwrap();
    let payment = pay(&required, 1);
    let bought = buy(&world, &arguments, Some(&payment));
    assert_eq!(bought["isError"], json!(false), "{bought}");
    assert_eq!(bought["structuredContent"]["verdict"]["verdict"], json!("GREEN"));
    assert_eq!(bought["_meta"]["x402/payment-response"]["success"], json!(true));
    assert_eq!(buy(&world, &arguments, Some(&payment)), bought, "the same payment, the same reply");
    let over_http = send(&world, paid("/query", QUESTION, &payment)).unwrap();
    assert_eq!(over_http.body(), bought["content"][0]["text"].as_str().unwrap(), "one toll, whichever way is asked");
    let other = buy(&world, &json!({ "query": "Open a third shop?" }), Some(&payment));
    assert_eq!((&other["isError"], &other["structuredContent"]["code"]), (&json!(true), &json!("payment_used")));
    assert_eq!(world.state().chain.settled, 1);
}

#[test]
fn each_offer_has_its_price_and_a_payment_that_does_not_pay_it_buys_nothing() {
    let world = world();
    for (offer, amount) in
        [("query", "50000"), ("query_full", "250000"), ("query_premium", "1000000"), ("analyze", "250000")]
    {
        let asked = buy(&world, &json!({ "query": QUESTION, "offer": offer }), None);
        assert_eq!(asked["structuredContent"]["accepts"][0]["amount"], json!(amount), "{offer}");
    }
    let asked = buy(&world, &json!({ "query": QUESTION }), None);
    let cheap = pay(&serde_json::from_value(asked["structuredContent"].clone()).unwrap(), 1);
    let refused = buy(&world, &json!({ "query": QUESTION, "offer": "query_premium" }), Some(&cheap));
    assert_eq!((&refused["isError"], &refused["structuredContent"]["x402Version"]), (&json!(true), &json!(2)));
    for payment in [json!("garbage"), json!(7), json!({ "x402Version": 3 })] {
        let unreadable = buy(&world, &json!({ "query": QUESTION }), Some(&payment));
        assert_eq!(
            (&unreadable["isError"], &unreadable["structuredContent"]["code"]),
            (&json!(true), &json!("payment_unreadable"))
        );
    }
    let declined = buy(&world, &json!({ "query": "I want to kill myself" }), None);
    assert_eq!((&declined["isError"], &declined["structuredContent"]["crisis"]), (&json!(true), &json!(true)));
    assert_eq!(world.state().chain.settled, 0);
}

#[test]
fn what_is_no_message_is_refused() {
    let world = world();
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let broken = |field: &str, value: Value| {
        let mut broken = request.clone();
        broken[field] = value;
        broken
    };
    for message in [
        json!([request]),
        json!("ping"),
        broken("jsonrpc", json!("1.0")),
        broken("method", json!(7)),
        broken("id", Value::Null),
        broken("id", json!(1.5)),
        broken("params", json!([])),
    ] {
        let reply = post(&world, &message);
        let body: Value = serde_json::from_str(reply.body()).unwrap();
        assert_eq!((reply.status(), &body["error"]["code"]), (400, &json!(-32_600)), "{message}");
    }
    let unreadable = send(&world, Request::post("/mcp", "{")).unwrap();
    assert!(unreadable.status() == 400 && unreadable.body().contains("-32700"), "{}", unreadable.body());
    let stranger = Request::post("/mcp", request.to_string()).with_header("mcp-protocol-version", "1999-01-01");
    assert_eq!(send(&world, stranger).unwrap().status(), 400);
    let known = Request::post("/mcp", request.to_string()).with_header("mcp-protocol-version", "2025-06-18");
    assert_eq!(send(&world, known).unwrap().status(), 200);
    let stream = send(&world, Request::get("/mcp")).unwrap();
    assert_eq!((stream.status(), stream.header_value("allow")), (405, Some("POST")));
    assert_eq!(send(&world, Request::post("/mcp", vec![b' '; 300_000])).unwrap().status(), 413);
    assert_eq!(ask(&world, "resources/list", json!({}))["code"], json!(-32_601));
    assert_eq!(ask(&world, "tools/call", json!({ "name": "other" }))["code"], json!(-32_602));
    assert_eq!(buy(&world, &json!({ "query": QUESTION, "offer": "free" }), None)["code"], json!(-32_602));
    // A refusal by the sale itself is a result of the tool.
    assert_eq!(buy(&world, &json!({}), None)["structuredContent"]["code"], json!("query_invalid"));
}
