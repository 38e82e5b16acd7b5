//! Queue messages: one tagged, versioned enum. Messages contain ids, times and Stripe's reports (statuses, amounts),
//! never a question, a verdict or an address.

use crate::{
    SessionId, Timestamp,
    chat::{BillingReport, SubscriberId},
    mail::Letter,
    money::{PaymentId, PaymentReport, report},
};
use serde::{Deserialize, Serialize};

/// The function or person that ordered the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderedBy {
    /// Stripe's webhook.
    Webhook,
    /// The result page, which found a paid session without a verdict.
    ResultPage,
    /// The deadlines function, which found a sale without progress.
    Deadlines,
    /// The daily comparison with Stripe.
    Reconciliation,
    /// An operator.
    Operator,
    /// A customer's follow-up, from the result page.
    FollowupPage,
    /// A customer's follow-up, in a reply to a mail.
    FollowupReply,
    /// The smoke test, with an event that it signed itself.
    SmokeTest,
}

/// The source of a report of Stripe's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportedBy {
    /// By an event.
    #[default]
    Event,
    /// By the daily comparison.
    Reconciliation,
}

impl ReportedBy {
    /// Whether an event reported it.
    fn is_event(&self) -> bool {
        *self == Self::Event
    }
}

/// A queue message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Message {
    /// Orders queue: generate the verdict of a paid session.
    Order {
        /// Format version, 1.
        v: u8,
        /// The sale.
        session_id: SessionId,
        /// When the triggering event reached us (Audit Trail, invariant 6: latency counts from here).
        received_at: Timestamp,
        /// The source of the order.
        ordered_by: OrderedBy,
    },
    /// E-mail queue: deliver a mail.
    Mail {
        /// Format version, 1.
        v: u8,
        /// The sale.
        session_id: SessionId,
        /// When the mail was ordered.
        ordered_at: Timestamp,
        /// The kind of mail.
        #[serde(default)]
        letter: Letter,
    },
    /// Retry queue: try a mail again when it is due. The sale has the due time.
    MailRetry {
        /// Format version, 1.
        v: u8,
        /// The sale.
        session_id: SessionId,
        /// When the mail was ordered.
        ordered_at: Timestamp,
        /// The kind of mail.
        letter: Letter,
    },
    /// Payments queue: Stripe reports a change of a payment.
    PaymentChanged {
        /// Format version, 1.
        v: u8,
        /// The payment.
        payment: PaymentId,
        /// The content of the report.
        #[serde(rename = "change", deserialize_with = "report::deserialize")]
        report: PaymentReport,
        /// Its source.
        #[serde(default, skip_serializing_if = "ReportedBy::is_event")]
        reported_by: ReportedBy,
        /// When the event reached us, or Stripe's list was read.
        received_at: Timestamp,
    },
    /// Payments queue: Stripe reports a subscription or one of its invoices.
    SubscriptionChanged {
        /// Format version, 1.
        v: u8,
        /// The subscriber.
        subscriber: SubscriberId,
        /// The content of the report.
        report: BillingReport,
        /// Its source.
        #[serde(rename = "told_by")]
        reported_by: ReportedBy,
        /// When it reached us.
        received_at: Timestamp,
    },
    /// Notices queue: a session is paid and cannot be processed.
    Notice {
        /// Format version, 1.
        v: u8,
        /// The sale.
        session_id: SessionId,
        /// When the triggering event reached us.
        received_at: Timestamp,
    },
}

/// The version this code writes and reads.
const VERSION: u8 = 1;

/// Why a message body was refused.
#[derive(Debug, thiserror::Error)]
pub enum InvalidMessage {
    /// The body is not the JSON of a message.
    #[error("the body is not a message")]
    Malformed(#[source] serde_json::Error),
    /// A newer release wrote it.
    #[error("message version {0} is not known")]
    Version(u8),
}

impl Message {
    /// An order of a paid session's verdict. The triggering event reached us at `received_at`.
    #[must_use]
    pub const fn order(session_id: SessionId, received_at: Timestamp, ordered_by: OrderedBy) -> Self {
        Self::Order { v: VERSION, session_id, received_at, ordered_by }
    }

    /// An order of a mail, made at `ordered_at`.
    #[must_use]
    pub const fn mail(session_id: SessionId, ordered_at: Timestamp, letter: Letter) -> Self {
        Self::Mail { v: VERSION, session_id, ordered_at, letter }
    }

    /// A further attempt at a mail that was ordered at `ordered_at`.
    #[must_use]
    pub const fn mail_retry(session_id: SessionId, ordered_at: Timestamp, letter: Letter) -> Self {
        Self::MailRetry { v: VERSION, session_id, ordered_at, letter }
    }

    /// A notice about a paid session that cannot be processed. The triggering event reached us at `received_at`.
    #[must_use]
    pub const fn notice(session_id: SessionId, received_at: Timestamp) -> Self {
        Self::Notice { v: VERSION, session_id, received_at }
    }

    /// Stripe's report of a change of a payment, which reached us at `received_at`.
    #[must_use]
    pub const fn payment_changed(payment: PaymentId, report: PaymentReport, received_at: Timestamp) -> Self {
        Self::PaymentChanged { v: VERSION, payment, report, reported_by: ReportedBy::Event, received_at }
    }

    /// The state of a refund or a dispute in Stripe's list, which was read at `read_at`.
    #[must_use]
    pub const fn payment_listed(payment: PaymentId, report: PaymentReport, read_at: Timestamp) -> Self {
        let reported_by = ReportedBy::Reconciliation;
        Self::PaymentChanged { v: VERSION, payment, report, reported_by, received_at: read_at }
    }

    /// Stripe's report of a subscription or of one of its invoices, which reached us at `received_at`.
    #[must_use]
    pub const fn subscription_changed(
        subscriber: SubscriberId,
        report: BillingReport,
        reported_by: ReportedBy,
        received_at: Timestamp,
    ) -> Self {
        Self::SubscriptionChanged { v: VERSION, subscriber, report, reported_by, received_at }
    }

    /// Parses the body of a queue message.
    ///
    /// # Errors
    /// [`InvalidMessage`].
    pub fn parse(body: &str) -> Result<Self, InvalidMessage> {
        let message: Self = serde_json::from_str(body).map_err(InvalidMessage::Malformed)?;
        let (Self::Order { v, .. }
        | Self::Mail { v, .. }
        | Self::MailRetry { v, .. }
        | Self::PaymentChanged { v, .. }
        | Self::SubscriptionChanged { v, .. }
        | Self::Notice { v, .. }) = &message;
        if *v == VERSION { Ok(message) } else { Err(InvalidMessage::Version(*v)) }
    }

    /// The sale that the message is about, if it names one.
    #[must_use]
    pub const fn session_id(&self) -> Option<&SessionId> {
        match self {
            Self::Order { session_id, .. }
            | Self::Mail { session_id, .. }
            | Self::MailRetry { session_id, .. }
            | Self::Notice { session_id, .. } => Some(session_id),
            Self::PaymentChanged { .. } | Self::SubscriptionChanged { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_small_and_hold_nothing_but_the_session() {
        let session_id = SessionId::parse("cs_test_1").unwrap();
        let order = Message::order(session_id, Timestamp::from_millis(1), OrderedBy::Webhook);
        let body = serde_json::to_string(&order).unwrap();
        let expected = r#"{"kind":"order","v":1,"session_id":"cs_test_1","received_at":1,"ordered_by":"webhook"}"#;
        assert_eq!(body, expected);
        assert_eq!(Message::parse(&body).unwrap(), order);
    }

    /// Messages of earlier versions have no source.
    #[test]
    fn a_report_about_a_payment_names_its_source_only_if_it_is_the_list() {
        let payment = PaymentId::parse("pi_1").unwrap();
        let report = PaymentReport::Charge { returned: 1, whole: false, at: Timestamp::from_millis(1) };
        let event = Message::payment_changed(payment.clone(), report.clone(), Timestamp::from_millis(2));
        let listed = Message::payment_listed(payment, report, Timestamp::from_millis(2));
        for (message, is_named) in [(event, false), (listed, true)] {
            let body = serde_json::to_string(&message).unwrap();
            assert_eq!(body.contains(r#""reported_by":"reconciliation""#), is_named, "{body}");
            assert_eq!(body.contains("reported_by"), is_named, "{body}");
            assert_eq!(Message::parse(&body).unwrap(), message);
        }
    }

    #[test]
    fn strangers_are_refused_by_name() {
        assert!(matches!(Message::parse("{}"), Err(InvalidMessage::Malformed(_))));
        let newer = r#"{"kind":"mail","v":2,"session_id":"cs_test_1","ordered_at":1}"#;
        assert!(matches!(Message::parse(newer), Err(InvalidMessage::Version(2))));
        let bad_id = r#"{"kind":"mail","v":1,"session_id":"../etc","ordered_at":1}"#;
        assert!(matches!(Message::parse(bad_id), Err(InvalidMessage::Malformed(_))));
    }
}
