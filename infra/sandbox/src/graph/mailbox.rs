//! The mailbox: drafts, sent items and inbox, and every mail that was accepted for sending.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::error::GraphError;
use super::store::{Folder, time, without};
use crate::{config::is_email, credentials::GRAPH_SENDER, state::State};

/// The prefix of every id in this mailbox; any other text is not an id.
const ID_START: &str = "AAMkA";

fn new_id(state: &mut State) -> String {
    state.identifiers.prefixed("AAMkAGI2", 108)
}

/// The properties of a new message; `given` replaces them.
fn message(state: &mut State, given: Map<String, Value>, now: Timestamp) -> Value {
    let sender = json!({"emailAddress": {"name": "Oracle", "address": GRAPH_SENDER}});
    let change_key = state.identifiers.token(32);
    let mut message = json!({
        "id": new_id(state),
        "createdDateTime": time(now),
        "lastModifiedDateTime": time(now),
        "changeKey": change_key,
        "categories": [],
        "receivedDateTime": time(now),
        "sentDateTime": time(now),
        "hasAttachments": false,
        "internetMessageId": format!("<{}@sandbox.outlook.com>", state.identifiers.token(40)),
        "subject": "",
        "bodyPreview": "",
        "importance": "normal",
        "conversationId": state.identifiers.prefixed("AAQkAGI2", 60),
        "conversationIndex": state.identifiers.prefixed("AQHc", 28),
        "isDeliveryReceiptRequested": false,
        "isReadReceiptRequested": false,
        "isRead": true,
        "isDraft": true,
        "body": {"contentType": "text", "content": ""},
        "sender": sender,
        "from": sender,
        "toRecipients": [],
        "ccRecipients": [],
        "bccRecipients": [],
        "replyTo": [],
        "flag": {"flagStatus": "notFlagged"},
        "inferenceClassification": "focused",
    });
    if let Value::Object(fields) = &mut message {
        fields.extend(given);
    }
    let preview: String = message["body"]["content"].as_str().unwrap_or("").chars().take(255).collect();
    message["bodyPreview"] = json!(preview);
    message
}

pub(crate) fn create_draft(state: &mut State, given: Map<String, Value>, now: Timestamp) -> Value {
    let message = message(state, given, now);
    state.mailbox.keep(Folder::Drafts, None, message)
}

fn position(state: &State, id: &str) -> Result<usize, GraphError> {
    if !id.starts_with(ID_START) && !super::prefer::is_lasting(id) {
        return Err(GraphError::new(400, "ErrorInvalidIdMalformed", "Id is malformed."));
    }
    let id = super::prefer::ordinary(id);
    let mut items = state.mailbox.items.iter();
    items.position(|item| item.message["id"] == id.as_str()).ok_or_else(GraphError::not_found)
}

pub(crate) fn find<'a>(state: &'a State, id: &str) -> Result<&'a Value, GraphError> {
    position(state, id).map(|at| &state.mailbox.items[at].message)
}

pub(crate) fn delete(state: &mut State, id: &str) -> Result<(), GraphError> {
    let at = position(state, id)?;
    state.mailbox.items.remove(at);
    Ok(())
}

/// Sends a draft. The draft no longer exists afterwards, or after the configured lag: the mail gets a new id in the sent
/// items and keeps its internetMessageId. What Graph does with a draft that is sent again within the lag is not
/// documented; here it becomes a second mail.
pub(crate) fn send_draft(state: &mut State, id: &str, now: Timestamp) -> Result<(), GraphError> {
    let at = position(state, id)?;
    let item = &state.mailbox.items[at];
    if item.folder != Folder::Drafts {
        return Err(GraphError::new(400, "ErrorInvalidRequest", "The message is not a draft."));
    }
    let message = item.message.clone();
    check_recipients(&message)?;
    state.mailbox.items[at].sent_at.get_or_insert(now);
    remove_sent(state, now);
    accept(state, message, true, now);
    Ok(())
}

/// Removes the drafts whose lag is over.
pub(crate) fn remove_sent(state: &mut State, now: Timestamp) {
    state.mailbox.remove_sent(now - lag(state.config.draft_lag_ms));
}

fn lag(millis: u64) -> jiff::SignedDuration {
    jiff::SignedDuration::from_millis(i64::try_from(millis).unwrap_or(0))
}

/// Sends a message without a draft.
pub(crate) fn send(state: &mut State, given: Map<String, Value>, save: bool, now: Timestamp) -> Result<(), GraphError> {
    let message = message(state, given, now);
    check_recipients(&message)?;
    accept(state, message, save, now);
    Ok(())
}

fn addresses<'a>(message: &'a Value, lists: &'a [&str]) -> impl Iterator<Item = &'a str> {
    lists
        .iter()
        .filter_map(|list| message[*list].as_array())
        .flatten()
        .filter_map(|recipient| recipient["emailAddress"]["address"].as_str())
}

fn check_recipients(message: &Value) -> Result<(), GraphError> {
    let lists = ["toRecipients", "ccRecipients", "bccRecipients"];
    let mut recipients = addresses(message, &lists).peekable();
    if recipients.peek().is_none() {
        let message = "At least one recipient isn't valid., A message can't be sent without any recipients.";
        return Err(GraphError::new(400, "ErrorInvalidRecipients", message));
    }
    if let Some(address) = recipients.find(|address| !is_email(address)) {
        let message = format!("At least one recipient isn't valid., Recipient \"{address}\" isn't resolved.");
        return Err(GraphError::new(400, "ErrorInvalidRecipients", message));
    }
    Ok(())
}

fn accept(state: &mut State, mut message: Value, save: bool, now: Timestamp) {
    let recipients = ["toRecipients", "ccRecipients", "bccRecipients"];
    let headers: Map<String, Value> = message["internetMessageHeaders"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|header| Some((header["name"].as_str()?.to_owned(), header["value"].clone())))
        .collect();
    let to: Vec<&str> = addresses(&message, &recipients).collect();
    state.mailbox.accepted.push(json!({
        "to": to.join(", "),
        "subject": message["subject"],
        "body": message["body"]["content"],
        "at": time(now),
        "headers": headers,
        "from": message["from"]["emailAddress"]["address"],
        "content_type": message["body"]["contentType"],
        "internet_message_id": message["internetMessageId"],
        "conversation_id": message["conversationId"],
    }));
    let to_oneself = addresses(&message, &recipients).any(|address| address.eq_ignore_ascii_case(GRAPH_SENDER));
    for field in ["sentDateTime", "receivedDateTime", "lastModifiedDateTime"] {
        message[field] = json!(time(now));
    }
    message["isDraft"] = json!(false);
    if to_oneself {
        // Recipients get the headers, but not the sender's extended properties.
        let mut copy = without(message.clone(), &["singleValueExtendedProperties"]);
        copy["id"] = json!(new_id(state));
        copy["isRead"] = json!(false);
        state.mailbox.keep(Folder::Inbox, None, copy);
    }
    if save {
        // In contrast, the copy in Sent Items has lost the headers (microsoft-graph-docs 2716, 12726, 18761).
        message = without(message, &["internetMessageHeaders"]);
        message["id"] = json!(new_id(state));
        let lag = lag(state.config.sent_items_lag_ms);
        state.mailbox.keep(Folder::Sent, Some(now + lag), message);
    }
}

/// Puts a message from elsewhere into the inbox and returns it.
pub(crate) fn put_in_inbox(state: &mut State, given: Map<String, Value>, now: Timestamp) -> Value {
    let mut message = message(state, given, now);
    message["isDraft"] = json!(false);
    state.mailbox.keep(Folder::Inbox, None, message)
}

pub(crate) fn has_unread(state: &State) -> bool {
    state.mailbox.items.iter().any(|item| item.folder == Folder::Inbox && item.message["isRead"] == false)
}

/// The messages of a folder, or of all.
pub(crate) fn list<'a>(state: &'a State, folder: Option<&str>) -> Result<Vec<&'a Value>, GraphError> {
    let folder = match folder.map(str::to_ascii_lowercase).as_deref() {
        None => None,
        Some("drafts") => Some(Folder::Drafts),
        Some("sentitems") => Some(Folder::Sent),
        Some("inbox") => Some(Folder::Inbox),
        Some(_) => return Err(GraphError::not_found()),
    };
    let now = state.now();
    Ok(state
        .mailbox
        .items
        .iter()
        .filter(|item| folder.is_none_or(|folder| folder == item.folder))
        .filter(|item| item.listed_from.is_none_or(|from| from <= now))
        .map(|item| &item.message)
        .collect())
}
