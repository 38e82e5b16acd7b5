//! The contents of records. The fields, statuses and sources of the Stripe pipeline's records are those of the Audit
//! Trail spec; the other bodies are those of the specs that their names refer to.
//! The file has more than 300 lines because every kind of record is a variant of one enum, and each of its fields is
//! documented.

use crate::escalation;
use domain::{
    CallerIdentity, Colour, Measurement, Metric, Operator, Timestamp,
    chat::{BillingChange, BridgeEvent, Plan},
    message::ReportedBy,
    money::{ObjectId, PaymentChange, PaymentId, RefundStep},
    verdict::Divergence,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How an event ended (Audit Trail, required fields).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// A verdict was generated.
    Ok,
    /// The event failed.
    Error,
    /// A verdict was served from the cache.
    Cached,
    /// A verdict was generated again.
    Regenerated,
    /// The mailbox accepted the mail.
    EmailSent,
    /// The mail was not sent.
    EmailFailed,
}

/// The path that wrote the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The paid event.
    Webhook,
    /// The result page, other than from the cache.
    ResultPage,
    /// The result page, from the cache.
    CacheHit,
    /// The mail.
    EmailService,
}

domain::enum_with_words! {
    /// How a payment in USDC ended (Audit Trail, oracle toll events).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum TollStatus {
        /// An answer was sold.
        Ok = "OK",
        /// The payment was refused; there is no answer for it.
        PaymentRejected = "PAYMENT_REJECTED",
        /// The facilitator or the chain could not be asked.
        RpcUnreachable = "RPC_UNREACHABLE",
        /// There is no answer. Usually nothing was settled; the detail says when something was.
        RagFail = "RAG_FAIL",
        /// The same payment was used before.
        Replay = "REPLAY",
    }
    /// The status as written in the log.
    pub const fn as_str;
}

/// The path that wrote a record of a payment in USDC: there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TollSource {
    /// The toll.
    OracleToll,
}

/// How a request of the chat ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChatStatus {
    /// A reply was stored and, for a free account, counted.
    Answered,
    /// No reply could be made.
    Apologised,
    /// The authority gate declined the message.
    Declined,
    /// The subscriber's memory was erased on request.
    Erased,
    /// An operator read the subscriber's memory.
    Read,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Body {
    /// One event of the Stripe pipeline.
    Pipeline {
        /// The path.
        source: Source,
        /// The outcome.
        status: Status,
        /// The error; never empty unless the status is OK (Audit Trail, verification criterion 5).
        error_detail: Option<String>,
        /// Facts without a field of their own, such as the model that answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A payment in USDC was resolved (Audit Trail, oracle toll events).
    Toll {
        /// The path.
        source: TollSource,
        /// The outcome.
        status: TollStatus,
        /// The error; never empty unless the status is OK (Audit Trail, verification criterion 5).
        error_detail: Option<String>,
        /// Facts without a field of their own, such as the model that answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// The chain contradicts a settlement that a facilitator had reported, or names another transaction for it. It is no
    /// payment of its own: the sale has its record.
    TollCheck {
        /// The transactions, each by its first characters: `reported`, and `on_chain` if the chain has one.
        details: Value,
    },
    /// A request of the chat ended.
    Chat {
        /// The outcome.
        status: ChatStatus,
        /// The facts: about the authority gate, the model, the content filter, the count.
        details: Value,
    },
    /// A step of a Bridge (Product Tiers, GAP-3).
    Bridge {
        /// The step with its facts; no text and no address.
        details: BridgeEvent,
    },
    /// A crosscheck ran (TMM Crosscheck, invariant 5). The spec's preview of the question is left out:
    /// the log holds no customer text.
    TmmCrosscheck {
        /// Φ.
        phi: f64,
        /// The decision, with the fields of the spec.
        #[serde(flatten)]
        decision: Value,
    },
    /// The content filter ran (content filter, failure mode 1: a record for every session that is mailed).
    ContentFilter {
        /// 1 before the cache, 2 before the mail or the page.
        gate: u8,
        /// PASS, REPLACE or QUARANTINE.
        outcome: String,
        /// Version of the block list.
        list_version: String,
        /// SHA-256 of the block list.
        list_hash: String,
        /// Terms and offsets, no text.
        hits: Value,
    },
    /// A regenerated verdict was compared with the first one (Regen Consistency, secondary output).
    RegenDivergenceCheck {
        /// The first colour, or UNKNOWN.
        original_verdict: String,
        /// The new colour.
        regen_verdict: String,
        /// Whether they are the same.
        top_level_match: bool,
        /// none, minor or significant; `None` when the first is unknown.
        divergence_level: Option<Divergence>,
    },
    /// A paid session could not be processed (Silent Drop, invariant 7).
    SilentDrop {
        /// The amount charged, in the currency's smallest unit.
        amount_total: Option<i64>,
        /// Its currency.
        currency: Option<String>,
        /// What was missing.
        reason: String,
    },
    /// An operator decided something about the sale. The sale's next records show the effect.
    Operator {
        /// The command, such as `approve` or `redrive verdict`.
        action: String,
        /// The operator's name; never an address.
        by: String,
        /// The reason in the operator's words, if any; never an address.
        reason: Option<String>,
        /// The ARN that AWS knows the operator by; missing in earlier records, and where AWS did not answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        identity: Option<CallerIdentity>,
    },
    /// A refund: who decided it, its state, and the amount for the books (Silent Drop, invariant 7).
    Refund {
        /// The state.
        step: RefundStep,
        /// Who decided it.
        by: String,
        /// The reason.
        reason: String,
        /// The ARN that AWS knows the operator by, as above; a policy has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        identity: Option<CallerIdentity>,
        /// The amount charged, in the currency's smallest unit.
        amount_total: Option<i64>,
        /// Its currency.
        currency: Option<String>,
        /// The error as a code, if it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Stripe reported a refund or a dispute.
    PaymentChange {
        /// The payment.
        payment: PaymentId,
        /// The change.
        change: PaymentChange,
        /// The refund or the dispute that Stripe reported; `None` for the charge as a whole.
        #[serde(skip_serializing_if = "Option::is_none")]
        object: Option<ObjectId>,
        /// The amount that has gone back by now, in the currency's smallest unit.
        #[serde(skip_serializing_if = "Option::is_none")]
        amount_returned: Option<i64>,
        /// The amount charged, in the currency's smallest unit.
        amount_total: Option<i64>,
        /// Its currency.
        currency: Option<String>,
    },
    /// Stripe reported a subscription, one of its invoices or their money.
    Subscription {
        /// The subscription or the invoice.
        object: ObjectId,
        /// What changed.
        change: BillingChange,
        /// The subscriber's plan from now on.
        plan: Plan,
        /// The time until which that is paid for.
        paid_until: Option<String>,
        /// The source of the report.
        #[serde(rename = "told_by")]
        reported_by: ReportedBy,
    },
    /// The customer has replied to one of the sale's mails (Silent Drop, GAP-SD-09), or one of them came back. The text
    /// stays in the mailbox.
    CustomerReply {
        /// The first 16 hexadecimal digits of the SHA-256 of the mailbox's id of the message.
        message: String,
        /// Whether it came from the address that the sale's mails went to; `None` if there was no such address.
        from_buyer: Option<bool>,
        /// Whether it is a mail system's report that one of the mails came back, and not the customer's.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_report: bool,
    },
    /// All data of the sale was removed. The log keeps the sale's records: they contain no text and no address.
    Erasure {
        /// The stores that contained data.
        removed: Vec<&'static str>,
    },
    /// Another amount than the tier's price was paid: a promotion code, or a mistake in the account.
    AmountDiffers {
        /// The amount charged, in the currency's smallest unit.
        amount_total: Option<i64>,
        /// Its currency.
        currency: Option<String>,
        /// The tier's price in Canadian cents.
        price: u32,
    },
    /// The authority gate declined a text about the sale before it was ordered, found a disclosure of self-harm in a
    /// message on the Bridge, or let a message of the chat through whose exchange has no other record (Authority Governance,
    /// RFC-0008: every evaluation is recorded).
    AuthorityEvaluated {
        /// Where the text came from, the truncated SHA-256 of the text if its record has one, and the gate's decision.
        details: Value,
    },
}

impl Body {
    /// An operator's decision.
    #[must_use]
    pub fn operator(operator: &Operator, action: impl Into<String>) -> Self {
        Self::Operator {
            action: action.into(),
            by: operator.name().to_owned(),
            reason: operator.reason().map(str::to_owned),
            identity: operator.identity().cloned(),
        }
    }

    /// The metric that the body counts by itself.
    const fn metric(&self) -> Option<Metric> {
        Some(match self {
            Self::Pipeline { source: Source::EmailService, status: Status::EmailSent, .. } => Metric::MailSent,
            Self::Pipeline { source: Source::EmailService, status: Status::EmailFailed, .. } => Metric::MailFailed,
            Self::Chat { status: ChatStatus::Answered, .. } => Metric::ChatAnswered,
            Self::Chat { status: ChatStatus::Apologised, .. } => Metric::ChatApologised,
            Self::Chat { status: ChatStatus::Declined, .. } => Metric::ChatDeclined,
            Self::Subscription { change: BillingChange::Opened, .. } => Metric::SubscriptionOpened,
            Self::Subscription { change: BillingChange::Ended, .. } => Metric::SubscriptionEnded,
            Self::Subscription { change: BillingChange::Paid, .. } => Metric::SubscriptionPaid,
            Self::Subscription { change: BillingChange::PaymentFailed, .. } => Metric::SubscriptionPaymentFailed,
            _ => return None,
        })
    }

    /// Compares a regenerated verdict with the first one, if that is known.
    #[must_use]
    pub fn regen_divergence_check(first: Option<Colour>, second: Colour) -> Self {
        Self::RegenDivergenceCheck {
            original_verdict: first.map_or("UNKNOWN", Colour::word).to_owned(),
            regen_verdict: second.word().to_owned(),
            top_level_match: first == Some(second),
            divergence_level: first.map(|first| Divergence::between(first, second)),
        }
    }
}

/// A record without its place in a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When it was written.
    pub timestamp: Timestamp,
    /// When the triggering event reached us (Audit Trail, invariant 6).
    pub triggered_at: Timestamp,
    /// What happened.
    pub body: Body,
    /// What it counts for the dashboard and the alarms, beside an escalated evaluation of the authority gate.
    measured: Vec<Measurement>,
}

impl Record {
    /// A record that counts what its body says.
    #[must_use]
    pub fn new(timestamp: Timestamp, triggered_at: Timestamp, body: Body) -> Self {
        let measured = body.metric().map(Metric::once).into_iter().collect();
        Self { timestamp, triggered_at, body, measured }
    }

    /// A request of the chat ended.
    #[must_use]
    pub fn chat(timestamp: Timestamp, triggered_at: Timestamp, status: ChatStatus, details: Value) -> Self {
        Self::new(timestamp, triggered_at, Body::Chat { status, details })
    }

    /// A step of a Bridge.
    #[must_use]
    pub fn bridge(now: Timestamp, details: BridgeEvent) -> Self {
        Self::new(now, now, Body::Bridge { details })
    }

    /// A payment in USDC was resolved. A status other than OK always has a detail (Audit Trail, verification criterion
    /// 5).
    #[must_use]
    pub fn toll(timestamp: Timestamp, triggered_at: Timestamp, status: TollStatus, detail: &str) -> Self {
        let error_detail = match status {
            TollStatus::Ok => None,
            _ => Some(if detail.is_empty() { "unspecified" } else { detail }.to_owned()),
        };
        let body = Body::Toll { source: TollSource::OracleToll, status, error_detail, details: None };
        Self::new(timestamp, triggered_at, body)
    }

    /// The comparison of a reported settlement with the chain.
    #[must_use]
    pub fn toll_check(timestamp: Timestamp, triggered_at: Timestamp, details: Value) -> Self {
        Self::new(timestamp, triggered_at, Body::TollCheck { details })
    }

    /// A crosscheck ran (TMM Crosscheck, invariant 5). `check` is serialized with the fields of the spec. `is_opposed`:
    /// whether it approved a verdict that each of its five dimensions opposes, which is counted.
    #[must_use]
    pub fn crosscheck(
        timestamp: Timestamp,
        triggered_at: Timestamp,
        phi: f64,
        check: &impl Serialize,
        is_opposed: bool,
    ) -> Self {
        let decision = serde_json::to_value(check).unwrap_or_default();
        Self::new(timestamp, triggered_at, Body::TmmCrosscheck { phi, decision })
            .measuring(is_opposed.then(|| Metric::VerdictOpposed.once()))
    }

    /// A pipeline event. A status other than OK always has a detail (Audit Trail, verification criterion 5).
    #[must_use]
    pub fn pipeline(
        timestamp: Timestamp,
        triggered_at: Timestamp,
        source: Source,
        status: Status,
        detail: Option<&str>,
    ) -> Self {
        let error_detail = match status {
            Status::Ok => None,
            _ => Some(detail.filter(|detail| !detail.is_empty()).unwrap_or("unspecified").to_owned()),
        };
        Self::new(timestamp, triggered_at, Body::Pipeline { source, status, error_detail, details: None })
    }

    /// Adds measurements that the body does not say.
    #[must_use]
    pub fn measuring(mut self, measurements: impl IntoIterator<Item = Measurement>) -> Self {
        self.measured.extend(measurements);
        self
    }

    /// The measurements for the dashboard and the alarms.
    #[must_use]
    pub fn measurements(&self) -> Vec<Measurement> {
        let mut all = self.measured.clone();
        all.extend(self.details().and_then(escalation::measurement));
        all
    }

    /// The facts without a field of their own.
    const fn details(&self) -> Option<&Value> {
        match &self.body {
            Body::Pipeline { details, .. } | Body::Toll { details, .. } => details.as_ref(),
            Body::Chat { details, .. } | Body::AuthorityEvaluated { details } => Some(details),
            _ => None,
        }
    }

    /// Adds facts to a pipeline event.
    #[must_use]
    pub fn with_details(mut self, facts: Value) -> Self {
        if let Body::Pipeline { details, .. } | Body::Toll { details, .. } = &mut self.body {
            *details = Some(facts);
        }
        self
    }

    /// Adds one fact to those of a pipeline event.
    #[must_use]
    pub fn with_detail(mut self, name: &str, fact: impl Into<Value>) -> Self {
        if let Body::Pipeline { details, .. } = &mut self.body {
            details.get_or_insert_with(|| serde_json::json!({}))[name] = fact.into();
        }
        self
    }
}
