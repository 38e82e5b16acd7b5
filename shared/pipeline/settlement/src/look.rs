//! The scheduled check of purchases whose outcome is open.

use crate::{
    Ports,
    settle::{settle, settled},
};
use audit::{Change, Record, TollStatus};
use domain::{
    Alert, SessionId, StepError, Timestamp,
    alert::Severity,
    due::{self, Report},
    ports::{StorageError, Transfer, Versioned, Whereabouts},
    toll::{List, Paid, Purchase, Stage},
};
use std::time::Duration;

/// How long the node is asked again when its answers about a payment contradict each other. It may lag behind the chain.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// The most time for one run; the rest waits for the next run.
const SHARE: Duration = Duration::from_secs(60);

/// Handles every due purchase. A purchase that fails does not hold up any other.
///
/// # Errors
/// [`StorageError`] when the list cannot be read.
pub async fn run(ports: Ports<'_>) -> Result<Report, StorageError> {
    let clock = ports.journal.clock;
    let due = ports.journal.store.listed(List::Machines, clock.now()).await?;
    let look = |id| async move {
        let looked = look(ports, &id).await;
        looked.inspect_err(|error| tracing::error!(purchase = id.reference(), %error, "still due"))
    };
    Ok(due::run(clock, SHARE, due, look).await)
}

/// Handles one purchase. The list lags behind, so the purchase's own state decides.
async fn look(ports: Ports<'_>, id: &SessionId) -> Result<(), StepError> {
    let Some(purchase) = ports.journal.store.load(id).await? else { return Ok(()) };
    let purchase = ports.journal.flush(purchase).await;
    let now = ports.journal.clock.now();
    let is_due = |purchase: &Purchase| matches!(purchase.next(), Some((List::Machines, due)) if due <= now);
    if !is_due(&purchase.value) {
        return Ok(());
    }
    let Some(signed) = purchase.value.signed() else { return unanswered_transfer(ports, purchase).await };
    // Until the payment expires it may still be settled. The chain is asked first, because a facilitator refuses a
    // payment that was settled before.
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
        Whereabouts::Untraced if matches!(purchase.value.stage(), Stage::Settled { .. }) => {
            doubt(ports, purchase).await
        }
        Whereabouts::Untraced => {
            give_up(ports, purchase, "the payment is used, and the chain does not show where").await
        }
        Whereabouts::Unused { head } => match purchase.value.stage() {
            Stage::Settled { .. } => doubt(ports, purchase).await,
            _ if head >= signed.valid_before => lapse(ports, purchase, "the payment was never settled").await,
            // After a refusal the payer was asked for another payment: only the payer may try this one again.
            Stage::Settling { problem: Some(problem), .. } if problem.is_refusal => Ok(()),
            Stage::Settling { .. } if now < signed.valid_before => again(ports, purchase).await,
            // The chain's clock is behind: the next run asks again.
            _ => Ok(()),
        },
    }
}

async fn used(ports: Ports<'_>, purchase: Versioned<Purchase>, transaction: &str) -> Result<(), StepError> {
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

async fn again(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), StepError> {
    let received_at = purchase.value.received_at();
    let count = |purchase: &mut Purchase, now: Timestamp| match purchase.settle_again(now) {
        Ok(()) => Change::save(()),
        Err(_) => Change::nothing(()),
    };
    let (purchase, ()) = ports.journal.commit(purchase, count).await?.unsettled();
    settle(ports, purchase, received_at).await.map(drop)
}

/// Ends a purchase whose payment could not be traced for [`PATIENCE`], and alerts operators: the payment may have reached us.
async fn give_up(ports: Ports<'_>, purchase: Versioned<Purchase>, why: &str) -> Result<(), StepError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        let triggered_at = purchase.received_at();
        if now < triggered_at.plus(PATIENCE) || purchase.lapse(now).is_err() {
            return Change::nothing(());
        }
        let subject = purchase.id().reference();
        let alert = Alert::about("ORACLE-TOLL", Severity::Critical, now, "SETTLEMENT", subject, why);
        Change::recorded(vec![Record::toll(now, triggered_at, TollStatus::RpcUnreachable, why)], ()).alerting(alert)
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

/// Ends a purchase that can no longer be settled. An answer that was stored for it was never sent.
async fn lapse(ports: Ports<'_>, purchase: Versioned<Purchase>, why: &str) -> Result<(), StepError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        // An unanswered purchase has the record of its failure already. A claim has none: its invocation has ended in it.
        let has_record = matches!(purchase.stage(), Stage::Unanswered);
        let triggered_at = purchase.received_at();
        if purchase.lapse(now).is_err() {
            return Change::nothing(());
        }
        let record = Record::toll(now, triggered_at, TollStatus::PaymentRejected, why);
        Change::recorded(if has_record { Vec::new() } else { vec![record] }, ())
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

/// The facilitator reported a transfer that the chain does not have.
async fn doubt(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), StepError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| match purchase.doubt(now) {
        Ok(true) => {
            let detail = "the facilitator reports a settlement that the chain does not have (oracle toll list)";
            let subject = purchase.id().reference();
            let alert = Alert::about("ORACLE-TOLL", Severity::Critical, now, "SETTLEMENT", subject, detail);
            Change::save(()).alerting(alert)
        }
        Ok(false) | Err(_) => Change::nothing(()),
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

/// A transfer that was made before the purchase, and got no answer in time: we have the money and have not earned it.
async fn unanswered_transfer(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), StepError> {
    let Paid::Transferred { transaction, .. } = purchase.value.paid().clone() else { return Ok(()) };
    let found = ports.node.transfer(&transaction, purchase.value.offer().price()).await?;
    if let Transfer::Unconfirmed(_) = found {
        // A reorganisation removed the transfer after it was shown, or the node lags behind.
        return give_up(ports, purchase, "the transfer that was shown is not on the chain any more").await;
    }
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        let triggered_at = purchase.received_at();
        settled(purchase, &transaction, true, now, triggered_at)
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}
