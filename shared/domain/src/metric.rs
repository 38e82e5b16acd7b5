//! Counts and measurements in CloudWatch's embedded metric format: for the alarms in template.yaml, and for the
//! dashboard. No metric has dimensions: every name is one metric, and is billed as one.
//! The file has more than 300 lines because every metric is documented, and listed with its use and its unit.

use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// The namespace if `METRICS_NAMESPACE` is not set: for a function that is run by hand.
pub const NAMESPACE: &str = "Oracle";

/// The metrics. A metric's name in CloudWatch is its variant's name, which stored outboxes contain too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// A signed Stripe event could not be read: a sale may be in it.
    EventUnreadable,
    /// No queue accepted the message of a signed event: Stripe keeps the event and delivers it again.
    EventNotQueued,
    /// The webhook refused a well-formed, recent signature: the signing secret was rotated, or the request is not from
    /// Stripe.
    SignatureRefused,
    /// A session was completed without a payment.
    CompletedWithoutPayment,
    /// A customer got no payment page.
    CheckoutUnavailable,
    /// A customer got no verdict and no follow-up from the site, although the request was in order.
    ResultUnavailable,
    /// No topic accepted an alert (Cache Alert, failure mode 5).
    AlertUndelivered,
    /// The daily comparison with Stripe was completed.
    Reconciled,
    /// A run of cache-health was completed, with or without a probe.
    CacheHealthRan,
    /// New records of the log were digested and signed.
    Digested,
    /// A queue delivers a message repeatedly, because its work keeps failing.
    MessageKeepsFailing,
    /// An audit record could not be written, or its key holds other bytes. A record that waits in its row is written
    /// later (Audit Trail, failure mode 1); a forked one, and one whose row could not be saved, is not.
    AuditWriteFailed,
    /// The authority gate blocked a text for a trigger of child safety that nobody may override (Authority Governance,
    /// Appendix F: "require immediate escalation").
    AuthorityEscalated,
    /// The content filter holds a verdict or a mail for review.
    Held,
    /// A verdict was approved although each of its five dimensions has the opposite colour.
    VerdictOpposed,
    /// Neither the facilitator nor the chain could be asked about an agent's payment.
    TollUnreachable,
    /// An agent's payment was valid, but no answer could be made for it. Nothing was settled.
    TollUnanswered,
    /// A corpus is activated for the toll, and it cannot be read.
    TollCorpusUnreadable,
    /// A link for signing in was not mailed, because all mailboxes together or this one had as many as the limits allow.
    ChatLinkRefused,
    /// A sign-in link could not be mailed, although the page says that it was.
    ChatLinkFailed,
    /// A memory of the chat was read that takes a large part of a call's time to read.
    ChatMemoryLarge,
    /// The inbox was read (Inbox Watch: every two minutes).
    InboxWatched,
    /// A smoke test was completed, with any result.
    SmokeTested,
    /// The age of the mailbox's stored refresh token, in seconds: it expires after 90 days without use (Email Retry,
    /// INV-07).
    RefreshTokenAge,
    /// 1 while a model's circuit breaker is not closed, 0 when it closes; not measured while it stays closed.
    BreakerOpen,
    /// 1 while the mailbox's circuit breaker is not closed, 0 when it closes; not measured while it stays closed.
    MailboxBreakerOpen,
    /// Cached verdicts.
    CacheEntries,
    /// Used share of the cache's budget of bytes, in per cent.
    CacheBudgetUsed,
    /// A first verdict was GREEN.
    VerdictGreen,
    /// A first verdict was AMBER.
    VerdictAmber,
    /// A first verdict was RED.
    VerdictRed,
    /// A first verdict was NULL.
    VerdictNull,
    /// An order ended without a verdict: failed, held or unusable.
    VerdictFailed,
    /// The time from the paid event to the first verdict, in milliseconds.
    OrderToVerdict,
    /// The mailbox accepted a mail.
    MailSent,
    /// An attempt to send a mail failed.
    MailFailed,
    /// The time from the paid event to the accepted mail with the verdict, in milliseconds.
    OrderToMail,
    /// Sales that wait for a decision by an operator.
    WaitingForHumans,
    /// A page showed a customer that a sale failed, with status 500 as the spec requires.
    FailedSaleShown,
    /// An unknown referral code was tried.
    ReferralCodeUnknown,
    /// A reply of the chat was stored and, for a free account, counted.
    ChatAnswered,
    /// No reply of the chat could be made, and the customer got the apology.
    ChatApologised,
    /// The authority gate declined a message of the chat.
    ChatDeclined,
    /// A subscription was reported for the first time.
    SubscriptionOpened,
    /// A subscription has ended.
    SubscriptionEnded,
    /// A subscription's period was paid.
    SubscriptionPaid,
    /// The payment of a subscription's period failed for the first time.
    SubscriptionPaymentFailed,
}

/// The use of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Counts an event for an alarm. No data means that it did not happen.
    Event,
    /// Measures a level for an alarm. No data means that it was not measured.
    Level,
    /// Feeds the dashboard; no alarm watches it.
    Dashboard,
}

/// The units of CloudWatch that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub enum Unit {
    Count,
    Percent,
    Seconds,
    Milliseconds,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 47] = [
        Self::EventUnreadable,
        Self::EventNotQueued,
        Self::SignatureRefused,
        Self::CompletedWithoutPayment,
        Self::CheckoutUnavailable,
        Self::ResultUnavailable,
        Self::AlertUndelivered,
        Self::Reconciled,
        Self::CacheHealthRan,
        Self::Digested,
        Self::MessageKeepsFailing,
        Self::AuditWriteFailed,
        Self::AuthorityEscalated,
        Self::Held,
        Self::VerdictOpposed,
        Self::TollUnreachable,
        Self::TollUnanswered,
        Self::TollCorpusUnreadable,
        Self::ChatLinkRefused,
        Self::ChatLinkFailed,
        Self::ChatMemoryLarge,
        Self::InboxWatched,
        Self::SmokeTested,
        Self::RefreshTokenAge,
        Self::BreakerOpen,
        Self::MailboxBreakerOpen,
        Self::CacheEntries,
        Self::CacheBudgetUsed,
        Self::VerdictGreen,
        Self::VerdictAmber,
        Self::VerdictRed,
        Self::VerdictNull,
        Self::VerdictFailed,
        Self::OrderToVerdict,
        Self::MailSent,
        Self::MailFailed,
        Self::OrderToMail,
        Self::WaitingForHumans,
        Self::FailedSaleShown,
        Self::ReferralCodeUnknown,
        Self::ChatAnswered,
        Self::ChatApologised,
        Self::ChatDeclined,
        Self::SubscriptionOpened,
        Self::SubscriptionEnded,
        Self::SubscriptionPaid,
        Self::SubscriptionPaymentFailed,
    ];

    /// The metrics of events that people outside can cause at no cost, by forged calls, payments that are not taken or are given
    /// back, texts, or addresses to which they ask for links, or that one subscriber causes by using the chat for long. Their alarms
    /// are for operators to read; a deployment must not be stopped by them.
    pub const BY_OUTSIDERS: [Self; 8] = [
        Self::SignatureRefused,
        Self::AuthorityEscalated,
        Self::Held,
        Self::TollUnreachable,
        Self::TollUnanswered,
        Self::ChatLinkRefused,
        Self::ChatLinkFailed,
        Self::ChatMemoryLarge,
    ];

    const fn row(self) -> (&'static str, Use, Unit) {
        match self {
            Self::EventUnreadable => ("EventUnreadable", Use::Event, Unit::Count),
            Self::EventNotQueued => ("EventNotQueued", Use::Event, Unit::Count),
            Self::SignatureRefused => ("SignatureRefused", Use::Event, Unit::Count),
            Self::CompletedWithoutPayment => ("CompletedWithoutPayment", Use::Event, Unit::Count),
            Self::CheckoutUnavailable => ("CheckoutUnavailable", Use::Event, Unit::Count),
            Self::ResultUnavailable => ("ResultUnavailable", Use::Event, Unit::Count),
            Self::AlertUndelivered => ("AlertUndelivered", Use::Event, Unit::Count),
            Self::Reconciled => ("Reconciled", Use::Event, Unit::Count),
            Self::CacheHealthRan => ("CacheHealthRan", Use::Event, Unit::Count),
            Self::Digested => ("Digested", Use::Event, Unit::Count),
            Self::MessageKeepsFailing => ("MessageKeepsFailing", Use::Event, Unit::Count),
            Self::AuditWriteFailed => ("AuditWriteFailed", Use::Event, Unit::Count),
            Self::AuthorityEscalated => ("AuthorityEscalated", Use::Event, Unit::Count),
            Self::Held => ("Held", Use::Event, Unit::Count),
            Self::VerdictOpposed => ("VerdictOpposed", Use::Event, Unit::Count),
            Self::TollUnreachable => ("TollUnreachable", Use::Event, Unit::Count),
            Self::TollUnanswered => ("TollUnanswered", Use::Event, Unit::Count),
            Self::TollCorpusUnreadable => ("TollCorpusUnreadable", Use::Event, Unit::Count),
            Self::ChatLinkRefused => ("ChatLinkRefused", Use::Event, Unit::Count),
            Self::ChatLinkFailed => ("ChatLinkFailed", Use::Event, Unit::Count),
            Self::ChatMemoryLarge => ("ChatMemoryLarge", Use::Event, Unit::Count),
            Self::InboxWatched => ("InboxWatched", Use::Event, Unit::Count),
            Self::SmokeTested => ("SmokeTested", Use::Event, Unit::Count),
            Self::RefreshTokenAge => ("RefreshTokenAge", Use::Level, Unit::Seconds),
            Self::BreakerOpen => ("BreakerOpen", Use::Level, Unit::Count),
            Self::MailboxBreakerOpen => ("MailboxBreakerOpen", Use::Level, Unit::Count),
            Self::CacheEntries => ("CacheEntries", Use::Level, Unit::Count),
            Self::CacheBudgetUsed => ("CacheBudgetUsed", Use::Level, Unit::Percent),
            Self::VerdictGreen => ("VerdictGreen", Use::Dashboard, Unit::Count),
            Self::VerdictAmber => ("VerdictAmber", Use::Dashboard, Unit::Count),
            Self::VerdictRed => ("VerdictRed", Use::Dashboard, Unit::Count),
            Self::VerdictNull => ("VerdictNull", Use::Dashboard, Unit::Count),
            Self::VerdictFailed => ("VerdictFailed", Use::Dashboard, Unit::Count),
            Self::OrderToVerdict => ("OrderToVerdict", Use::Dashboard, Unit::Milliseconds),
            Self::MailSent => ("MailSent", Use::Dashboard, Unit::Count),
            Self::MailFailed => ("MailFailed", Use::Dashboard, Unit::Count),
            Self::OrderToMail => ("OrderToMail", Use::Dashboard, Unit::Milliseconds),
            Self::WaitingForHumans => ("WaitingForHumans", Use::Dashboard, Unit::Count),
            Self::FailedSaleShown => ("FailedSaleShown", Use::Dashboard, Unit::Count),
            Self::ReferralCodeUnknown => ("ReferralCodeUnknown", Use::Dashboard, Unit::Count),
            Self::ChatAnswered => ("ChatAnswered", Use::Dashboard, Unit::Count),
            Self::ChatApologised => ("ChatApologised", Use::Dashboard, Unit::Count),
            Self::ChatDeclined => ("ChatDeclined", Use::Dashboard, Unit::Count),
            Self::SubscriptionOpened => ("SubscriptionOpened", Use::Dashboard, Unit::Count),
            Self::SubscriptionEnded => ("SubscriptionEnded", Use::Dashboard, Unit::Count),
            Self::SubscriptionPaid => ("SubscriptionPaid", Use::Dashboard, Unit::Count),
            Self::SubscriptionPaymentFailed => ("SubscriptionPaymentFailed", Use::Dashboard, Unit::Count),
        }
    }

    /// Its name in CloudWatch.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Its use.
    #[must_use]
    pub const fn usage(self) -> Use {
        self.row().1
    }

    /// The unit of its values.
    #[must_use]
    pub const fn unit(self) -> Unit {
        self.row().2
    }

    /// One value, in the metric's unit.
    #[must_use]
    pub const fn of(self, value: u64) -> Measurement {
        Measurement { metric: self, value }
    }

    /// One occurrence.
    #[must_use]
    pub const fn once(self) -> Measurement {
        self.of(1)
    }
}

/// One value of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// The metric.
    pub metric: Metric,
    /// The value, in the metric's unit.
    pub value: u64,
}

/// Measurements as the line that CloudWatch turns into metrics. It must be a line of its own on standard output,
/// because the structured logger would wrap it.
#[must_use]
pub fn line(namespace: &str, measurements: &[Measurement], now: Timestamp) -> String {
    let metrics: Vec<_> = measurements
        .iter()
        .map(|it| serde_json::json!({ "Name": it.metric.name(), "Unit": it.metric.unit() }))
        .collect();
    let mut line = serde_json::json!({
        "_aws": {
            "Timestamp": now.as_millis(),
            "CloudWatchMetrics": [{ "Namespace": namespace, "Dimensions": [[]], "Metrics": metrics }],
        },
    });
    for it in measurements {
        line[it.metric.name()] = it.value.into();
    }
    line.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_line_is_what_cloudwatch_reads() {
        for metric in Metric::ALL {
            let line: Value =
                serde_json::from_str(&line("Oracle/a", &[metric.of(3)], Timestamp::from_millis(7))).unwrap();
            let directive = &line["_aws"]["CloudWatchMetrics"][0];
            assert_eq!((&line["_aws"]["Timestamp"], &directive["Namespace"]), (&7.into(), &"Oracle/a".into()));
            assert_eq!(directive["Metrics"][0]["Name"], metric.name());
            assert_eq!(line[metric.name()], 3, "the value stands under the metric's name");
        }
    }

    #[test]
    fn every_metric_is_written_as_it_was() {
        let now = Timestamp::from_millis(7);
        let value = |metric: Metric| if metric.usage() == Use::Event { 1 } else { 3 };
        let lines = Metric::ALL.map(|metric| line(NAMESPACE, &[metric.of(value(metric))], now));
        let golden = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/metrics.txt")).unwrap();
        assert_eq!(lines.as_slice(), golden.lines().collect::<Vec<_>>());
    }

    #[test]
    fn every_name_is_the_stored_one() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
        }
    }
}
