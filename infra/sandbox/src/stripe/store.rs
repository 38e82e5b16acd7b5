//! The state of this Stripe account: sessions, payments, refunds, disputes, subscriptions, promotion codes, stored
//! replies.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::idempotency;

/// The state of this Stripe account.
pub(crate) struct Store {
    pub(crate) sessions: Sessions,
    /// By id; a payment intent has its charge's id in `latest_charge`.
    pub(crate) payment_intents: HashMap<String, Value>,
    /// Oldest first.
    pub(super) refunds: Vec<Value>,
    /// Oldest first.
    pub(super) disputes: Vec<Value>,
    pub(crate) billing: Billing,
    pub(crate) promotion_codes: Vec<PromotionCode>,
    pub(super) replies: idempotency::Replies,
}

impl Store {
    pub(crate) fn new() -> Result<Self, toml::de::Error> {
        Ok(Self {
            sessions: Sessions::default(),
            payment_intents: HashMap::new(),
            refunds: Vec::new(),
            disputes: Vec::new(),
            billing: Billing::default(),
            promotion_codes: load_promotion_codes()?,
            replies: idempotency::Replies::default(),
        })
    }

    /// Removes all sales. Promotion codes stay, because they are settings.
    pub(crate) fn clear(&mut self) {
        self.sessions = Sessions::default();
        self.payment_intents.clear();
        self.refunds.clear();
        self.disputes.clear();
        self.billing = Billing::default();
        self.replies = idempotency::Replies::default();
    }
}

#[derive(Default)]
pub(crate) struct Sessions {
    pub(super) by_id: HashMap<String, Session>,
    created: u64,
}

/// A session as the API shows it, with its internal data.
pub(crate) struct Session {
    pub(crate) value: Value,
    pub(crate) line_items: Vec<Value>,
    pub(super) intent_metadata: Map<String, Value>,
    pub(super) order: u64,
}

impl Sessions {
    pub(crate) fn get(&self, id: &str) -> Option<&Session> {
        self.by_id.get(id)
    }

    pub(super) fn insert(&mut self, value: Value, line_items: Vec<Value>, intent_metadata: Map<String, Value>) {
        self.created += 1;
        let order = self.created;
        let id = value["id"].as_str().unwrap_or("").to_owned();
        let session = Session { value, line_items, intent_metadata, order };
        self.by_id.insert(id, session);
    }

    pub(super) fn expire_old(&mut self, now: Timestamp) {
        for session in self.by_id.values_mut() {
            let over = session.value["expires_at"].as_i64().is_some_and(|expires_at| expires_at <= now.as_second());
            if over && session.value["status"] == "open" {
                close(&mut session.value);
            }
        }
    }
}

/// The account's subscriptions.
#[derive(Default)]
pub(crate) struct Billing {
    /// Ordered oldest first, as are the others.
    pub(super) subscriptions: Vec<Value>,
    pub(super) invoices: Vec<Value>,
    pub(super) invoice_payments: Vec<Value>,
    pub(super) deleted_customers: Vec<String>,
    /// Portal sessions: the id, the customer's id, and the return address.
    pub(super) portals: Vec<(String, String, String)>,
    /// How far the clock of subscriptions was moved, in seconds.
    pub(crate) advanced: i64,
}

/// A code that customers can enter.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromotionCode {
    pub(crate) id: String,
    pub(crate) code: String,
    pub(crate) active: bool,
    pub(crate) coupon: String,
    /// 1 to 100.
    pub(crate) percent_off: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    promotion_code: Vec<PromotionCode>,
}

fn load_promotion_codes() -> Result<Vec<PromotionCode>, toml::de::Error> {
    let file: File = toml::from_str(include_str!("../../data/promotion_codes.toml"))?;
    Ok(file.promotion_code)
}

pub(super) fn close(value: &mut Value) {
    value["status"] = json!("expired");
    value["url"] = Value::Null;
}
