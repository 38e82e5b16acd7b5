//! The inbox as Graph writes it: addresses of calls, and what their replies say.

use crate::{encode, message::SESSION_HEADER};
use domain::{
    SessionId,
    inbox::{Arrival, Correspondence, Incoming, Order, ReceivedAt},
};
use serde_json::Value;

/// Messages a page.
const PAGE: usize = 50;

/// A page of unread messages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) messages: Vec<Arrival>,
    /// The address of the next one.
    pub(crate) next: Option<String>,
}

/// The first page of unread messages. What is sorted by has to be filtered by first: Graph refuses the call otherwise.
pub(crate) fn unread(since: &ReceivedAt, order: Order, most: usize) -> String {
    let direction = match order {
        Order::OldestFirst => "asc",
        Order::NewestFirst => "desc",
    };
    format!(
        "/mailFolders/inbox/messages?$filter=receivedDateTime%20ge%20{}%20and%20isRead%20eq%20false\
         &$orderby=receivedDateTime%20{direction}&$select=id,receivedDateTime&$top={}",
        since.as_str(),
        PAGE.min(most.max(1)),
    )
}

/// The mails that were sent in a conversation.
pub(crate) fn sent_in(conversation: &str) -> String {
    format!(
        "/mailFolders/sentitems/messages?$filter=conversationId%20eq%20{}\
         &$select=sentDateTime,internetMessageHeaders&$top={PAGE}",
        encode::literal(conversation)
    )
}

/// A page in Graph's reply. A message without an id could never be told apart from another: it is left out.
pub(crate) fn page(reply: &[u8]) -> Option<Page> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let messages = reply["value"].as_array()?.iter().filter_map(|message| {
        let received_at = message["receivedDateTime"].as_str().and_then(|text| ReceivedAt::parse(text).ok());
        Some(Arrival { received_at, id: text(message, "id")? })
    });
    Some(Page { messages: messages.collect(), next: text(&reply, "@odata.nextLink") })
}

/// A message without its body.
pub(crate) fn incoming(reply: &[u8]) -> Option<Incoming> {
    let message: Value = serde_json::from_slice(reply).ok()?;
    message.is_object().then(|| Incoming {
        sender: sender(&message),
        subject: text(&message, "subject").unwrap_or_default(),
        conversation: text(&message, "conversationId"),
        headers: headers(&message).map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    })
}

/// A message with its text.
pub(crate) fn correspondence(reply: &[u8]) -> Option<Correspondence> {
    let message: Value = serde_json::from_slice(reply).ok()?;
    Some(Correspondence {
        sender: sender(&message),
        subject: text(&message, "subject").unwrap_or_default(),
        text: message["body"]["content"].as_str()?.to_owned(),
    })
}

/// The sale of the mails in a list: of the latest, should they be of several.
#[allow(clippy::option_option)] // The outer one says whether the reply could be read.
pub(crate) fn sale(reply: &[u8]) -> Option<Option<SessionId>> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let of_sale = |mail: &Value| {
        let mut named = headers(mail).filter(|(name, _)| name.eq_ignore_ascii_case(SESSION_HEADER));
        let session = named.find_map(|(_, value)| SessionId::parse(value.trim()).ok())?;
        Some((text(mail, "sentDateTime"), session))
    };
    let latest = reply["value"].as_array()?.iter().filter_map(of_sale).max();
    Some(latest.map(|(_, session)| session))
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
    fn the_sale_of_a_conversation_is_that_of_its_latest_mail() {
        let mail = |sent: &str, header: &str, session: &str| json!({"sentDateTime": sent, "internetMessageHeaders": [{"name": header, "value": session}]});
        let of = |mails: Value| sale(&bytes(&json!({ "value": mails }))).unwrap().map(String::from);
        let first = mail("2026-04-16T10:00:00Z", "X-Oracle-Session", "cs_live_1");
        let second = mail("2026-04-17T10:00:00Z", "x-oracle-session", "cs_live_2");
        assert_eq!(of(json!([second, first])).as_deref(), Some("cs_live_2"));
        assert_eq!(of(json!([mail("2026-04-17T10:00:00Z", "x-other", "cs_live_2"), {}])), None);
        assert_eq!(of(json!([mail("2026-04-17T10:00:00Z", "x-oracle-session", "../x")])), None);
        assert_eq!(sale(b"{}"), None);
    }

    #[test]
    fn no_text_can_break_out_of_a_filter() {
        let path = sent_in("x' or 1 eq 1 or '");
        assert!(path.contains("eq%20%27x%27%27%20or%201"), "{path}");
    }
}
