//! One scheduled run: makes the checks that are due, and records metrics for their alarms.

use crate::{Ports, Settings, Unrecorded, When};
use domain::Metric;
use runtime::Error;
use serde_json::Value;

/// Makes the checks that are due; an event `{"look":"now"}` asks for one immediately. `unrecorded` lives as long as the
/// process.
///
/// # Errors
/// When a check could not be recorded; the function's alarm shows it.
pub async fn handle(ports: Ports<'_>, settings: Settings, unrecorded: &Unrecorded, event: &Value) -> Result<(), Error> {
    let when = if event["look"] == "now" { When::Now } else { When::Due };
    for record in unrecorded.run(ports, settings, when).await? {
        tracing::info!(overall = ?record.overall, cache = ?record.cache, service = record.service.reachable, "checked");
        if let Some(measures) = record.measures {
            ports.meter.record(&[Metric::CacheEntries.of(measures.entries)], record.at);
            let used = measures.bytes.saturating_mul(100) / settings.budget_bytes;
            ports.meter.record(&[Metric::CacheBudgetUsed.of(used)], record.at);
        }
    }
    ports.meter.record(&[Metric::CacheHealthRan.once()], ports.journal.clock.now());
    Ok(())
}
