//! Counts and measurements in CloudWatch's embedded metric format: for the alarms in template.yaml, and for the
//! dashboard. No metric has dimensions: every name is one metric, and is billed as one.

use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// The namespace if `METRICS_NAMESPACE` is not set: for a function that is run by hand.
pub const NAMESPACE: &str = "Oracle";

/// One row says a metric, its use and its unit: makes the enum, `ALL` and the function that reads the row.
macro_rules! metrics {
    ($($(#[$doc:meta])* $metric:ident: $usage:ident $unit:ident,)*) => {
        /// The metrics. A metric's name in CloudWatch is its variant's name, which stored outboxes contain too.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Metric { $($(#[$doc])* $metric,)* }

        impl Metric {
            /// Every metric.
            pub const ALL: [Self; [$(Metric::$metric),*].len()] = [$(Self::$metric),*];

            const fn row(self) -> (&'static str, Use, Unit) {
                match self { $(Self::$metric => (stringify!($metric), Use::$usage, Unit::$unit),)* }
            }
        }
    };
}

metrics! {
    /// A signed Stripe event could not be read: a sale may be in it.
    EventUnreadable: Event Count,
    /// No queue accepted the message of a signed event: Stripe keeps the event and delivers it again.
    EventNotQueued: Event Count,
    /// The webhook refused a well-formed, recent signature: the signing secret was rotated, or the request is not from
    /// Stripe.
    SignatureRefused: Event Count,
    /// A session was completed without a payment.
    CompletedWithoutPayment: Event Count,
    /// A customer got no payment page.
    CheckoutUnavailable: Event Count,
    /// A customer got no verdict and no follow-up from the site, although the request was in order.
    ResultUnavailable: Event Count,
    /// No topic accepted an alert (Cache Alert, failure mode 5).
    AlertUndelivered: Event Count,
    /// The daily comparison with Stripe was completed.
    Reconciled: Event Count,
    /// A run of cache-health was completed, with or without a probe.
    CacheHealthRan: Event Count,
    /// New records of the log were digested and signed.
    Digested: Event Count,
    /// A queue delivers a message repeatedly, because its work keeps failing.
    MessageKeepsFailing: Event Count,
    /// An audit record could not be written, or its key holds other bytes. A record that waits in its row is written
    /// later (Audit Trail, failure mode 1); a forked one, and one whose row could not be saved, is not.
    AuditWriteFailed: Event Count,
    /// The authority gate blocked a text for a trigger of child safety that nobody may override (Authority Governance,
    /// Appendix F: "require immediate escalation").
    AuthorityEscalated: Event Count,
    /// The content filter holds a verdict or a mail for review.
    Held: Event Count,
    /// A verdict was approved although each of its five dimensions has the opposite colour.
    VerdictOpposed: Event Count,
    /// Neither the facilitator nor the chain could be asked about an agent's payment.
    TollUnreachable: Event Count,
    /// An agent's payment was valid, but no answer could be made for it. Nothing was settled.
    TollUnanswered: Event Count,
    /// A corpus is activated for the toll, and it cannot be read.
    TollCorpusUnreadable: Event Count,
    /// A link for signing in was not mailed, because all mailboxes together or this one had as many as the limits allow.
    ChatLinkRefused: Event Count,
    /// A sign-in link could not be mailed, although the page says that it was.
    ChatLinkFailed: Event Count,
    /// A memory of the chat was read that takes a large part of a call's time to read.
    ChatMemoryLarge: Event Count,
    /// The inbox was read (Inbox Watch: every two minutes).
    InboxWatched: Event Count,
    /// A smoke test was completed, with any result.
    SmokeTested: Event Count,
    /// The age of the mailbox's stored refresh token, in seconds: it expires after 90 days without use (Email Retry,
    /// INV-07). 0 without a token.
    RefreshTokenAge: Level Seconds,
    /// 1 while a model's circuit breaker is not closed, 0 when it closes. boot-probe measures those of the configured
    /// models that were called within 15 minutes, so that a model that is no longer called does not keep the alarm raised.
    BreakerOpen: Level Count,
    /// 1 while the mailbox's circuit breaker is not closed, 0 when it closes; not measured while it stays closed.
    MailboxBreakerOpen: Level Count,
    /// Cached verdicts.
    CacheEntries: Level Count,
    /// Used share of the cache's budget of bytes, in per cent.
    CacheBudgetUsed: Level Percent,
    /// A first verdict was GREEN.
    VerdictGreen: Dashboard Count,
    /// A first verdict was AMBER.
    VerdictAmber: Dashboard Count,
    /// A first verdict was RED.
    VerdictRed: Dashboard Count,
    /// A first verdict was NULL.
    VerdictNull: Dashboard Count,
    /// An order ended without a verdict: failed, held or unusable.
    VerdictFailed: Dashboard Count,
    /// The time from the paid event to the first verdict, in milliseconds.
    OrderToVerdict: Dashboard Milliseconds,
    /// The time from Stripe's creation of an event about a session to its receipt, in milliseconds. A repeated delivery
    /// counts from the same creation.
    EventDelay: Dashboard Milliseconds,
    /// The mailbox accepted a mail.
    MailSent: Dashboard Count,
    /// An attempt to send a mail failed.
    MailFailed: Dashboard Count,
    /// The time from the paid event to the accepted mail with the verdict, in milliseconds.
    OrderToMail: Dashboard Milliseconds,
    /// Sales that wait for a decision by an operator.
    WaitingForHumans: Dashboard Count,
    /// A page showed a customer that a sale failed, with status 500 as the spec requires.
    FailedSaleShown: Dashboard Count,
    /// An unknown referral code was tried.
    ReferralCodeUnknown: Dashboard Count,
    /// A reply of the chat was stored and, for a free account, counted.
    ChatAnswered: Dashboard Count,
    /// No reply of the chat could be made, and the customer got the apology.
    ChatApologised: Dashboard Count,
    /// The authority gate declined a message of the chat.
    ChatDeclined: Dashboard Count,
    /// A subscription was reported for the first time.
    SubscriptionOpened: Dashboard Count,
    /// A subscription has ended.
    SubscriptionEnded: Dashboard Count,
    /// A subscription's period was paid.
    SubscriptionPaid: Dashboard Count,
    /// The payment of a subscription's period failed for the first time.
    SubscriptionPaymentFailed: Dashboard Count,
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
