//! Sums up what was sold to agents for USDC (Audit Trail, oracle toll events).

use crate::{
    histogram::Histogram,
    period::Period,
    report::{Toll, TollLatency, TollOutcome, TollRevenue},
};
use audit::{TollSource, TollStatus};
use serde::Deserialize;
use std::{borrow::Cow, collections::BTreeMap};

/// The event by which a purchase's stream tells how a payment ended.
const RESOLVED: &str = "toll";

/// The event by which the function's own stream tells of a payment that left no purchase.
const NOT_TAKEN: &str = "payment_not_taken";

/// Any record, as far as it says what it is.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
}

/// How a payment ended. In a purchase's record these are fields, in a function's its details.
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

/// What a line says of a payment.
pub(crate) enum Read {
    /// How one ended, and whether that was in the report's time.
    Counted(bool),
    /// Something else.
    Other,
    /// Nothing that can be read.
    Unreadable,
}

/// Answers sold on one day at one address.
#[derive(Clone, Copy, Debug, Default)]
struct Sold {
    count: u64,
    millionths: u64,
}

/// Takes records of payments in USDC in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payments {
    sold: BTreeMap<(String, String), Sold>,
    outcomes: BTreeMap<&'static str, u64>,
    latency: BTreeMap<String, Histogram>,
}

impl Payments {
    /// Takes in one line of a purchase's stream, or of the toll function's.
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

    /// The report's part.
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

/// An amount in dollars, as the log has it, in USDC's smallest unit.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a price of a few dollars, never negative")]
fn millionths(dollars: f64) -> u64 {
    (dollars * 1_000_000.0).round().max(0.0) as u64
}
