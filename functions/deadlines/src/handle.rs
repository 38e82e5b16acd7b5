//! One scheduled run: calls [`run`], and counts the sales that wait for humans for the dashboard.

use crate::{Ports, Settings, run};
use domain::{
    Metric,
    due::{Incomplete, Report},
    open_work::Work,
    ports::{OpenSales, StorageError},
};

/// The most pages of one list that are counted.
const COUNTED_PAGES: u32 = 20;

/// Handles everything that is due, once.
///
/// # Errors
/// [`Incomplete`]: some work failed, and the failed invocation raises the function's alarm.
pub async fn handle(ports: Ports<'_>, settings: Settings) -> Result<Report, Incomplete<Report>> {
    ports.summaries.send_summaries().await;
    let report = run(ports, settings).await;
    tracing::info!(due = report.due, failed = report.failed, left = report.left, "deadlines");
    match waiting(ports.open).await {
        Ok(count) => {
            ports.meter.record(&[Metric::WaitingForHumans.of(count)], ports.journal.clock.now());
        }
        Err(error) => tracing::warn!(%error, "the sales that wait for humans are not counted"),
    }
    report.complete()
}

/// The number of sales that wait for a human; of each kind of work, at most [`COUNTED_PAGES`] pages are counted.
async fn waiting(open: &dyn OpenSales) -> Result<u64, StorageError> {
    let mut count = 0;
    for work in Work::FOR_HUMANS {
        let mut from: Option<String> = None;
        for _ in 0..COUNTED_PAGES {
            let page = open.open(work, None, from.as_deref()).await?;
            count += page.sessions.len() as u64;
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    Ok(count)
}
