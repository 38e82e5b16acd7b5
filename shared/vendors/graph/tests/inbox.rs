//! The inbox against a server over a real connection: the requests, and the handling of the replies.

#![allow(clippy::unwrap_used)]

mod support;

use domain::{
    EmailAddress, SessionId,
    inbox::{Acknowledgement, Incoming, Order, ReceivedAt},
    ports::{Inbox, MailError, StoredMails},
};
use std::time::Duration;
use support::{TOKEN, parts};
use test_server::{Reply, Request, Server, json, json_with};

const MAILBOX: &str = "/graph/v1.0/users/oracle%4042sisters.ai";

#[tokio::test]
async fn every_question_is_asked_as_graph_reads_it() {
    let list = r#"{"value":[{"id":"A","receivedDateTime":"2026-04-16T10:00:00Z"},{"id":"B","receivedDateTime":null}]}"#;
    let message = r#"{"from":{"emailAddress":{"address":"a@example.com"}},"subject":"Hi","conversationId":"c'1"}"#;
    let sent = r#"{"value":[{"id":"S/1","sentDateTime":"2026-04-16T10:00:00Z"}]}"#;
    let server = Server::start([
        json(200, TOKEN),
        json(200, list),
        json(200, message),
        json(200, r#"{"uniqueBody":{"contentType":"text","content":"New text"}}"#),
        json(200, r#"{"subject":"Hi","body":{"contentType":"text","content":"Text"}}"#),
        json(200, sent),
        json(200, about("cs_test_1")),
        json(201, r#"{"id":"D","internetMessageId":"<1@x>"}"#),
    ])
    .await;
    let client = parts(&server.url).client;
    let since = ReceivedAt::parse("2026-04-16T09:00:00Z").unwrap();
    let unread = client.arrived(&since, Order::OldestFirst, 1000).await.unwrap();
    assert_eq!((unread.messages.len(), unread.more), (2, false));
    let message = client.message("A/1").await.unwrap().unwrap();
    assert_eq!((message.sender.as_str(), message.conversation.as_deref()), ("a@example.com", Some("c'1")));
    assert_eq!(client.new_text("A/1").await.unwrap().as_deref(), Some("New text"));
    assert_eq!(client.correspondence("A/1").await.unwrap().unwrap().text, "Text");
    assert_eq!(client.sale_of(&message).await.unwrap(), SessionId::parse("cs_test_1").ok());
    let to = EmailAddress::parse("a@example.com").unwrap();
    let acknowledgement = Acknowledgement {
        to,
        subject: "Re: a\r\nBcc: b".into(),
        body: "Thank you.".into(),
        session: SessionId::parse("cs_test_1").ok(),
    };
    assert_eq!(client.create_acknowledgement(&acknowledgement).await.unwrap().id, "D");

    let seen = server.seen();
    let lines: Vec<_> = seen.iter().skip(1).map(|request| request.line.replace(MAILBOX, "")).collect();
    assert_eq!(
        lines,
        [
            "GET /mailFolders/inbox/messages?$filter=receivedDateTime%20ge%202026-04-16T09:00:00Z\
             &$orderby=receivedDateTime%20asc&$select=id,receivedDateTime&$top=600 HTTP/1.1",
            "GET /messages/A%2F1?$select=from,subject,conversationId,internetMessageHeaders HTTP/1.1",
            "GET /messages/A%2F1?$select=uniqueBody HTTP/1.1",
            "GET /messages/A%2F1?$select=from,subject,body HTTP/1.1",
            "GET /mailFolders/sentitems/messages?$filter=conversationId%20eq%20%27c%27%271%27&$select=id,sentDateTime\
             &$top=50 HTTP/1.1",
            "GET /messages/S%2F1?$select=id&$expand=singleValueExtendedProperties($filter=id%20eq%20%27String%20%7B7d2c\
             5b0e-3f64-4a51-9c0d-42a5c1e7b042%7D%20Name%20x-oracle-session%27) HTTP/1.1",
            "POST /messages HTTP/1.1",
        ]
    );
    let preferences: Vec<_> = seen.iter().skip(1).map(|request| request.header("prefer")).collect();
    let lasting = r#"IdType="ImmutableId""#;
    let with_text = r#"IdType="ImmutableId", outlook.body-content-type="text""#;
    assert_eq!(
        preferences,
        [Some(lasting), Some(lasting), Some(with_text), Some(with_text), Some(lasting), Some(lasting), None]
    );
    let draft: serde_json::Value = serde_json::from_str(seen[7].text()).unwrap();
    assert_eq!(draft["subject"], "Re: a  Bcc: b");
    let headers = draft["internetMessageHeaders"].as_array().unwrap();
    assert_eq!((headers.len(), &headers[0]["name"]), (1, &"X-Auto-Response-Suppress".into()), "none names the sale");
    assert_eq!(draft["singleValueExtendedProperties"][0]["value"], "cs_test_1", "an erasure of the sale finds it");
}

/// A buyer may paste a document into a reply.
#[tokio::test]
async fn a_long_text_is_read() {
    let text = "And now? ".repeat(200_000);
    let server = Server::start([
        json(200, TOKEN),
        json(200, serde_json::json!({ "uniqueBody": { "contentType": "text", "content": text } })),
        json(200, serde_json::json!({ "body": { "contentType": "text", "content": text } })),
    ])
    .await;
    let client = parts(&server.url).client;
    assert!(client.new_text("A").await.unwrap().unwrap() == text);
    assert!(client.correspondence("A").await.unwrap().unwrap().text == text);
}

/// A message in a conversation that replies to a mail.
fn reply() -> Incoming {
    let headers = vec![("In-Reply-To".to_owned(), "<1@x>".to_owned())];
    Incoming { sender: String::new(), subject: String::new(), conversation: Some("c".to_owned()), headers }
}

/// The properties of a mail that is about this sale.
fn about(session: &str) -> String {
    let id = "String {7D2C5B0E-3F64-4A51-9C0D-42A5C1E7B042} Name x-oracle-session";
    serde_json::json!({ "id": "S", "singleValueExtendedProperties": [{"id": id, "value": session}] }).to_string()
}

fn sent(ids: &[&str], next: Option<&str>) -> String {
    let mail = |(second, id): (usize, &&str)| serde_json::json!({ "id": id, "sentDateTime": format!("2026-04-17T10:00:0{second}Z") });
    let mails: Vec<_> = ids.iter().enumerate().map(mail).collect();
    serde_json::json!({ "value": mails, "@odata.nextLink": next }).to_string()
}

/// In a conversation, the latest mail that names a sale counts; if none does, the search continues with the id in
/// In-Reply-To.
#[tokio::test]
async fn the_sale_of_a_reply_is_looked_for_in_each_mail_and_by_what_it_answers() {
    let replies = [
        json(200, TOKEN),
        json(200, sent(&["old", "ack"], None)),
        json(200, r#"{"id":"ack"}"#),
        json(200, about("cs_test_1")),
    ];
    let server = Server::start(replies).await;
    assert_eq!(parts(&server.url).client.sale_of(&reply()).await.unwrap().unwrap().as_str(), "cs_test_1");
    let seen = server.seen();
    assert!(seen[2].line.contains("/messages/ack?") && seen[3].line.contains("/messages/old?"), "the latest first");
    assert_eq!(seen.len(), 4, "what was found by the conversation is not looked for again");

    let replies =
        [json(200, TOKEN), json(200, r#"{"value":[]}"#), json(200, sent(&["A"], None)), json(200, about("cs_test_2"))];
    let server = Server::start(replies).await;
    assert_eq!(parts(&server.url).client.sale_of(&reply()).await.unwrap().unwrap().as_str(), "cs_test_2");
    let line = server.seen()[2].line.clone();
    assert!(line.contains("internetMessageId%20eq%20%27%3C1%40x%3E%27"), "{line}");
    let elsewhere = sent(&["A"], Some("https://evil.example/v1.0/users/x/messages"));
    let server = Server::start([json(200, TOKEN), json(200, &elsewhere)]).await;
    let found = parts(&server.url).client.sale_of(&reply()).await;
    assert!(matches!(found, Err(MailError::Unavailable(200))), "an older page is not the whole answer");
}

const GONE: &str = r#"{"error":{"code":"ErrorItemNotFound","message":""}}"#;

/// A reply is in no conversation of ours if only its In-Reply-To names our mail: it is found by its own id, and the
/// messages of its conversation by it. Messages without a name and an id of their own come first.
#[tokio::test]
async fn the_mails_of_a_sale_are_those_that_name_it_and_the_known_replies_with_their_conversations() {
    let ours = r#"{"value":[{"id":"M","conversationId":"c"}]}"#;
    let server = Server::start([
        json(200, TOKEN),
        json(200, ours),
        json(200, r#"{"value":[{"id":"M"},{"id":"N"},{"id":"Q"}]}"#),
        json(200, r#"{"id":"R","conversationId":"c2"}"#),
        json(200, r#"{"value":[{"id":"R"},{"id":"Z"}]}"#),
        json(404, GONE),
    ])
    .await;
    let session = SessionId::parse("cs_test_1").unwrap();
    let known = ["Q".to_owned(), "R".to_owned(), "S".to_owned()];
    let found = parts(&server.url).client.of_sale(&session, &known).await.unwrap();
    assert_eq!(found.ids, ["N", "Q", "Z", "M", "R"], "what leads to the others is last");
    assert!(!found.more);
    let seen = server.seen();
    assert_eq!(seen.len(), 6, "a known message of a conversation that was listed is not asked for");
    for (request, id) in [(&seen[3], "R"), (&seen[5], "S")] {
        assert!(request.line.contains(&format!("/messages/{id}?$select=id,conversationId ")), "{}", request.line);
    }
    assert!(seen[4].line.contains("conversationId%20eq%20%27c2%27"), "{}", seen[4].line);
}

/// A sale with one mail, whose conversation has this many pages.
fn conversation(pages: usize) -> impl FnMut(&Request) -> Reply + Send + 'static {
    move |request| {
        if request.line.starts_with("POST") {
            return json(200, TOKEN);
        }
        if request.line.contains("singleValueExtendedProperties") {
            return json(200, r#"{"value":[{"id":"M","conversationId":"c"}]}"#);
        }
        let page = request.line.split("page=").nth(1).and_then(|rest| rest.split(' ').next());
        let page: usize = page.map_or(1, |page| page.parse().unwrap());
        let address = format!("http://{}{MAILBOX}/messages", request.header("host").unwrap());
        let next = (page < pages).then(|| format!("{address}?page={}", page + 1));
        let messages = serde_json::json!([{ "id": format!("N{page:02}") }, { "id": "M" }]);
        json(200, serde_json::json!({ "value": messages, "@odata.nextLink": next }))
    }
}

/// Only the sale's mail leads to its conversation, so it is not to be removed while messages are left that were not listed.
#[tokio::test]
async fn the_mails_that_lead_to_a_conversation_are_left_out_while_it_is_not_listed_whole() {
    let session = SessionId::parse("cs_test_1").unwrap();
    let server = Server::answering(conversation(3)).await;
    let found = parts(&server.url).client.of_sale(&session, &[]).await.unwrap();
    assert_eq!((found.ids, found.more), (["N01", "N02", "N03", "M"].map(str::to_owned).to_vec(), false));
    let server = Server::answering(conversation(21)).await;
    let found = parts(&server.url).client.of_sale(&session, &[]).await.unwrap();
    assert_eq!((found.ids.len(), found.more, found.ids.contains(&"M".to_owned())), (20, true, false));
    let first = server.seen()[2].line.clone();
    assert!(first.contains("conversationId%20eq%20%27c%27") && first.ends_with("$top=600 HTTP/1.1"), "{first}");
}

/// An answer to a sign-in mail is an inquiry, so it is not removed with the mail.
#[tokio::test]
async fn the_mails_with_a_name_are_found_without_the_answers_to_them() {
    let ours = r#"{"value":[{"id":"M","conversationId":"c"},{"id":"N","conversationId":"d"}]}"#;
    let server = Server::start([json(200, TOKEN), json(200, ours)]).await;
    let found = parts(&server.url).client.named(&SessionId::parse("cs_link_1").unwrap()).await.unwrap();
    assert_eq!(found, ["M", "N"]);
    let line = server.seen()[1].line.clone();
    assert!(line.contains("ep/value%20eq%20%27cs_link_1%27"), "{line}");
    assert_eq!(server.seen().len(), 2, "no conversation is asked for");
}

/// The access token is sent to the address of the next page, so that address must be Graph's.
#[tokio::test]
async fn a_next_page_elsewhere_is_not_asked_for() {
    let page = r#"{"value":[],"@odata.nextLink":"https://evil.example/v1.0/users/x/messages"}"#;
    let server = Server::start([json(200, TOKEN), json(200, page)]).await;
    let client = parts(&server.url).client;
    let unread = client.arrived(&ReceivedAt::earliest(), Order::NewestFirst, 10).await;
    assert!(matches!(unread, Err(MailError::Unavailable(200))));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn no_more_pages_are_asked_for_than_are_wanted() {
    let page = r#"{"value":[{"id":"A"},{"id":"B"},{"id":"C"}],"@odata.nextLink":"https://evil.example/"}"#;
    let server = Server::start([json(200, TOKEN), json(200, page)]).await;
    let unread = parts(&server.url).client.arrived(&ReceivedAt::earliest(), Order::NewestFirst, 2).await.unwrap();
    assert_eq!((unread.messages.len(), unread.more), (2, true));
    assert!(server.seen()[1].line.contains("desc") && server.seen()[1].line.ends_with("$top=2 HTTP/1.1"));
}

#[tokio::test]
async fn refusals_say_how_long_to_wait_and_what_is_gone() {
    let first = |reply| async {
        let server = Server::start([json(200, TOKEN), reply]).await;
        let client = parts(&server.url).client;
        (server, client)
    };
    let (_server, client) = first(json_with(429, "Retry-After: 90\r\n", "{}")).await;
    let unread = client.arrived(&ReceivedAt::earliest(), Order::OldestFirst, 10).await;
    assert!(matches!(unread, Err(MailError::Throttled { wait, .. }) if wait == Duration::from_secs(90)));
    let (_server, client) = first(json(404, GONE)).await;
    assert!(client.message("A").await.unwrap().is_none());
    let (_server, client) = first(json(404, "{}")).await;
    assert!(matches!(client.message("A").await, Err(MailError::Unavailable(404))), "the mailbox may be missing");
    let (_server, client) = first(json(404, GONE)).await;
    let unread = client.arrived(&ReceivedAt::earliest(), Order::OldestFirst, 10).await;
    assert!(matches!(unread, Err(MailError::Unavailable(404))), "a folder is never missing: the mailbox is");
    let (_server, client) = first(json(200, "{}")).await;
    assert!(matches!(client.sale_of(&reply()).await, Err(MailError::Unavailable(200))));
    let client = parts("http://127.0.0.1:9").client;
    assert!(client.message("..").await.unwrap().is_none(), "an id that is a step of a path reaches nobody");
}
