//! Lists of messages: pages, filters and queries that are refused.

use crate::{
    graph_api::{Graph, filter},
    support::{ok, world},
};
use serde_json::{Value, json};

#[tokio::test]
async fn unread_mail_is_paged_through_links() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    for minute in 0..7 {
        let (status, _) = world
            .control(
                "inbox",
                json!({"from": "Ada <ada@example.com>", "subject": format!("No. {minute}"),
                       "receivedDateTime": format!("2026-01-01T00:0{minute}:00Z")}),
            )
            .await;
        assert_eq!(status, 201);
    }
    world.control("inbox", json!({"from": "b@example.com", "subject": "read", "isRead": true})).await;
    let mut address = world.mailbox(&format!("{}&$top=3", filter("inbox", "isRead eq false")));
    let mut pages = Vec::new();
    loop {
        let page = ok(graph.get_address(&address)).await;
        pages.push(page["value"].as_array().unwrap().len());
        match page["@odata.nextLink"].as_str() {
            Some(next) => next.clone_into(&mut address),
            None => break,
        }
    }
    assert_eq!(pages, [3, 3, 1]);
    let (_, newest) =
        graph.get("mailFolders/inbox/messages?$filter=subject eq 'No. 6'&$select=subject,from,receivedDateTime").await;
    let newest = &newest["value"][0];
    assert_eq!(newest["receivedDateTime"], "2026-01-01T00:06:00Z");
    assert_eq!(newest["from"]["emailAddress"]["address"], "ada@example.com");
    assert_eq!(newest["from"]["emailAddress"]["name"], "Ada");
    let (status, planted) =
        world.control("inbox", json!({"from": "c@example.com", "subject": "x", "receivedDateTime": null})).await;
    assert_eq!((status, &planted["receivedDateTime"]), (201, &Value::Null));
}

#[tokio::test]
async fn bad_queries_are_refused() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    for (query, code) in [
        ("$filter=colour eq 'red'", "BadRequest"),
        ("$filter=isRead is false", "BadRequest"),
        ("$select=colour", "BadRequest"),
        ("$top=0", "BadRequest"),
        ("$top=1001", "BadRequest"),
        ("$expand=everything", "BadRequest"),
        ("$filter=isRead eq false&$orderby=receivedDateTime desc", "InefficientFilter"),
    ] {
        let (status, body) = graph.get(&format!("mailFolders/inbox/messages?{query}")).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(code)), "{query}");
    }
    assert_eq!(graph.get("mailFolders/attic/messages").await.0, 404);
    assert_eq!(graph.get("calendar").await.0, 400);
    let (status, body) = graph.get_address(&world.url("/graph/v1.0/users/other@example.com/messages")).await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!("ErrorInvalidUser")));
}
