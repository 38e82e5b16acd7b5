//! The messages of the mailbox, and how Graph writes a time.

use jiff::Timestamp;
use serde_json::Value;

/// As Graph writes a time: whole seconds, Z.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Folder {
    Drafts,
    Sent,
    Inbox,
}

pub(super) struct Item {
    pub(super) folder: Folder,
    pub(super) message: Value,
}

/// All messages, oldest first.
#[derive(Default)]
pub(crate) struct Mailbox {
    pub(super) items: Vec<Item>,
    /// What /control/mails shows, in the order of acceptance.
    pub(crate) accepted: Vec<Value>,
}

/// A message as a call without $select and $expand shows it: custom headers, extended properties and what is new in the
/// body are left out.
pub(crate) fn shown(message: &Value) -> Value {
    without(message.clone(), &["internetMessageHeaders", "singleValueExtendedProperties", "uniqueBody"])
}

pub(super) fn without(mut message: Value, names: &[&str]) -> Value {
    if let Value::Object(fields) = &mut message {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
    message
}
