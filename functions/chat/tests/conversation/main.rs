//! Conversations: signing in, declined messages, the memory, and the offer after three free exchanges.
#![allow(clippy::unwrap_used, reason = "tests")]

mod declined;
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
        let told = body(&reply);
        assert_eq!((&told["id"], &told["free_left"]), (&json!(id(n)), &json!(3 - n)));
        assert_eq!(told["replies"][0]["voice"], "AETHER");
        assert!(told["replies"][0]["text"].as_str().unwrap().contains(&format!("reply {n}")));
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

/// Every tab gets the same checkout session of the plan `chat`, so that a customer pays once.
#[test]
fn the_offer_is_one_checkout_session_for_all_tabs() {
    let (world, cookie) = used_up();
    let offers: BTreeSet<_> = (4..=9).map(|n| body(&ask(&world, n, QUESTION, &cookie))["url"].to_string()).collect();
    let bought = submit(&world, "/api/chat/subscribe", &json!({ "plan": "chat" }), &cookie);
    assert_eq!(offers, BTreeSet::from([body(&bought)["url"].to_string()]));
    let state = world.state();
    let [sold] = state.subscribing.as_slice() else { panic!("{:?}", state.subscribing) };
    assert_eq!((&sold.subscriber, sold.plan), (&subscriber("someone@example.com"), PaidPlan::Chat));
}

/// A failure of Stripe, or of a count, changes neither the reply nor its code: the page has an offer of its own.
#[test]
fn an_offer_without_stripe_is_the_one_of_the_page() {
    for name in ["subscriptions.subscribe", "subscribers.load", "sign_ins.take"] {
        let (world, cookie) = used_up();
        world.plan(Plan::none().whenever(name, Fault::Fail));
        let fourth = ask(&world, 4, QUESTION, &cookie);
        assert_eq!((fourth.status(), &body(&fourth)["code"]), (402, &json!("subscribe")), "{name}");
        assert_eq!(body(&fourth)["url"], "https://oracle.example/chat#subscribe", "{name}");
        world.plan(Plan::none());
        assert_eq!(body(&ask(&world, 4, QUESTION, &cookie))["url"], "https://pay.example/cs_test_sub_0", "{name}");
    }
}

/// Messages and pages cost nothing, and Stripe's limit is everybody's: one subscriber causes few calls an hour.
#[test]
fn one_subscriber_causes_few_calls_to_stripe_within_an_hour() {
    let (world, cookie) = used_up();
    let calls = |name| world.state().boundaries.iter().filter(|found| **found == name).count();
    let of_page = "https://oracle.example/chat#subscribe";
    let urls: Vec<_> = (4..=33).map(|n| body(&ask(&world, n, QUESTION, &cookie))["url"].clone()).collect();
    assert_eq!(urls.iter().filter(|url| **url == of_page).count(), 20);
    assert_eq!(calls("subscriptions.subscribe"), 10);
    // The page's own button is not used up by the messages.
    let post = |path: &str| submit(&world, path, &json!({ "plan": "chat" }), &cookie);
    let statuses: Vec<_> = (0..30).map(|_| post("/api/chat/subscribe").status()).collect();
    assert_eq!((statuses.iter().filter(|status| **status == 200).count(), statuses[29]), (20, 429));
    assert_eq!(calls("subscriptions.subscribe"), 30);
    assert_eq!(post("/api/chat/portal").status(), 404, "who never subscribed costs no call and is not counted");
    grant(&world, "someone@example.com", PaidPlan::Chat);
    assert_eq!(post("/api/chat/portal").status(), 404, "an invoice alone names no customer");
    assert_eq!(calls("subscriptions.portal"), 0);
    world.advance(Duration::from_secs(3600));
    assert_eq!(post("/api/chat/subscribe").status(), 200);
}

/// A subscriber whose payment is overdue pays the invoice in the portal instead of a second subscription.
#[test]
fn an_overdue_subscriber_is_offered_the_portal() {
    let (world, cookie) = used_up();
    let who = subscriber("someone@example.com");
    let mut known = Subscriber::new(who.clone());
    let object = |text: &str| ObjectId::parse(text).unwrap();
    let (customer, plan, status) = (object("cus_1"), PaidPlan::Chat, SubscriptionStatus::PastDue);
    let state = SubscriptionState { customer, plan, status, ends_at: None, at: Timestamp::from_seconds(NOW) };
    known.billing_mut().record_report(&BillingReport::Subscription { id: object("sub_1"), state });
    world.state().subscribers.insert(who, (known, 1));
    let fourth = ask(&world, 4, QUESTION, &cookie);
    assert_eq!((fourth.status(), &body(&fourth)["url"]), (402, &json!("https://portal.example/cus_1")));
    assert!(world.state().subscribing.is_empty());
    let portal = || submit(&world, "/api/chat/portal", &json!({}), &cookie);
    assert_eq!(portal().status(), 200);
    world.state().deleted_customers.insert(object("cus_1"));
    let deleted = portal();
    assert_eq!((deleted.status(), &body(&deleted)["code"]), (404, &json!("not_subscribed")));
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
fn the_model_sees_what_was_said_before_and_nobody_elses() {
    let (world, cookie) = customer();
    let stranger = signed_in(&world, "other@example.com");
    ask(&world, 1, "We think of a second bakery in Halifax.", &cookie);
    ask(&world, 2, "Our team wants to move to Montreal.", &stranger);
    ask(&world, 3, "What should we look at first?", &cookie);
    let state = world.state();
    let (_, prompt) = state.prompts.last().unwrap();
    assert!(prompt.content.contains("Halifax") && prompt.content.contains("reply 1"), "{}", prompt.content);
    assert!(!prompt.content.contains("Montreal") && !prompt.instruction.contains("Halifax"));
}

/// A question about the last reply shares no word with it. The latest exchanges come first in a long conversation too, and
/// then those that share words with the message.
#[test]
fn the_model_sees_the_exchange_that_a_message_is_about() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    let details = "The first shop earns twice the rent, and my sister wants to run the second one. ".repeat(4);
    let details = details.trim_end();
    let place = |n: u64| if n == 7 { "Peggys Cove".to_owned() } else { format!("street {n:02}") };
    for n in 1..=60 {
        let text = format!("Should we open a shop at {}? {details}", place(n));
        assert_eq!(ask(&world, n, &text, &cookie).status(), 200, "{n}");
        world.advance(Duration::from_secs(120));
    }
    let shown = |n: u64, text: &str| -> Vec<String> {
        let reply = ask(&world, n, text, &cookie);
        assert_eq!(reply.status(), 200, "{text}: {}", reply.body());
        let content: serde_json::Value =
            serde_json::from_str(&world.state().prompts.last().unwrap().1.content).unwrap();
        let facts = content["memory"]["slices"]["facts_slice"].as_array().unwrap().clone();
        facts.iter().map(|fact| fact["payload"]["asked"].as_str().unwrap().replace(details, "")).collect()
    };
    let about = |n: u64| format!("Should we open a shop at {}? ", place(n));
    let asked = shown(61, "How so?");
    assert_eq!(asked[..3], [about(60), about(59), about(58)]);
    assert!(asked.len() < 40, "the budget cuts the rest: {}", asked.len());
    let asked = shown(62, "What about Peggys Cove?");
    assert_eq!(asked[..3], ["How so?".to_owned(), about(60), about(7)]);
}

/// Replaces the world's only memory by that of an earlier release: the same events, other prompts.
fn earlier_release(world: &testkit::World) -> memory::EventLog {
    let mut state = world.state();
    let name = state.memory_logs.keys().next().unwrap().clone();
    let seal = aws::SubjectSeal::new(&state.memory_keys[&name], &name).unwrap();
    let campaign = memory::Handle::parse(name.as_str()).unwrap();
    let records = state.memory_logs[&name].iter().map(|record| memory::log::Record {
        seq: record.seq,
        prev: memory::Digest::from_bytes(record.prev),
        hash: memory::Digest::from_bytes(record.hash),
        body: record.body.clone(),
    });
    let log = memory::EventLog::boot(campaign.clone(), records.collect(), &seal).unwrap();
    let mut earlier = memory::EventLog::new(campaign);
    for mut event in log.events(&seal) {
        if let memory::Payload::WorldCommitted(world) = &mut event.payload {
            let templates = world.pins.0.get_mut(&memory::PinKind::PromptTemplates).unwrap();
            templates.values_mut().for_each(|version| *version = memory::Handle::parse("sha256:earlier").unwrap());
        }
        earlier.append(event, &seal).unwrap();
    }
    let stored = earlier.records().iter().map(|record| domain::ports::MemoryRecord {
        seq: record.seq,
        prev: *record.prev.as_bytes(),
        hash: *record.hash.as_bytes(),
        body: record.body.clone(),
    });
    state.memory_logs.insert(name, stored.collect());
    earlier
}

/// The working set shows the pins of the running system, which the log records, so that a rebuild asserts them.
#[test]
fn a_memory_begins_with_its_pins_and_a_release_that_changes_them_is_recorded() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    ask(&world, 1, QUESTION, &cookie);
    let exported = |world: &testkit::World| {
        let export = get(world, "/api/chat/memory", &cookie);
        memory::export::import(export.body().as_bytes()).unwrap()
    };
    let ids = |log: &memory::EventLog| -> Vec<&'static str> {
        log.events(&memory::log::Unsealed).iter().map(|event| event.payload.id().as_str()).collect()
    };
    let log = exported(&world);
    assert_eq!(ids(&log), ["EV-ORC-002", "EV-030", "EV-ORC-004"]);
    let pins = log.state().pins().clone();
    let shown: Vec<serde_json::Value> = {
        let state = world.state();
        let content = |prompt: &domain::ports::Prompt| serde_json::from_str(&prompt.content).unwrap();
        state.prompts.iter().map(|(_, prompt)| content(prompt)).collect()
    };
    let version = format!("sha256:{}", prompt::chat_version());
    assert_eq!(shown[0]["memory"]["pins"]["prompt_templates"]["chat"], version);
    assert_eq!((&shown[0]["memory"]["mode"], &shown[0]["memory"]["world_id"]), (&json!("COMPANION"), &json!("chat")));

    // The log of an earlier release: the same events with another version of the prompts.
    let earlier = earlier_release(&world);
    assert_ne!(*earlier.state().pins(), pins);
    for n in 2..4 {
        assert_eq!(ask(&world, n, QUESTION, &cookie).status(), 200);
    }
    let log = exported(&world);
    let expected = ["EV-ORC-002", "EV-030", "EV-ORC-004", "EV-ORC-001", "EV-ORC-003", "EV-ORC-004", "EV-ORC-004"];
    assert_eq!((ids(&log), log.state().pins()), (expected.to_vec(), &pins));
}

#[test]
fn pro_has_two_views_with_the_same_guarantees() {
    let (world, cookie) = subscribed(PaidPlan::Pro);
    let reply = ask(&world, 1, QUESTION, &cookie);
    let told = body(&reply);
    let voices: Vec<_> = told["replies"].as_array().unwrap().iter().map(|said| said["voice"].clone()).collect();
    assert_eq!(voices, [json!("first view"), json!("second view")], "{told}");
    assert!(told.get("free_left").is_none());
    assert_eq!(world.state().prompts.len(), 2);
    world.state().answers.extend([Ok(said("The CSDM says so.")), Ok(said("The CSDM says so."))]);
    let reply = ask(&world, 2, QUESTION, &cookie);
    assert_eq!(body(&reply)["apology"], true, "one view that cannot be used holds both: {}", reply.body());
    for n in 3..10 {
        assert_eq!(ask(&world, n, QUESTION, &cookie).status(), 200, "{n}");
    }
}

/// A page shows the end of a long conversation; the whole of it is in the export.
#[test]
fn the_newest_exchanges_are_read_alone() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    for number in 1..=3 {
        assert_eq!(ask(&world, number, &format!("And what about shop number {number}?"), &cookie).status(), 200);
    }
    let newest = |query: &str| {
        let request = Request::get("/api/chat/memory").with_query("newest", query).with_header("cookie", &cookie);
        send(&world, request).unwrap()
    };
    let asked = |query: &str| -> (Vec<String>, bool) {
        let told = body(&newest(query));
        let events = told["events"].as_array().unwrap();
        let text = |event: &serde_json::Value| event["payload"]["payload"]["asked"].as_str().unwrap().to_owned();
        (events.iter().map(text).collect(), told["earlier"] == true)
    };
    let shop = |number: usize| format!("And what about shop number {number}?");
    assert_eq!(asked("2"), (vec![shop(2), shop(3)], true));
    assert_eq!(asked("3"), (vec![shop(1), shop(2), shop(3)], false));
    let whole = body(&get(&world, "/api/chat/memory", &cookie));
    assert_eq!(whole["events"].as_array().unwrap().last(), body(&newest("1"))["events"].as_array().unwrap().last());
    for wrong in ["0", "501", "-1", "x", ""] {
        assert_eq!(newest(wrong).status(), 400, "{wrong:?}");
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

/// Appends facts of a million bytes to the world's only memory.
fn lengthen(world: &testkit::World, facts: usize) {
    let name = world.state().memory_logs.keys().next().unwrap().clone();
    let seal = aws::SubjectSeal::new(&world.state().memory_keys[&name], &name).unwrap();
    let handle = |text: &str| memory::Handle::parse(text).unwrap();
    let mut log = run(memory::store::load(world, &name, &handle(&name), &seal)).unwrap().unwrap();
    for n in 0..facts {
        let payload = lens::canonical::value_of(&json!({ "asked": "a".repeat(1_000_000), "replies": [] })).unwrap();
        let (source, kind, key) = (handle("chat"), handle("EXCHANGE"), handle(&format!("long-{n}")));
        let fact = memory::event::FactCommitted::unlocked(source, kind, key, lens::Mode::Companion, payload);
        let event = memory::Event { at: 1, campaign_id: handle(&name), key: None, payload: fact.into() };
        run(memory::store::append(world, &name, &mut log, event, &seal)).unwrap().unwrap();
    }
}

/// Each exchange reads the whole memory, so operators learn of a large one while it can still be read in time.
#[test]
fn a_large_memory_is_counted_while_it_still_answers() {
    let (world, cookie) = customer();
    ask(&world, 1, QUESTION, &cookie);
    let counted = || {
        let request = Request::get("/api/chat/memory").with_query("newest", "1").with_header("cookie", &cookie);
        assert_eq!(send(&world, request).unwrap().status(), 200);
        world.state().measurements.iter().filter(|it| **it == Metric::ChatMemoryLarge.once()).count()
    };
    assert_eq!(counted(), 0);
    lengthen(&world, 8);
    assert_eq!(counted(), 1);
}

#[test]
fn the_memory_is_shown_and_erased_and_three_stay_three() {
    let (world, cookie) = customer();
    ask(&world, 1, QUESTION, &cookie);
    ask(&world, 2, "And what should we look at first?", &cookie);
    let export = get(&world, "/api/chat/memory", &cookie);
    assert_eq!(export.status(), 200);
    let log = memory::export::import(export.body().as_bytes()).unwrap();
    assert_eq!(log.state().facts().len(), 2);
    assert!(export.body().contains("Halifax"));

    assert_eq!(erasing(&world, &cookie), 202);
    assert!(world.state().memory_keys.is_empty(), "the key is destroyed");
    let after = get(&world, "/api/chat/memory", &cookie);
    assert!(!after.body().contains("Halifax"));
    assert_eq!(ask(&world, 1, QUESTION, &cookie).status(), 410, "erased, and not answered anew");
    assert_eq!(body(&get(&world, "/api/chat/me", &cookie))["free_left"], 1);
    assert_eq!(ask(&world, 3, "What should we look at now?", &cookie).status(), 200);
    let state = world.state();
    assert!(!state.prompts.last().unwrap().1.content.contains("Halifax"));
    drop(state);
    assert_eq!(ask(&world, 4, QUESTION, &cookie).status(), 402);
    assert_eq!(erasing(&world, &cookie), 202);
    let statuses: Vec<_> = records(&world).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses.iter().filter(|status| *status == "ERASED").count(), 4, "{statuses:?}");
}

fn erasing(world: &testkit::World, cookie: &str) -> u16 {
    erase(world, cookie).unwrap().status()
}

/// Records, and what is left of a key, stay for years. Anybody who is signed in can ask for erasures at no cost.
#[test]
fn an_erasure_of_nothing_writes_nothing() {
    let (world, cookie) = customer();
    assert_eq!(get(&world, "/api/chat/memory", &cookie).status(), 200, "it makes a key");
    for _ in 0..30 {
        assert_eq!(erasing(&world, &cookie), 202);
    }
    let state = world.state();
    assert!(state.accounts.is_empty() && state.bridges.is_empty() && state.log.is_empty());
    assert!(state.memory_logs.is_empty() && state.memory_keys_destroyed.is_empty());
    drop(state);
    // After an erasure there is nothing again.
    assert_eq!(ask(&world, 1, QUESTION, &cookie).status(), 200);
    for _ in 0..3 {
        assert_eq!(erasing(&world, &cookie), 202);
    }
    let erased = records(&world).into_iter().filter(|(status, _)| status == "ERASED").count();
    assert_eq!((erased, world.state().memory_logs.len()), (2, 1));
}

#[test]
fn a_memory_is_erased_at_most_twenty_times_a_day() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    for n in 1..=20 {
        assert_eq!((ask(&world, n, QUESTION, &cookie).status(), erasing(&world, &cookie)), (200, 202), "{n}");
    }
    assert_eq!(erasing(&world, &cookie), 202, "of nothing");
    assert_eq!((ask(&world, 21, QUESTION, &cookie).status(), erasing(&world, &cookie)), (200, 429));
    assert!(get(&world, "/api/chat/memory", &cookie).body().contains("Halifax"));
    world.advance(Duration::from_secs(86_400));
    assert_eq!(erasing(&world, &cookie), 202);
    assert!(!get(&world, "/api/chat/memory", &cookie).body().contains("Halifax"));
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

/// A subscription is paid at Stripe. Access changes by Stripe's events, never by this call.
#[test]
fn subscribing_answers_where_to_pay_and_gives_nothing_yet() {
    let (world, cookie) = customer();
    let post = |path: &str, cookie: &str, body: serde_json::Value| submit(&world, path, &body, cookie);
    assert_eq!(post("/api/chat/subscribe", "", json!({ "plan": "chat" })).status(), 401);
    assert_eq!(post("/api/chat/portal", "", json!({})).status(), 401);
    for plan in [json!("free"), json!("bridge"), json!(7), json!(null)] {
        assert_eq!(post("/api/chat/subscribe", &cookie, json!({ "plan": plan })).status(), 400);
    }
    for plan in PaidPlan::ALL {
        let reply = post("/api/chat/subscribe", &cookie, json!({ "plan": plan.key() }));
        assert_eq!((reply.status(), body(&reply)["url"].is_string()), (200, true));
    }
    assert_eq!(post("/api/chat/portal", &cookie, json!({})).status(), 404);
    assert_eq!(body(&get(&world, "/api/chat/me", &cookie))["plan"], "free");
}
