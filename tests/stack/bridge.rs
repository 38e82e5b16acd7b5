//! The Bridge on the deployed stack: a customer accepts the agreement through the page's API, and answers by mail; an
//! operator grants access, replies and revokes access from the command line.

use crate::{
    chat::{Browser, call, id},
    inbox::Watched,
    operators::{asked, decide, decided, listed},
    world::{Reply, World, email},
};
use reqwest::Method;
use serde_json::{Value, json};
use std::fs;
use tests::unique;

async fn post(world: &World, browser: &Browser<'_>, path: &str, body: Value) -> Reply {
    call(world, Method::POST, path, &browser.cookie, body).await
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The texts of the thread that a customer sees.
async fn thread(browser: &Browser<'_>) -> Vec<Value> {
    let thread = browser.get("/api/chat/bridge/messages").await.json();
    thread["messages"].as_array().expect("messages").iter().map(|it| it["text"].clone()).collect()
}

/// The digits of the listed Bridge whose agreement was accepted last.
fn newest(world: &World) -> String {
    let (_, rows) = asked(world, &["bridge", "list"]);
    let newest = rows.as_array().expect("rows").iter().max_by_key(|row| row["accepted_at"].to_string());
    newest.expect("a Bridge")["bridge"].as_str().expect("its digits").to_owned()
}

#[tokio::test]
async fn a_bridge_is_accepted_granted_answered_and_revoked() {
    let watched = Watched::seeded().await;
    let world = &watched.world;
    let address = email();
    let browser = Browser::sign_in(world, &address).await;
    let offered = browser.get("/api/chat/bridge").await.json();
    assert_eq!(offered["state"], "offered", "{offered}");
    let (version, sha256) = (&offered["agreement"]["version"], &offered["agreement"]["sha256"]);
    let accept = json!({ "version": version, "sha256": sha256, "name": "Sam Example", "email": address });
    let text = format!("May we speak about the harbour lease? {}", unique());
    let message_id = id();
    let message = json!({ "id": message_id, "text": text });
    assert_eq!(post(world, &browser, "/api/chat/bridge/messages", message.clone()).await.status, 403);
    let accepted = post(world, &browser, "/api/chat/bridge/acceptance", accept).await;
    assert_eq!((accepted.status, &accepted.json()["state"]), (200, &json!("accepted")), "{}", accepted.text);
    let digits = newest(world);
    listed(world, &["list"], &digits, true).await;

    let granted = decided(world, &["bridge", "grant", &digits, "--expires", &in_a_month()]);
    assert_eq!(json_of(&granted)["state"], "granted", "{granted}");
    assert_eq!(browser.get("/api/chat/me").await.json()["plan"], "bridge");
    let posted = post(world, &browser, "/api/chat/bridge/messages", message.clone()).await;
    assert_eq!(posted.status, 200, "{}", posted.text);
    let again = post(world, &browser, "/api/chat/bridge/messages", message).await;
    assert_eq!((again.status, &again.text), (200, &posted.text), "repeated");

    let file = std::env::temp_dir().join(format!("oracle-reply-{}.txt", unique()));
    let path = file.to_str().expect("a path").to_owned();
    fs::write(&file, "MNEMOS has read your lease.").expect("a file");
    let (code, refused) = decide(world, &["bridge", "reply", &digits, "--file", &path]);
    assert!(code == Some(2) && refused.contains("--to"), "a script names what it has read: {code:?} {refused}");
    let read = message_id.as_str();
    let (code, refused) = decide(world, &["bridge", "reply", &digits, "--to", read, "--file", &path]);
    assert!(code == Some(1) && refused.contains("content filter"), "{code:?} {refused}");
    let reply = format!("Yes. Please send us the lease. {}", unique());
    fs::write(&file, &reply).expect("a file");
    for _ in 0..2 {
        decided(world, &["bridge", "reply", &digits, "--to", read, "--file", &path]);
    }
    fs::remove_file(&file).expect("its end");
    assert_eq!(thread(&browser).await, [json!(text), json!(reply)], "a repeated reply is posted once");
    let mails = world.mails(&address).await;
    assert_eq!(mails.iter().filter(|mail| mail["body"].to_string().contains(&reply)).count(), 1, "and mailed once");
    let is_reply = |mail: &&Value| mail["body"].to_string().contains(&reply);
    let mail = mails.iter().find(is_reply).expect("the mail of the reply")["internet_message_id"].clone();
    let by_mail = format!("Tuesday at ten suits us. {}", unique());
    let answer = |from: &str, text: &str| json!({ "from": from, "subject": "Re: A reply", "body": text, "quoted": "> quoted", "inReplyTo": mail });
    watched.put(answer(&address, &by_mail)).await;
    watched.put(answer(&email(), "A stranger answers.")).await;
    watched.look().await;
    watched.look().await;
    let answered = [json!(text), json!(reply), json!(by_mail)];
    assert_eq!(thread(&browser).await, answered, "a member's answer by mail is posted once");
    let (_, shown) = asked(world, &["bridge", "show", &digits]);
    assert_eq!(
        (&shown["name"], &shown["email"], &shown["task"]),
        (&json!("Sam Example"), &json!(address), &json!("answer"))
    );

    let revoked = decided(world, &["bridge", "revoke", &digits]);
    assert_eq!(json_of(&revoked)["state"], "revoked", "{revoked}");
    let late = json!({ "id": id(), "text": "One more thing." });
    assert_eq!(post(world, &browser, "/api/chat/bridge/messages", late).await.status, 403);
    let erased = call(world, Method::DELETE, "/api/chat/memory", &browser.cookie, Value::Null).await;
    assert_eq!(erased.status, 202, "{}", erased.text);
    assert_eq!(browser.get("/api/chat/bridge/messages").await.json(), json!({ "messages": [] }));
    let (code, _) = decide(world, &["bridge", "grant", &digits, "--expires", &in_a_month()]);
    assert_eq!(code, Some(1), "nothing is accepted any more");
}

fn in_a_month() -> String {
    domain::Timestamp::from_seconds(jiff::Timestamp::now().as_second() + 30 * 86_400).to_date()
}
