//! Counts that alarms in template.yaml watch, in CloudWatch's embedded metric format.

use crate::Timestamp;

/// The namespace of every metric below.
pub const NAMESPACE: &str = "Oracle";

/// What is counted. Each has an alarm of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// A signed event of Stripe's could not be read: a sale may be in it.
    EventUnreadable,
    /// A session was completed although nobody paid.
    CompletedWithoutPayment,
    /// A customer could not be given a page to pay at.
    CheckoutUnavailable,
    /// No topic took an alert (Cache Alert, failure mode 5).
    AlertUndelivered,
    /// The daily comparison with Stripe came to its end.
    Reconciled,
    /// A run of cache-health came to its end, whether or not a look was due in it.
    CacheHealthRan,
    /// What came into the log was digested and signed.
    Digested,
    /// The inbox was looked at (Inbox Watch: every two minutes).
    InboxWatched,
    /// A smoke test came to its end, whatever it found.
    SmokeTested,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::EventUnreadable,
        Self::CompletedWithoutPayment,
        Self::CheckoutUnavailable,
        Self::AlertUndelivered,
        Self::Reconciled,
        Self::CacheHealthRan,
        Self::Digested,
        Self::InboxWatched,
        Self::SmokeTested,
    ];

    /// Its name in CloudWatch.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EventUnreadable => "EventUnreadable",
            Self::CompletedWithoutPayment => "CompletedWithoutPayment",
            Self::CheckoutUnavailable => "CheckoutUnavailable",
            Self::AlertUndelivered => "AlertUndelivered",
            Self::Reconciled => "Reconciled",
            Self::CacheHealthRan => "CacheHealthRan",
            Self::Digested => "Digested",
            Self::InboxWatched => "InboxWatched",
            Self::SmokeTested => "SmokeTested",
        }
    }

    /// One occurrence, as the line that CloudWatch makes a metric of. It must stand alone on standard output: the
    /// structured logger would wrap it.
    #[must_use]
    pub fn line(self, now: Timestamp) -> String {
        line(self.name(), "Count", 1, now)
    }
}

/// What is measured. Each has an alarm of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// How old the stored refresh token of the mailbox is, in seconds: unused for 90 days it is worth nothing
    /// (Email Retry, INV-07).
    RefreshTokenAge,
    /// Cached verdicts.
    CacheEntries,
    /// How much of its budget of bytes the cache has used, in per cent.
    CacheBudgetUsed,
}

impl Gauge {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RefreshTokenAge, Self::CacheEntries, Self::CacheBudgetUsed];

    /// Its name in CloudWatch.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RefreshTokenAge => "RefreshTokenAge",
            Self::CacheEntries => "CacheEntries",
            Self::CacheBudgetUsed => "CacheBudgetUsed",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::RefreshTokenAge => "Seconds",
            Self::CacheEntries => "Count",
            Self::CacheBudgetUsed => "Percent",
        }
    }

    /// One measurement in its unit, as the line that CloudWatch makes a metric of.
    #[must_use]
    pub fn line(self, value: u64, now: Timestamp) -> String {
        line(self.name(), self.unit(), value, now)
    }
}

fn line(name: &str, unit: &str, value: u64, now: Timestamp) -> String {
    serde_json::json!({
        "_aws": {
            "Timestamp": now.as_millis(),
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE,
                "Dimensions": [[]],
                "Metrics": [{ "Name": name, "Unit": unit }],
            }],
        },
        name: value,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_cloudwatch_reads() {
        for metric in Metric::ALL {
            let line: serde_json::Value = serde_json::from_str(&metric.line(Timestamp::from_millis(7))).unwrap();
            let directive = &line["_aws"]["CloudWatchMetrics"][0];
            assert_eq!((&line["_aws"]["Timestamp"], &directive["Namespace"]), (&7.into(), &"Oracle".into()));
            assert_eq!(directive["Metrics"][0]["Name"], metric.name());
            assert_eq!(line[metric.name()], 1, "the value stands under the metric's name");
        }
    }
}
