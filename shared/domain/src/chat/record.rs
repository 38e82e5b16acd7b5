//! What is kept of one subscriber: what Stripe has told of them, and what waits to be published about it.

use super::{Access, Billing, SubscriberId};
use crate::{
    Alert, Timestamp,
    sale::{AuditEntry, AuditHead},
};
use serde::{Deserialize, Serialize};

/// What the id of a subscriber's stream of records begins with. It has the form of a session id, so that it is a stream
/// like any other, and Stripe gives out none of this form.
pub const STREAM_PREFIX: &str = "cs_sub_";

/// One subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscriber {
    id: SubscriberId,
    #[serde(default)]
    billing: Billing,
    #[serde(default)]
    audit: Option<AuditHead>,
    #[serde(default)]
    outbox: Vec<AuditEntry>,
    #[serde(default)]
    alerts: Vec<Alert>,
}

impl Subscriber {
    /// Somebody of whom nothing is known yet.
    #[must_use]
    pub fn new(id: SubscriberId) -> Self {
        Self { id, billing: Billing::default(), audit: None, outbox: Vec::new(), alerts: Vec::new() }
    }

    /// Who it is.
    #[must_use]
    pub const fn id(&self) -> &SubscriberId {
        &self.id
    }

    /// The name of their stream of records.
    #[must_use]
    pub fn stream(&self) -> String {
        format!("{STREAM_PREFIX}{}", self.id.as_str())
    }

    /// What Stripe has told of them.
    #[must_use]
    pub const fn billing(&self) -> &Billing {
        &self.billing
    }

    /// What Stripe has told of them, to be told more.
    pub const fn billing_mut(&mut self) -> &mut Billing {
        &mut self.billing
    }

    /// What they may do now.
    #[must_use]
    pub fn access(&self, now: Timestamp) -> Access {
        self.billing.access(now)
    }

    /// The end of their stream of records.
    #[must_use]
    pub const fn audit(&self) -> Option<&AuditHead> {
        self.audit.as_ref()
    }

    /// Records that wait to be published.
    #[must_use]
    pub fn outbox(&self) -> &[AuditEntry] {
        &self.outbox
    }

    /// Appends a record to the outbox.
    pub fn append_record(&mut self, entry: AuditEntry, head: AuditHead) {
        self.outbox.push(entry);
        self.audit = Some(head);
    }

    /// Keeps alerts until they are raised.
    pub fn keep_alerts(&mut self, alerts: impl IntoIterator<Item = Alert>) {
        self.alerts.extend(alerts);
    }

    /// What waits to be published.
    pub const fn outbox_mut(&mut self) -> (&mut Vec<AuditEntry>, &mut Vec<Alert>) {
        (&mut self.outbox, &mut self.alerts)
    }
}
