//! The reminder of the purchases that wait for a human.

use crate::Ports;
use audit::Change;
use domain::{
    Alert, SessionId, StepError, Timestamp,
    alert::Severity,
    due::Report,
    ports::StorageError,
    toll::{List, Purchase, Stage},
};
use std::time::Duration;

/// The most time of one run for reminders. They come after the settlements and have a share of their own, so that neither
/// keeps the other from its turn, however many there are.
const REMINDERS: Duration = Duration::from_secs(10);

/// The time between two reminders of operators.
const REMIND_AFTER: i64 = 24 * 3_600_000;

/// Alerts operators once a day to the purchases that wait for them: when the most urgent one is due, to all of them in one
/// alert. One alert for each would let whoever sends many small transfers fill the operators' mailboxes every day.
pub(crate) async fn remind(ports: Ports<'_>) -> Result<Report, StorageError> {
    let (store, clock) = (ports.journal.store, ports.journal.clock);
    let now = clock.now();
    let (until, a_day_ago) = (now.plus(REMINDERS), Timestamp::from_millis(now.as_millis() - REMIND_AFTER));
    let due = store.listed(List::Humans, a_day_ago).await?.len();
    let mut report = Report { due, ..Report::default() };
    if due == 0 {
        return Ok(report);
    }
    let waiting = store.listed(List::Humans, now).await?;
    let others = waiting.len().saturating_sub(1);
    let mut is_raised = false;
    for (place, id) in waiting.iter().enumerate() {
        // The list lags behind: all that were due may have their reminder.
        if !is_raised && place >= due {
            break;
        }
        if clock.now() >= until {
            report.left += due.saturating_sub(place);
            break;
        }
        match remind_of(ports, id, (!is_raised).then_some(others)).await {
            Ok(is_reminded) => is_raised |= is_reminded,
            Err(error) => {
                tracing::error!(purchase = id.reference(), %error, "the reminder is still due");
                report.failed += 1;
            }
        }
    }
    Ok(report)
}

/// Records that operators are reminded of a purchase. With the number of the others on the list, it alerts them, unless
/// the purchase's last reminder is younger than a day. Returns whether it waits for them.
async fn remind_of(ports: Ports<'_>, id: &SessionId, others: Option<usize>) -> Result<bool, StepError> {
    let Some(purchase) = ports.journal.store.load(id).await? else { return Ok(false) };
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        let Some(others) = others else {
            return purchase.remind_early(now).map_or_else(|_| Change::nothing(false), |_| Change::save(true));
        };
        let Ok(since) = purchase.remind(now) else { return Change::nothing(false) };
        let what = match purchase.stage() {
            Stage::Settled { .. } => "a settlement is not confirmed by the chain",
            Stage::Lapsed { .. } => "a payment in USDC cannot be traced: look for the money",
            _ if purchase.payers().is_empty() => "a payment in USDC has no answer: give it back",
            _ => "a transaction of several payers has no answer: give each payer's part back",
        };
        let hours = now.since(since).as_secs() / 3600;
        let detail = format!("waits for a human for {hours} h, and {others} others: {what} (oracle toll list)");
        let subject = purchase.id().reference();
        let alert = Alert::about("ORACLE-TOLL", Severity::Critical, now, "SETTLEMENT", subject, &detail);
        Change::save(true).alerting(alert)
    };
    Ok(ports.journal.commit(purchase, decide).await?.settle().await.1)
}
