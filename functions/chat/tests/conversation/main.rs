//! Conversations: exchanges, repeated messages and time limits; in the modules below signing in, declined messages, the
//! memory, and the offer after three free exchanges.
#![allow(clippy::unwrap_used, reason = "tests")]

mod customer_memory;
mod declined;
mod offer;
mod sign_in;
#[path = "../support/mod.rs"]
mod support;

use chat::{Settings, handle};
use domain::{
    Metric, Timestamp,
    breaker::{Breaker, Caller},
    chat::{
        BillingReport, PaidPlan, Subscriber,
        billing::{SubscriptionState, SubscriptionStatus},
    },
    money::ObjectId,
    ports::{Breakers, MailError, MemoryAppend, MemoryLogs, MemoryRecord, SaveError, StorageError, Versioned},
    relay::{RelayDraft, RelayMailbox},
};
use runtime::http::Request;
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use support::*;
use testkit::{Fault, Plan, run};

/// (Product Tiers, VC-9): exactly three free exchanges succeed, at the fourth the gate fires and asks to subscribe.
#[test]
fn vc_9_three_are_free_and_the_fourth_is_an_offer() {
    let world = world();
    let cookie = signed_in(&world, "someone@gmail.com");
    let account = subscriber("someone@gmail.com");
    let me = json!({ "plan": "free", "free_left": 3, "account": account.prefix() });
    assert_eq!(body(&get(&world, "/api/chat/me", &cookie)), me);
    for n in 1..=3 {
        let reply = ask(&world, n, QUESTION, &cookie);
        assert_eq!(reply.status(), 200, "{}", reply.body());
        let answer = body(&reply);
        assert_eq!((&answer["id"], &answer["free_left"]), (&json!(id(n)), &json!(3 - n)));
        assert_eq!(answer["replies"][0]["voice"], "AETHER");
        assert!(answer["replies"][0]["text"].as_str().unwrap().contains(&format!("reply {n}")));
    }
    let fourth = ask(&world, 4, QUESTION, &cookie);
    assert_eq!((fourth.status(), &body(&fourth)["code"]), (402, &json!("subscribe")));
    assert_eq!(body(&fourth)["url"], "https://pay.example/cs_test_sub_0");
    assert_eq!(world.state().prompts.len(), 3, "nobody asks the model for a fourth");
    // (Product Tiers, FM-10): a count that the client sends is ignored; another spelling, browser or session leads to
    // the same account.
    let again = signed_in(&world, "Some.One+free@GoogleMail.com");
    assert_eq!(ask(&world, 5, QUESTION, &again).status(), 402);
    assert_eq!(ask(&world, 2, QUESTION, &again).body(), ask(&world, 2, QUESTION, &cookie).body());
    let statuses: Vec<_> = records(&world).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["ANSWERED"; 3]);
    assert!(!stored(&world).contains("bakery"), "no store has a word of it in the clear");
}

#[test]
fn the_same_id_is_the_same_reply_and_another_text_is_refused() {
    let (world, cookie) = customer();
    let first = ask(&world, 1, QUESTION, &cookie);
    let again = ask(&world, 1, QUESTION, &cookie);
    assert_eq!((again.status(), again.body()), (200, first.body()));
    assert_eq!(get(&world, &format!("/api/chat/exchanges/{}", id(1)), &cookie).body(), first.body());
    let other = ask(&world, 1, "Should we close the first bakery in Halifax?", &cookie);
    assert_eq!((other.status(), &body(&other)["code"]), (409, &json!("id_used")));
    assert_eq!(world.state().prompts.len(), 1);
    let stranger = signed_in(&world, "other@example.com");
    assert_eq!(get(&world, &format!("/api/chat/exchanges/{}", id(1)), &stranger).status(), 404);
}

#[test]
fn nobody_is_served_without_a_session() {
    let world = world();
    for request in [
        Request::get("/api/chat/me"),
        Request::get("/api/chat/memory"),
        Request::delete("/api/chat/memory"),
        Request::get("/api/chat/exchanges/x"),
        asking(1, QUESTION, ""),
        asking(1, QUESTION, &format!("__Host-chat_session={}", "0".repeat(64))),
    ] {
        assert_eq!(send(&world, request).unwrap().status(), 401);
    }
    let cookie = signed_in(&world, "someone@example.com");
    for (body, code) in [
        ("[]".to_owned(), "malformed_json"),
        (json!({ "id": "1", "text": "a" }).to_string(), "id_invalid"),
        (json!({ "id": id(1), "text": " " }).to_string(), "text_invalid"),
        (json!({ "id": id(1), "text": "a".repeat(4001) }).to_string(), "text_invalid"),
    ] {
        let reply = send(&world, Request::post("/api/chat/exchanges", body).with_header("cookie", &cookie)).unwrap();
        assert_eq!((reply.status(), &support::body(&reply)["code"]), (400, &json!(code)));
    }
    let out = send(&world, Request::delete("/api/chat/session").with_header("cookie", &cookie)).unwrap();
    assert_eq!((out.status(), get(&world, "/api/chat/me", &cookie).status()), (200, 401));
}

#[test]
fn a_reply_that_fails_is_made_again_once_then_apologised_for_and_not_counted() {
    for bad in ["The CSDM says so.", "See https://example.com for more.", ""] {
        let (world, cookie) = customer();
        world.state().answers.push_back(Ok(said(bad)));
        let reply = ask(&world, 1, QUESTION, &cookie);
        assert_eq!(body(&reply)["free_left"], 2, "the second attempt is good: {}", reply.body());
        world.state().answers.extend([Ok(said(bad)), Ok(said(bad))]);
        let asked = world.state().prompts.len();
        let reply = ask(&world, 2, QUESTION, &cookie);
        assert_eq!((reply.status(), &body(&reply)["apology"]), (200, &json!(true)));
        assert_eq!((&body(&reply)["free_left"], world.state().prompts.len()), (&json!(2), asked + 2));
        assert_eq!(ask(&world, 2, QUESTION, &cookie).body(), reply.body(), "the same id, the same reply");
        assert!(world.state().prompts.last().unwrap().1.instruction.contains("could not be used"));
    }
}

#[test]
fn pro_has_two_views_with_the_same_guarantees() {
    let (world, cookie) = subscribed(PaidPlan::Pro);
    let reply = ask(&world, 1, QUESTION, &cookie);
    let answer = body(&reply);
    let voices: Vec<_> = answer["replies"].as_array().unwrap().iter().map(|said| said["voice"].clone()).collect();
    assert_eq!(voices, [json!("first view"), json!("second view")], "{answer}");
    assert!(answer.get("free_left").is_none());
    assert_eq!(world.state().prompts.len(), 2);
    world.state().answers.extend([Ok(said("The CSDM says so.")), Ok(said("The CSDM says so."))]);
    let reply = ask(&world, 2, QUESTION, &cookie);
    assert_eq!(body(&reply)["apology"], true, "one view that cannot be used holds both: {}", reply.body());
    for n in 3..10 {
        assert_eq!(ask(&world, n, QUESTION, &cookie).status(), 200, "{n}");
    }
}

/// A store of memories that answers after ten seconds.
struct Slow<'w>(&'w testkit::World);

#[async_trait::async_trait]
impl MemoryLogs for Slow<'_> {
    async fn append(&self, log: &str, records: &[MemoryRecord]) -> Result<MemoryAppend, StorageError> {
        self.0.append(log, records).await
    }

    async fn read(&self, log: &str, after: u64) -> Result<Vec<MemoryRecord>, StorageError> {
        self.0.read(log, after).await
    }

    async fn head(&self, log: &str) -> Result<Option<(u64, [u8; 32])>, StorageError> {
        self.0.advance(Duration::from_secs(10));
        self.0.head(log).await
    }
}

/// Lambda ends a process after 28 seconds. A customer whose memory is read slowly gets the apology before that.
#[test]
fn a_slow_memory_leaves_less_time_to_the_model() {
    let (world, cookie) = customer();
    // The model never answers.
    world.plan(Plan::none().whenever("model.ask", Fault::CrashBefore));
    let begun = world.state().now;
    let slow = Slow(&world);
    let ports = chat::Ports { logs: &slow, ..ports(&world) };
    let reply = run(handle(ports, &settings(), asking(1, QUESTION, &cookie))).unwrap();
    assert_eq!((reply.status(), &body(&reply)["apology"]), (200, &json!(true)));
    assert_eq!(world.state().now - begun, 25_000);
    let apologised = world.state().records().into_iter().find(|line| line["status"] == "APOLOGISED").unwrap();
    let details = &apologised["details"];
    assert_eq!(details["authority"]["state"], "AUTHORIZED", "{apologised}");
    assert!(details["problem"].is_string() && details["prompt_version"].is_string(), "{apologised}");
}

/// A model without a reply for five seconds has failed. After less time, the next message makes the half-open call,
/// instead of finding the chat closed for three minutes.
#[test]
fn a_call_that_the_time_limit_drops_leaves_no_half_open_call_behind() {
    for (seconds, failures) in [(4, 1000), (5, 1001)] {
        let (world, cookie) = customer();
        let circuit = Caller::Chat.circuit("model-a").into_owned();
        let opened_at = Some(Timestamp::from_seconds(NOW - 100));
        let open = Breaker { failures: 1000, opened_at, open_since: opened_at, ..Breaker::default() };
        world.state().breakers.insert(circuit.clone(), (open, 1));
        world.plan(Plan::none().whenever("model.ask", Fault::CrashBefore));
        let settings = Settings { answer_time: Duration::from_secs(seconds), ..settings() };
        let reply = run(handle(ports(&world), &settings, asking(1, QUESTION, &cookie))).unwrap();
        assert_eq!((reply.status(), &body(&reply)["apology"]), (200, &json!(true)));
        let (breaker, _) = world.state().breakers[&circuit].clone();
        assert_eq!((breaker.probing_since, breaker.failures), (None, failures), "{seconds} s");
    }
}

/// Breakers of which no save ends, with the number of saves that have begun.
struct Stalled<'w>(&'w testkit::World, AtomicUsize);

#[async_trait::async_trait]
impl Breakers for Stalled<'_> {
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError> {
        Breakers::load(self.0, model).await
    }

    async fn save(&self, _model: &str, _breaker: &Breaker, _expected: u64) -> Result<(), SaveError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }
}

/// The apology waits until the dropped calls are recorded. A slow store is not waited for once for each voice.
#[test]
fn the_dropped_calls_of_both_voices_are_recorded_at_once() {
    let world = world();
    let cookie = signed_in(&world, "someone@example.com");
    grant(&world, "someone@example.com", PaidPlan::Pro);
    world.plan(Plan::none().whenever("model.ask", Fault::CrashBefore));
    let breakers = Stalled(&world, AtomicUsize::new(0));
    let ports = chat::Ports { breakers: &breakers, ..ports(&world) };
    assert!(run(handle(ports, &settings(), asking(1, QUESTION, &cookie))).is_none(), "it waits for the store");
    assert_eq!(breakers.1.load(Ordering::Relaxed), 2);
}

#[test]
fn a_long_conversation_forgets_no_exchange() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    let first = body(&ask(&world, 1, QUESTION, &cookie))["replies"].clone();
    for n in 2..40 {
        assert_eq!(ask(&world, n, QUESTION, &cookie).status(), 200, "{n}");
        world.advance(Duration::from_secs(60));
    }
    let asked = world.state().prompts.len();
    assert_eq!(body(&ask(&world, 1, QUESTION, &cookie))["replies"], first);
    assert_eq!(ask(&world, 1, "Another text about the bakery in Halifax.", &cookie).status(), 409);
    assert_eq!(world.state().prompts.len(), asked);
}

/// These limits are for new messages. An answered one gets its reply again also after the account forgot it and the
/// plan ended, or in an hour that has no more exchanges.
#[test]
fn a_forgotten_exchange_is_repeated_whatever_the_limits_say() {
    let (world, cookie) = customer();
    let first = body(&ask(&world, 1, QUESTION, &cookie))["replies"].clone();
    (2..=3).for_each(|n| drop(ask(&world, n, QUESTION, &cookie)));
    grant(&world, "someone@example.com", PaidPlan::Chat);
    let limited = (4..).find(|n| ask(&world, *n, QUESTION, &cookie).status() == 429).unwrap();
    assert_eq!(body(&ask(&world, 1, QUESTION, &cookie))["replies"], first, "after {limited} exchanges");
    let me = || body(&get(&world, "/api/chat/me", &cookie));
    assert!(me().get("lapsed").is_none(), "{}", me());
    world.advance(Duration::from_secs(31 * 86_400));
    let cookie = signed_in(&world, "someone@example.com");
    let asked = world.state().prompts.len();
    let again = ask(&world, 1, QUESTION, &cookie);
    assert_eq!((again.status(), &body(&again)["replies"], &body(&again)["free_left"]), (200, &first, &json!(0)));
    // The page tells them that a subscription has lapsed, not that free exchanges are used.
    let account = subscriber("someone@example.com");
    let lapsed = json!({ "plan": "free", "free_left": 0, "account": account.prefix(), "lapsed": true });
    assert_eq!(body(&get(&world, "/api/chat/me", &cookie)), lapsed);
    assert_eq!(ask(&world, 1, "Another text about the bakery in Halifax.", &cookie).status(), 409);
    assert_eq!(ask(&world, limited, QUESTION, &cookie).status(), 402, "it was never answered");
    assert_eq!(world.state().prompts.len(), asked);
}
