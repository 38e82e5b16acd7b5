//! The part of a stored state that its journal writes: the head of its stream of audit records, and the records and
//! alerts that are saved with the state and not published yet.

use crate::{Alert, Measurement, SessionId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The end of a stream of audit records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The day on which the stream was opened: the first part of every key in it.
    pub opened: String,
    /// The number of records in the stream.
    pub count: u64,
    /// SHA-256 of the last record's line; of no bytes before the first.
    pub hash: String,
}

/// One finished audit record that waits to be published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The object key.
    pub key: String,
    /// The JSON line, without its line break.
    pub line: String,
    /// The record's measurements, which are reported once it is in the log; stored only if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<Measurement>,
}

/// The head and the waiting records of the stream that a function's note names; `None` if it names none.
#[must_use]
pub fn stream_of_note(document: &str) -> Option<(AuditHead, Vec<AuditEntry>)> {
    #[derive(Deserialize)]
    struct StreamFields {
        head: AuditHead,
        #[serde(default)]
        outbox: Vec<AuditEntry>,
    }
    let StreamFields { head, outbox } = serde_json::from_str(document).ok()?;
    Some((head, outbox))
}

/// The id of an audited state.
pub trait StateId: Clone + Ord + Send + Sync + 'static {
    /// The id, if the text is one.
    fn read(text: &str) -> Option<Self>;

    /// Its text.
    fn text(&self) -> &str;

    /// The short form under which alerts and log lines name the state.
    fn reference(&self) -> &str;
}

impl StateId for SessionId {
    fn read(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }

    fn text(&self) -> &str {
        self.as_str()
    }

    fn reference(&self) -> &str {
        Self::reference(self)
    }
}

/// A stored state with an [`AuditTrail`]: a sale, a chat account, a subscriber, a Bridge, a purchase. The state is
/// saved together with the records of its changes, which form a stream of their own.
pub trait Audited: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its id.
    type Id: StateId;

    /// Above this number of waiting records the journal publishes before it decides, so that the stored item shrinks as soon as
    /// the log works. While the log fails, the item grows with each record (infra/decisions/audit-outbox.md, "Limit").
    const MOST_WAITING: usize = usize::MAX;

    /// The state before anything is stored; `None` if a state begins in another way.
    fn unstored(id: &Self::Id) -> Option<Self>;

    /// Its id.
    fn id(&self) -> &Self::Id;

    /// The id of its stream of records, in the form of a session id.
    fn stream(&self) -> String;

    /// Its records and alerts.
    fn trail(&self) -> &AuditTrail;

    /// Its records and alerts, for the journal.
    fn trail_mut(&mut self) -> &mut AuditTrail;
}

/// Stored beside the state's own fields (`#[serde(flatten)]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditTrail {
    #[serde(default)]
    audit: Option<AuditHead>,
    #[serde(default)]
    outbox: Vec<AuditEntry>,
    #[serde(default)]
    alerts: Vec<Alert>,
}

impl AuditTrail {
    /// A trail without records.
    #[must_use]
    pub const fn new() -> Self {
        Self { audit: None, outbox: Vec::new(), alerts: Vec::new() }
    }

    /// The head of the stream; `None` before the first record.
    #[must_use]
    pub const fn head(&self) -> Option<&AuditHead> {
        self.audit.as_ref()
    }

    /// The records that are not published yet.
    #[must_use]
    pub fn outbox(&self) -> &[AuditEntry] {
        &self.outbox
    }

    /// The alerts that are not raised yet.
    #[must_use]
    pub fn alerts(&self) -> &[Alert] {
        &self.alerts
    }

    /// Whether all records are in the log and all alerts were raised.
    #[must_use]
    pub const fn is_published(&self) -> bool {
        self.outbox.is_empty() && self.alerts.is_empty()
    }

    /// The records and alerts that are not published yet.
    pub const fn outbox_mut(&mut self) -> (&mut Vec<AuditEntry>, &mut Vec<Alert>) {
        (&mut self.outbox, &mut self.alerts)
    }

    /// Appends a record; `head` is the stream's head after it.
    pub fn append(&mut self, entry: AuditEntry, head: AuditHead) {
        self.outbox.push(entry);
        self.audit = Some(head);
    }

    /// Stores alerts until they are raised.
    pub fn keep_alerts(&mut self, alerts: impl IntoIterator<Item = Alert>) {
        self.alerts.extend(alerts);
    }
}

#[cfg(test)]
mod tests {
    use super::Audited;
    use crate::chat::{Subscriber, SubscriberId};
    use serde_json::json;

    #[test]
    fn a_trail_is_stored_beside_the_state_s_own_fields() {
        let id = SubscriberId::parse("c".repeat(64)).unwrap();
        let json = serde_json::to_value(Subscriber::new(id)).unwrap();
        let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["alerts", "audit", "billing", "id", "outbox"]);
        let stored = json!({ "id": "c".repeat(64), "outbox": [{ "key": "k", "line": "l" }] });
        let subscriber: Subscriber = serde_json::from_value(stored).unwrap();
        assert_eq!(subscriber.trail().outbox()[0].key, "k");
    }
}
