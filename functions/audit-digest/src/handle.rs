//! One run of the schedule: [`run`], counted for its alarm.

use crate::{
    run::run,
    terms::{Limits, Ports, Summary},
};
use domain::Metric;
use runtime::Error;

/// The digest of this many objects is a megabyte, and this many digests are made well within the function's time-out.
/// A record has some hundred bytes; a larger object than this is not a record.
const LIMITS: Limits = Limits { entries: 5_000, documents: 20, bytes: 1_000_000, rechecked: 5_000 };

/// Digests what is new.
///
/// # Errors
/// When the digest is not complete; the function's alarm shows it.
pub async fn handle(ports: Ports<'_>) -> Result<(), Error> {
    let Summary { documents, entries, unreadable, left, overtaken } = run(ports, LIMITS).await?;
    tracing::info!(documents, entries, unreadable, left, overtaken, "digested");
    ports.meter.record(&[Metric::Digested.once()], ports.journal.clock.now());
    Ok(())
}
