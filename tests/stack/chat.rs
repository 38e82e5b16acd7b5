//! The paid chat on the deployed stack: a mailed link, three free exchanges, a memory that can be read and erased.

use crate::{
    operators::{asked, decide, decided},
    world::{Reply, World, email},
};
use reqwest::Method;
use serde_json::{Value, json};
use tests::{SOON, eventually, unique};

/// A signed-in browser.
pub(crate) struct Browser<'w> {
    world: &'w World,
    pub(crate) cookie: String,
}

fn cookie(reply: &Reply) -> String {
    reply.header("set-cookie").split(';').next().expect("a cookie").to_owned()
}

pub(crate) async fn call(world: &World, method: Method, path: &str, cookie: &str, body: Value) -> Reply {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    world.call(method, path, &[("cookie", cookie)], body).await
}

/// The token that was mailed to an address.
async fn token(world: &World, address: &str) -> String {
    let (_, mails) = world.stack.get(&format!("{}/control/mails", world.stack.sandbox)).await;
    let mails = mails.as_array().expect("mails");
    let mail = mails.iter().rev().find(|mail| mail["to"].to_string().contains(address)).expect("a mail");
    let body = mail["body"].as_str().expect("a body");
    body.split("/chat?token=").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a link").to_owned()
}

impl<'w> Browser<'w> {
    pub(crate) async fn sign_in(world: &'w World, address: &str) -> Self {
        let asked = call(world, Method::POST, "/api/chat/login", "", json!({ "email": address })).await;
        assert_eq!(asked.status, 202, "{}", asked.text);
        let (link, token) = (cookie(&asked), token(world, address).await);
        let stolen = call(world, Method::POST, "/api/chat/session", "", json!({ "token": token })).await;
        assert_eq!(stolen.status, 401, "without the browser's cookie");
        let signed_in = call(world, Method::POST, "/api/chat/session", &link, json!({ "token": token })).await;
        assert_eq!(signed_in.status, 200, "{}", signed_in.text);
        let set = signed_in.header("set-cookie");
        assert!(["HttpOnly", "Secure", "SameSite=Strict"].iter().all(|attribute| set.contains(attribute)), "{set}");
        let again = call(world, Method::POST, "/api/chat/session", &link, json!({ "token": token })).await;
        assert_eq!(again.status, 401, "a link works once");
        Self { world, cookie: cookie(&signed_in) }
    }

    async fn ask(&self, id: &str, text: &str) -> Reply {
        let body = json!({ "id": id, "text": text });
        call(self.world, Method::POST, "/api/chat/exchanges", &self.cookie, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        call(self.world, Method::GET, path, &self.cookie, Value::Null).await
    }
}

pub(crate) fn id() -> String {
    let digits: String = unique().bytes().map(|byte| format!("{byte:02x}")).collect();
    let digits = format!("{digits:0>32}");
    let digits = &digits[digits.len() - 32..];
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

fn question() -> String {
    format!("Should we open a second bakery in Halifax next spring? {}", unique())
}

/// Three exchanges per mailbox are free (Product Tiers, VC-9); another spelling of the address gives no further ones
/// (Product Tiers, FM-10).
#[tokio::test]
async fn three_exchanges_are_free_and_the_fourth_is_an_offer() {
    let world = World::beside_others().await;
    let address = email();
    let browser = Browser::sign_in(&world, &address).await;
    let me = browser.get("/api/chat/me").await.json();
    assert_eq!((&me["plan"], &me["free_left"]), (&json!("free"), &json!(3)));
    let (first, text) = (id(), question());
    let answered = browser.ask(&first, &text).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    let answer = answered.json();
    assert_eq!((&answer["id"], &answer["free_left"]), (&json!(first), &json!(2)));
    assert_eq!(answer["replies"][0]["voice"], "AETHER");
    let again = browser.ask(&first, &text).await;
    assert_eq!((again.status, again.json()["replies"].clone()), (200, answer["replies"].clone()));
    assert_eq!(browser.ask(&first, &question()).await.status, 409);
    assert_eq!(browser.get(&format!("/api/chat/exchanges/{first}")).await.json()["replies"], answer["replies"]);
    browser.ask(&id(), "Can I give my son two of my warfarin tablets?").await.assert_code(422, "blocked");
    for left in [1, 0] {
        let answered = browser.ask(&id(), &question()).await;
        assert_eq!((answered.status, &answered.json()["free_left"]), (200, &json!(left)), "{}", answered.text);
    }
    let fourth = browser.ask(&id(), &question()).await;
    fourth.assert_code(402, "subscribe");
    let body = json!({ "plan": "chat" });
    let bought = call(&world, Method::POST, "/api/chat/subscribe", &browser.cookie, body).await.json();
    let url = fourth.json()["url"].as_str().expect("an address").to_owned();
    assert!(url.starts_with(&world.stack.sandbox) && bought["url"] == *url, "one checkout session: {url}");
    let (name, host) = address.split_once('@').expect("an address");
    let tagged = Browser::sign_in(&world, &format!("{name}+free@{}", host.to_uppercase())).await;
    assert_eq!(tagged.ask(&id(), &question()).await.status, 402, "the same mailbox");
}

/// The sandbox holds the model's stream after its first sentence, and then breaks streams off.
#[tokio::test]
async fn a_reply_is_readable_while_the_model_writes_it_and_a_broken_stream_is_no_reply() {
    let world = World::alone().await;
    let browser = Browser::sign_in(&world, &email()).await;
    let reply = "Count the rent first. Then ask three customers.";
    let held = json!({ "text": json!({ "reply": reply }).to_string(), "stream": { "hold_after": 1 } });
    // One process holds the stream while another one is asked about it. Both start before that: the first one waits for
    // the model when the other one is needed.
    world.stack.faults("gemini", json!([{ "delay_ms": 2000 }])).await;
    let other = Browser::sign_in(&world, &email()).await;
    let is_asked = async || (!world.calls("gemini", "").await.is_empty()).then_some(());
    let meanwhile = async {
        eventually("a call of the model", SOON, is_asked).await;
        other.get("/api/chat/me").await
    };
    let (first, text) = (id(), question());
    tokio::join!(other.ask(&first, &text), meanwhile);
    world.stack.faults("gemini", json!([held])).await;
    let (first, text) = (id(), question());
    let path = format!("/api/chat/exchanges/{first}");
    let look = async {
        let begun = eventually("the first sentence", SOON, async || {
            let looked = browser.get(&path).await;
            (looked.status == 202).then(|| looked.json()["replies"].clone()).filter(|replies| !replies.is_null())
        });
        let begun = begun.await;
        world.stack.control("release", json!({})).await;
        begun
    };
    let (answered, begun) = tokio::join!(browser.ask(&first, &text), look);
    assert_eq!(begun, json!([{ "voice": "AETHER", "text": "Count the rent first." }]));
    assert_eq!((answered.status, answered.json()["replies"][0]["text"].as_str()), (200, Some(reply)));
    assert_eq!(browser.get(&path).await.json()["replies"], answered.json()["replies"]);
    for fault in ["break_after", "error_after"] {
        let stream = json!({ fault: 1 });
        let broken = json!({ "text": json!({ "reply": reply }).to_string(), "stream": stream });
        world.stack.faults("gemini", json!([broken])).await;
        let answered = browser.ask(&id(), &question()).await;
        let answer = answered.json();
        assert_eq!((answered.status, answer.get("apology")), (200, None), "{fault}: {}", answered.text);
        assert_ne!(answer["replies"][0]["text"], reply, "{fault}: the reply of another call");
    }
}

/// A subscription bought on Stripe's page gives access once its events arrive; a subscriber is sent to the portal.
#[tokio::test]
async fn a_subscription_is_bought_on_the_page_and_gives_access() {
    let world = World::beside_others().await;
    let browser = Browser::sign_in(&world, &email()).await;
    let post = async |path: &str, body: Value| call(&world, Method::POST, path, &browser.cookie, body).await;
    assert_eq!(post("/api/chat/portal", json!({})).await.status, 404, "nobody has subscribed");
    assert_eq!(post("/api/chat/subscribe", json!({ "plan": "bridge" })).await.status, 400);
    let offered = post("/api/chat/subscribe", json!({ "plan": "pro" })).await;
    assert_eq!(offered.status, 200, "{}", offered.text);
    let url = offered.json()["url"].as_str().expect("an address").to_owned();
    let again = post("/api/chat/subscribe", json!({ "plan": "pro" })).await;
    assert_eq!(again.json()["url"], url, "two tabs pay one session");
    let session = url.split('/').find(|part| part.starts_with("cs_")).expect("a session").to_owned();
    let session = session.split(['?', '#']).next().expect("its id");
    world.stack.control("stripe/pay", json!({ "session_id": session, "email": email() })).await;
    let account = eventually("access to Pro", SOON, async || {
        let account = browser.get("/api/chat/me").await.json();
        (account["plan"] == "pro").then_some(account)
    })
    .await;
    assert!(account["paid_until"].is_string(), "{account}");
    let answered = browser.ask(&id(), &question()).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    let voices: Vec<_> =
        answered.json()["replies"].as_array().expect("replies").iter().map(|it| it["voice"].clone()).collect();
    assert_eq!(voices.len(), 2, "two views: {voices:?}");
    for path in ["/api/chat/portal", "/api/chat/subscribe"] {
        let portal = post(path, json!({ "plan": "chat" })).await;
        assert_eq!(portal.status, 200, "{}", portal.text);
        assert_ne!(portal.json()["url"], url, "{path}: a subscriber goes to the portal");
    }
}

/// Several tabs at once (Product Tiers, FM-10). Lambda may run them in sequence or in parallel; three are answered in
/// both cases.
#[tokio::test]
async fn parallel_tabs_get_three() {
    let world = World::beside_others().await;
    let browser = Browser::sign_in(&world, &email()).await;
    let (texts, ids): (Vec<_>, Vec<_>) = (0..12).map(|_| (question(), id())).unzip();
    let tabs = ids.iter().zip(&texts).map(|(id, text)| browser.ask(id, text));
    let replies = futures_util::future::join_all(tabs).await;
    let count = |status: u16| replies.iter().filter(|reply| reply.status == status).count();
    assert_eq!((count(200), count(402)), (3, 9), "{:?}", replies.iter().map(|it| &it.text).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_memory_is_shown_and_erased() {
    let world = World::beside_others().await;
    let address = email();
    let browser = Browser::sign_in(&world, &address).await;
    let (first, text) = (id(), question());
    assert_eq!(browser.ask(&first, &text).await.status, 200);
    let shown = browser.get("/api/chat/memory").await;
    assert!(shown.status == 200 && shown.text.contains(&text), "{}", shown.text);
    let (code, verified) = asked(&world, &["memory", "verify", "--customer", &address]);
    assert_eq!((code, &verified["erased"]), (Some(0), &json!(false)), "{verified}");
    let erased = call(&world, Method::DELETE, "/api/chat/memory", &browser.cookie, Value::Null).await;
    assert_eq!(erased.status, 202, "{}", erased.text);
    assert!(!browser.get("/api/chat/memory").await.text.contains(&text));
    assert_eq!(browser.ask(&first, &text).await.status, 410);
    assert_eq!(browser.get("/api/chat/me").await.json()["free_left"], 2, "erasing gives no free exchange back");
    let out = call(&world, Method::DELETE, "/api/chat/session", &browser.cookie, Value::Null).await;
    assert_eq!((out.status, browser.get("/api/chat/me").await.status), (200, 401));
}

#[tokio::test]
async fn a_customer_signs_out_everywhere() {
    let world = World::beside_others().await;
    let address = email();
    let (here, elsewhere) = (Browser::sign_in(&world, &address).await, Browser::sign_in(&world, &address).await);
    let everywhere = json!({ "everywhere": true });
    let out = call(&world, Method::DELETE, "/api/chat/session", &here.cookie, everywhere).await;
    assert_eq!(out.status, 200, "{}", out.text);
    for browser in [here, elsewhere] {
        assert_eq!(browser.get("/api/chat/me").await.status, 401);
    }
}

#[tokio::test]
async fn an_operator_signs_a_customer_out_everywhere() {
    let world = World::beside_others().await;
    let address = email();
    let browsers = [Browser::sign_in(&world, &address).await, Browser::sign_in(&world, &address).await];
    let answer = decided(&world, &["chat", "sign-out", &address]);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["sessions"], 2, "{answer}");
    for browser in browsers {
        assert_eq!(browser.get("/api/chat/me").await.status, 401);
    }
    let records = world.function_records("operator", "operator").await;
    let is_this = |record: &&Value| record["facts"]["subscriber"] == answer["subscriber"];
    let record = records.iter().find(is_this).expect("the decision is on record");
    assert_eq!((&record["action"], &record["by"]), (&json!("chat sign-out"), &json!("dana")));
    let (code, text) = decide(&world, &["chat", "sign-out", &email()]);
    assert_eq!(code, Some(1), "another address: {text}");
}
