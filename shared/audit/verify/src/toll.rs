//! Aggregates sales to agents for USDC (Audit Trail, oracle toll events).

use crate::{
    histogram::Histogram,
    period::Period,
    report::{Toll, TollLatency, TollOutcome, TollRevenue},
};
use audit::{TollSource, TollStatus};
use serde::Deserialize;
use std::{borrow::Cow, collections::BTreeMap};

/// The event in a purchase's stream that records how a payment ended.
const RESOLVED: &str = "toll";

/// The event in the function's own stream that records a payment without a purchase.
const NOT_TAKEN: &str = "payment_not_taken";

/// The fields that identify a record.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
}

/// How a payment ended. In a purchase's record these are fields; in a function's record they are its details.
#[derive(Deserialize)]
struct Facts {
    endpoint: String,
    amount_usdc: f64,
    latency_ms: u64,
    #[serde(rename = "source")]
    _source: TollSource,
    status: TollStatus,
}

/// A function's record.
#[derive(Deserialize)]
struct OfFunction {
    details: Facts,
}

/// The result of reading a line.
pub(crate) enum Read {
    /// A payment that ended, and whether that was in the report's period.
    Counted(bool),
    /// Another record.
    Other,
    /// The line cannot be read.
    Unreadable,
}

/// Answers sold on one day at one address.
#[derive(Clone, Copy, Debug, Default)]
struct Sold {
    count: u64,
    millionths: u64,
}

/// Aggregates records of payments in USDC.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payments {
    sold: BTreeMap<(String, String), Sold>,
    outcomes: BTreeMap<&'static str, u64>,
    latency: BTreeMap<String, Histogram>,
}

impl Payments {
    /// Adds one line of a purchase's stream, or of the toll function's.
    pub(crate) fn add(&mut self, line: &[u8], period: &Period) -> Read {
        let Ok(Envelope { timestamp, event }) = serde_json::from_slice(line) else { return Read::Unreadable };
        let facts = match &*event {
            RESOLVED => serde_json::from_slice::<Facts>(line),
            NOT_TAKEN => serde_json::from_slice::<OfFunction>(line).map(|record| record.details),
            _ => return Read::Other,
        };
        let Ok(facts) = facts else { return Read::Unreadable };
        let counts = period.holds(&timestamp);
        if counts {
            self.count(timestamp.get(..10).unwrap_or(&timestamp), facts);
        }
        Read::Counted(counts)
    }

    fn count(&mut self, day: &str, facts: Facts) {
        *self.outcomes.entry(facts.status.as_str()).or_default() += 1;
        if facts.status == TollStatus::Ok {
            self.latency.entry(facts.endpoint.clone()).or_default().add(facts.latency_ms);
            let sold = self.sold.entry((day.to_owned(), facts.endpoint)).or_default();
            sold.count += 1;
            sold.millionths += millionths(facts.amount_usdc);
        }
    }

    /// The toll's part of the report.
    pub(crate) fn finish(self) -> Toll {
        let revenue = self.sold.into_iter().map(|((day, endpoint), sold)| TollRevenue {
            day,
            endpoint,
            sold: sold.count,
            usdc_millionths: sold.millionths,
        });
        let latency = self.latency.into_iter().map(|(endpoint, histogram)| {
            let quantile = |per_cent| histogram.quantile(per_cent).unwrap_or_default();
            let (p50_ms, p95_ms, p99_ms) = (quantile(50), quantile(95), quantile(99));
            TollLatency {
                endpoint,
                count: histogram.count(),
                p50_ms,
                p95_ms,
                p99_ms,
                greatest_ms: histogram.greatest(),
            }
        });
        let outcomes = self.outcomes.into_iter().map(|(status, count)| TollOutcome { status, count });
        Toll { revenue: revenue.collect(), outcomes: outcomes.collect(), latency: latency.collect() }
    }
}

/// Converts the log's amount in dollars to USDC's smallest unit.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a price of a few dollars, never negative")]
fn millionths(dollars: f64) -> u64 {
    (dollars * 1_000_000.0).round().max(0.0) as u64
}
