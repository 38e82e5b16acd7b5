//! The beginnings of replies, as the page that waits reads them. Every state that it can see is checked.
//! The file has more than 300 lines because each kind of reply is read at every moment of its making, and the stores
//! that show those moments are here too.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use async_trait::async_trait;
use chat::{Ports, Settings};
use domain::{
    Timestamp,
    chat::{ExchangeId, PaidPlan, SubscriberId},
    ports::{ReplyBeginnings, StorageError},
};
use serde_json::{Value, json};
use std::{sync::Mutex, time::Duration};
use support::*;
use testkit::{Fault, NoLimit, Plan, World, run};

const PATH: &str = "/api/chat/exchanges/00000000-0000-4000-8000-000000000001";
const GOOD: &str = "Count the rent first. Then ask three customers. Decide in May.";

fn begun(world: &World, cookie: &str) -> Value {
    let reply = get(world, PATH, cookie);
    assert_eq!(reply.status(), 202, "{}", reply.body());
    body(&reply)["replies"].clone()
}

fn one(text: &str) -> Value {
    json!([{ "voice": "AETHER", "text": text }])
}

/// A customer in a world whose model gives these replies, one sentence each quarter of a second.
fn writing(replies: &[&str]) -> (World, String) {
    let (world, cookie) = customer();
    world.state().sentence_time = Duration::from_millis(250);
    world.state().answers.extend(replies.iter().map(|text| Ok(said(text))));
    (world, cookie)
}

/// Sends the first message to a process that the plan ends.
fn crash(world: &World, plan: Plan, question: &str, cookie: &str) -> bool {
    world.plan(plan);
    let ports = Ports { pause: &NoLimit, ..ports(world) };
    let has_crashed = run(chat::handle(ports, &settings(), asking(1, question, cookie))).is_none();
    world.plan(Plan::none());
    has_crashed
}

/// A world whose process ended after it had stored the first sentence of its reply.
fn interrupted() -> (World, String) {
    let (world, cookie) = writing(&[GOOD]);
    assert!(crash(&world, Plan::none().whenever("beginnings.put", Fault::CrashAfter), QUESTION, &cookie));
    (world, cookie)
}

/// The store of a world that also notes each write.
struct Noting<'w> {
    world: &'w World,
    written: Mutex<Vec<(String, Timestamp)>>,
}

#[async_trait]
impl ReplyBeginnings for Noting<'_> {
    async fn put(
        &self,
        who: &SubscriberId,
        exchange: &ExchangeId,
        sealed: &str,
        until: Timestamp,
    ) -> Result<(), StorageError> {
        self.written.lock().unwrap().push((sealed.to_owned(), until));
        self.world.put(who, exchange, sealed, until).await
    }

    async fn find(&self, who: &SubscriberId, exchange: &ExchangeId) -> Result<Option<String>, StorageError> {
        ReplyBeginnings::find(self.world, who, exchange).await
    }
}

/// Everything that a page can read, in order, until the reply is stored.
fn visible_of(plan: Option<PaidPlan>, question: &str, replies: &[&str]) -> Vec<Value> {
    let begin = || {
        let (world, cookie) = writing(replies);
        if let Some(plan) = plan {
            grant(&world, "someone@example.com", plan);
        }
        world.plan(Plan::none());
        world.state().boundaries.clear();
        (world, cookie)
    };
    let (whole, cookie) = begin();
    assert_eq!(ask(&whole, 1, question, &cookie).status(), 200);
    let state = whole.state();
    // The first save is the claim, the second one stores the reply.
    let mut saves = state.boundaries.iter().enumerate().filter(|(_, name)| **name == "accounts.save");
    let stored_at = saves.nth(1).unwrap().0;

    let (world, cookie) = begin();
    let asked_at = Timestamp::from_millis(world.state().now);
    let noting = Noting { world: &world, written: Mutex::default() };
    world.plan(Plan::at(stored_at, Fault::CrashBefore));
    let ports = Ports { pause: &NoLimit, beginnings: &noting, ..ports(&world) };
    assert!(run(chat::handle(ports, &settings(), asking(1, question, &cookie))).is_none());
    world.plan(Plan::none());
    let written = noting.written.into_inner().unwrap();
    let read = |(sealed, until): (String, Timestamp)| {
        assert_eq!(until, asked_at.plus(settings().lease), "a beginning expires with the claim");
        world.state().beginnings.values_mut().for_each(|stored| stored.clone_from(&sealed));
        let answer = body(&get(&world, PATH, &cookie));
        let notice = authority::evaluate(question, None).notice().map_or(Value::Null, Value::from);
        assert!(answer["replies"].is_null() || answer["notice"] == notice, "{answer}");
        begun(&world, &cookie)
    };
    written.into_iter().map(read).collect()
}

fn visible(question: &str, replies: &[&str]) -> Vec<Value> {
    visible_of(None, question, replies)
}

#[test]
fn whole_sentences_are_readable_while_the_model_writes() {
    let expected = [one("Count the rent first."), one("Count the rent first. Then ask three customers.")];
    assert_eq!(visible(QUESTION, &[GOOD]), expected, "the last sentence comes with the reply itself");
}

/// The reply is asked for once more, and the page withdraws what it showed of the first one.
#[test]
fn a_rejected_reply_is_withdrawn_and_no_blocked_term_is_readable() {
    for rejected in [
        "Count the rent first. The CSDM says so. Ask now.",
        "Count the rent first. Then **ask** them. Decide now.",
        "Count the rent first. See https://example.com now. Ask.",
    ] {
        let seen = visible(QUESTION, &[rejected, GOOD]);
        let expected = [
            one("Count the rent first."),
            Value::Null,
            one("Count the rent first."),
            one("Count the rent first. Then ask three customers."),
        ];
        assert_eq!(seen, expected, "{rejected}");
    }
}

/// The filter reads all sentences so far, not each alone: more than three replaced terms are too many.
#[test]
fn terms_are_counted_over_all_sentences() {
    let seen = visible(QUESTION, &["TMM says so. TMM means it. TMM is sure. TMM insists. Ask now.", GOOD]);
    assert!(seen.iter().all(|replies| !replies.to_string().contains("TMM")), "{seen:?}");
    let sentences = |replies: &Value| replies[0]["text"].as_str().map_or(0, |text| text.matches('.').count());
    assert_eq!(seen.iter().map(sentences).collect::<Vec<_>>(), [1, 2, 3, 0, 1, 2], "{seen:?}");
}

#[test]
fn a_phrase_that_a_governed_domain_forbids_is_not_readable() {
    let question = "What does force majeure mean?";
    let evaluation = authority::evaluate(question, None);
    let phrase = evaluation.forbidden_phrases()[0];
    assert!(evaluation.notice().is_some(), "each beginning has it");
    let text = format!("Ask a lawyer about it first. I say that {phrase} here. That is the next step. Do it soon.");
    let seen = visible(question, &[&text, &text]);
    assert_eq!(
        seen,
        [one("Ask a lawyer about it first."), Value::Null, one("Ask a lawyer about it first."), Value::Null]
    );
}

#[test]
fn both_views_are_readable_side_by_side() {
    let views = ["One begins. It goes on here. It ends.", "Two begins. It goes on here. It ends."];
    let seen = visible_of(Some(PaidPlan::Pro), QUESTION, &views);
    let said = |voice, text| json!({ "voice": voice, "text": text });
    let first = |text| said("first view", text);
    let second = |text| said("second view", text);
    let expected = [
        json!([first("One begins.")]),
        json!([first("One begins. It goes on here.")]),
        json!([first(views[0])]),
        json!([first(views[0]), second("Two begins.")]),
        json!([first(views[0]), second("Two begins. It goes on here.")]),
    ];
    assert_eq!(seen, expected);
    let rejected = ["One begins. It goes on here. It ends.", "Two begins. The CSDM says so. It ends.", "No.", "No."];
    let seen = visible_of(Some(PaidPlan::Pro), QUESTION, &rejected);
    assert!(seen.contains(&json!([first(views[0]), second("Two begins.")])), "{seen:?}");
    assert_eq!(seen.last(), Some(&json!([first(views[0])])), "only the rejected view is withdrawn");
}

#[test]
fn only_the_claims_own_beginning_is_readable() {
    let (world, cookie) = interrupted();
    assert_eq!(begun(&world, &cookie), one("Count the rent first."));
    let stranger = signed_in(&world, "other@example.com");
    assert_eq!(get(&world, PATH, &stranger).status(), 404);
    assert!(!stored(&world).contains("Count the rent"), "sealed");

    // Another invocation takes over the exchange and has written nothing yet.
    world.advance(Duration::from_secs(36));
    assert!(crash(&world, Plan::none().whenever("model.ask", Fault::CrashBefore), QUESTION, &cookie));
    assert_eq!(begun(&world, &cookie), Value::Null);
    world.advance(Duration::from_secs(36));
    assert_eq!(body(&get(&world, PATH, &cookie))["apology"], true);
}

/// The evaluations that have a record of their own: the gate's state, and why no other record has them.
fn evaluated(world: &World) -> Vec<(String, String)> {
    let records = world.state().records().into_iter().filter(|line| line["event"] == "authority_evaluated");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    records.map(|line| (text(&line["details"]["authority"]["state"]), text(&line["details"]["problem"]))).collect()
}

/// Every evaluation has a record, also if the process ends while the model is asked (Authority Governance, RFC-0008).
#[test]
fn an_evaluation_whose_exchange_ends_without_a_record_has_one_of_its_own() {
    let recorded = |why: &str| [("AUTHORIZED".to_owned(), why.to_owned())];
    let ended = || {
        let (world, cookie) = customer();
        assert!(crash(&world, Plan::none().whenever("model.ask", Fault::CrashBefore), QUESTION, &cookie));
        assert_eq!((get(&world, PATH, &cookie).status(), evaluated(&world)), (202, Vec::new()), "it may still run");
        (world, cookie)
    };
    let (world, cookie) = ended();
    world.advance(Duration::from_secs(36));
    for _ in 0..2 {
        assert_eq!(body(&get(&world, PATH, &cookie))["apology"], true);
        assert_eq!(evaluated(&world), recorded("its process ended"));
    }
    let (world, cookie) = ended();
    world.advance(Duration::from_secs(36));
    for _ in 0..2 {
        assert_eq!(ask(&world, 1, QUESTION, &cookie).status(), 200);
        assert_eq!(evaluated(&world), recorded("its process ended"));
    }
    let (world, cookie) = ended();
    assert_eq!(erase(&world, &cookie).unwrap().status(), 202);
    assert_eq!(evaluated(&world), recorded("its memory was erased"));
    let (world, cookie) = customer();
    world.plan(Plan::none().whenever("memory.make_key", Fault::Fail));
    assert_eq!(ask(&world, 1, QUESTION, &cookie).status(), 503);
    assert_eq!(evaluated(&world), recorded("a store failed"));
}

#[test]
fn an_erased_beginning_never_comes_back() {
    let (world, cookie) = interrupted();
    let begun = world.state().beginnings.clone();
    assert_eq!(erase(&world, &cookie).unwrap().status(), 202);
    assert_eq!(get(&world, PATH, &cookie).status(), 410);
    // The id is used again after the account has forgotten it, and a late write of the first process arrives.
    grant(&world, "someone@example.com", PaidPlan::Chat);
    for n in 2..15 {
        assert_eq!(ask(&world, n, QUESTION, &cookie).status(), 200);
        world.advance(Duration::from_secs(60));
    }
    assert!(crash(&world, Plan::none().whenever("model.ask", Fault::CrashBefore), QUESTION, &cookie));
    world.state().beginnings = begun;
    assert_eq!(self::begun(&world, &cookie), Value::Null);
}

/// A store of beginnings that fails, or never answers, costs the page its beginnings and nothing else.
#[test]
fn the_reply_does_not_depend_on_its_beginnings() {
    let (plain, cookie) = writing(&[GOOD]);
    let expected = ask(&plain, 1, QUESTION, &cookie).body().to_owned();
    for fault in [Fault::Fail, Fault::LoseReply] {
        let (world, cookie) = writing(&[GOOD]);
        world.plan(Plan::none().whenever("beginnings.put", fault));
        assert_eq!(ask(&world, 1, QUESTION, &cookie).body(), expected, "{fault:?}");
        let puts = world.state().boundaries.iter().filter(|name| **name == "beginnings.put").count();
        assert_eq!(puts, 1, "a store that fails is not tried for every sentence");
    }
    let (world, cookie) = writing(&[GOOD]);
    let ports = Ports { beginnings: &Silent, ..ports(&world) };
    let settings = Settings { write_time: Duration::from_millis(700), ..settings() };
    let reply = run(chat::handle(ports, &settings, asking(1, QUESTION, &cookie))).unwrap();
    assert_eq!(reply.body(), expected);
    let waits = world.state().paused.iter().filter(|wait| **wait == settings.write_time).count();
    assert_eq!(waits, 1, "the model's stream waits no longer for a write");
}

/// A store that never answers.
struct Silent;

#[async_trait]
impl ReplyBeginnings for Silent {
    async fn put(&self, _: &SubscriberId, _: &ExchangeId, _: &str, _: Timestamp) -> Result<(), StorageError> {
        std::future::pending().await
    }

    async fn find(&self, _: &SubscriberId, _: &ExchangeId) -> Result<Option<String>, StorageError> {
        Ok(None)
    }
}

/// A page that cannot read a beginning still learns that the reply is in progress.
#[test]
fn a_beginning_that_cannot_be_read_is_left_out() {
    for name in ["beginnings.find", "memory.find_key"] {
        let (world, cookie) = interrupted();
        world.plan(Plan::none().whenever(name, Fault::Fail));
        assert_eq!(begun(&world, &cookie), Value::Null, "{name}");
        world.plan(Plan::none());
        assert_eq!(begun(&world, &cookie), one("Count the rent first."));
    }
}
