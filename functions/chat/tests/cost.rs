//! Counts the calls of an exchange to AWS and to the model exactly, so that an additional call fails a test.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::{Timestamp, chat::PaidPlan};
use runtime::http::Request;
use std::{collections::BTreeMap, time::Duration};
use support::*;
use testkit::{Fault, NoLimit, Plan, World, run};

/// The calls of an exchange since the plan was set, by name.
fn calls(world: &World, request: Request) -> BTreeMap<&'static str, usize> {
    calls_until(world, request, 200)
}

fn calls_until(world: &World, request: Request, status: u16) -> BTreeMap<&'static str, usize> {
    world.plan(Plan::none());
    world.state().boundaries.clear();
    let reply = send(world, request).unwrap();
    assert_eq!(reply.status(), status, "{}", reply.body());
    let mut calls = BTreeMap::new();
    for name in &world.state().boundaries {
        *calls.entry(*name).or_default() += 1;
    }
    calls
}

#[test]
fn a_free_exchange_makes_these_calls() {
    let (world, cookie) = customer();
    let first = calls(&world, asking(1, QUESTION, &cookie));
    let expected = BTreeMap::from([
        ("sign_ins.session", 1),
        ("accounts.load", 1),
        ("subscribers.access", 1),
        // Read beside the paid access: a granted Bridge gives access, too.
        ("bridges.load", 1),
        ("sign_ins.take", 1),
        ("memory.make_key", 1),
        ("memory.head", 1),
        ("memory.read", 1),
        ("breaker.load", 2),
        ("model.ask", 1),
        // The claim; the reply with its count and its record; that the memory has it.
        ("accounts.save", 3),
        ("log.publish", 1),
        // The world with its pins, the memory's mode and the exchange, in one write.
        ("memory.append", 1),
    ]);
    assert_eq!(first, expected);
    let second = calls(&world, asking(2, "And what should we look at first?", &cookie));
    // The head tells that the page has the last record.
    assert_eq!(second, expected);
}

/// Neither read waits for the other.
#[test]
fn the_access_is_read_beside_the_account() {
    let (world, cookie) = customer();
    world.plan(Plan::none().whenever("accounts.load", Fault::Fail));
    world.state().boundaries.clear();
    assert_eq!(ask(&world, 1, QUESTION, &cookie).status(), 503);
    assert!(world.state().boundaries.contains(&"subscribers.access"));
}

/// Neither read waits for the other.
#[test]
fn the_records_of_a_memory_are_read_beside_its_key() {
    for ((world, cookie), key) in [(customer(), "memory.make_key"), (used_up(), "memory.find_key")] {
        world.plan(Plan::none().whenever(key, Fault::Fail));
        world.state().boundaries.clear();
        assert_eq!(ask(&world, 4, QUESTION, &cookie).status(), 503, "{key}");
        assert!(world.state().boundaries.contains(&"memory.read"), "{key}");
    }
}

#[test]
fn the_same_id_again_asks_no_model_and_writes_nothing() {
    let (world, cookie) = customer();
    ask(&world, 1, QUESTION, &cookie);
    // The account has the reply: however long the memory is, no record of it is read.
    let mut expected = BTreeMap::from([
        ("sign_ins.session", 1),
        ("accounts.load", 1),
        ("subscribers.access", 1),
        ("bridges.load", 1),
        ("memory.find_key", 1),
    ]);
    assert_eq!(calls(&world, asking(1, QUESTION, &cookie)), expected);
    let look = |n| Request::get(&format!("/api/chat/exchanges/{}", id(n))).with_header("cookie", &cookie);
    assert_eq!(calls(&world, look(1)), expected);
    // While the memory lacks a reply, a look appends it.
    world.plan(Plan::none().whenever("memory.append", Fault::Fail));
    assert_eq!(ask(&world, 2, QUESTION, &cookie).status(), 200);
    assert_eq!(calls(&world, look(1))["memory.append"], 1);
    expected.remove("memory.find_key");
    expected.extend([("sign_ins.take", 1), ("memory.make_key", 1), ("memory.head", 1), ("memory.read", 2)]);
    assert_eq!(calls_until(&world, look(9), 404), expected, "one that the account does not list");
}

/// A read of a whole memory costs what the memory holds, and the limits of exchanges do not bound these calls.
#[test]
fn the_reads_of_a_whole_memory_within_an_hour_are_limited() {
    let world = world();
    let cookie = signed_in(&world, "someone@example.com");
    (1..=3).for_each(|n| drop(ask(&world, n, QUESTION, &cookie)));
    let look = |n| Request::get(&format!("/api/chat/exchanges/{}", id(n))).with_header("cookie", &cookie);
    let export = || Request::get("/api/chat/memory").with_header("cookie", &cookie);
    let newest = || export().with_query("newest", "1");
    let none = |calls: &BTreeMap<&str, usize>| calls.keys().all(|name| !name.starts_with("memory."));
    for n in 1001..=1298 {
        assert_eq!(send(&world, look(n)).unwrap().status(), 404, "{n}");
    }
    assert_eq!([export(), newest()].map(|request| send(&world, request).unwrap().status()), [200, 200]);
    for request in [look(1299), export(), newest()] {
        assert!(none(&calls_until(&world, request, 429)));
    }
    assert_eq!(calls(&world, look(1))["memory.find_key"], 1, "a listed exchange is not counted");
    // A repeated message has a limit of its own, in place of the offer too.
    let lookups = format!("lookup/{}/{}", subscriber("someone@example.com").as_str(), NOW / 3600);
    assert_eq!(ask(&world, 2001, QUESTION, &cookie).status(), 402);
    assert_eq!(world.state().allowances.insert(lookups, 599), Some(1));
    assert_eq!(ask(&world, 2002, QUESTION, &cookie).status(), 402);
    assert!(none(&calls_until(&world, asking(2003, QUESTION, &cookie), 429)));
    world.advance(Duration::from_secs(3600));
    assert_eq!([look(1299), export()].map(|request| send(&world, request).unwrap().status()), [404, 200]);
    assert_eq!(ask(&world, 2003, QUESTION, &cookie).status(), 402);
}

/// The record of an apology is published, and the account leaves the list of those with unpublished records.
#[test]
fn an_apology_makes_these_calls_and_leaves_no_work() {
    let (world, cookie) = customer();
    world.state().model = Some(Box::new(|_, _| Ok(said(""))));
    let apologised = calls(&world, asking(1, QUESTION, &cookie));
    // The claim, the apology with its record, and that the record is published.
    assert_eq!((apologised["accounts.save"], apologised["log.publish"]), (3, 1));
    let unpublished =
        run(domain::ports::ChatAccounts::unpublished(&world, Timestamp::from_seconds(NOW + 60))).unwrap().unwrap();
    assert!(unpublished.is_empty(), "{unpublished:?}");
}

/// The fourth message is looked for in the memory, in case it was answered before. It counts this look and the offer,
/// and asks Stripe for the payment page, once. It asks and writes nothing else.
#[test]
fn an_offer_makes_these_calls() {
    let (world, cookie) = used_up();
    let expected = BTreeMap::from([
        ("sign_ins.session", 1),
        ("accounts.load", 1),
        ("subscribers.access", 1),
        ("bridges.load", 1),
        ("memory.find_key", 1),
        ("memory.head", 1),
        ("memory.read", 2),
        ("sign_ins.take", 2),
        ("subscribers.load", 1),
        ("subscriptions.subscribe", 1),
    ]);
    assert_eq!(calls_until(&world, asking(4, QUESTION, &cookie), 402), expected);
}

#[test]
fn two_views_ask_the_model_twice_and_nothing_else_twice() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    ask(&world, 1, QUESTION, &cookie);
    let chat = calls(&world, asking(2, QUESTION, &cookie));
    let cookie = signed_in(&world, "other@example.com");
    grant(&world, "other@example.com", PaidPlan::Pro);
    ask(&world, 3, QUESTION, &cookie);
    let pro = calls(&world, asking(4, QUESTION, &cookie));
    let mut expected = chat;
    expected.insert("model.ask", 2);
    expected.insert("breaker.load", 4);
    // The first view is complete while the second is still written.
    expected.insert("beginnings.put", 1);
    assert_eq!(pro, expected);
    assert!(!pro.contains_key("sign_ins.take"), "who pays is not counted by network");
}

/// A beginning is written once per sentence, at most every 200 ms, and not for the last sentence.
#[test]
fn a_reply_that_is_written_slowly_adds_a_write_per_sentence() {
    let written = |sentence_time| {
        let (world, cookie) = customer();
        let sentences = "Count the rent first. ".repeat(9);
        world.state().answers.extend([&sentences[..21], &sentences].map(|text| Ok(said(text.trim()))));
        world.state().sentence_time = Duration::from_millis(sentence_time);
        let one = calls(&world, asking(1, QUESTION, &cookie));
        let mut nine = calls(&world, asking(2, "And what should we look at first?", &cookie));
        assert_eq!(one.get("beginnings.put"), None, "one sentence comes with the reply");
        let puts = nine.remove("beginnings.put").unwrap();
        assert_eq!(nine, one);
        puts
    };
    assert_eq!([1000, 200, 150, 50, 0].map(written), [8, 8, 4, 2, 1]);
}

/// The page reads a beginning several times a second.
#[test]
fn reading_a_beginning_makes_these_calls() {
    let (world, cookie) = customer();
    world.state().answers.push_back(Ok(said("Count the rent first. Then ask.")));
    let ports = chat::Ports { pause: &NoLimit, ..ports(&world) };
    world.plan(Plan::none().whenever("beginnings.put", Fault::CrashAfter));
    assert!(run(chat::handle(ports, &settings(), asking(1, QUESTION, &cookie))).is_none());
    world.plan(Plan::none());
    world.state().boundaries.clear();
    let path = format!("/api/chat/exchanges/{}", id(1));
    assert_eq!(body(&get(&world, &path, &cookie))["replies"][0]["text"], "Count the rent first.");
    let expected = ["sign_ins.session", "accounts.load", "beginnings.find", "memory.find_key"];
    assert_eq!(world.state().boundaries, expected);
    // Neither of the last two waits for the other.
    world.plan(Plan::none().whenever("beginnings.find", Fault::Fail));
    world.state().boundaries.clear();
    get(&world, &path, &cookie);
    assert_eq!(world.state().boundaries, expected);
}

/// The list of a customer's sessions is read here, and in no other call.
#[test]
fn signing_out_everywhere_makes_these_calls() {
    let (world, cookie) = customer();
    let everywhere = r#"{"everywhere":true}"#;
    let request = Request::delete("/api/chat/session").with_header("cookie", &cookie).with_body(everywhere);
    let expected = BTreeMap::from([("sign_ins.session", 1), ("sign_ins.end_sessions", 1), ("sign_ins.end_session", 1)]);
    assert_eq!(calls(&world, request), expected);
}

/// The account holds a bounded number of exchanges; the records of the memory are the only thing that grows.
#[test]
fn a_long_conversation_makes_no_more_calls_but_the_pages_of_its_memory() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    let mut seen = Vec::new();
    for n in 1..=40 {
        let mut calls = calls(&world, asking(n, QUESTION, &cookie));
        calls.remove("memory.read");
        seen.push((calls, serde_json::to_string(&world.state().accounts.values().next().unwrap().0).unwrap().len()));
        world.advance(Duration::from_secs(120));
    }
    assert_eq!(seen[1].0, seen[39].0);
    assert!(seen[39].1 < seen[13].1 + 500, "the account does not grow: {} then {}", seen[13].1, seen[39].1);
}
