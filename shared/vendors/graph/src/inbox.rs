//! The inbox in Graph's form: the addresses of calls, and the parsing of their replies.

use crate::{encode, message::SESSION_PROPERTY};
use domain::{
    SessionId,
    inbox::{Arrival, Correspondence, Incoming, Order, ReceivedAt},
};
use serde_json::Value;

/// Messages per page.
const PAGE: usize = 50;

/// Messages per page of a list with two short fields: all that the watch may have seen (500) and new ones, in one call.
/// Graph allows 1,000; with 400 bytes for each, a page has 240 KB.
const LISTED: usize = 600;

/// A page of messages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) messages: Vec<Arrival>,
    /// The address of the next page.
    pub(crate) next: Option<String>,
}

/// The address of the first page of messages. The sort field must also be the first filter, otherwise Graph refuses the
/// call.
pub(crate) fn arrived(since: &ReceivedAt, order: Order, most: usize) -> String {
    let direction = match order {
        Order::OldestFirst => "asc",
        Order::NewestFirst => "desc",
    };
    format!(
        "/mailFolders/inbox/messages?$filter=receivedDateTime%20ge%20{}\
         &$orderby=receivedDateTime%20{direction}&$select=id,receivedDateTime&$top={}",
        since.as_str(),
        LISTED.min(most.max(1)),
    )
}

/// The most pages of a conversation that are read: 1,000 of our mails in the search for a sale, more than any
/// correspondence has, and 12,000 messages in an erasure, which lists again once these are removed.
pub(crate) const MOST_PAGES: usize = 20;

/// The most mails, the latest first, whose sale is looked up. Acknowledgements of other messages than replies have none.
pub(crate) const MOST_ASKED: usize = 25;

/// The addresses at which the mail that a message replies to may be found among the sent ones: by its conversation, and
/// then by the id that the message names. A conversation is Exchange's guess, and Exchange starts a new one if a mail
/// program leaves out the data for it; In-Reply-To comes from the sender's program.
pub(crate) fn answered(message: &Incoming) -> Vec<String> {
    let conversation = message.conversation.as_deref().map(|conversation| sent_where("conversationId", conversation));
    let named = message.in_reply_to().map(|id| sent_where("internetMessageId", id));
    conversation.into_iter().chain(named).collect()
}

/// The address of all messages in the mailbox that have a sale's id. The property is documented as a filter for lists, not
/// as a field in lists.
pub(crate) fn of_sale(session: &SessionId) -> String {
    let (property, value) = (encode::literal(SESSION_PROPERTY), encode::literal(session.as_str()));
    format!(
        "/messages?$filter=singleValueExtendedProperties/any(ep:ep/id%20eq%20{property}%20and%20ep/value%20eq%20{value})\
         &$select=id,conversationId&$top={LISTED}"
    )
}

/// The address of all messages in the mailbox that belong to a conversation.
pub(crate) fn of_conversation(conversation: &str) -> String {
    let conversation = encode::literal(conversation);
    format!("/messages?$filter=conversationId%20eq%20{conversation}&$select=id,conversationId&$top={LISTED}")
}

/// The messages in Graph's reply: their ids and conversations.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Belonging {
    pub(crate) ids: Vec<String>,
    pub(crate) conversations: Vec<String>,
    /// The address of the next page.
    pub(crate) next: Option<String>,
}

pub(crate) fn belonging(reply: &[u8]) -> Option<Belonging> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let messages = reply["value"].as_array()?;
    Some(Belonging {
        ids: messages.iter().filter_map(|message| text(message, "id")).collect(),
        conversations: messages.iter().filter_map(|message| text(message, "conversationId")).collect(),
        next: text(&reply, "@odata.nextLink"),
    })
}

/// The conversation of a message; `Some(None)` if it has none.
pub(crate) fn conversation(reply: &[u8]) -> Option<Option<String>> {
    let message: Value = serde_json::from_slice(reply).ok()?;
    message.is_object().then(|| text(&message, "conversationId"))
}

fn sent_where(property: &str, value: &str) -> String {
    format!(
        "/mailFolders/sentitems/messages?$filter={property}%20eq%20{}&$select=id,sentDateTime&$top={PAGE}",
        encode::literal(value),
    )
}

/// The query that follows a mail's address when its sale is looked up. Graph documents the expansion of extended
/// properties for one message, but not for a list that is filtered by another field.
pub(crate) fn with_sale() -> String {
    format!("$select=id&$expand=singleValueExtendedProperties($filter=id%20eq%20{})", encode::literal(SESSION_PROPERTY))
}

/// Our sent mails in Graph's reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The time when each was sent, and its id.
    pub(crate) mails: Vec<(String, String)>,
    /// The address of the next page.
    pub(crate) next: Option<String>,
}

/// Parses a page. A message without an id cannot be distinguished from others and is left out.
pub(crate) fn page(reply: &[u8]) -> Option<Page> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let messages = reply["value"].as_array()?.iter().filter_map(|message| {
        let received_at = message["receivedDateTime"].as_str().and_then(|text| ReceivedAt::parse(text).ok());
        Some(Arrival { received_at, id: text(message, "id")? })
    });
    Some(Page { messages: messages.collect(), next: text(&reply, "@odata.nextLink") })
}

/// Parses a message without its body.
pub(crate) fn incoming(reply: &[u8]) -> Option<Incoming> {
    let message: Value = serde_json::from_slice(reply).ok()?;
    message.is_object().then(|| Incoming {
        sender: sender(&message),
        subject: text(&message, "subject").unwrap_or_default(),
        conversation: text(&message, "conversationId"),
        headers: headers(&message).map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    })
}

/// Parses a message with its text.
pub(crate) fn correspondence(reply: &[u8]) -> Option<Correspondence> {
    let message: Value = serde_json::from_slice(reply).ok()?;
    Some(Correspondence {
        sender: sender(&message),
        subject: text(&message, "subject").unwrap_or_default(),
        text: message["body"]["content"].as_str()?.to_owned(),
    })
}

/// The new text of a message, without quotations.
pub(crate) fn new_text(reply: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(reply).ok()?;
    // Only plain text was requested: markup would be taken for the customer's words.
    let body = message["uniqueBody"].as_object()?;
    let is_text = body.get("contentType").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("text"));
    Some(body.get("content").and_then(Value::as_str).filter(|_| is_text).unwrap_or_default().to_owned())
}

/// Parses a page of sent mails.
pub(crate) fn sent(reply: &[u8]) -> Option<Sent> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let mail = |mail: &Value| Some((text(mail, "sentDateTime").unwrap_or_default(), text(mail, "id")?));
    let mails = reply["value"].as_array()?.iter().filter_map(mail).collect();
    Some(Sent { mails, next: text(&reply, "@odata.nextLink") })
}

/// The sale of one of our mails; `Some(None)` if it names none.
pub(crate) fn sale(reply: &[u8]) -> Option<Option<SessionId>> {
    let mail: Value = serde_json::from_slice(reply).ok()?;
    // Graph may write the GUID in upper or lower case.
    let ours = |property: &&Value| property["id"].as_str().is_some_and(|id| id.eq_ignore_ascii_case(SESSION_PROPERTY));
    let properties = mail.as_object()?.get("singleValueExtendedProperties").and_then(Value::as_array);
    let mut named = properties.into_iter().flatten().filter(ours).filter_map(|property| property["value"].as_str());
    Some(named.find_map(|value| SessionId::parse(value.trim()).ok()))
}

fn sender(message: &Value) -> String {
    message["from"]["emailAddress"]["address"].as_str().unwrap_or_default().trim().to_owned()
}

fn headers(message: &Value) -> impl Iterator<Item = (&str, &str)> {
    let headers = message["internetMessageHeaders"].as_array().into_iter().flatten();
    headers.filter_map(|header| Some((header["name"].as_str()?, header["value"].as_str()?)))
}

fn text(value: &Value, name: &str) -> Option<String> {
    value[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bytes(value: &Value) -> Vec<u8> {
        value.to_string().into_bytes()
    }

    #[test]
    fn a_page_is_read_whatever_single_messages_lack() {
        let reply = json!({
            "value": [
                {"id": "A", "receivedDateTime": "2026-04-16T10:00:00Z"},
                {"id": "B", "receivedDateTime": null},
                {"id": "C", "receivedDateTime": "yesterday"},
                {"receivedDateTime": "2026-04-16T10:00:00Z"},
            ],
            "@odata.nextLink": "https://graph.microsoft.com/v1.0/x?$skip=4",
        });
        let page = page(&bytes(&reply)).unwrap();
        let messages: Vec<_> =
            page.messages.iter().map(|m| (m.id.as_str(), m.received_at.as_ref().map(ReceivedAt::as_str))).collect();
        assert_eq!(messages, [("A", Some("2026-04-16T10:00:00Z")), ("B", None), ("C", None)]);
        assert!(page.next.unwrap().ends_with("$skip=4"));
        assert_eq!(super::page(b"{}"), None);
    }

    #[test]
    fn a_message_is_read_without_what_it_lacks() {
        let reply = json!({
            "from": {"emailAddress": {"name": "A", "address": " a@example.com "}},
            "subject": "Hello",
            "conversationId": "c",
            "internetMessageHeaders": [{"name": "List-Id", "value": "<x>"}, {"name": "broken"}],
        });
        let message = incoming(&bytes(&reply)).unwrap();
        assert_eq!((message.sender.as_str(), message.subject.as_str()), ("a@example.com", "Hello"));
        assert_eq!(message.headers, [("List-Id".to_owned(), "<x>".to_owned())]);
        let message = incoming(b"{}").unwrap();
        assert_eq!((message.sender.as_str(), message.conversation), ("", None));
        assert!(incoming(b"[]").is_none() && correspondence(b"{}").is_none());
    }

    #[test]
    fn a_mail_of_ours_names_its_sale_in_one_property() {
        let of = |properties: Value| {
            sale(&bytes(&json!({ "id": "A", "singleValueExtendedProperties": properties }))).unwrap()
        };
        let named = |id: &str, value: &str| json!([{ "id": id, "value": value }]);
        assert_eq!(of(named(&SESSION_PROPERTY.to_uppercase(), " cs_live_1 ")).unwrap().as_str(), "cs_live_1");
        assert_eq!(of(named("String 0x1042", "cs_live_1")), None);
        assert_eq!(of(named(SESSION_PROPERTY, "../x")), None);
        assert_eq!(of(Value::Null), None, "an acknowledgement names none");
        assert_eq!(sale(b"[]"), None);
        let page = sent(&bytes(
            &json!({"value": [{"id": "A", "sentDateTime": "t"}, {"sentDateTime": "u"}], "@odata.nextLink": "more"}),
        ));
        let page = page.unwrap();
        assert_eq!((page.mails, page.next.as_deref()), (vec![("t".to_owned(), "A".to_owned())], Some("more")));
        assert_eq!(sent(b"{}"), None);
    }

    #[test]
    fn only_plain_new_text_is_read() {
        let body = |kind: &str| bytes(&json!({ "uniqueBody": { "contentType": kind, "content": "And now?\r\n" } }));
        assert_eq!(new_text(&body("Text")).as_deref(), Some("And now?\r\n"));
        assert_eq!(new_text(&body("html")).as_deref(), Some(""));
        assert_eq!(new_text(br#"{"body":{"content":"x"}}"#), None, "without the property the call is no answer");
    }

    fn reply(conversation: Option<&str>, header: (&str, &str)) -> Incoming {
        let headers = vec![(header.0.to_owned(), header.1.to_owned())];
        let conversation = conversation.map(str::to_owned);
        Incoming { sender: String::new(), subject: String::new(), conversation, headers }
    }

    #[test]
    fn a_reply_is_looked_up_by_its_conversation_and_by_what_it_answers() {
        let asked = answered(&reply(Some("c"), ("in-reply-to", " <o'1@x> (a comment) <2@x>")));
        assert_eq!(asked.len(), 2);
        assert!(asked[0].contains("$filter=conversationId%20eq%20%27c%27&"), "{asked:?}");
        assert!(asked[1].contains("$filter=internetMessageId%20eq%20%27%3Co%27%271%40x%3E%27&"), "{asked:?}");
        assert!(asked.iter().all(|path| !path.contains("$expand")), "not documented for filtered lists: {asked:?}");
        for header in [("References", "<1@x>"), ("In-Reply-To", ""), ("In-Reply-To", ">1@x<"), ("In-Reply-To", "<é")] {
            assert!(answered(&reply(None, header)).is_empty(), "{header:?}");
        }
    }

    #[test]
    fn no_text_can_break_out_of_a_filter() {
        let asked = answered(&reply(Some("x' or 1 eq 1 or '"), ("In-Reply-To", "<x' or 1 eq 1>")));
        assert!(asked[0].contains("eq%20%27x%27%27%20or%201"), "{asked:?}");
        assert!(asked[1].contains("eq%20%27%3Cx%27%27%20or%201"), "{asked:?}");
    }
}
