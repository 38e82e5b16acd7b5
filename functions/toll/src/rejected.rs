//! Records payments that bought nothing and have no purchase. They go into the function's own stream, so that payments,
//! which cost nothing to sign, cannot fill the table.

use audit::{FunctionJournal, Noted, TollSource, TollStatus, digest};
use domain::{Query, Timestamp, toll::Offer};
use runtime::telemetry;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The function saves no state of its own between records.
#[derive(Default, Serialize, Deserialize)]
struct Nothing {}

/// Records the outcome of such a payment with the fields of the spec's x402 records. `transaction` is the one that was
/// sent before, if the request names one. A failure does not change the reply.
pub(crate) async fn record(
    journal: FunctionJournal<'_>,
    offer: Offer,
    query: &Query,
    transaction: Option<&str>,
    (status, why): (TollStatus, &str),
    asked_at: Timestamp,
) {
    let (query_hash, tx_hash) = (digest::query_hash(query), transaction.map(audit::chain::cut));
    let rejected = |_: &mut Nothing, now: Timestamp| {
        let facts = json!({
            "tx_hash": tx_hash,
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
