//! The health of the cache: the record that cache-health writes at each check, and that `GET /health` and operators
//! read (Cache Health, outputs 1 and 2).

use crate::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// The name of the function whose note holds the last record.
pub const FUNCTION: &str = "cache-health";

/// A level of health, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// In order.
    Healthy,
    /// An operator should check it.
    Degraded,
    /// It does not work, or soon will not.
    Failed,
}

/// The result of probing the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceProbe {
    /// Whether it answered as expected.
    pub reachable: bool,
    /// The response time in milliseconds.
    pub response_ms: u64,
    /// The status of its reply, if it replied.
    pub http_status: Option<u16>,
}

/// The measurements of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheMeasures {
    /// Cached verdicts.
    pub entries: u64,
    /// The size of their documents, in bytes.
    pub bytes: u64,
    /// When the oldest entry was stored.
    pub oldest: Option<Timestamp>,
    /// When the newest entry was stored.
    pub newest: Option<Timestamp>,
    /// The number of entries that were read whole.
    pub sampled: u32,
}

/// The record of one check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HealthRecord {
    /// When it was taken.
    pub at: Timestamp,
    /// The service.
    pub service: ServiceProbe,
    /// The cache; `None` if it could not be read.
    pub measures: Option<CacheMeasures>,
    /// The byte budget.
    pub budget_bytes: u64,
    /// An entry that is not a verdict, if one is known.
    pub corrupt: Option<SessionId>,
    /// The health of the cache, without the service (Cache Health, invariant 5).
    pub cache: Health,
    /// The health of both.
    pub overall: Health,
    /// The interval between checks, in seconds.
    pub interval_s: u64,
}

const MEBIBYTE: u64 = 1024 * 1024;
const DAY_MS: f64 = 86_400_000.0;

impl HealthRecord {
    /// Whether the next check is overdue: by two intervals and a minute.
    #[must_use]
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now.since(self.at) > Duration::from_secs(2 * self.interval_s + 60)
    }

    fn age_days(&self, of: fn(&CacheMeasures) -> Option<Timestamp>) -> Option<f64> {
        let moment = self.measures.as_ref().and_then(of)?;
        let days = self.at.since(moment).as_secs_f64() * 1000.0 / DAY_MS;
        Some((days * 10_000.0).round() / 10_000.0)
    }

    /// The record in the form of Cache Health, outputs 1. `disk_free_mb` is the rest of the byte budget, in MiB.
    #[must_use]
    pub fn line(&self) -> Value {
        let integrity = match (&self.measures, &self.corrupt) {
            (_, Some(session)) => Some(format!("corrupt:{}", session.as_str())),
            (Some(_), None) => Some("ok".to_owned()),
            (None, None) => None,
        };
        json!({
            "ts": self.at.to_iso(),
            "service_reachable": self.service.reachable,
            "service_response_ms": self.service.response_ms,
            "http_status": self.service.http_status,
            "verdicts_count": self.figure(|measures| measures.entries),
            "verdicts_dir_bytes": self.figure(|measures| measures.bytes),
            "disk_free_mb": self.free_mebibytes(),
            "oldest_entry_age_days": self.age_days(|measures| measures.oldest),
            "newest_entry_age_days": self.age_days(|measures| measures.newest),
            "sampled": self.figure(|measures| u64::from(measures.sampled)),
            "sample_integrity": integrity,
            "cache": self.cache,
            "overall": self.overall,
        })
    }

    /// The `cache` block of Cache Health, outputs 2. It names no session. Only operators see it, because it reveals the
    /// volume of sales.
    #[must_use]
    pub fn block(&self, now: Timestamp) -> Value {
        json!(Block {
            verdicts_count: self.figure(|measures| measures.entries),
            dir_bytes: self.figure(|measures| measures.bytes),
            oldest_entry_age_days: self.age_days(|measures| measures.oldest),
            newest_entry_age_days: self.age_days(|measures| measures.newest),
            disk_free_mb: self.free_mebibytes(),
            status: self.cache,
            checked_at: Some(self.at.to_iso()),
            stale: self.is_stale(now),
            ..Block::UNKNOWN
        })
    }

    fn figure(&self, of: fn(&CacheMeasures) -> u64) -> Option<u64> {
        self.measures.as_ref().map(of)
    }

    fn free_mebibytes(&self) -> Option<u64> {
        self.figure(|measures| measures.bytes).map(|bytes| self.budget_bytes.saturating_sub(bytes) / MEBIBYTE)
    }
}

/// The `cache` block of Cache Health, outputs 2.
#[derive(Serialize)]
struct Block {
    verdicts_dir: &'static str,
    verdicts_count: Option<u64>,
    dir_bytes: Option<u64>,
    oldest_entry_age_days: Option<f64>,
    newest_entry_age_days: Option<f64>,
    disk_free_mb: Option<u64>,
    status: Health,
    checked_at: Option<String>,
    stale: bool,
}

impl Block {
    const UNKNOWN: Self = Self {
        verdicts_dir: "dynamodb",
        verdicts_count: None,
        dir_bytes: None,
        oldest_entry_age_days: None,
        newest_entry_age_days: None,
        disk_free_mb: None,
        status: Health::Degraded,
        checked_at: None,
        stale: true,
    };
}

/// The `cache` block before the first check, or if the last record cannot be read.
#[must_use]
pub fn unknown_block() -> Value {
    json!(Block::UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> HealthRecord {
        HealthRecord {
            at: Timestamp::from_millis(207_360_000),
            service: ServiceProbe { reachable: true, response_ms: 12, http_status: Some(200) },
            measures: Some(CacheMeasures {
                entries: 42,
                bytes: 3 * MEBIBYTE,
                oldest: Some(Timestamp::from_millis(0)),
                newest: Some(Timestamp::from_millis(206_496_000)),
                sampled: 10,
            }),
            budget_bytes: 10 * MEBIBYTE,
            corrupt: None,
            cache: Health::Healthy,
            overall: Health::Healthy,
            interval_s: 60,
        }
    }

    #[test]
    fn the_line_and_the_block_have_the_fields_of_the_spec() {
        let expected = json!({
            "ts": "1970-01-03T09:36:00.000Z", "service_reachable": true, "service_response_ms": 12, "http_status": 200,
            "verdicts_count": 42, "verdicts_dir_bytes": 3_145_728, "disk_free_mb": 7, "oldest_entry_age_days": 2.4,
            "newest_entry_age_days": 0.01, "sampled": 10, "sample_integrity": "ok", "cache": "healthy",
            "overall": "healthy",
        });
        assert_eq!(record().line(), expected);
        let session = SessionId::parse("cs_live_abcdefghijklmnop").unwrap();
        let corrupt = HealthRecord { corrupt: Some(session), ..record() };
        assert_eq!(corrupt.line()["sample_integrity"], "corrupt:cs_live_abcdefghijklmnop");
        let block = corrupt.block(corrupt.at);
        assert!(!block.to_string().contains("cs_"), "{block}");
        let fields = |block: &Value| block.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(fields(&block), fields(&unknown_block()));
        assert_eq!(
            (&block["dir_bytes"], &block["status"], &block["stale"]),
            (&json!(3_145_728), &json!("healthy"), &json!(false))
        );
    }

    #[test]
    fn a_record_is_stale_when_two_checks_were_left_out() {
        let record = record();
        assert!(!record.is_stale(record.at.plus(Duration::from_secs(180))));
        assert!(record.is_stale(record.at.plus(Duration::from_secs(181))));
        let full = HealthRecord { budget_bytes: 5, measures: None, ..record };
        assert_eq!((&full.line()["disk_free_mb"], &full.line()["sample_integrity"]), (&Value::Null, &Value::Null));
    }
}
