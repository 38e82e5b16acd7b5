//! The follow-up of a Strategy Session, from the page and by mail.

mod faults;
mod humans;

use crate::{
    samples::{ADDRESS, QUESTION, body, quick, strategy},
    simulator::Simulator,
};
use domain::{
    Sale, SessionId, Tier,
    inbox::{Arrival, Incoming, ReceivedAt},
    mail::Mail,
    money::{Money, PaymentChange, RefundStatus},
    open_work::Work,
    ports::ModelError,
    sale::{ERASURE_SETTLES_AFTER, Fulfilment},
};
use lens::{Digest, Domain, canonical};
use runtime::http::{Reply, Request};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::inbox::Unread;

const FOLLOWUP: &str = "And if the rent is a third higher?";

/// A world with a delivered Strategy Session, in which inbox-watch has run once.
fn delivered() -> Simulator {
    let mut sim = Simulator::new("strategy");
    let second = strategy().replace("Demand is real and the format fits the audience.", "The rent decides it.");
    sim.world.state().model = Some(Box::new(move |_, prompt| {
        let content: Value = serde_json::from_str(&prompt.content).unwrap();
        Ok(testkit::reply(if content.get("memory").is_some() { second.as_str() } else { FIRST.get_or_init(strategy) }))
    }));
    sim.stripe_delivers();
    sim.drain();
    sim.watch_inbox("first");
    sim.world.state().alerts.clear();
    sim
}

static FIRST: std::sync::OnceLock<String> = std::sync::OnceLock::new();

fn posts(sim: &Simulator, text: &str) -> Option<Reply> {
    sim.followup(json!({ "session_id": sim.session.as_str(), "query": text }))
}

fn replies(sim: &Simulator, id: &str, sender: &str, text: &str) {
    let mut state = sim.world.state();
    let conversation = format!("conversation of {}", sim.session.as_str());
    state.conversations.insert(conversation.clone(), sim.session.clone());
    let second = state.inbox.len() % 60;
    let received_at = ReceivedAt::parse(format!("2027-01-15T08:30:{second:02}Z")).ok();
    let arrival = Arrival { received_at, id: id.to_owned() };
    let (sender, subject) = (sender.to_owned(), "Re: Your 42 Sisters AI Verdict".to_owned());
    let vouched = ("Authentication-Results".to_owned(), "dmarc=pass header.from=example.com".to_owned());
    let message = Incoming { sender, subject, conversation: Some(conversation), headers: vec![vouched] };
    state.inbox.push(Unread { arrival, message, text: text.to_owned() });
}

fn child(sim: &Simulator) -> Sale {
    sim.world.state().sales[&sim.session.followup()].0.clone()
}

/// The verdict mails, without acknowledgements: the sale, the recipient and the text of each.
fn mails(sim: &Simulator) -> Vec<(SessionId, String, String)> {
    let state = sim.world.state();
    let verdicts = state.sent.iter().filter(|(_, letter)| letter.body.starts_with("ORACLE VERDICT"));
    verdicts.map(|(_, letter)| (letter.session.clone(), letter.to.clone(), letter.body.clone())).collect()
}

fn shown(sim: &Simulator) -> Value {
    let reply = sim.page().unwrap();
    assert_eq!(reply.status(), 200);
    body(&reply)
}

/// The gateway sends a GET of any path to the function with the pages.
#[test]
fn only_a_post_orders_it() {
    let sim = delivered();
    let mut event: Value = serde_json::from_str(include_str!("../../events/result.json")).unwrap();
    event["path"] = "/api/followup".into();
    event["body"] = json!({ "session_id": sim.session.as_str(), "query": FOLLOWUP }).to_string().into();
    let reply = testkit::run(sim.deployment().result(Request::from_event(&event.to_string()).unwrap())).unwrap();
    assert_eq!((reply.status(), &body(&reply)["code"]), (404, &"not_found".into()));
    assert_eq!(shown(&sim)["followup_status"], "available");
}

#[test]
fn from_the_page_it_is_made_mailed_shown_archived_and_recorded_as_any_sale() {
    let mut sim = delivered();
    assert_eq!(shown(&sim)["followup_status"], "available");
    let reply = posts(&sim, FOLLOWUP).unwrap();
    assert_eq!((reply.status(), body(&reply)), (202, json!({ "status": "pending" })));
    assert_eq!(shown(&sim)["followup_status"], "pending");
    sim.drain();
    let page = shown(&sim);
    assert_eq!((&page["followup_status"], &page["query"]), (&json!("delivered"), &json!(QUESTION)));
    let followup = &page["followup"];
    assert_eq!(
        (&followup["query"], &followup["verdict"]["summary"]),
        (&json!(FOLLOWUP), &json!("The rent decides it."))
    );
    assert!(followup["cached_at"].is_string() && followup.get("first").is_none() && page.get("first").is_none());

    let (_, prompt) = sim.world.state().prompts.last().cloned().unwrap();
    let content: Value = serde_json::from_str(&prompt.content).unwrap();
    assert_eq!((&content["submission"], content.as_object().unwrap().len()), (&json!(FOLLOWUP), 2));
    let facts = content["memory"]["slices"]["facts_slice"].as_array().unwrap();
    let payload = |kind: &str| &facts.iter().find(|fact| fact["kind"] == kind).unwrap()["payload"];
    assert_eq!(payload("QUESTION"), QUESTION);
    assert_eq!(payload("VERDICT")["verdict"], serde_json::from_str::<Value>(&strategy()).unwrap());
    assert_eq!(payload("VERDICT")["date"], page["cached_at"]);

    let mails = mails(&sim);
    let (of, to, text) = mails.last().unwrap();
    assert_eq!((mails.len(), of, to.as_str()), (2, &sim.session.followup(), ADDRESS));
    for part in ["FOLLOW-UP", FOLLOWUP, "The rent decides it.", QUESTION, "Demand is real", "YOUR FIRST SUBMISSION, 20"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains(&format!("session_id={}\n", sim.session.as_str())), "{text}");

    let sale = child(&sim);
    assert_eq!((sale.tier(), sale.open_work()), (Some(Tier::Strategy), None));
    assert!(matches!(sale.mail(), Mail::Sent { .. }));
    let archived = sim.world.state().archive[&sim.session.followup()].clone();
    assert_eq!(archived.first.unwrap().query, QUESTION);
    let log = sim.world.state().records();
    let of_child = |line: &&Value| line["session_id"] == sim.session.followup().as_str();
    let events: Vec<_> = log.iter().filter(of_child).map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["tmm_crosscheck", "content_filter", "pipeline", "content_filter", "pipeline", "pipeline"]);
    assert!(log.iter().all(|line| !line.to_string().contains("rent") && !line.to_string().contains('@')));
    let made = log.iter().find(|line| line["details"]["ordered_by"] == "followup_page").unwrap();
    let memory = canonical::parse(content["memory"].to_string().as_bytes()).unwrap().to_bytes();
    assert_eq!(made["details"]["working_set_hash"], json!(Digest::of(Domain::WorkingSet, &memory)));
    assert_eq!(log.iter().filter(|line| line["details"].get("working_set_hash").is_some()).count(), 1);
}

/// A page that waits asks every few seconds. It gets no verdict, so no poll counts as a retrieval.
#[test]
fn a_page_that_waits_for_it_records_no_retrieval() {
    let mut sim = delivered();
    let polled = |sim: &Simulator, session: &str| {
        let mut event: Value = serde_json::from_str(include_str!("../../events/result.json")).unwrap();
        event["multiValueQueryStringParameters"] = json!({ "session_id": [session], "only": ["followup"] });
        let request = Request::from_event(&event.to_string()).unwrap();
        let reply = testkit::run(sim.deployment().result(request)).unwrap();
        (reply.status(), body(&reply))
    };
    let retrieved =
        |sim: &Simulator| sim.world.state().records().iter().filter(|record| record["source"] == "cache_hit").count();
    let session = sim.session.as_str().to_owned();
    assert_eq!(polled(&sim, &session), (200, json!({ "followup_status": "available" })));
    assert_eq!(posts(&sim, FOLLOWUP).unwrap().status(), 202);
    let records = sim.world.state().log.len();
    let before = retrieved(&sim);
    for _ in 0..5 {
        assert_eq!(polled(&sim, &session), (200, json!({ "followup_status": "pending" })));
    }
    assert_eq!(sim.world.state().log.len(), records);
    sim.drain();
    assert_eq!(polled(&sim, &session), (200, json!({ "followup_status": "delivered" })), "without its verdict");
    assert_eq!(retrieved(&sim), before);
    assert_eq!(shown(&sim)["followup_status"], "delivered");
    assert_eq!(retrieved(&sim), before + 2, "the page shows two verdicts");
    // While the table fails, the archive's verdict is not what was asked for.
    sim.world.plan(testkit::Plan::none().whenever("store.load_with_verdict", testkit::Fault::Fail));
    assert_eq!(polled(&sim, &session).0, 503);
}

/// The first verdict is read anew for every order, from the cache or the archive.
#[test]
fn every_attempt_shows_the_model_the_same_bytes() {
    let shown = |cached: bool, timeouts: usize| {
        let mut sim = delivered();
        sim.world.state().answers.extend((0..timeouts).map(|_| Err(ModelError::Timeout)));
        if !cached {
            sim.world.state().cache.clear();
        }
        assert_eq!(posts(&sim, FOLLOWUP).unwrap().status(), 202);
        sim.drain();
        let state = sim.world.state();
        let contents: Vec<String> = state.prompts.iter().skip(1).map(|(_, prompt)| prompt.content.clone()).collect();
        assert_eq!(contents.len(), timeouts + 1);
        assert!(contents.iter().all(|content| *content == contents[0]));
        contents[0].clone()
    };
    let first = shown(true, 0);
    assert_eq!([shown(true, 2), shown(false, 0), shown(false, 1)], [first.clone(), first.clone(), first]);
}

#[test]
fn by_reply_it_is_the_same_and_no_second_one_is_made_either_way() {
    let mut sim = delivered();
    replies(&sim, "m1", ADDRESS, FOLLOWUP);
    sim.watch_inbox("a");
    // The question arrives both ways at once, and every message is delivered twice.
    assert_eq!(posts(&sim, FOLLOWUP).unwrap().status(), 202, "the same words");
    let used = posts(&sim, "And in Halifax?").unwrap();
    assert_eq!((used.status(), &body(&used)["code"]), (409, &json!("followup_used")));
    replies(&sim, "m2", ADDRESS, "And in Toronto?");
    sim.watch_inbox("b");
    sim.drain();
    assert_eq!(shown(&sim)["followup"]["query"], FOLLOWUP);
    assert_eq!(mails(&sim).len(), 2);
    assert_eq!(sim.world.state().prompts.len(), 2, "one call for each");
    let answers: Vec<String> = sim.world.state().sent.iter().map(|(_, letter)| letter.body.clone()).collect();
    assert!(answers.iter().any(|answer| answer == domain::texts::FOLLOWUP_USED), "{answers:?}");
    assert_eq!(sim.sale().waiting_replies().count(), 1, "the second one is read by a person");
}

#[test]
fn what_is_no_followup_of_a_delivered_strategy_session_is_refused() {
    let sim = delivered();
    let of = |body: Value| sim.followup(body).unwrap();
    let session = sim.session.as_str();
    for (asked, status) in [
        (json!({ "session_id": "cs_test_nobody", "query": FOLLOWUP }), 404),
        (json!({ "session_id": sim.session.followup().as_str(), "query": FOLLOWUP }), 404),
        (json!({ "session_id": "../x", "query": FOLLOWUP }), 404),
        (json!({ "query": FOLLOWUP }), 404),
        (json!({ "session_id": session, "query": " " }), 400),
        (json!({ "session_id": session, "query": "x".repeat(20_001) }), 400),
        (json!({ "session_id": session }), 400),
        (json!([session]), 400),
        (json!({ "session_id": session, "query": "x".repeat(300_000) }), 413),
        (json!({ "session_id": session, "query": "Can I give my son two of my warfarin tablets?" }), 422),
        (json!({ "session_id": session, "query": "?" }), 422),
    ] {
        assert_eq!(of(asked.clone()).status(), status, "{}", &asked.to_string()[..60.min(asked.to_string().len())]);
    }
    let refused = body(&of(json!({ "session_id": session, "query": "Can I give my son two of my warfarin tablets?" })));
    assert_eq!((&refused["code"], refused["resources"].as_array().unwrap().is_empty()), (&json!("blocked"), false));
    assert_eq!(sim.world.state().sales.len(), 1, "nothing is used");
    assert_eq!(shown(&sim)["followup_status"], "available");
    assert_eq!(
        sim.deployment_page(sim.session.followup().as_str()).unwrap().status(),
        404,
        "it has no page of its own"
    );

    let mut quick_sale = Simulator::ordered("quick", &quick("GREEN", "Demand is real and the format fits."));
    assert_eq!(posts(&quick_sale, FOLLOWUP).map(|reply| reply.status()), Some(404), "nobody has seen it yet");
    quick_sale.drain();
    let refused = posts(&quick_sale, FOLLOWUP).unwrap();
    assert_eq!((refused.status(), &body(&refused)["code"]), (409, &json!("followup_not_offered")));
    assert!(shown(&quick_sale).get("followup_status").is_none());
}
