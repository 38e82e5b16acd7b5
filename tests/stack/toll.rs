//! Agents that buy for USDC over HTTP 402, on the deployed stack and the pretended chain.

use crate::world::{Reply, World, question};
use reqwest::Method;
use serde_json::{Value, json};

/// Asks with a payment; without one for the price.
async fn ask(world: &World, path: &str, question: &str, payment: Option<(&str, &str)>) -> Reply {
    let headers: Vec<_> = payment.into_iter().collect();
    world.call(Method::POST, path, &headers, json!({ "query": question }).to_string().into_bytes()).await
}

/// A payment of what the site asks for, by the sandbox's wallet.
async fn payment(world: &World, path: &str, question: &str) -> String {
    let reply = ask(world, path, question, None).await;
    assert_eq!((reply.status, reply.json()["x402Version"].as_u64()), (402, Some(1)), "{}", reply.text);
    let signed = world.stack.control("chain/pay", json!({ "required": reply.header("payment-required") })).await;
    signed["payment_signature"].as_str().expect("a signed payment").to_owned()
}

async fn settlements(world: &World) -> usize {
    let (_, chain) = world.stack.get(&format!("{}/control/chain", world.stack.sandbox)).await;
    chain["settlements"].as_array().expect("settlements").len()
}

/// The records of every purchase in the log that is about this question.
async fn records(world: &World, question: &str) -> Vec<Value> {
    let hash = audit::digest::query_hash(&domain::Query::parse(question).expect("a question"));
    let mut found = Vec::new();
    for part in ["/session/cs_x402_", "/function/toll/"] {
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
    // The verification goes through; the settlement is made, and its reply is lost.
    world.stack.faults("facilitator", json!([{}, { "drop": true }])).await;
    let pending = ask(&world, "/query", &question, Some(("payment-signature", &signed))).await;
    assert_eq!(
        (pending.status, pending.json()["code"].as_str()),
        (503, Some("settlement_pending")),
        "{}",
        pending.text
    );
    assert_eq!(settlements(&world).await, before + 1);
    // The facilitator refuses what was settled; the answer waits for the chain.
    let refused = ask(&world, "/query", &question, Some(("payment-signature", &signed))).await;
    assert_eq!(refused.status, 402, "{}", refused.text);
    world.stack.control("chain/mine", json!({ "blocks": 12 })).await;
    let bought = ask(&world, "/query", &question, Some(("payment-signature", &signed))).await;
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
    assert_eq!((garbage.status, garbage.json()["code"].as_str()), (400, Some("payment_unreadable")));
    world.stack.faults("facilitator", json!([{ "status": 503 }])).await;
    let unreachable = ask(&world, "/query", &question, Some(("payment-signature", &cheap))).await;
    assert_eq!((unreachable.status, unreachable.json()["code"].as_str()), (503, Some("payment_unavailable")));
    world.stack.faults("gemini", json!([{ "status": 500 }, { "status": 500 }, { "status": 500 }])).await;
    let failed = ask(&world, "/query", &question, Some(("payment-signature", &cheap))).await;
    assert_eq!((failed.status, failed.json()["code"].as_str()), (503, Some("no_answer")), "{}", failed.text);
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
    assert_eq!(ask(&world, "/query", &question, Some(("payment-signature", &cheap))).await.status, 200);
}

#[tokio::test]
async fn a_transfer_by_its_hash_buys_once_it_is_deep_enough() {
    let world = World::alone().await;
    let question = question();
    let made = world.stack.control("chain/transfer", json!({ "value": 50_000 })).await;
    let transaction = made["transaction"].as_str().expect("a transaction").to_owned();
    let shown = Some(("x-payment-transaction", transaction.as_str()));
    let young = ask(&world, "/query", &question, shown).await;
    assert_eq!((young.status, young.json()["code"].as_str()), (402, Some("payment_unconfirmed")), "{}", young.text);
    world.stack.control("chain/mine", json!({ "blocks": 12 })).await;
    let bought = ask(&world, "/query", &question, shown).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert_eq!(ask(&world, "/query", &question, shown).await.text, bought.text);
    assert_eq!(ask(&world, "/query", &crate::world::question(), shown).await.status, 409);
}
