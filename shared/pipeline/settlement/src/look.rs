//! The schedule's look at purchases whose end is open.

use crate::{
    Ports, SettlementError,
    settle::{settle, settled},
};
use audit::{Change, Record, TollStatus};
use domain::{
    Alert, SessionId, Timestamp,
    alert::Severity,
    ports::{StorageError, Transfer, Versioned, Whereabouts},
    toll::{List, Paid, Purchase, Stage},
};
use std::time::Duration;

/// One run takes no longer for what is due, and leaves the rest to the next.
const SHARE: Duration = Duration::from_secs(60);

/// What came of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Purchases that were listed as due.
    pub due: usize,
    /// Those that could not be dealt with: they stay due.
    pub failed: usize,
    /// Those that the time was too short for: they stay due.
    pub left: usize,
}

/// Looks at everything that is due. A purchase that cannot be dealt with holds up no other.
///
/// # Errors
/// [`StorageError`] when there is no list.
pub async fn run(ports: Ports<'_>) -> Result<Report, StorageError> {
    let clock = ports.journal.clock;
    let mut report = Report::default();
    let until = clock.now().plus(SHARE);
    for id in ports.journal.store.listed(List::Machines, clock.now()).await? {
        report.due += 1;
        if clock.now() >= until {
            report.left += 1;
            continue;
        }
        if let Err(error) = look(ports, &id).await {
            report.failed += 1;
            tracing::error!(purchase = id.reference(), %error, "still due");
        }
    }
    Ok(report)
}

/// Looks at one purchase. The list lags behind: what the purchase itself says counts.
async fn look(ports: Ports<'_>, id: &SessionId) -> Result<(), SettlementError> {
    let Some(purchase) = ports.journal.store.load(id).await? else { return Ok(()) };
    let purchase = ports.journal.flush(purchase).await;
    let now = ports.journal.clock.now();
    let is_due = |purchase: &Purchase| matches!(purchase.next(), Some((List::Machines, due)) if due <= now);
    if !is_due(&purchase.value) {
        return Ok(());
    }
    let Some(signed) = purchase.value.signed() else { return unanswered_transfer(ports, purchase).await };
    // Before the payment's time is over, it may still be settled; the chain is asked first, because a facilitator
    // refuses what was settled before.
    match ports.node.whereabouts(signed).await? {
        Whereabouts::Used { transaction, is_ours: true } => used(ports, purchase, &transaction).await,
        Whereabouts::Used { is_ours: false, .. } => {
            let why = "the payer's nonce was used for something else";
            if matches!(purchase.value.stage(), Stage::Settled { .. }) {
                return doubt(ports, purchase).await;
            }
            lapse(ports, purchase, why).await
        }
        Whereabouts::Unconfirmed => Ok(()),
        Whereabouts::Unused { head } => match purchase.value.stage() {
            Stage::Settled { .. } => doubt(ports, purchase).await,
            _ if head >= signed.valid_before => lapse(ports, purchase, "the payment was never settled").await,
            Stage::Settling { .. } if now < signed.valid_before => again(ports, purchase).await,
            // The chain's clock is behind: the next run asks again.
            _ => Ok(()),
        },
    }
}

async fn used(ports: Ports<'_>, purchase: Versioned<Purchase>, transaction: &str) -> Result<(), SettlementError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        if purchase.confirm(transaction).is_ok() {
            return Change::save(());
        }
        let triggered_at = purchase.received_at();
        settled(purchase, transaction, true, now, triggered_at)
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

async fn again(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), SettlementError> {
    let received_at = purchase.value.received_at();
    let count = |purchase: &mut Purchase, now: Timestamp| match purchase.settle_again(now) {
        Ok(()) => Change::save(()),
        Err(_) => Change::nothing(()),
    };
    let (purchase, ()) = ports.journal.commit(purchase, count).await?.unsettled();
    settle(ports, purchase, received_at).await.map(drop)
}

/// Nobody can settle it any more. An answer that was kept for it never left.
async fn lapse(ports: Ports<'_>, purchase: Versioned<Purchase>, why: &str) -> Result<(), SettlementError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        let had_answer = matches!(purchase.stage(), Stage::Settling { .. });
        let triggered_at = purchase.received_at();
        if purchase.lapse(now).is_err() {
            return Change::nothing(());
        }
        // What had no answer has its record already.
        let record = Record::toll(now, triggered_at, TollStatus::PaymentRejected, why);
        Change::recorded(if had_answer { vec![record] } else { Vec::new() }, ())
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

/// The facilitator reported a transfer that the chain does not have.
async fn doubt(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), SettlementError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| match purchase.doubt(now) {
        Ok(true) => {
            let detail = "the facilitator told of a settlement that the chain does not have (oracle toll list)";
            let subject = purchase.id().reference();
            let alert = Alert::about("ORACLE-TOLL", Severity::Critical, now, "SETTLEMENT", subject, detail);
            Change::save(()).alerting(alert)
        }
        Ok(false) | Err(_) => Change::nothing(()),
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

/// A transfer that was made before it was shown, and bought no answer within its time: the money is ours and not earned.
async fn unanswered_transfer(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), SettlementError> {
    let Paid::Transferred { transaction, .. } = purchase.value.paid().clone() else { return Ok(()) };
    let found = ports.node.transfer(&transaction, purchase.value.offer().price()).await?;
    if let Transfer::Unconfirmed(_) = found {
        // A reorganisation took it out after it was shown: there is no money to give back.
        return lapse(ports, purchase, "the transfer is not on the chain any more").await;
    }
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        let triggered_at = purchase.received_at();
        settled(purchase, &transaction, true, now, triggered_at)
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}
