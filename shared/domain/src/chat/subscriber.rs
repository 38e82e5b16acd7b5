//! The stored state of one subscriber: Stripe's reports, and the audit records and alerts that are not published yet.

use super::{Access, Billing, SubscriberId};
use crate::{
    Timestamp,
    audit_trail::{AuditTrail, Audited},
};
use serde::{Deserialize, Serialize};

/// The prefix of a subscriber's stream of audit records. It has the form of a session id, so that all streams are read
/// alike, and Stripe issues no id of this form.
pub const STREAM_PREFIX: &str = "cs_sub_";

/// One subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscriber {
    id: SubscriberId,
    #[serde(default)]
    billing: Billing,
    #[serde(flatten)]
    trail: AuditTrail,
}

impl Subscriber {
    /// The record of a subscriber without any report.
    #[must_use]
    pub fn new(id: SubscriberId) -> Self {
        Self { id, billing: Billing::default(), trail: AuditTrail::new() }
    }

    /// The subscriber.
    #[must_use]
    pub const fn id(&self) -> &SubscriberId {
        &self.id
    }

    /// Stripe's reports about the subscriber.
    #[must_use]
    pub const fn billing(&self) -> &Billing {
        &self.billing
    }

    /// Stripe's reports about the subscriber, to add a report.
    pub const fn billing_mut(&mut self) -> &mut Billing {
        &mut self.billing
    }

    /// The subscriber's access now.
    #[must_use]
    pub fn access(&self, now: Timestamp) -> Access {
        self.billing.access(now)
    }
}

impl Audited for Subscriber {
    type Id = SubscriberId;

    fn unstored(id: &SubscriberId) -> Option<Self> {
        Some(Self::new(id.clone()))
    }

    fn id(&self) -> &SubscriberId {
        &self.id
    }

    fn stream(&self) -> String {
        format!("{STREAM_PREFIX}{}", self.id.as_str())
    }

    fn trail(&self) -> &AuditTrail {
        &self.trail
    }

    fn trail_mut(&mut self) -> &mut AuditTrail {
        &mut self.trail
    }
}
