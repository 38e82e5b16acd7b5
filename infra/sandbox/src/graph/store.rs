//! The messages of the mailbox, and Graph's form of times.

use jiff::Timestamp;
use serde_json::{Value, json};

/// Graph's form of a time: whole seconds, Z.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Folder {
    Drafts,
    Sent,
    Inbox,
}

impl Folder {
    /// Its id, which every message in it contains.
    fn id(self) -> String {
        let folder = match self {
            Self::Drafts => "drafts",
            Self::Sent => "sent",
            Self::Inbox => "inbox",
        };
        format!("AAMkAGI2{folder:A<80}")
    }
}

pub(super) struct Item {
    pub(super) folder: Folder,
    /// When lists begin to show it; at once if `None`.
    pub(super) listed_from: Option<Timestamp>,
    /// When it was sent, while it is still shown among the drafts.
    pub(super) sent_at: Option<Timestamp>,
    pub(super) message: Value,
}

/// All messages, oldest first.
#[derive(Default)]
pub(crate) struct Mailbox {
    pub(super) items: Vec<Item>,
    /// The mails for /control/mails, in the order of acceptance.
    pub(crate) accepted: Vec<Value>,
}

impl Mailbox {
    /// Puts a message into a folder and returns the stored form.
    pub(super) fn keep(&mut self, folder: Folder, listed_from: Option<Timestamp>, mut message: Value) -> Value {
        let id = message["id"].as_str().unwrap_or("");
        message["webLink"] = json!(format!("https://outlook.office365.com/owa/?ItemID={id}&exvsurl=1"));
        message["parentFolderId"] = json!(folder.id());
        self.items.push(Item { folder, listed_from, sent_at: None, message: message.clone() });
        message
    }

    /// Removes the drafts that were sent at this time or earlier.
    pub(super) fn remove_sent(&mut self, until: Timestamp) {
        self.items.retain(|item| item.sent_at.is_none_or(|at| at > until));
    }
}

/// A message as shown without $select and $expand: without custom headers, extended properties and uniqueBody.
pub(crate) fn shown(message: &Value) -> Value {
    let mut shown =
        without(message.clone(), &["internetMessageHeaders", "singleValueExtendedProperties", "uniqueBody"]);
    shown["@odata.etag"] = etag(message);
    shown
}

/// The etag of a message in a reply.
pub(super) fn etag(message: &Value) -> Value {
    json!(format!("W/\"{}\"", message["changeKey"].as_str().unwrap_or("")))
}

pub(super) fn without(mut message: Value, names: &[&str]) -> Value {
    if let Value::Object(fields) = &mut message {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
    message
}
