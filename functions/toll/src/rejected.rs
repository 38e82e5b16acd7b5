//! Payments that bought nothing and left no purchase: recorded in the function's own stream, so that nobody fills the
//! table with payments that cost nothing to sign.

use audit::{FunctionJournal, Noted, TollSource, TollStatus, digest};
use domain::{Query, Timestamp, toll::Offer};
use runtime::telemetry;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Nothing is remembered from one to the next.
#[derive(Default, Serialize, Deserialize)]
struct Nothing {}

/// Records how such a payment ended, with the fields of the spec's x402 records. The reply does not depend on it.
pub(crate) async fn record(
    journal: FunctionJournal<'_>,
    offer: Offer,
    query: &Query,
    (status, why): (TollStatus, &str),
    asked_at: Timestamp,
) {
    let query_hash = digest::query_hash(query);
    let rejected = |_: &mut Nothing, now: Timestamp| {
        let facts = json!({
            "tx_hash": null,
            "endpoint": offer.path(),
            "query_hash": query_hash,
            "amount_usdc": offer.dollars(),
            "latency_ms": now.millis_since(asked_at),
            "status": status,
            "source": TollSource::OracleToll,
            "error_detail": why,
        });
        Noted::save(()).recording("payment_not_taken", facts)
    };
    let committed = match journal.load::<Nothing>().await {
        Ok(notebook) => journal.commit(notebook, rejected).await,
        Err(error) => Err(error.into()),
    };
    match committed {
        Ok(committed) => drop(committed.settle().await),
        Err(error) => tracing::error!(error = telemetry::chain(&error), "a payment that was not taken is not recorded"),
    }
}
