//! The reminder of the purchases that wait for a human.

use crate::Ports;
use domain::{
    Alert, Timestamp,
    alert::Severity,
    due::Report,
    notebooks::TOLL_REMINDER,
    ports::{Notes, StorageError},
    toll::{List, Purchase, Stage},
};
use serde_json::{Value, json};
use std::time::Duration;

/// The time between two reminders of operators, in milliseconds.
const REMIND_AFTER: i64 = 24 * 3_600_000;

/// Alerts operators once a day to all purchases that wait for them, in one alert, as soon as one has waited for a day.
/// With one alert for each, a sender of many small transfers could fill the operators' mailboxes every day. It ends after
/// `share`, also if no purchase can be read.
pub(crate) async fn remind(ports: Ports<'_>, notes: &dyn Notes, share: Duration) -> Result<Report, StorageError> {
    let store = ports.journal.store;
    let now = ports.journal.clock.now();
    let a_day_ago = Timestamp::from_millis(now.as_millis() - REMIND_AFTER);
    let mut report = Report::default();
    // Before the list, which grows with what strangers send: it is read once a day, and not in every run.
    let note = notes.load(TOLL_REMINDER).await?;
    if note.value.as_deref().and_then(reminded_at).is_some_and(|at| at > a_day_ago) {
        return Ok(report);
    }
    let overdue = store.listed(List::Humans, a_day_ago).await?;
    if overdue.is_empty() {
        return Ok(report);
    }
    let others = store.listed(List::Humans, now).await?.len().saturating_sub(1);
    let until = now.plus(share);
    for id in overdue {
        report.due += 1;
        if ports.journal.clock.now() >= until {
            report.left += 1;
            break;
        }
        let purchase = match store.load(&id).await {
            Ok(Some(found)) => found.value,
            Ok(None) => continue,
            Err(error) => {
                tracing::error!(purchase = id.reference(), %error, "operators are not reminded of it");
                report.failed += 1;
                continue;
            }
        };
        // The list lags behind the purchases.
        let Some((List::Humans, since)) = purchase.due() else { continue };
        ports.journal.alerts.raise(reminder(&purchase, since, others, now)).await;
        // Saved afterwards: a run that ends in between leads to a second reminder, and not to none.
        let document = json!({ "reminded_at": now }).to_string();
        if let Err(error) = notes.save(TOLL_REMINDER, &document, note.version).await {
            tracing::warn!(%error, "the reminder is not noted, and the next run repeats it");
        }
        break;
    }
    Ok(report)
}

fn reminded_at(document: &str) -> Option<Timestamp> {
    let note: Value = serde_json::from_str(document).ok()?;
    serde_json::from_value(note.get("reminded_at")?.clone()).ok()
}

/// The alert about the purchase that has waited longest, with the number of the others.
fn reminder(purchase: &Purchase, since: Timestamp, others: usize, now: Timestamp) -> Alert {
    let what = match purchase.stage() {
        Stage::Settled { .. } => "a settlement is not confirmed by the chain",
        Stage::Lapsed { .. } => "a payment in USDC cannot be traced: look for the money",
        _ if purchase.payers().is_empty() => "a payment in USDC has no answer: give it back",
        _ => "a transaction of several payers has no answer: give each payer's part back",
    };
    let others = match others {
        0 => String::new(),
        1 => ", and 1 other".to_owned(),
        others => format!(", and {others} others"),
    };
    let hours = now.since(since).as_secs() / 3600;
    let detail = format!("waits for a human for {hours} h{others}: {what} (oracle toll list)");
    Alert::about("ORACLE-TOLL", Severity::Critical, now, "SETTLEMENT", purchase.id().reference(), &detail)
}
