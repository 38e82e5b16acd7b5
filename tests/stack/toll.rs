//! Agents that buy for USDC over HTTP 402, on the deployed stack and the simulated chain.

use crate::{
    operators::{asked, oracle},
    world::{Reply, World, question},
};
use reqwest::Method;
use serde_json::{Value, json};

/// Asks with a payment; without one the reply is the price.
pub(crate) async fn ask(world: &World, path: &str, question: &str, payment: Option<(&str, &str)>) -> Reply {
    let headers: Vec<_> = payment.into_iter().collect();
    world.call(Method::POST, path, &headers, json!({ "query": question }).to_string().into_bytes()).await
}

/// Asks `/query` with a signed payment.
async fn buy(world: &World, question: &str, signed: &str) -> Reply {
    ask(world, "/query", question, Some(("payment-signature", signed))).await
}

/// A payment from the sandbox's wallet for the price that the site asks.
pub(crate) async fn payment(world: &World, path: &str, question: &str) -> String {
    let reply = ask(world, path, question, None).await;
    assert_eq!((reply.status, reply.json()["x402Version"].as_u64()), (402, Some(1)), "{}", reply.text);
    let signed = world.stack.control("chain/pay", json!({ "required": reply.header("payment-required") })).await;
    signed["payment_signature"].as_str().expect("a signed payment").to_owned()
}

pub(crate) async fn settlements(world: &World) -> usize {
    let (_, chain) = world.stack.get(&format!("{}/control/chain", world.stack.sandbox)).await;
    chain["settlements"].as_array().expect("settlements").len()
}

/// The log's records of all purchases with this question.
pub(crate) async fn records(world: &World, question: &str) -> Vec<Value> {
    let hash = audit::hash::query_hash(&domain::Query::parse(question).expect("a question"));
    let mut found = Vec::new();
    for part in ["/session/cs_x402_", "/function/toll"] {
        for key in world.aws.keys("AuditBucket", part).await {
            let line: Value = serde_json::from_str(&world.aws.text("AuditBucket", &key).await).expect("a record");
            let facts = if line["function"].is_string() { line["details"].clone() } else { line.clone() };
            if facts["query_hash"] == hash.as_str() && facts["source"] == "oracle_toll" {
                found.push(facts);
            }
        }
    }
    found
}

#[tokio::test]
async fn every_offer_is_sold_once_for_its_payment() {
    let world = World::alone().await;
    for (path, price) in [("/query", 0.05), ("/query/full", 0.25), ("/query/premium", 1.0), ("/analyze", 0.25)] {
        let question = question();
        let signed = payment(&world, path, &question).await;
        let before = settlements(&world).await;
        let bought = ask(&world, path, &question, Some(("payment-signature", &signed))).await;
        assert_eq!(bought.status, 200, "{path}: {}", bought.text);
        assert!(!bought.header("payment-response").is_empty());
        let has_narrative = bought.json()["narrative"].as_str().is_some_and(|text| text.contains("What to test: "));
        assert_eq!(has_narrative, path == "/query/premium", "{path}: {}", bought.text);
        let again = ask(&world, path, &question, Some(("payment-signature", &signed))).await;
        assert_eq!((again.status, &again.text), (200, &bought.text), "the same payment, the same reply");
        let other = ask(&world, path, &crate::world::question(), Some(("payment-signature", &signed))).await;
        assert_eq!(other.status, 409, "{}", other.text);
        assert_eq!(settlements(&world).await, before + 1);
        let records = records(&world, &question).await;
        let statuses: Vec<_> = records.iter().map(|record| record["status"].as_str().unwrap_or_default()).collect();
        assert!(statuses.contains(&"OK") && statuses.contains(&"REPLAY"), "{statuses:?}");
        let sold = records.iter().find(|record| record["status"] == "OK").expect("a sale");
        assert_eq!((sold["amount_usdc"].as_f64(), sold["endpoint"].as_str()), (Some(price), Some(path)));
        assert!(sold["tx_hash"].as_str().is_some_and(|hash| hash.len() == 15 && hash.ends_with("...")));
    }
}

#[tokio::test]
async fn a_lost_settlement_is_found_on_the_chain() {
    let world = World::alone().await;
    let question = question();
    let signed = payment(&world, "/query", &question).await;
    let before = settlements(&world).await;
    // The verification succeeds; the settlement is made, but its reply is lost.
    world.stack.faults("facilitator", json!([{}, { "drop": true }])).await;
    buy(&world, &question, &signed).await.assert_code(503, "settlement_pending");
    assert_eq!(settlements(&world).await, before + 1);
    // The facilitator refuses a payment that is already settled. The answer waits for the chain, and no second payment is
    // asked for.
    buy(&world, &question, &signed).await.assert_code(503, "settlement_pending");
    world.stack.control("chain/mine", json!({ "blocks": 12 })).await;
    let bought = buy(&world, &question, &signed).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert_eq!(settlements(&world).await, before + 1);
}

#[tokio::test]
async fn what_is_not_sold_or_not_paid_settles_nothing() {
    let world = World::alone().await;
    let before = settlements(&world).await;
    let declined = ask(&world, "/query", "I want to kill myself", None).await;
    assert_eq!((declined.status, declined.json()["crisis"].as_bool()), (422, Some(true)), "{}", declined.text);
    let question = question();
    let cheap = payment(&world, "/query", &question).await;
    let dear = ask(&world, "/query/premium", &question, Some(("payment-signature", &cheap))).await;
    assert_eq!(dear.status, 402, "{}", dear.text);
    let garbage = ask(&world, "/query", &question, Some(("payment-signature", "garbage"))).await;
    garbage.assert_code(400, "payment_unreadable");
    world.stack.faults("facilitator", json!([{ "status": 503 }])).await;
    buy(&world, &question, &cheap).await.assert_code(503, "payment_unavailable");
    world.stack.faults("gemini", json!([{ "status": 500 }, { "status": 500 }, { "status": 500 }])).await;
    buy(&world, &question, &cheap).await.assert_code(503, "no_answer");
    assert_eq!(settlements(&world).await, before);
    let statuses: Vec<String> = records(&world, &question)
        .await
        .iter()
        .map(|record| record["status"].as_str().unwrap_or_default().to_owned())
        .collect();
    for status in ["PAYMENT_REJECTED", "RPC_UNREACHABLE", "RAG_FAIL"] {
        assert!(statuses.iter().any(|found| found == status), "{status}: {statuses:?}");
    }
    world.stack.control("reset", json!({})).await;
    assert_eq!(buy(&world, &question, &cheap).await.status, 200);
}

#[tokio::test]
async fn a_transfer_by_its_hash_buys_once_it_is_deep_enough() {
    let world = World::alone().await;
    let question = question();
    let made = world.stack.control("chain/transfer", json!({ "value": 50_000 })).await;
    let transaction = made["transaction"].as_str().expect("a transaction").to_owned();
    let shown = Some(("x-payment-transaction", transaction.as_str()));
    ask(&world, "/query", &question, shown).await.assert_code(402, "payment_unconfirmed");
    world.stack.control("chain/mine", json!({ "blocks": 12 })).await;
    let bought = ask(&world, "/query", &question, shown).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert_eq!(ask(&world, "/query", &question, shown).await.text, bought.text);
    assert_eq!(ask(&world, "/query", &crate::world::question(), shown).await.status, 409);
}

/// An agent that retries before its first reply: one answer is made, and one payment settled.
#[tokio::test]
async fn two_requests_at_once_with_one_payment_get_one_answer() {
    let world = World::alone().await;
    let question = question();
    let signed = payment(&world, "/query", &question).await;
    let before = settlements(&world).await;
    // Long enough for the second request to start a process of its own while the first is being answered.
    world.stack.faults("gemini", json!([{ "delay_ms": 8000 }])).await;
    let buy = || buy(&world, &question, &signed);
    let (first, second) = tokio::join!(buy(), buy());
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", first.text, second.text);
    let refused = if first.status == 409 { &first } else { &second };
    assert_eq!(refused.json()["code"].as_str(), Some("in_progress"), "{}", refused.text);
    assert_eq!(settlements(&world).await, before + 1);
}

/// The same sale over the Model Context Protocol, through the deployed API.
#[tokio::test]
async fn the_tool_sells_over_the_deployed_api() {
    let world = World::alone().await;
    let question = question();
    let call = async |payment: Option<Value>| {
        let mut params = json!({ "name": "oracle_query", "arguments": { "query": question } });
        if let Some(payment) = payment {
            params["_meta"] = json!({ "x402/payment": payment });
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let headers = [("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-06-18")];
        let reply = world.call(Method::POST, "/mcp", &headers, body.into_bytes()).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()["result"].clone()
    };
    let asked = call(None).await;
    assert_eq!((&asked["isError"], &asked["structuredContent"]["x402Version"]), (&json!(true), &json!(2)), "{asked}");
    let required = chain::wire::encode(&asked["structuredContent"]).expect("JSON");
    let signed = world.stack.control("chain/pay", json!({ "required": required })).await;
    let signed = signed["payment_signature"].as_str().expect("a signed payment");
    let payment: Value = chain::wire::decode(signed).expect("a payment");
    let before = settlements(&world).await;
    let bought = call(Some(payment.clone())).await;
    assert_eq!(bought["isError"], json!(false), "{bought}");
    assert_eq!(bought["_meta"]["x402/payment-response"]["success"], json!(true));
    assert_eq!(call(Some(payment)).await, bought, "the same payment, the same result");
    assert_eq!(settlements(&world).await, before + 1);
}

#[tokio::test]
async fn an_operator_finds_an_open_settlement_and_a_finished_one() {
    let world = World::alone().await;
    let question = question();
    let signed = payment(&world, "/query", &question).await;
    world.stack.control("chain/faults", json!({ "faults": ["pending"] })).await;
    let pending = buy(&world, &question, &signed).await;
    assert_eq!(pending.json()["code"].as_str(), Some("settlement_pending"), "{}", pending.text);
    let hash = audit::hash::query_hash(&domain::Query::parse(&question).expect("a question"));
    let named = records(&world, &question).await;
    assert!(named.iter().all(|record| record["query_hash"] == hash.as_str()) && !named.is_empty());
    let reference = named[0]["session_id"].as_str().expect("an id").to_owned();
    let is_open = |row: &&Value| row["why"].as_str().is_some_and(|why| why.contains("its settlement is open"));
    let (_, rows) = asked(&world, &["toll", "list", "--open"]);
    assert!(rows.as_array().expect("rows").iter().any(|row| is_open(&row)), "{rows}");
    let bought = buy(&world, &question, &signed).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let receipt: chain::wire::SettlementResponse =
        chain::wire::decode(bought.header("payment-response")).expect("a receipt");
    for wanted in [reference.as_str(), &receipt.transaction] {
        let (_, rows) = asked(&world, &["toll", "show", wanted]);
        assert_eq!(rows.as_array().map(Vec::len), Some(1), "{wanted}: {rows}");
        assert!(rows[0]["why"].as_str().is_some_and(|why| why.starts_with("sold")), "{rows}");
    }
    assert_eq!(oracle(&world, &["toll", "show", "0x00"]).status.code(), Some(1));
}

#[tokio::test]
async fn a_facilitator_that_hangs_or_denies_a_settlement_costs_no_second_payment() {
    let world = World::alone().await;
    let question = question();
    let signed = payment(&world, "/query", &question).await;
    let before = settlements(&world).await;
    let buy = || buy(&world, &question, &signed);
    world.stack.faults("facilitator", json!([{ "hang": true }])).await;
    buy().await.assert_code(503, "payment_unavailable");
    // The facilitator submits the payment and reports a failure that does not exclude that.
    world.stack.control("chain/faults", json!({ "faults": ["refuse_after"] })).await;
    buy().await.assert_code(503, "settlement_pending");
    assert_eq!(settlements(&world).await, before + 1);
    world.stack.control("chain/mine", json!({ "blocks": 12 })).await;
    let bought = buy().await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert_eq!(settlements(&world).await, before + 1);
}

#[tokio::test]
async fn another_chain_and_a_reorganisation_confirm_no_transfer() {
    let world = World::alone().await;
    let question = question();
    let made = world.stack.control("chain/transfer", json!({ "value": 50_000 })).await;
    let transaction = made["transaction"].as_str().expect("a transaction").to_owned();
    world.stack.control("chain/mine", json!({ "blocks": 12 })).await;
    let show = || ask(&world, "/query", &question, Some(("x-payment-transaction", &transaction)));
    world.stack.control("chain/faults", json!({ "faults": ["wrong_chain"] })).await;
    show().await.assert_code(503, "payment_unavailable");
    world.stack.control("chain/faults", json!({ "faults": ["reorg"] })).await;
    show().await.assert_code(402, "payment_unconfirmed");
    let found = records(&world, &question).await;
    let statuses: Vec<_> = found.iter().map(|record| record["status"].as_str().unwrap_or_default()).collect();
    assert_eq!(statuses, ["RPC_UNREACHABLE"]);
    assert_eq!(found[0]["tx_hash"].as_str().map(str::len), Some(15), "{}", found[0]);
}
