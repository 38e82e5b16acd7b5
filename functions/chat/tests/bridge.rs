//! The Bridge over HTTP: agreement, acceptance, thread, erasure, and every fault at every effect.
//! The file has more than 300 lines because each step has a short test of its own, and the faults are tried on the
//! same steps.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::{
    Metric, Timestamp,
    alert::Channel,
    chat::{CURRENT_AGREEMENT, Message, PaidPlan},
    operator::Operator,
};
use runtime::http::{Reply, Request};
use serde_json::{Value, json};
use std::time::Duration;
use support::*;
use testkit::{Fault, Passage, Plan, World, every_single_fault, run, world::Surroundings};

const ADDRESS: &str = "someone@example.com";
const TEXT: &str = "May we speak about the harbour lease?";
const DAY: u64 = 86_400;

fn bridge_ports(world: &World) -> bridge::Ports<'_> {
    bridge::Ports { journal: ports(world).bridges, accounts: world, keys: world }
}

fn dana() -> Operator {
    Operator::parse("dana", Some("they asked for it")).unwrap()
}

fn grant_bridge(world: &World) {
    let expires = Timestamp::from_seconds(NOW + 30 * i64::try_from(DAY).unwrap());
    run(bridge::grant(bridge_ports(world), &subscriber(ADDRESS), &dana(), expires)).unwrap().unwrap();
}

fn revoke(world: &World) {
    run(bridge::revoke(bridge_ports(world), &subscriber(ADDRESS), &dana())).unwrap().unwrap();
}

fn answer(world: &World, text: &str) {
    let text = Message::parse(text).unwrap();
    let site = "https://oracle.example";
    let who = subscriber(ADDRESS);
    let last = world.state().bridges.get(&who).and_then(|(bridge, _)| bridge.last_question().cloned());
    run(bridge::reply(bridge_ports(world), world, site, &who, &dana(), last.as_ref(), &text)).unwrap().unwrap();
}

fn acceptance() -> Value {
    json!({ "version": CURRENT_AGREEMENT.version, "sha256": CURRENT_AGREEMENT.sha256, "name": "Sam", "email": ADDRESS })
}

fn posting(path: &str, body: &Value, cookie: &str) -> Request {
    Request::post(path, body.to_string()).with_header("cookie", cookie)
}

fn accept(world: &World, body: &Value, cookie: &str) -> Reply {
    submit(world, "/api/chat/bridge/acceptance", body, cookie)
}

/// Signs a customer with this address in, who accepts the agreement, and returns their cookies.
fn accepting(world: &World, address: &str) -> String {
    let (cookie, mut asked) = (signed_in(world, address), acceptance());
    asked["email"] = json!(address);
    assert_eq!(accept(world, &asked, &cookie).status(), 200);
    cookie
}

fn message(n: u64, text: &str) -> Value {
    json!({ "id": id(n), "text": text })
}

fn post(world: &World, n: u64, text: &str, cookie: &str) -> Reply {
    submit(world, "/api/chat/bridge/messages", &message(n, text), cookie)
}

fn thread(world: &World, cookie: &str) -> Vec<(String, String)> {
    let thread = body(&get(world, "/api/chat/bridge/messages", cookie));
    let messages = thread["messages"].as_array().unwrap().iter();
    messages.map(|it| (it["from"].as_str().unwrap().to_owned(), it["text"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn the_agreement_is_accepted_granted_used_and_revoked() {
    let (world, cookie) = customer();
    let status = || body(&get(&world, "/api/chat/bridge", &cookie));
    let offered = status();
    assert_eq!(
        (&offered["state"], &offered["agreement"]["version"]),
        (&json!("offered"), &json!(CURRENT_AGREEMENT.version))
    );
    assert_eq!(offered["agreement"]["text"], CURRENT_AGREEMENT.text);
    assert_eq!(code(&post(&world, 1, TEXT, &cookie)), (403, "bridge_closed".to_owned()), "nothing is accepted");
    let accepted = accept(&world, &acceptance(), &cookie);
    assert_eq!((accepted.status(), &body(&accepted)["state"]), (200, &json!("accepted")), "{}", accepted.body());
    assert_eq!(body(&accepted)["accepted"]["sha256"], CURRENT_AGREEMENT.sha256);
    assert_eq!(code(&post(&world, 1, TEXT, &cookie)), (403, "bridge_closed".to_owned()), "nothing is granted");
    grant_bridge(&world);
    assert_eq!(status()["state"], "granted");
    let me = body(&get(&world, "/api/chat/me", &cookie));
    assert_eq!(me["plan"], "bridge");
    let posted = post(&world, 1, TEXT, &cookie);
    assert_eq!((posted.status(), &body(&posted)["text"]), (200, &json!(TEXT)), "{}", posted.body());
    assert_eq!(post(&world, 1, TEXT, &cookie).body(), posted.body(), "repeated");
    assert_eq!(code(&post(&world, 1, "another text", &cookie)), (409, "id_used".to_owned()));
    answer(&world, "Yes. Please send us the lease.");
    let names = ["you", "42 Sisters AI"].map(str::to_owned);
    assert_eq!(thread(&world, &cookie).into_iter().map(|(from, _)| from).collect::<Vec<_>>(), names);
    assert_eq!(world.state().sent.last().unwrap().1.to, ADDRESS);
    revoke(&world);
    assert_eq!(status()["state"], "revoked");
    assert_eq!(code(&post(&world, 2, TEXT, &cookie)), (403, "bridge_closed".to_owned()));
    assert_eq!(body(&get(&world, "/api/chat/me", &cookie))["plan"], "free");
    assert_eq!(thread(&world, &cookie).len(), 2, "what was written can still be read");
    assert!(!get(&world, "/api/chat/bridge/messages", &cookie).body().contains("dana"));
}

/// The sources of help come whatever becomes of the message.
#[test]
fn a_disclosure_is_in_the_thread_and_answered_with_the_resources() {
    let disclosure = "I want to kill myself";
    let (world, cookie) = begun();
    let posted = post(&world, 2, disclosure, &cookie);
    assert_eq!(code(&posted), (422, "blocked".to_owned()));
    assert_eq!((&body(&posted)["crisis"], &body(&posted)["error"]), (&json!(true), &json!(domain::texts::CRISIS)));
    assert!(!body(&posted)["resources"].as_array().unwrap().is_empty());
    assert_eq!(post(&world, 2, disclosure, &cookie).body(), posted.body(), "repeated");
    assert_eq!(thread(&world, &cookie).len(), 2, "a person reads it");
    let recorded = world.state().log.values().filter(|line| line.contains("authority_evaluated")).count();
    assert_eq!(recorded, 1);
    assert!(!stored(&world).contains("kill"));
    let mut in_france = message(3, disclosure);
    in_france["locale"] = json!("fr-FR");
    let french = submit(&world, "/api/chat/bridge/messages", &in_france, &cookie);
    assert!(french.body().contains("3114") && french.body().contains("(Canada)"), "{}", french.body());
    let unposted =
        || disclosure_alerts(&world).iter().map(|line| line.contains("could not be posted")).collect::<Vec<_>>();
    assert_eq!(unposted(), [false, false]);
    world.plan(Plan::none().whenever("memory.find_key", Fault::Fail));
    assert_eq!(post(&world, 4, disclosure, &cookie).body(), posted.body(), "a store fails");
    world.plan(Plan::none());
    revoke(&world);
    assert_eq!(post(&world, 5, disclosure, &cookie).body(), posted.body());
    assert_eq!(code(&post(&world, 6, TEXT, &cookie)), (403, "bridge_closed".to_owned()));
    assert_eq!(thread(&world, &cookie).len(), 3);
    assert_eq!(unposted(), [false, false, true, true]);
}

/// The alert is raised if the Bridge can be neither read nor written, and for a subscriber who has not accepted the
/// agreement.
#[test]
fn a_disclosure_that_can_be_neither_posted_nor_recorded_is_alerted() {
    let disclosure = "I want to kill myself";
    for name in ["bridges.save", "bridges.load"] {
        let (world, cookie) = begun();
        world.plan(Plan::none().whenever(name, Fault::Fail));
        assert_eq!(code(&post(&world, 2, disclosure, &cookie)), (422, "blocked".to_owned()), "{name}");
        world.plan(Plan::none());
        let raised = disclosure_alerts(&world);
        assert!(raised.len() == 1 && raised[0].contains("nor recorded: write to the member"), "{name}: {raised:?}");
        assert_eq!(world.state().alerts.last().unwrap().channel, Channel::Critical);
        assert!(world.state().measurements.contains(&Metric::AuditWriteFailed.once()), "{name}");
    }
    let (world, cookie) = customer();
    assert_eq!(code(&post(&world, 1, disclosure, &cookie)), (422, "blocked".to_owned()));
    let raised = disclosure_alerts(&world);
    assert!(raised.len() == 1 && raised[0].contains("no address is known"), "{raised:?}");
}

/// A mailbox costs nothing, and operators cannot write to an address that they do not have.
#[test]
fn disclosures_of_people_whom_nobody_can_reach_are_all_recorded_and_raise_some_alerts_an_hour() {
    let disclosure = "I want to kill myself";
    let (world, member) = begun();
    revoke(&world);
    let strangers: Vec<_> = (0..24).map(|n| signed_in(&world, &format!("free{n}@example.com"))).collect();
    let payer = signed_in(&world, "payer@example.com");
    support::grant(&world, "payer@example.com", PaidPlan::Chat);
    let recorded = || world.state().log.values().filter(|line| line.contains("authority_evaluated")).count();
    let send = |cookie: &str, n| assert_eq!(code(&post(&world, n, disclosure, cookie)), (422, "blocked".to_owned()));
    strangers.iter().for_each(|cookie| send(cookie, 1));
    let raised = disclosure_alerts(&world);
    let more: Vec<_> = raised.iter().map(|line| line.contains("recorded without an alert")).collect();
    assert_eq!(more, [vec![false; 20], vec![true; 2]].concat(), "{raised:?}");
    assert_eq!(recorded(), 24);
    for cookie in [&member, &payer] {
        send(cookie, 2);
    }
    assert_eq!((disclosure_alerts(&world).len(), recorded()), (24, 26), "whom operators can reach");
    world.advance(Duration::from_secs(3_600));
    send(&strangers[0], 2);
    assert_eq!((disclosure_alerts(&world).len(), recorded()), (25, 27), "the next hour");
}

/// An acceptance costs no more than a mailbox.
#[test]
fn disclosures_of_people_without_a_grant_raise_some_alerts_an_hour() {
    let disclosure = "I want to kill myself";
    let (world, member) = begun();
    let ungranted: Vec<_> = (0..124).map(|n| accepting(&world, &format!("free{n}@example.com"))).collect();
    let send = |cookie: &str, n| assert_eq!(code(&post(&world, n, disclosure, cookie)), (422, "blocked".to_owned()));
    ungranted.iter().for_each(|cookie| send(cookie, 1));
    let raised = disclosure_alerts(&world);
    let more: Vec<_> = raised.iter().map(|line| line.contains("without an alert: oracle bridge list")).collect();
    assert_eq!(more, [vec![false; 120], vec![true; 2]].concat(), "{raised:?}");
    let recorded = world.state().log.values().filter(|line| line.contains("authority_evaluated")).count();
    assert_eq!(recorded, 124);
    // A person who accepts again after the grant has ended raises an alert with each message too.
    revoke(&world);
    send(&member, 2);
    assert_eq!(accept(&world, &acceptance(), &member).status(), 200);
    send(&member, 3);
    assert_eq!(disclosure_alerts(&world).len(), 124, "whom operators know");
}

/// Ten people can have two alerts each.
#[test]
fn people_who_write_again_take_no_alert_from_others() {
    let world = world();
    let cookies: Vec<_> = (0..10).map(|n| signed_in(&world, &format!("free{n}@example.com"))).collect();
    for n in 1..=2 {
        cookies.iter().for_each(|cookie| assert_eq!(code(&post(&world, n, "I want to kill myself", cookie)).0, 422));
    }
    let raised = disclosure_alerts(&world);
    assert!(raised.len() == 20 && !raised.iter().any(|line| line.contains("without an alert")), "{raised:?}");
}

/// Otherwise one person could use up the alerts of an hour, and the disclosure of another would raise none.
#[test]
fn a_person_counts_twice_an_hour_against_the_alerts_that_people_share() {
    let disclosure = "I want to kill myself";
    let addresses = ["first@example.com", "second@example.com"];
    for (has_accepted, messages) in [(false, 12), (true, 62)] {
        let world = world();
        let [first, second] =
            addresses.map(|it| if has_accepted { accepting(&world, it) } else { signed_in(&world, it) });
        let send = |cookie: &str, n| assert_eq!(code(&post(&world, n, disclosure, cookie)).0, 422);
        (1..=messages).for_each(|n| send(&first, n));
        send(&second, 1);
        let raised = disclosure_alerts(&world);
        assert_eq!(raised.len(), 3, "{raised:?}");
        for (line, address) in raised.iter().zip([addresses[0], addresses[0], addresses[1]]) {
            assert!(line.contains(subscriber(address).prefix()), "{address}: {raised:?}");
            assert!(!line.contains("without an alert"), "{raised:?}");
        }
        let recorded = world.state().log.values().filter(|line| line.contains("authority_evaluated")).count();
        assert_eq!(u64::try_from(recorded).unwrap(), messages + 1);
        world.advance(Duration::from_secs(3_600));
        send(&first, messages + 1);
        assert_eq!(disclosure_alerts(&world).len(), 4, "the next hour");
    }
}

#[test]
fn a_grant_ends_by_itself() {
    let (world, _) = granted();
    world.advance(Duration::from_secs(30 * DAY - 1));
    let cookie = signed_in(&world, ADDRESS);
    assert_eq!(post(&world, 1, TEXT, &cookie).status(), 200);
    world.advance(Duration::from_secs(1));
    assert_eq!(code(&post(&world, 2, TEXT, &cookie)), (403, "bridge_closed".to_owned()));
    assert_eq!(body(&get(&world, "/api/chat/bridge", &cookie))["state"], "expired");
}

#[test]
fn only_the_exact_text_that_is_offered_can_be_accepted() {
    let (world, cookie) = customer();
    let with = |name: &str, value: Value| {
        let mut body = acceptance();
        body[name] = value;
        code(&accept(&world, &body, &cookie))
    };
    assert_eq!(with("version", json!(CURRENT_AGREEMENT.version + 1)), (409, "agreement_changed".to_owned()));
    assert_eq!(with("sha256", json!("0".repeat(64))), (409, "agreement_changed".to_owned()));
    assert_eq!(with("sha256", json!(null)), (409, "agreement_changed".to_owned()));
    world.advance(Duration::from_secs(DAY));
    assert_eq!(with("version", json!("1")), (400, "version_invalid".to_owned()));
    assert_eq!(with("email", json!("other@example.com")), (400, "email_other".to_owned()));
    assert_eq!(with("email", json!("nobody")), (400, "email_invalid".to_owned()));
    assert_eq!(with("name", json!("")), (400, "name_invalid".to_owned()));
    assert_eq!(code(&accept(&world, &json!([]), &cookie)), (400, "malformed_json".to_owned()));
    assert!(world.state().bridges.is_empty());
    for request in [
        Request::get("/api/chat/bridge"),
        Request::get("/api/chat/bridge/messages"),
        posting("/api/chat/bridge/acceptance", &acceptance(), ""),
        posting("/api/chat/bridge/messages", &message(1, TEXT), ""),
    ] {
        assert_eq!(send(&world, request).unwrap().status(), 401);
    }
}

#[test]
fn messages_and_acceptances_are_limited_and_a_repeated_message_is_not_counted() {
    let (world, cookie) = customer();
    let mut mistyped = acceptance();
    mistyped["email"] = json!("somebody@example.com");
    for _ in 0..10 {
        assert_eq!(code(&accept(&world, &mistyped, &cookie)), (400, "email_other".to_owned()));
    }
    for _ in 0..5 {
        assert_eq!(accept(&world, &acceptance(), &cookie).status(), 200);
    }
    // Seconds until the window ends, of a day and of an hour in UTC.
    let left = |window: i64| (window - NOW % window).to_string();
    let refused = |reply: &Reply, wait: &str| (reply.status(), reply.header_value("retry-after")) == (429, Some(wait));
    assert!(refused(&accept(&world, &acceptance(), &cookie), &left(86_400)));
    grant_bridge(&world);
    for n in 0..30 {
        assert_eq!(post(&world, n, TEXT, &cookie).status(), 200);
    }
    assert_eq!(post(&world, 29, TEXT, &cookie).status(), 200, "repeated");
    assert!(refused(&post(&world, 30, TEXT, &cookie), &left(3600)));
    assert_eq!(code(&post(&world, 31, &"a".repeat(4001), &cookie)), (400, "text_invalid".to_owned()));
}

#[test]
fn a_paid_plan_comes_back_when_the_bridge_ends() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    accept(&world, &acceptance(), &cookie);
    grant_bridge(&world);
    let me = || body(&get(&world, "/api/chat/me", &cookie));
    assert!(me()["plan"] == "bridge" && me()["paid_until"].is_string());
    revoke(&world);
    assert_eq!(me()["plan"], "chat");
}

/// A customer who has accepted the agreement and whom an operator has granted the Bridge.
fn granted() -> (World, String) {
    let (world, cookie) = customer();
    accept(&world, &acceptance(), &cookie);
    grant_bridge(&world);
    (world, cookie)
}

fn begun() -> (World, String) {
    let (world, cookie) = granted();
    assert_eq!(post(&world, 1, TEXT, &cookie).status(), 200);
    (world, cookie)
}

/// After any interruption of an erasure the next call ends it: the thread, the name and the access are gone.
#[test]
fn every_fault_at_every_effect_of_an_erasure() {
    let (world, cookie) = begun();
    world.plan(Plan::none());
    assert_eq!(erase(&world, &cookie).unwrap().status(), 202);
    for (plan, what) in every_single_fault(world.passed(), 5) {
        let (world, cookie) = begun();
        world.plan(plan);
        let first = erase(&world, &cookie).map(|reply| reply.status());
        world.plan(Plan::none());
        if first != Some(202) {
            assert_eq!(erase(&world, &cookie).unwrap().status(), 202, "{what}");
        }
        assert!(thread(&world, &cookie).is_empty(), "{what}");
        let (bridge, _) = world.state().bridges.values().next().unwrap().clone();
        assert!(bridge.acceptance().is_none() && bridge.thread().is_empty(), "{what}");
        assert!(world.state().memory_keys.is_empty(), "{what}: a key is left");
        assert_eq!(code(&post(&world, 2, TEXT, &cookie)), (403, "bridge_closed".to_owned()), "{what}");
        assert_eq!(body(&get(&world, "/api/chat/me", &cookie))["plan"], "free", "{what}");
    }
}

/// The first message after an interrupted erasure ends it, and has no access that the erasure ends.
#[test]
fn the_first_message_after_an_interrupted_erasure_is_a_free_one() {
    let (world, cookie) = begun();
    world.plan(Plan::none().whenever("bridges.save", Fault::CrashBefore));
    assert!(erase(&world, &cookie).is_none());
    world.plan(Plan::none());
    assert!(world.state().bridges.values().all(|(bridge, _)| bridge.acceptance().is_some()), "not erased yet");
    // Effects take time, so that what is read at once is read before the erasure ends.
    let millisecond = Duration::from_millis(1);
    let surroundings: Surroundings =
        Box::new(move |_, _| Passage { before: millisecond, fault: None, after: millisecond });
    let replies = within(&world, surroundings, vec![asking(2, TEXT, &cookie)]);
    let [reply] = &replies[..] else { panic!("no reply") };
    assert_eq!((reply.status(), &body(reply)["free_left"]), (200, &json!(2)), "{}", reply.body());
}

/// An erasure that begins after the access was read and before the claim ends the Bridge's access.
#[test]
fn an_exchange_that_becomes_free_counts_once_for_its_network() {
    for (is_granted, is_late) in [(true, false), (false, false), (true, true)] {
        let (world, cookie) = begun();
        if !is_granted {
            revoke(&world);
        }
        let (mut saves, mut loads) = (0, 0);
        let surroundings: Surroundings = Box::new(move |name, _| {
            saves += usize::from(name == "accounts.save");
            loads += usize::from(name == "accounts.load");
            let before = match name {
                // The exchange's claim comes after the erasure has begun, and before it ends.
                "accounts.save" if saves == 1 => Duration::from_millis(100),
                // The claim after it reads the account when the erasure has ended, and the access before.
                "accounts.load" if is_late && loads == 4 => Duration::from_millis(400),
                "bridges.save" => Duration::from_millis(200),
                _ => Duration::from_millis(1),
            };
            Passage { before, fault: None, after: Duration::from_millis(1) }
        });
        let erase = Request::delete("/api/chat/memory").with_header("cookie", &cookie);
        let replies = within(&world, surroundings, vec![asking(2, TEXT, &cookie), erase]);
        let answered = replies.iter().find(|reply| reply.status() == 200).unwrap();
        assert_eq!(body(answered)["free_left"], 2, "{}", answered.body());
        let state = world.state();
        let free: Vec<_> = state.allowances.iter().filter(|(name, _)| name.starts_with("free/")).collect();
        assert!(matches!(free[..], [(_, 1)]), "granted {is_granted}, late {is_late}: {free:?}");
    }
}

/// The page repeats a request until it has a reply. `first` is in force during the acceptance, `second` during the
/// message.
fn live(first: Plan, second: Plan, what: &str) -> [usize; 2] {
    let (world, cookie) = customer();
    let insist = |plan: Plan, path: &str, body: &Value| {
        world.plan(plan);
        let done = (0..4).any(|_| send(&world, posting(path, body, &cookie)).map(|reply| reply.status()) == Some(200));
        assert!(done, "{what}: {path}");
        let passed = world.passed();
        world.plan(Plan::none());
        passed
    };
    let accepting = insist(first, "/api/chat/bridge/acceptance", &acceptance());
    grant_bridge(&world);
    let posted = insist(second, "/api/chat/bridge/messages", &message(1, TEXT));
    assert_eq!(thread(&world, &cookie), [("you".to_owned(), TEXT.to_owned())], "{what}");
    revoke(&world);
    assert_eq!(post(&world, 2, TEXT, &cookie).status(), 403, "{what}");
    let state = world.state();
    let count = |step: &str| state.log.values().filter(|line| line.contains(step)).count();
    let steps = ["accepted", "granted", "message_posted", "revoked"].map(|it| count(&format!("\"step\":\"{it}\"")));
    assert_eq!(steps, [1; 4], "{what}");
    [accepting, posted]
}

/// Every fault leads to one acceptance and one message.
#[test]
fn every_fault_at_every_effect_of_an_acceptance_and_a_message() {
    let [accepting, posting] = live(Plan::none(), Plan::none(), "nothing");
    for (plan, what) in every_single_fault(accepting, 8) {
        live(plan, Plan::none(), &format!("{what} of the acceptance"));
    }
    for (plan, what) in every_single_fault(posting, 8) {
        live(Plan::none(), plan, &format!("{what} of the message"));
    }
}
