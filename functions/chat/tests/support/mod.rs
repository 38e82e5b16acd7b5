//! A customer's browser and the chat's handler over the test kit's ports.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "tests")]

use audit::{BridgeJournal, ChatJournal};
use chat::{Ports, Settings, handle};
use domain::{
    Secret, Timestamp,
    backoff::Backoff,
    breaker::BreakerPolicy,
    chat::{BillingReport, PaidPlan, Subscriber, SubscriberId, SubscriberKey, billing::Bill},
    money::ObjectId,
    ports::{ModelReply, SecretSource, StorageError},
};
use generation::{Policy, breaker_policy};
use runtime::{
    Environment,
    http::{Reply, Request},
};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{NoLimit, Passage, World, run, world::Surroundings};

pub const NOW: i64 = 1_790_000_000;
pub const QUESTION: &str = "Should we open a second bakery in Halifax?";
const KEY: &str = r#"{"subscriber_key":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}"#;

/// The key of subscribers' ids. It never fails here; its failure has a test of its own.
pub struct Key;

#[async_trait::async_trait]
impl SecretSource for Key {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(Secret::new(KEY))
    }
}

pub fn settings() -> Settings {
    let standard = breaker_policy(&Environment::of(&[])).unwrap();
    Settings {
        site: "https://oracle.example".to_owned(),
        policy: Policy {
            models: vec!["model-a".to_owned()],
            backoff: Backoff { attempts: 2, base: Duration::from_millis(1), cap: Duration::from_millis(1) },
            breaker: BreakerPolicy { failures: 1000, slow_successes: 1000, ..standard },
            caller: domain::breaker::Caller::Chat,
            longest: None,
        },
        lease: Duration::from_secs(35),
        model_time: Duration::from_secs(21),
        answer_time: Duration::from_secs(25),
        write_time: Duration::from_secs(1),
        mails_a_minute: 1000,
        per_network: 1000,
    }
}

pub fn said(text: &str) -> ModelReply {
    testkit::reply(json!({ "reply": text }).to_string())
}

/// Ports whose model returns a different reply at each call.
pub fn world() -> World {
    let world = World::at(Timestamp::from_seconds(NOW));
    let mut asked = 0;
    world.state().model = Some(Box::new(move |_, _| {
        asked += 1;
        Ok(said(&format!("Count what the first shop earns before you look at a lease, says reply {asked}.")))
    }));
    world
}

pub fn ports(world: &World) -> Ports<'_> {
    Ports {
        journal: ChatJournal { store: world, log: world, alerts: world, clock: world },
        bridges: BridgeJournal { store: world, log: world, alerts: world, clock: world },
        sign_ins: world,
        access: world,
        subscribers: world,
        pages: world,
        mailbox: world,
        logs: world,
        keys: world,
        secret: &Key,
        model: world,
        beginnings: world,
        breakers: world,
        randomness: world,
        pause: world,
        meter: world,
    }
}

/// Sends one request; `None` when the injected fault ends the process.
pub fn send(world: &World, request: Request) -> Option<Reply> {
    run(handle(ports(world), &settings(), request))
}

/// Polls the handlers of many requests concurrently until each has returned or crashed.
pub fn within(world: &World, surroundings: Surroundings, requests: Vec<Request>) -> Vec<Reply> {
    use std::{
        future::Future,
        pin::Pin,
        task::{Context, Poll, Waker},
    };
    world.surround(surroundings);
    let (settings, ports) = (settings(), Ports { pause: &NoLimit, ..ports(world) });
    type Running<'a> = (i64, Pin<Box<dyn Future<Output = Reply> + 'a>>);
    let mut running: Vec<Running<'_>> = requests
        .into_iter()
        .map(|request| -> Running<'_> { (0, Box::pin(handle(ports, &settings, request))) })
        .collect();
    let mut replies = Vec::new();
    while !running.is_empty() {
        let next = running.iter().map(|(at, _)| *at).min().unwrap();
        let now = world.state().now.max(next);
        world.state().now = now;
        let mut waiting = Vec::new();
        for (at, mut handler) in running {
            if at > now {
                waiting.push((at, handler));
                continue;
            }
            match handler.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(reply) => replies.push(reply),
                Poll::Pending => waiting.extend(world.wake().map(|wake| (wake, handler))),
            }
        }
        running = waiting;
    }
    world.surround(Box::new(|_, _| Passage::default()));
    replies
}

pub fn subscriber(address: &str) -> SubscriberId {
    let key = SubscriberKey::parse(&Secret::new(KEY)).unwrap();
    SubscriberId::of(&key, &domain::EmailAddress::parse(address).unwrap())
}

/// Gives a subscriber one month of a plan, as Stripe's event of a paid invoice does.
pub fn grant(world: &World, address: &str, plan: PaidPlan) {
    let who = subscriber(address);
    let mut known = Subscriber::new(who.clone());
    let object = |text: &str| ObjectId::parse(text).unwrap();
    let until = Timestamp::from_seconds(NOW + 30 * 86_400);
    let bill = Bill { until, subscription: object("sub_1"), plan, amount: 500 };
    let paid = BillingReport::InvoicePaid { id: object("in_1"), bill, at: Timestamp::from_seconds(NOW) };
    known.billing_mut().record_report(&paid);
    world.state().subscribers.insert(who, (known, 1));
}

/// The value of the cookie that a reply sets.
pub fn cookie(reply: &Reply, name: &str) -> Option<String> {
    let (key, rest) = reply.header_value("set-cookie")?.split_once('=')?;
    (key == name).then(|| rest.split(';').next().unwrap().to_owned())
}

/// The request for a link to this address.
pub fn link_for(email: &Value) -> Request {
    Request::post("/api/chat/login", json!({ "email": email }).to_string())
}

pub fn login(world: &World, address: &str) -> String {
    let reply = send(world, link_for(&address.into())).unwrap();
    assert_eq!(reply.status(), 202, "{}", reply.body());
    cookie(&reply, "__Host-chat_login").unwrap()
}

/// The token of the latest mailed link.
pub fn token(world: &World) -> String {
    let state = world.state();
    let body = &state.sent.last().unwrap().1.body;
    body.split("/chat?token=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

pub fn redeem(world: &World, token: &str, browser: &str) -> Reply {
    let request = Request::post("/api/chat/session", json!({ "token": token }).to_string());
    send(world, request.with_header("cookie", &format!("__Host-chat_login={browser}"))).unwrap()
}

/// Signs a customer in and returns the cookies that the browser sends.
pub fn signed_in(world: &World, address: &str) -> String {
    let browser = login(world, address);
    let reply = redeem(world, &token(world), &browser);
    assert_eq!(reply.status(), 200, "{}", reply.body());
    format!("__Host-chat_session={}", cookie(&reply, "__Host-chat_session").unwrap())
}

/// A world with a customer who is signed in, and their cookie.
pub fn customer() -> (World, String) {
    let world = world();
    let cookie = signed_in(&world, "someone@example.com");
    (world, cookie)
}

/// A customer with a month of a plan.
pub fn subscribed(plan: PaidPlan) -> (World, String) {
    let (world, cookie) = customer();
    grant(&world, "someone@example.com", plan);
    (world, cookie)
}

/// A customer who has used the three free exchanges.
pub fn used_up() -> (World, String) {
    let (world, cookie) = customer();
    (1..=3).for_each(|n| drop(ask(&world, n, QUESTION, &cookie)));
    (world, cookie)
}

pub fn id(n: u64) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

pub fn asking(n: u64, text: &str, cookie: &str) -> Request {
    let body = json!({ "id": id(n), "text": text }).to_string();
    Request::post("/api/chat/exchanges", body).with_header("cookie", cookie)
}

pub fn ask(world: &World, n: u64, text: &str, cookie: &str) -> Reply {
    send(world, asking(n, text, cookie)).unwrap()
}

pub fn get(world: &World, path: &str, cookie: &str) -> Reply {
    send(world, Request::get(path).with_header("cookie", cookie)).unwrap()
}

/// Sends a customer's posted document.
pub fn submit(world: &World, path: &str, body: &Value, cookie: &str) -> Reply {
    send(world, Request::post(path, body.to_string()).with_header("cookie", cookie)).unwrap()
}

/// Erases a customer's memory; `None` when the injected fault ends the process.
pub fn erase(world: &World, cookie: &str) -> Option<Reply> {
    send(world, Request::delete("/api/chat/memory").with_header("cookie", cookie))
}

/// The alerts of disclosures to the Bridge.
pub fn disclosure_alerts(world: &World) -> Vec<String> {
    let state = world.state();
    let lines = state.alerts.iter().map(|alert| alert.line.clone());
    lines.filter(|line| line.contains("BRIDGE_DISCLOSURE")).collect()
}

/// The status and the code of a reply.
pub fn code(reply: &Reply) -> (u16, String) {
    (reply.status(), body(reply)["code"].as_str().unwrap_or_default().to_owned())
}

pub fn body(reply: &Reply) -> Value {
    serde_json::from_str(reply.body()).unwrap()
}

/// Status and details of the chat's audit records, in order.
pub fn records(world: &World) -> Vec<(String, Value)> {
    let lines = world.state().records();
    let of_chat = lines.iter().filter(|line| line["event"] == "chat");
    of_chat.map(|line| (line["status"].as_str().unwrap().to_owned(), line["details"].clone())).collect()
}

/// The content of all stores, as text.
pub fn stored(world: &World) -> String {
    let state = world.state();
    let bodies: Vec<String> =
        state.memory_logs.values().flatten().map(|record| String::from_utf8_lossy(&record.body).into_owned()).collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        serde_json::to_string(&state.accounts.values().map(|(account, _)| account).collect::<Vec<_>>()).unwrap(),
        state.beginnings,
        state.logins,
        state.chat_sessions,
        state.log,
        state.alerts,
        bodies
    )
}
