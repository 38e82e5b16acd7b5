//! Graph's interface over HTTP: drafts, sending and the inbox.

use crate::support::{SENDER, World, ok, read, world};
use serde_json::{Value, json};

fn message(subject: &str) -> Value {
    json!({
        "subject": subject,
        "body": {"contentType": "Text", "content": "Your verdict: GREEN"},
        "toRecipients": [{"emailAddress": {"address": "ada@example.com"}}],
        "internetMessageHeaders": [{"name": "x-oracle-session", "value": "cs_test_1"}],
        "singleValueExtendedProperties": [{"id": PROPERTY, "value": "cs_test_1"}],
    })
}

const PROPERTY: &str = "String {AAAAAAAA-0000-0000-0000-0123456789AB} Name Session";

fn expanding(id: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("$expand", &format!("singleValueExtendedProperties($filter=id eq '{id}')"));
    query.append_pair("$select", "id,internetMessageHeaders");
    query.finish()
}

pub(crate) struct Graph<'a> {
    pub(crate) world: &'a World,
    pub(crate) token: String,
}

impl<'a> Graph<'a> {
    pub(crate) async fn of(world: &'a World) -> Self {
        let token = world.token().await;
        Self { world, token }
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.get_address(&self.world.mailbox(path)).await
    }

    pub(crate) async fn get_address(&self, address: &str) -> (u16, Value) {
        read(self.world.client.get(address).bearer_auth(&self.token)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.world.client.post(self.world.mailbox(path));
        read(request.bearer_auth(&self.token).json(body)).await
    }

    pub(crate) async fn send(&self, id: &str) -> (u16, Value) {
        let address = self.world.mailbox(&format!("messages/{id}/send"));
        let request = self.world.client.post(address).bearer_auth(&self.token);
        read(request.header("Content-Length", "0")).await
    }

    pub(crate) async fn draft(&self, subject: &str) -> Value {
        let (status, draft) = self.post("messages", &message(subject)).await;
        assert_eq!(status, 201, "{draft}");
        draft
    }
}

pub(crate) fn filter(folder: &str, filter: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("$filter", filter);
    query.append_pair("$select", "id,internetMessageId,internetMessageHeaders");
    format!("mailFolders/{folder}/messages?{}", query.finish())
}

#[tokio::test]
async fn a_draft_is_sent_once_and_found_by_its_message_id() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    let draft = graph.draft("Verdict").await;
    let id = draft["id"].as_str().unwrap();
    assert_eq!(draft["isDraft"], true);
    assert_eq!(draft.get("internetMessageHeaders"), None);
    let found = ok(graph.get(&format!("messages/{id}?$select=subject,isDraft,internetMessageHeaders"))).await;
    assert_eq!(found["internetMessageHeaders"][0]["value"], "cs_test_1");
    assert_eq!(found.get("body"), None);
    let (_, drafts) = graph.get("mailFolders/drafts/messages").await;
    assert_eq!(drafts["value"].as_array().unwrap().len(), 1);
    assert_eq!(graph.send(id).await, (202, Value::Null));
    let (status, again) = graph.send(id).await;
    assert_eq!((status, &again["error"]["code"]), (404, &json!("ErrorItemNotFound")));
    assert!(again["error"]["innerError"]["request-id"].is_string());
    assert_eq!(graph.get(&format!("messages/{id}")).await.0, 404);
    let message_id = draft["internetMessageId"].as_str().unwrap();
    let by_message_id = filter("sentitems", &format!("internetMessageId eq '{message_id}'"));
    let sent = ok(graph.get(&by_message_id)).await;
    let sent = sent["value"].as_array().unwrap();
    assert_eq!(sent.len(), 1);
    assert_ne!(sent[0]["id"], draft["id"]);
    assert_eq!(sent[0]["internetMessageId"], draft["internetMessageId"]);
    assert_eq!(sent[0].get("internetMessageHeaders"), None, "Graph leaves them out of sent items");
    let mails = world.look("mails").await;
    assert_eq!(mails.as_array().unwrap().len(), 1);
    assert_eq!(mails[0]["to"], "ada@example.com");
    assert_eq!(mails[0]["subject"], "Verdict");
    assert_eq!(mails[0]["body"], "Your verdict: GREEN");
    assert_eq!(mails[0]["at"], "2025-11-20T00:00:00Z");
    assert_eq!(mails[0]["headers"], json!({"x-oracle-session": "cs_test_1"}));
}

/// An extended property is returned to a request that names its id, and is kept in the sent items.
#[tokio::test]
async fn an_extended_property_outlives_the_draft() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    let draft = graph.draft("Verdict").await;
    let id = draft["id"].as_str().unwrap();
    assert_eq!(draft.get("singleValueExtendedProperties"), None);
    let written = json!([{"id": "String {aaaaaaaa-0000-0000-0000-0123456789ab} Name Session", "value": "cs_test_1"}]);
    let (_, found) = graph.get(&format!("messages/{id}?{}", expanding(PROPERTY))).await;
    assert_eq!(found["singleValueExtendedProperties"], written);
    graph.send(id).await;
    let (status, list) = graph.get("mailFolders/sentitems/messages?$select=id").await;
    let sent = list["value"][0]["id"].as_str().unwrap();
    assert_eq!((status, list["value"].as_array().unwrap().len()), (200, 1));
    let (status, found) = graph.get(&format!("messages/{sent}?{}", expanding(PROPERTY))).await;
    assert_eq!((status, &found["singleValueExtendedProperties"]), (200, &written), "{found}");
    let other = PROPERTY.replace("Session", "session");
    let (_, found) = graph.get(&format!("messages/{sent}?{}", expanding(&other))).await;
    assert_eq!(found.get("singleValueExtendedProperties"), None, "a name in other letters is another one");
    for expand in ["attachments", "singleValueExtendedProperties", "singleValueExtendedProperties($filter=id eq 'x')"] {
        assert_eq!(graph.get(&format!("messages/{sent}?$expand={}", percent(expand))).await.0, 400, "{expand}");
    }
    // It is documented for a single message only.
    assert_eq!(graph.get(&format!("mailFolders/sentitems/messages?{}", expanding(PROPERTY))).await.0, 400);
}

#[tokio::test]
async fn new_text_of_a_reply_is_distinguished_from_its_quotes() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    let message = json!({ "from": "ada@example.com", "body": "And if we wait?", "quoted": "> VERDICT: GREEN" });
    world.control("inbox", message).await;
    let (_, list) = graph.get("mailFolders/inbox/messages?$select=id").await;
    let id = list["value"][0]["id"].as_str().unwrap();
    let (_, new) = graph.get(&format!("messages/{id}?$select=uniqueBody,body")).await;
    assert_eq!(new["uniqueBody"], json!({ "contentType": "text", "content": "And if we wait?" }));
    assert_eq!(new["body"]["content"], "And if we wait?\r\n\r\n> VERDICT: GREEN");
    let (_, whole) = graph.get(&format!("messages/{id}")).await;
    assert_eq!(whole.get("uniqueBody"), None, "it is given only when selected");
}

/// What schedules ask while a test runs must not use up its fault.
#[tokio::test]
async fn polling_uses_up_no_fault() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    world.fault("graph", json!([{ "status": 503 }])).await;
    let named = |session: &str| {
        let filter = format!("singleValueExtendedProperties/any(ep:ep/id eq '{PROPERTY}' and ep/value eq '{session}')");
        format!("messages?$filter={}", percent(&filter))
    };
    assert_eq!(graph.get("mailFolders/inbox/messages").await.0, 200);
    assert_eq!(graph.get(&named("cs_link_7")).await.0, 200);
    assert_eq!(graph.get(&named("cs_test_1")).await.0, 503, "an erasure asks for the mails of a sale");
}

fn percent(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[tokio::test]
async fn a_draft_can_be_thrown_away() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    let draft = graph.draft("Verdict").await;
    let id = draft["id"].as_str().unwrap();
    let address = world.mailbox(&format!("messages/{id}"));
    let delete = || world.client.delete(&address).bearer_auth(&graph.token);
    assert_eq!(read(delete()).await, (204, Value::Null));
    assert_eq!(read(delete()).await.0, 404);
    assert_eq!(graph.send(id).await.0, 404);
    let (status, body) = graph.get("messages/17").await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!("ErrorInvalidIdMalformed")));
}

#[tokio::test]
async fn a_mail_is_sent_without_a_draft() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    let body = json!({"message": message("Reply"), "saveToSentItems": false});
    assert_eq!(graph.post("sendMail", &body).await, (202, Value::Null));
    let (_, sent) = graph.get("mailFolders/sentitems/messages").await;
    assert_eq!(sent["value"], json!([]));
    let body = json!({"message": message("Reply")});
    assert_eq!(graph.post("sendMail", &body).await.0, 202);
    let (_, sent) = graph.get("mailFolders/sentitems/messages").await;
    assert_eq!(sent["value"].as_array().unwrap().len(), 1);
    assert_eq!(world.look("mails").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_mail_to_oneself_arrives() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    let mut own = message("To myself");
    own["toRecipients"][0]["emailAddress"]["address"] = json!(SENDER);
    assert_eq!(graph.post("sendMail", &json!({"message": own})).await.0, 202);
    let (_, inbox) = graph.get(&filter("inbox", "isRead eq false")).await;
    assert_eq!(inbox["value"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn unusable_messages_are_refused() {
    let world = world().await;
    let graph = Graph::of(&world).await;
    let change = |name: &str, value: Value| {
        let mut message = message("Verdict");
        message[name] = value;
        message
    };
    let headers = |count: usize| {
        let header = json!({"name": "x-a", "value": "b"});
        Value::Array(vec![header; count])
    };
    for (body, code) in [
        (change("colour", json!("red")), "RequestBodyRead"),
        (change("body", json!({"content": "x"})), "RequestBodyRead"),
        (change("body", json!({"contentType": "Markdown", "content": "x"})), "RequestBodyRead"),
        (change("subject", json!(7)), "RequestBodyRead"),
        (change("toRecipients", json!(["ada@example.com"])), "RequestBodyRead"),
        (change("internetMessageHeaders", json!([{"name": "Subject", "value": "x"}])), "InvalidInternetMessageHeader"),
        (
            change("internetMessageHeaders", json!([{"name": "x-a", "value": "x\r\nBcc: y"}])),
            "InvalidInternetMessageHeader",
        ),
        (change("internetMessageHeaders", headers(6)), "InvalidInternetMessageHeaderCollection"),
        (change("singleValueExtendedProperties", json!([{"id": "Session", "value": "x"}])), "ErrorInvalidProperty"),
        (change("singleValueExtendedProperties", json!([{"id": PROPERTY, "value": 1}])), "RequestBodyRead"),
    ] {
        let (status, reply) = graph.post("messages", &body).await;
        assert_eq!((status, &reply["error"]["code"]), (400, &json!(code)), "{body}");
    }
    assert_eq!(graph.post("messages", &change("internetMessageHeaders", headers(5))).await.0, 201);
    for recipients in [json!([]), json!([{"emailAddress": {"address": "nobody"}}])] {
        let (status, draft) = graph.post("messages", &change("toRecipients", recipients.clone())).await;
        assert_eq!(status, 201, "a draft may be unfinished");
        let (status, reply) = graph.send(draft["id"].as_str().unwrap()).await;
        assert_eq!((status, &reply["error"]["code"]), (400, &json!("ErrorInvalidRecipients")));
        let body = json!({"message": change("toRecipients", recipients)});
        assert_eq!(graph.post("sendMail", &body).await.0, 400);
    }
    assert_eq!(graph.post("sendMail", &json!({})).await.0, 400);
    let text = world.client.post(world.mailbox("messages")).bearer_auth(&graph.token).body("subject");
    assert_eq!(read(text).await.0, 415);
    assert_eq!(world.look("mails").await, json!([]));
}

#[tokio::test]
async fn a_post_states_its_length() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let world = world().await;
    let token = world.token().await;
    let address = world.url("");
    let mut stream = tokio::net::TcpStream::connect(address.trim_start_matches("http://")).await.unwrap();
    let request = format!(
        "POST /graph/v1.0/users/{SENDER}/messages/AAMkA1/send HTTP/1.1\r\nHost: x\r\n\
         Authorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 411"), "{reply}");
}
