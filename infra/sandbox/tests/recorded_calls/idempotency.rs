//! Repeated calls to Stripe with an idempotency key.

use crate::support::{SESSION, ok, read, session_with, world};
use serde_json::{Value, json};

#[tokio::test]
async fn a_replay_gets_the_first_reply_for_a_day() {
    let world = world().await;
    let call =
        |fields: &[(&str, &str)]| world.stripe_post("checkout/sessions", fields).header("Idempotency-Key", "key-1");
    let first = ok(read(call(&SESSION))).await;
    let replay = call(&SESSION).send().await.unwrap();
    assert_eq!(replay.headers()["Idempotent-Replayed"], "true");
    let replayed: Value = replay.json().await.unwrap();
    assert_eq!(replayed, first);
    let (status, body) = read(call(&session_with("metadata[tier]", "full"))).await;
    assert_eq!(status, 400);
    assert_eq!(body["error"]["type"], "idempotency_error");
    let elsewhere = world.stripe_post("refunds", &SESSION).header("Idempotency-Key", "key-1");
    let (status, body) = read(elsewhere).await;
    assert_eq!((status, &body["error"]["type"]), (400, &json!("idempotency_error")));
    world.advance(24 * 3600);
    let later = ok(read(call(&SESSION))).await;
    assert_ne!(later["id"], first["id"]);
}

#[tokio::test]
async fn a_refused_call_keeps_its_key_and_long_keys_are_refused() {
    let world = world().await;
    let call = |fields: &[(&str, &str)], key: &str| {
        world.stripe_post("checkout/sessions", fields).header("Idempotency-Key", key)
    };
    assert_eq!(read(call(&session_with("mode", "gift"), "key-2")).await.0, 400);
    let again = call(&session_with("mode", "gift"), "key-2").send().await.unwrap();
    assert_eq!((again.status().as_u16(), again.headers().contains_key("idempotent-replayed")), (400, true));
    let (status, body) = read(call(&SESSION, "key-2")).await;
    assert_eq!((status, &body["error"]["type"]), (400, &json!("idempotency_error")), "{body}");
    let (status, body) = read(call(&SESSION, &"k".repeat(256))).await;
    assert_eq!(status, 400, "{body}");
}

#[tokio::test]
async fn a_stored_failure_is_replayed() {
    let world = world().await;
    world.fault("stripe", json!([{"status": 500, "store": true}])).await;
    let call = |key: &str| world.stripe_post("checkout/sessions", &SESSION).header("Idempotency-Key", key);
    assert_eq!(read(call("key-3")).await.0, 500);
    assert_eq!(read(call("key-3")).await.0, 500);
    assert_eq!(read(call("key-4")).await.0, 200);
}
