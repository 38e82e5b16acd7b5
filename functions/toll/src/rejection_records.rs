//! Records requests that bought nothing and have no purchase. They go into the function's own streams, so that payments,
//! which cost nothing to sign, and questions, which cost nothing to ask, cannot fill the table.

use crate::Ports;
use audit::{FunctionJournal, TollSource, TollStatus, hash};
use authority::Evaluation;
use domain::{
    Metric, Query, Timestamp,
    notebooks::{TOLL_DECLINED, TOLL_NOT_TAKEN},
    toll::Offer,
};
use runtime::telemetry;
use serde_json::json;

/// Records the outcome of such a payment with the fields of the spec's x402 records. `transaction` is the one that was
/// sent before, if the request names one. `query` is missing for a question that the authority gate declines: it may be a
/// short disclosure, which could be guessed from its hash. A failure is counted and does not change the reply.
pub(crate) async fn record(
    ports: Ports<'_>,
    offer: Offer,
    query: Option<&Query>,
    transaction: Option<&str>,
    (status, why): (TollStatus, &str),
    asked_at: Timestamp,
) {
    let (query_hash, tx_hash) = (query.map(hash::query_hash), transaction.map(audit::chain::cut));
    let facts = |now: Timestamp| {
        json!({
            "tx_hash": tx_hash,
            "endpoint": offer.path(),
            "query_hash": query_hash,
            "amount_usdc": offer.dollars(),
            "latency_ms": now.millis_since(asked_at),
            "status": status,
            "source": TollSource::OracleToll,
            "error_detail": why,
        })
    };
    let token = ports.randomness.token();
    if let Err(error) = ports.rejections.record_in_one_of(&TOLL_NOT_TAKEN, &token, "payment_not_taken", facts).await {
        ports.meter.record(&[Metric::AuditWriteFailed.once()], ports.rejections.clock.now());
        tracing::error!(error = telemetry::chain(&error), "a payment that was not taken is not recorded");
    }
}

/// Records the evaluation of a question for which nothing is paid or taken, if the authority gate declines it. The
/// record has no hash of the question, see [`record`]. A failure is counted and does not change the reply; operators
/// are alerted to an escalated evaluation whose save fails.
pub(crate) async fn declined(ports: Ports<'_>, offer: Offer, evaluation: &Evaluation) {
    if evaluation.state().is_sold() {
        return;
    }
    let details = json!({ "endpoint": offer.path(), "authority": evaluation.envelope() });
    let facts = |_| details.clone();
    // A choice of the stream by the question would tell something of a text that must leave no trace.
    let token = ports.randomness.token();
    if let Err(error) = ports.rejections.record_in_one_of(&TOLL_DECLINED, &token, "authority_evaluated", facts).await {
        tracing::error!(error = telemetry::chain(&error), "an evaluation is not recorded");
        let FunctionJournal { alerts, clock, .. } = ports.rejections;
        audit::report_unrecorded(alerts, ports.meter, &evaluation.envelope(), "toll", clock.now()).await;
    }
}
