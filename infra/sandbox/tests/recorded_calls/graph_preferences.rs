//! The preferences of callers, and the lag of the sent items.

use crate::{
    graph_api::Graph,
    support::{World, read, world, world_with},
};
use sandbox::Config;
use serde_json::{Value, json};

async fn preferring(graph: &Graph<'_>, path: &str, preference: &str) -> (String, Value) {
    let address = graph.world.mailbox(path);
    let request = graph.world.client.get(address).bearer_auth(&graph.token).header("Prefer", preference);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let applied = response.headers().get("preference-applied").map_or("", |value| value.to_str().unwrap()).to_owned();
    (applied, serde_json::from_str(&response.text().await.unwrap()).unwrap())
}

async fn received(world: &World) {
    let mail = json!({"from": "ada@example.com", "subject": "Re: Verdict", "body": "And then?"});
    assert_eq!(world.control("inbox", mail).await.0, 201);
}

#[tokio::test]
async fn immutable_ids_follow_the_preference_and_name_the_same_message() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    received(&world).await;
    let path = "mailFolders/inbox/messages?$select=id,subject";
    let (applied, plain) = preferring(&graph, path, "IdType=\"WorldId\"").await;
    assert_eq!(applied, "", "what Graph does not know it ignores");
    let (applied, lasting) = preferring(&graph, path, "IdType=\"ImmutableId\"").await;
    assert_eq!(applied, "IdType=\"ImmutableId\"");
    let id = |list: &Value| list["value"][0]["id"].as_str().unwrap().to_owned();
    assert_ne!(id(&plain), id(&lasting));
    for id in [id(&plain), id(&lasting)] {
        let (status, message) = graph.get(&format!("messages/{id}?$select=subject")).await;
        assert_eq!((status, &message["subject"]), (200, &json!("Re: Verdict")));
    }
}

#[tokio::test]
async fn bodies_are_text_when_preferred() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    let body = json!({"subject": "Verdict", "body": {"contentType": "html", "content": "<p>Yes &amp; <b>no</b></p>"}});
    let (status, draft) = graph.post("messages", &body).await;
    assert_eq!((status, &draft["body"]["contentType"]), (201, &json!("html")));
    let path = format!("messages/{}?$select=body", draft["id"].as_str().unwrap());
    let (applied, text) = preferring(&graph, &path, "outlook.body-content-type=\"text\"").await;
    assert_eq!(applied, "outlook.body-content-type=\"text\"");
    assert_eq!(text["body"], json!({"contentType": "text", "content": "Yes & no"}));
    let both = "IdType=\"ImmutableId\", outlook.body-content-type=\"text\"";
    assert_eq!(preferring(&graph, &path, both).await.0, both);
}

#[tokio::test]
async fn a_sent_draft_is_shown_for_a_while_where_that_is_set() {
    let world = world_with(Config { draft_lag_ms: 5_000, ..Config::default() }).await;
    let graph = Graph::of(&world).await;
    let draft = graph.draft("Verdict").await;
    let id = draft["id"].as_str().unwrap();
    let shown = async || graph.get(&format!("messages/{id}?$select=id,isDraft")).await;
    let mails = async || world.look("mails").await.as_array().unwrap().len();
    assert_eq!(graph.send(id).await.0, 202);
    world.advance(4);
    let (status, message) = shown().await;
    assert_eq!((status, &message["isDraft"], mails().await), (200, &json!(true), 1), "the mail is out");
    assert_eq!((graph.send(id).await.0, mails().await), (202, 2), "a second mail");
    world.advance(1);
    assert_eq!((shown().await.0, graph.send(id).await.0, mails().await), (404, 404, 2));
}

#[tokio::test]
async fn the_sent_copy_appears_later_where_that_is_set() {
    let world = world_with(Config { sent_items_lag_ms: 5_000, ..Config::default() }).await;
    let graph = Graph::of(&world).await;
    let draft = graph.draft("Verdict").await;
    assert_eq!(graph.send(draft["id"].as_str().unwrap()).await.0, 202);
    let sent = async || graph.get("mailFolders/sentitems/messages").await.1["value"].as_array().unwrap().len();
    assert_eq!((sent().await, world.look("mails").await.as_array().unwrap().len()), (0, 1), "the mail is out");
    world.advance(4);
    assert_eq!(sent().await, 0);
    world.advance(1);
    assert_eq!(sent().await, 1);
    let (status, refused) = world.control("configure", json!({"record": "/tmp/calls"})).await;
    assert_eq!(status, 400, "no caller says which file is written: {refused}");
    assert_eq!(read(world.client.get(world.url("/control/configure"))).await.0, 200);
}
