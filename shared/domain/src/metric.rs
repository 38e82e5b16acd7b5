//! Counts and measurements in CloudWatch's embedded metric format: for the alarms in template.yaml, and for the
//! dashboard beside them. None has dimensions: every name is one metric, and is paid for as one.

use crate::Timestamp;
use serde_json::Value;

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
    /// An audit record could not be written; it is kept in its sale and written later (Audit Trail, failure mode 1).
    AuditWriteFailed,
    /// The content filter holds a verdict or a mail: a human decides.
    Held,
    /// The inbox was looked at (Inbox Watch: every two minutes).
    InboxWatched,
    /// A smoke test came to its end, whatever it found.
    SmokeTested,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::EventUnreadable,
        Self::CompletedWithoutPayment,
        Self::CheckoutUnavailable,
        Self::AlertUndelivered,
        Self::Reconciled,
        Self::CacheHealthRan,
        Self::Digested,
        Self::AuditWriteFailed,
        Self::Held,
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
            Self::AuditWriteFailed => "AuditWriteFailed",
            Self::Held => "Held",
            Self::InboxWatched => "InboxWatched",
            Self::SmokeTested => "SmokeTested",
        }
    }

    /// One occurrence.
    #[must_use]
    pub const fn once(self) -> Measurement {
        Measurement { name: self.name(), unit: Unit::Count, value: 1 }
    }

    /// One occurrence, as [`line`] writes it.
    #[must_use]
    pub fn line(self, now: Timestamp) -> String {
        line(&[self.once()], now)
    }
}

/// What is measured. Each has an alarm of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// How old the stored refresh token of the mailbox is, in seconds: unused for 90 days it is worth nothing
    /// (Email Retry, INV-07).
    RefreshTokenAge,
    /// 1 while the circuit breaker of a model is not closed, 0 once it closes; nothing where it stays closed.
    BreakerOpen,
    /// Cached verdicts.
    CacheEntries,
    /// How much of its budget of bytes the cache has used, in per cent.
    CacheBudgetUsed,
}

impl Gauge {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::RefreshTokenAge, Self::BreakerOpen, Self::CacheEntries, Self::CacheBudgetUsed];

    /// Its name in CloudWatch.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RefreshTokenAge => "RefreshTokenAge",
            Self::BreakerOpen => "BreakerOpen",
            Self::CacheEntries => "CacheEntries",
            Self::CacheBudgetUsed => "CacheBudgetUsed",
        }
    }

    const fn unit(self) -> Unit {
        match self {
            Self::RefreshTokenAge => Unit::Seconds,
            Self::BreakerOpen | Self::CacheEntries => Unit::Count,
            Self::CacheBudgetUsed => Unit::Percent,
        }
    }

    /// One measurement, in the unit of its name.
    #[must_use]
    pub const fn of(self, value: u64) -> Measurement {
        Measurement { name: self.name(), unit: self.unit(), value }
    }

    /// One measurement, as [`line`] writes it.
    #[must_use]
    pub fn line(self, value: u64, now: Timestamp) -> String {
        line(&[self.of(value)], now)
    }
}

/// What the dashboard shows beside what alarms watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A first verdict was made: one count for each colour.
    VerdictGreen,
    /// As above.
    VerdictAmber,
    /// As above.
    VerdictRed,
    /// As above.
    VerdictNull,
    /// An order ended without a verdict: failed, held or unusable.
    VerdictFailed,
    /// From the paid event to the first verdict, in milliseconds.
    OrderToVerdict,
    /// The mailbox accepted a mail.
    MailSent,
    /// An attempt at a mail failed.
    MailFailed,
    /// From the paid event to the accepted mail with the verdict, in milliseconds.
    OrderToMail,
    /// Sales that only a human can end.
    WaitingForHumans,
}

impl Figure {
    /// All of them.
    pub const ALL: [Self; 10] = [
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
    ];

    /// Its name in CloudWatch.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::VerdictGreen => "VerdictGreen",
            Self::VerdictAmber => "VerdictAmber",
            Self::VerdictRed => "VerdictRed",
            Self::VerdictNull => "VerdictNull",
            Self::VerdictFailed => "VerdictFailed",
            Self::OrderToVerdict => "OrderToVerdict",
            Self::MailSent => "MailSent",
            Self::MailFailed => "MailFailed",
            Self::OrderToMail => "OrderToMail",
            Self::WaitingForHumans => "WaitingForHumans",
        }
    }

    /// A measurement, in milliseconds or as a count.
    #[must_use]
    pub const fn of(self, value: u64) -> Measurement {
        let unit = match self {
            Self::OrderToVerdict | Self::OrderToMail => Unit::Milliseconds,
            _ => Unit::Count,
        };
        Measurement { name: self.name(), unit, value }
    }
}

/// The units that CloudWatch knows and that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[allow(missing_docs)]
pub enum Unit {
    Count,
    Percent,
    Seconds,
    Milliseconds,
}

/// One value of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The metric's name.
    pub name: &'static str,
    /// What the value is in.
    pub unit: Unit,
    /// The value.
    pub value: u64,
}

/// Measurements, as the line that CloudWatch makes metrics of. It must stand alone on standard output: the
/// structured logger would wrap it.
#[must_use]
pub fn line(measurements: &[Measurement], now: Timestamp) -> String {
    let metrics: Vec<_> =
        measurements.iter().map(|it| serde_json::json!({ "Name": it.name, "Unit": it.unit })).collect();
    let mut line = serde_json::json!({
        "_aws": {
            "Timestamp": now.as_millis(),
            "CloudWatchMetrics": [{ "Namespace": NAMESPACE, "Dimensions": [[]], "Metrics": metrics }],
        },
    });
    for it in measurements {
        line[it.name] = it.value.into();
    }
    line.to_string()
}

/// What an audit record counts for, as it is written: a record is written once, so nothing counts twice.
#[must_use]
pub fn of_record(record: &str) -> Vec<Measurement> {
    let Ok(record) = serde_json::from_str::<Value>(record) else { return Vec::new() };
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let details = &record["details"];
    match (text("event"), text("source"), text("status")) {
        ("pipeline", "webhook", "OK") => {
            let colour = match details["colour"].as_str() {
                Some("GREEN") => Figure::VerdictGreen,
                Some("AMBER") => Figure::VerdictAmber,
                Some("RED") => Figure::VerdictRed,
                _ => Figure::VerdictNull,
            };
            let latency = record["latency_ms"].as_u64().map(|waited| Figure::OrderToVerdict.of(waited));
            [colour.of(1)].into_iter().chain(latency).collect()
        }
        ("pipeline", "webhook", "ERROR") => vec![Figure::VerdictFailed.of(1)],
        ("pipeline", "email_service", "EMAIL_SENT") => {
            let latency = details["order_to_mail_ms"].as_u64().map(|waited| Figure::OrderToMail.of(waited));
            [Figure::MailSent.of(1)].into_iter().chain(latency).collect()
        }
        ("pipeline", "email_service", "EMAIL_FAILED") => vec![Figure::MailFailed.of(1)],
        ("content_filter", ..) if text("outcome") == "QUARANTINE" => vec![Metric::Held.once()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_is_what_cloudwatch_reads() {
        for metric in Metric::ALL {
            let line: Value = serde_json::from_str(&metric.line(Timestamp::from_millis(7))).unwrap();
            let directive = &line["_aws"]["CloudWatchMetrics"][0];
            assert_eq!((&line["_aws"]["Timestamp"], &directive["Namespace"]), (&7.into(), &"Oracle".into()));
            assert_eq!(directive["Metrics"][0]["Name"], metric.name());
            assert_eq!(line[metric.name()], 1, "the value stands under the metric's name");
        }
        let line: Value = serde_json::from_str(&Gauge::BreakerOpen.line(0, Timestamp::from_millis(7))).unwrap();
        assert_eq!(
            (&line["BreakerOpen"], &line["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Unit"]),
            (&0.into(), &"Count".into())
        );
    }

    #[test]
    fn every_metric_is_written_as_it_was() {
        let now = Timestamp::from_millis(7);
        let counts = Metric::ALL.map(|metric| metric.line(now)).into_iter();
        let gauges = Gauge::ALL.map(|gauge| gauge.line(3, now)).into_iter();
        let figures = Figure::ALL.map(|figure| line(&[figure.of(3)], now)).into_iter();
        let lines: Vec<String> = counts.chain(gauges).chain(figures).collect();
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/metrics.txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(golden, lines.join("\n") + "\n").unwrap();
        }
        assert_eq!(lines, std::fs::read_to_string(golden).unwrap().lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_record_counts_for_what_it_tells() {
        let counted = |record: Value| {
            of_record(&record.to_string()).into_iter().map(|it| (it.name, it.value)).collect::<Vec<_>>()
        };
        let verdict = json!({ "event": "pipeline", "source": "webhook", "status": "OK", "latency_ms": 2847,
            "details": { "colour": "AMBER" } });
        assert_eq!(counted(verdict), [("VerdictAmber", 1), ("OrderToVerdict", 2847)]);
        let failed = json!({ "event": "pipeline", "source": "webhook", "status": "ERROR" });
        assert_eq!(counted(failed), [("VerdictFailed", 1)]);
        let mut mail = json!({ "event": "pipeline", "source": "email_service", "status": "EMAIL_SENT",
            "details": { "order_to_mail_ms": 4000 } });
        assert_eq!(counted(mail.clone()), [("MailSent", 1), ("OrderToMail", 4000)]);
        mail["details"] = json!({ "letter": "silent_drop" });
        assert_eq!(counted(mail), [("MailSent", 1)]);
        let hold = json!({ "event": "content_filter", "gate": 1, "outcome": "QUARANTINE" });
        assert_eq!(counted(hold), [("Held", 1)]);
        let cached = json!({ "event": "pipeline", "source": "cache_hit", "status": "CACHED" });
        assert!(counted(cached).is_empty() && of_record("no JSON").is_empty());
    }
}
