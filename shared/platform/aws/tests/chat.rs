//! The rows of the chat's sessions and sign-in links: which expire, and how all sessions of a subscriber end.

#![allow(clippy::unwrap_used)]

mod server;
#[allow(dead_code, reason = "shared with the tests of stores and alerts")]
mod support;

use domain::{
    Timestamp,
    chat::{ChatSession, ExchangeId, Login, SubscriberId},
    ports::RelayDrafts,
    relay::{RelayDraft, RelayDraftId},
};
use serde_json::{Value, json};
use server::Server;
use std::collections::BTreeSet;
use support::{nothing, table};

#[tokio::test]
async fn all_rows_of_the_chat_but_the_account_expire() {
    let server = Server::start((0..5).map(|_| nothing())).await;
    let (sales, _alerts) = table(&server.url);
    let (who, now) = (SubscriberId::parse("d".repeat(64)).unwrap(), Timestamp::from_seconds(540));
    let exchange = ExchangeId::parse("00000000-0000-4000-8000-000000000001").unwrap();
    domain::ports::ReplyBeginnings::put(&sales, &who, &exchange, "sealed", now).await.unwrap();
    let sign_ins: &dyn domain::ports::SignIns = &sales;
    let login = Login::new(who.clone(), "browser".to_owned(), now);
    sign_ins.save_login("digest", &login, 0).await.unwrap();
    let signed_in = ChatSession::new(who, now);
    sign_ins.begin_session("digest", &signed_in).await.unwrap();
    assert!(sign_ins.take("name", 3, now).await.unwrap());
    let seen: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let expected =
        [now, login.until(), signed_in.until(), signed_in.until()].map(|until| until.as_seconds().to_string());
    assert_eq!([0, 1, 2, 3].map(|row| seen[row]["Item"]["expires_at"]["N"].as_str().unwrap()), expected);
    // First the list of the subscriber's sessions, then the session.
    let keys = [2, 3].map(|row| ["pk", "sk"].map(|name| seen[row]["Item"][name]["S"].as_str().unwrap()));
    let account = format!("CHAT#{}", "d".repeat(64));
    assert_eq!(keys, [[account.as_str(), "SESSION#digest"], ["CHATSESSION#digest", "SESSION"]]);
    assert_eq!(seen[4]["ExpressionAttributeNames"]["#expires"], "expires_at");
    assert_eq!(seen[4]["ExpressionAttributeValues"][":until"]["N"], "540");
}

/// Every listed session but the own one ends, also one that only a second page lists.
#[tokio::test]
async fn all_sessions_of_a_subscriber_are_ended() {
    let who = SubscriberId::parse("d".repeat(64)).unwrap();
    let account = format!("CHAT#{}", who.as_str());
    let item = |digest: &str| json!({ "pk": { "S": account }, "sk": { "S": format!("SESSION#{digest}") } });
    let first = [item("one"), item("own"), item("two")];
    let more = json!({ "Items": first, "LastEvaluatedKey": item("two") }).to_string();
    let end = json!({ "Items": [item("three")] }).to_string();
    let server = Server::start([(200, more), nothing(), nothing(), (200, end), nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    let sign_ins: &dyn domain::ports::SignIns = &sales;
    assert_eq!(sign_ins.end_sessions(&who, Some("own")).await.unwrap(), 3);
    let seen: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let values = json!({ ":pk": { "S": account }, ":sk": { "S": "SESSION#" } });
    for (query, from) in [(&seen[0], Value::Null), (&seen[3], item("two"))] {
        assert_eq!((&query["ConsistentRead"], &query["ExpressionAttributeValues"]), (&json!(true), &values));
        assert_eq!(query["ExclusiveStartKey"], from);
    }
    // The deletions of a page are made together, in any order.
    let ended: BTreeSet<_> = [1, 2, 4].map(|request| seen[request]["Key"]["pk"]["S"].as_str().unwrap()).into();
    assert_eq!(ended, BTreeSet::from(["CHATSESSION#one", "CHATSESSION#two", "CHATSESSION#three"]));
}

/// A call that dies before the mail is sent leaves a draft with the address and the link.
#[tokio::test]
async fn a_draft_with_a_link_for_signing_in_expires_after_two_hours() {
    let server = Server::start([nothing(), nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    let drafts: &dyn RelayDrafts = &sales;
    for name in ["cs_link_1", "cs_live_abcdefghijkl"] {
        let id = RelayDraftId { session: domain::SessionId::parse(name).unwrap(), token: "t".to_owned() };
        drafts.save(&id, &RelayDraft::Claimed, 1).await.unwrap();
    }
    let seen: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let expires = |index: usize| seen[index]["Item"]["expires_at"]["N"].as_str().unwrap().parse::<i64>().unwrap();
    assert!((expires(1) - expires(0) - (30 * 24 - 2) * 3600).abs() < 60, "{seen:?}");
}
