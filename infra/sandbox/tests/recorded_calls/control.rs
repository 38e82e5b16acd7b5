//! Faults, the record of calls, reset and the pages.

use crate::support::{REFRESH, SESSION, ok, read, world};
use serde_json::{Value, json};

#[tokio::test]
async fn faults_are_used_up_in_order_by_their_target() {
    let world = world().await;
    let replies = json!([
        {"status": 503, "headers": {"Retry-After": 7}},
        {},
        {"status": 429, "headers": {"Stripe-Should-Retry": "true"}, "body": {"error": {"type": "rate_limit"}}},
        {"status": 500, "body": "plain text"},
    ]);
    world.fault("stripe", replies).await;
    let call = || world.stripe_get("promotion_codes");
    let first = call().send().await.unwrap();
    assert_eq!(first.status().as_u16(), 503);
    assert_eq!(first.headers()["retry-after"], "7");
    let body: Value = first.json().await.unwrap();
    assert_eq!(body["error"]["type"], "api_error");
    assert_eq!(read(world.login(&REFRESH)).await.0, 200, "another target");
    assert_eq!(read(call()).await.0, 200);
    let third = call().send().await.unwrap();
    assert_eq!(third.headers()["stripe-should-retry"], "true");
    let body: Value = third.json().await.unwrap();
    assert_eq!(body, json!({"error": {"type": "rate_limit"}}));
    assert_eq!(read(call()).await, (500, json!("plain text")));
    assert_eq!(read(call()).await.0, 200);
}

#[tokio::test]
async fn every_vendor_fails_in_its_own_words() {
    let world = world().await;
    for target in ["gemini", "graph", "login"] {
        world.fault(target, json!([{"status": 503}])).await;
    }
    let (status, body) = read(world.gemini(&json!({}))).await;
    assert_eq!((status, &body["error"]["status"]), (503, &json!("UNAVAILABLE")));
    let (status, body) = read(world.client.get(world.mailbox("messages"))).await;
    assert_eq!((status, &body["error"]["code"]), (503, &json!("ServiceUnavailable")));
    let (status, body) = read(world.login(&REFRESH)).await;
    assert_eq!((status, &body["error"]), (503, &json!("temporarily_unavailable")));
}

#[tokio::test]
async fn a_dropped_reply_leaves_the_work_done() {
    let world = world().await;
    world.fault("stripe", json!([{"drop": true}])).await;
    let call = || world.stripe_post("checkout/sessions", &SESSION).header("Idempotency-Key", "once");
    let error = call().send().await.unwrap_err();
    assert!(error.is_request(), "{error:?}");
    let (_, list) = read(world.stripe_get("checkout/sessions")).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    let again = ok(read(call())).await;
    assert_eq!(again["id"], list["data"][0]["id"], "the same sale, not a second one");
    let calls = world.look("calls?target=stripe").await;
    assert_eq!(calls[0]["reply"]["status"], 200);
    assert_eq!(calls[0]["reply"]["delivered"], false);
    assert_eq!(calls[0]["fault"], json!({"drop": true}));
}

#[tokio::test]
async fn a_failure_may_follow_the_work() {
    let world = world().await;
    world.fault("stripe", json!([{"status": 500, "done": true}])).await;
    assert_eq!(read(world.stripe_post("checkout/sessions", &SESSION)).await.0, 500);
    let (_, list) = read(world.stripe_get("checkout/sessions")).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_hanging_call_is_held_until_a_reset() {
    let world = world().await;
    world.fault("gemini", json!([{"hang": true}])).await;
    let hanging = tokio::spawn(world.gemini(&json!({})).send());
    // The call has arrived once it is recorded.
    let mut calls = world.look("calls").await;
    while calls == json!([]) {
        tokio::task::yield_now().await;
        calls = world.look("calls").await;
    }
    assert_eq!(calls[0]["reply"], Value::Null);
    assert!(!hanging.is_finished());
    assert_eq!(read(world.gemini(&json!({}))).await.0, 400, "others are answered meanwhile");
    assert!(!hanging.is_finished());
    world.control("reset", json!({})).await;
    assert!(hanging.await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_reply_comes_after_its_delay() {
    let world = world().await;
    let late = |mut reply: Value| {
        reply["delay_ms"] = json!(3_600_000);
        reply
    };
    let replies = [json!({}), json!({"status": 500}), json!({"drop": true})].map(late);
    world.fault("stripe", json!(replies)).await;
    // The clock is paused and advances only while everything waits for it.
    let start = tokio::time::Instant::now();
    assert_eq!(read(world.stripe_get("promotion_codes")).await.0, 200);
    assert!(start.elapsed() >= std::time::Duration::from_secs(3_600));
    assert_eq!(read(world.stripe_get("promotion_codes")).await.0, 500);
    assert!(start.elapsed() >= std::time::Duration::from_secs(7_200));
    assert!(world.stripe_get("promotion_codes").send().await.is_err());
    assert!(start.elapsed() >= std::time::Duration::from_secs(10_800));
}

#[tokio::test]
async fn mistaken_faults_are_refused_and_named() {
    let world = world().await;
    for (body, part) in [
        (json!({"target": "paypal", "replies": []}), "stripe, gemini, graph, login"),
        (json!({"target": "stripe"}), "replies"),
        (json!({"target": "stripe", "replies": [{}, {"hnag": true}]}), "replies[1]: unknown field `hnag`"),
        (json!({"target": "stripe", "replies": [{"text": "x"}]}), "gemini only"),
        (json!({"target": "stripe", "replies": [{"status": 500, "hang": true}]}), "only one of"),
        (json!({"target": "stripe", "replies": [{"body": "x"}]}), "need a status"),
        (json!({"target": "stripe", "replies": [{"done": true}]}), "need a status"),
        (json!({"target": "stripe", "replies": [{"status": 42}]}), "between 200 and 599"),
    ] {
        let (status, reply) = world.control("faults", body.clone()).await;
        assert_eq!(status, 400, "{body}");
        let error = reply["error"].as_str().unwrap();
        assert!(error.contains(part), "{error}");
    }
    let pending = world.look("faults").await;
    assert_eq!(pending["stripe"], json!([]), "nothing of a mistaken list is kept");
}

#[tokio::test]
async fn calls_are_recorded_without_secrets() {
    let world = world().await;
    world.session().await;
    let _ = world.token().await;
    let _ = read(world.gemini(&json!({"contents": []}))).await;
    let calls = world.look("calls").await;
    let targets: Vec<&str> = calls.as_array().unwrap().iter().map(|call| call["target"].as_str().unwrap()).collect();
    assert_eq!(targets, ["stripe", "login", "gemini"]);
    let stripe = &calls[0];
    assert_eq!(stripe["time"], "2025-11-20T00:00:00Z");
    assert_eq!(stripe["method"], "POST");
    assert_eq!(stripe["path"], "/stripe/v1/checkout/sessions");
    assert_eq!(stripe["request_body"]["metadata[tier]"], "quick");
    assert_eq!(stripe["reply"]["status"], 200);
    assert_eq!(stripe["reply"]["body"]["object"], "checkout.session");
    assert_eq!(calls[1]["request_body"]["refresh_token"], "[redacted]");
    assert_eq!(calls[2]["request_body"], json!({"contents": []}));
    let text = calls.to_string();
    for secret in ["sk_test_sandbox", "sandbox-gemini-key", "sandbox-refresh-token", "sandbox-access-"] {
        assert!(!text.contains(secret), "{secret}");
    }
    let only = world.look("calls?target=login").await;
    assert_eq!(only.as_array().unwrap().len(), 1);
    assert_eq!(read(world.client.get(world.url("/control/calls?target=paypal"))).await.0, 400);
}

#[tokio::test]
async fn a_reset_empties_everything_but_the_settings() {
    let world = world().await;
    world.control("configure", json!({"site": "http://127.0.0.1:9"})).await;
    let session = world.session().await;
    world.control("inbox", json!({"from": "a@example.com", "subject": "x"})).await;
    world.fault("stripe", json!([{"status": 500}])).await;
    assert_eq!(world.control("reset", json!({})).await.0, 200);
    assert_eq!(world.look("calls").await, json!([]));
    assert_eq!(world.look("mails").await, json!([]));
    assert_eq!(world.look("faults").await["stripe"], json!([]));
    let id = session["id"].as_str().unwrap();
    assert_eq!(read(world.stripe_get(&format!("checkout/sessions/{id}"))).await.0, 404);
    let settings = world.look("configure").await;
    assert_eq!(settings["webhook_url"], "http://127.0.0.1:9/api/webhook");
}

#[tokio::test]
async fn the_pages_are_there_and_escape_what_they_show() {
    let world = world().await;
    let token = world.token().await;
    let mail = json!({"message": {
        "subject": "<b>Verdict</b>",
        "body": {"contentType": "Text", "content": "a < b"},
        "toRecipients": [{"emailAddress": {"address": "ada@example.com"}}],
    }});
    let send = world.client.post(world.mailbox("sendMail")).bearer_auth(token).json(&mail);
    assert_eq!(read(send).await.0, 202);
    let (status, page) = read(world.client.get(world.url("/mailbox"))).await;
    let page = page.as_str().unwrap();
    assert_eq!(status, 200);
    assert!(page.contains("&lt;b&gt;Verdict&lt;/b&gt;") && page.contains("a &lt; b"));
    assert!(page.contains("to ada@example.com") && page.contains("1 mail accepted"));
    let page = ok(read(world.client.get(world.url("/")))).await;
    for part in ["/mailbox", "/control/calls", "/control/faults", "<title>Sandbox</title>"] {
        assert!(page.as_str().unwrap().contains(part), "{part}");
    }
    assert_eq!(read(world.client.get(world.url("/nothing"))).await.0, 404);
    assert_eq!(world.control("nothing", json!({})).await.0, 404);
}

#[tokio::test]
async fn what_the_topics_tell_is_kept_and_shown() {
    let world = world().await;
    let message = json!({"Type": "Notification", "Message": "[ORACLE-X] WARN | a < b", "Subject": null});
    assert_eq!(read(world.client.post(world.url("/alerts/ops")).json(&message)).await.0, 200);
    assert_eq!(read(world.client.post(world.url("/alerts/ops")).json(&json!({"Type": "Other"}))).await.0, 400);
    let alerts = world.look("alerts").await;
    assert_eq!((&alerts[0]["topic"], &alerts[0]["line"]), (&json!("ops"), &json!("[ORACLE-X] WARN | a < b")));
    let (_, page) = read(world.client.get(world.url("/alerts"))).await;
    let page = page.as_str().unwrap();
    assert!(page.contains("1 alert") && page.contains("a &lt; b") && page.contains("not evaluated"), "{page}");
}

/// A bank debit takes days. The session of one that fails stays complete and unpaid; its payment has the end.
#[tokio::test]
async fn a_payment_in_process_ends_by_an_event() {
    for (kind, status, end) in [
        ("checkout.session.async_payment_failed", "unpaid", "requires_payment_method"),
        ("checkout.session.async_payment_succeeded", "paid", "succeeded"),
    ] {
        let world = world().await;
        let mut session = json!({"id": "cs_test_debit", "status": "complete", "payment_status": "unpaid",
                                 "payment_intent": "pi_debit", "amount_total": 500});
        ok(world.control("stripe/session", session.clone())).await;
        let payment = async || ok(read(world.stripe_get("payment_intents/pi_debit"))).await["status"].clone();
        assert_eq!(payment().await, "processing");
        session["payment_status"] = json!(status);
        world.control("stripe/event", json!({"type": kind, "data": {"object": session}})).await;
        assert_eq!(payment().await, end);
        let stored = ok(read(world.stripe_get("checkout/sessions/cs_test_debit"))).await;
        assert_eq!((&stored["status"], &stored["payment_status"]), (&json!("complete"), &json!(status)));
    }
}
