//! The scheduled check of purchases whose outcome is open.

use crate::{
    Ports,
    reminders::remind,
    settle::{detailed, evaluation, settle, settled},
};
use audit::{Change, Record, TollStatus, chain::cut};
use domain::{
    Alert, SessionId, StepError, Timestamp,
    alert::Severity,
    audit_trail::Audited,
    due::{self, Report},
    ports::{Notes, PaymentUse, StorageError, Transfer, Versioned},
    toll::{List, Paid, Purchase, Stage},
};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};

/// How long the node is asked again when it does not answer, or its answers about a payment contradict each other. It may
/// lag behind the chain.
const NODE_RETRY_PERIOD: Duration = Duration::from_secs(24 * 3600);

/// The most time of one run; the rest waits for the next run.
const SHARE: Duration = Duration::from_secs(60);

/// The part of [`SHARE`] that is left for the reminder.
const REMINDER: Duration = Duration::from_secs(10);

/// Handles every due purchase, then reminds operators. `notes` has the time of the last reminder. A purchase that fails
/// does not hold up any other.
///
/// # Errors
/// [`StorageError`] when a list cannot be read.
pub async fn run(ports: Ports<'_>, notes: &dyn Notes) -> Result<Report, StorageError> {
    let mut report = settle_due(ports).await?;
    report += remind(ports, notes, REMINDER).await?;
    Ok(report)
}

/// Handles the purchases on the schedule's list, until the time is over. One reading of the list has at most a hundred. A
/// handled purchase is due later, so the next reading has the ones behind it.
async fn settle_due(ports: Ports<'_>) -> Result<Report, StorageError> {
    let clock = ports.journal.clock;
    let now = clock.now();
    let until = now.plus(SHARE - REMINDER);
    let (mut report, mut seen) = (Report::default(), BTreeSet::new());
    loop {
        let mut found = ports.journal.store.listed(List::Machines, now).await?;
        found.retain(|id| seen.insert(id.clone()));
        if found.is_empty() {
            return Ok(report);
        }
        let handle = |id| async move {
            let handled = handle_purchase(ports, &id).await;
            handled.inspect_err(|error| tracing::error!(purchase = id.reference(), %error, "the work stays due"))
        };
        report += due::run(clock, until.since(clock.now()), found, handle).await;
        if clock.now() >= until {
            return Ok(report);
        }
    }
}

/// Handles one purchase. The list lags behind, so the purchase's own state decides.
async fn handle_purchase(ports: Ports<'_>, id: &SessionId) -> Result<(), StepError> {
    let Some(purchase) = ports.journal.store.load(id).await? else { return Ok(()) };
    let now = ports.journal.clock.now();
    let is_due = matches!(purchase.value.due(), Some((List::Machines, due)) if due <= now);
    let purchase = if purchase.value.trail().is_published() {
        purchase
    } else {
        // The commit publishes what waits.
        ports.journal.commit(purchase, postpone).await?.settle().await.0
    };
    if !is_due {
        return Ok(());
    }
    let asked = ask_chain(ports, purchase).await;
    if asked.is_err()
        && let Some(purchase) = ports.journal.store.load(id).await?
    {
        save_postponed(ports, purchase).await?;
    }
    asked
}

/// Decides nothing yet: other purchases are handled first.
fn postpone(purchase: &mut Purchase, now: Timestamp) -> Change<()> {
    purchase.looked(now);
    Change::save(())
}

async fn save_postponed(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), StepError> {
    ports.journal.commit(purchase, postpone).await?.settle().await;
    Ok(())
}

/// Asks the chain about a due purchase, and decides what follows.
async fn ask_chain(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), StepError> {
    let now = ports.journal.clock.now();
    let Some(signed) = purchase.value.signed() else { return unanswered_transfer(ports, purchase).await };
    // Until the payment expires it may still be settled. The chain is asked first, because a facilitator refuses a
    // payment that was settled before.
    let found = match ports.node.payment_use(signed).await {
        Ok(found) => found,
        // The payer of a settled purchase has the answer, so the node can be asked until it answers.
        Err(error) if matches!(purchase.value.stage(), Stage::Settled { .. }) || !has_waited(&purchase.value, now) => {
            return Err(error.into());
        }
        Err(error) => {
            let reference = purchase.value.id().reference();
            tracing::error!(purchase = reference, error = %error.source, "the node has not answered for a day");
            return give_up(ports, purchase, "the node does not say where the payment went").await;
        }
    };
    match found {
        PaymentUse::Used { transaction, is_ours: true } => used(ports, purchase, &transaction).await,
        PaymentUse::Used { is_ours: false, .. } => {
            let why = "the payer's nonce was used for something else";
            if matches!(purchase.value.stage(), Stage::Settled { .. }) {
                return doubt(ports, purchase, NOT_THERE).await;
            }
            lapse(ports, purchase, why).await
        }
        PaymentUse::Unconfirmed | PaymentUse::Untraced if matches!(purchase.value.stage(), Stage::Settled { .. }) => {
            doubt(ports, purchase, NOT_SHOWN).await
        }
        PaymentUse::Unconfirmed => give_up(ports, purchase, "the payment is used, and its receipt is missing").await,
        PaymentUse::Untraced => {
            give_up(ports, purchase, "the payment is used, and the chain does not show where").await
        }
        PaymentUse::Unused { head } => match purchase.value.stage() {
            Stage::Settled { .. } => doubt(ports, purchase, NOT_THERE).await,
            _ if head >= signed.valid_before => lapse(ports, purchase, "the payment was never settled").await,
            // After a refusal the payer was asked for another payment: only the payer may try this one again.
            Stage::Settling { problem: Some(problem), .. } if problem.is_refusal => {
                save_postponed(ports, purchase).await
            }
            Stage::Settling { .. } if now < signed.valid_before => again(ports, purchase).await,
            // The chain's clock is behind: a later run asks again.
            _ => save_postponed(ports, purchase).await,
        },
    }
}

async fn used(ports: Ports<'_>, purchase: Versioned<Purchase>, transaction: &str) -> Result<(), StepError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        let triggered_at = purchase.received_at();
        match purchase.confirm(transaction) {
            Ok(None) => Change::save(()),
            Ok(Some(reported)) => {
                let details = json!({ "reported": cut(&reported), "on_chain": cut(transaction) });
                Change::recorded(vec![Record::toll_check(now, triggered_at, details)], ())
            }
            // By now another invocation may make the answer that the payment buys.
            Err(_) if purchase.is_held(now) => Change::nothing(()),
            Err(_) => settled(purchase, transaction, true, now, triggered_at),
        }
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

async fn again(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), StepError> {
    let received_at = purchase.value.received_at();
    let count = |purchase: &mut Purchase, now: Timestamp| Change::saved(purchase.settle_again(now));
    let (purchase, ()) = ports.journal.commit(purchase, count).await?.unsettled();
    settle(ports, purchase, received_at).await.map(drop)
}

/// Whether the purchase is older than [`NODE_RETRY_PERIOD`].
fn has_waited(purchase: &Purchase, now: Timestamp) -> bool {
    now >= purchase.received_at().plus(NODE_RETRY_PERIOD)
}

/// After [`NODE_RETRY_PERIOD`], ends a purchase whose payment cannot be traced, and puts it before operators with an
/// alert: the payment may have reached us. Before it, changes nothing.
async fn give_up(ports: Ports<'_>, purchase: Versioned<Purchase>, why: &str) -> Result<(), StepError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        let (triggered_at, evaluation) = (purchase.received_at(), evaluation(purchase));
        if !has_waited(purchase, now) || purchase.is_held(now) || purchase.lapse(now, true).is_err() {
            return postpone(purchase, now);
        }
        let subject = purchase.id().reference();
        let alert = Alert::about("ORACLE-TOLL", Severity::Critical, now, "SETTLEMENT", subject, why);
        let record = detailed(Record::toll(now, triggered_at, TollStatus::RpcUnreachable, why), evaluation);
        Change::recorded(vec![record], ()).alerting(alert)
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

/// Ends a purchase that can no longer be settled. An answer that was stored for it was never sent.
async fn lapse(ports: Ports<'_>, purchase: Versioned<Purchase>, why: &str) -> Result<(), StepError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        // An unanswered purchase has the record of its failure already. A claim has none: its invocation has ended in it.
        let has_record = matches!(purchase.stage(), Stage::Unanswered);
        let (triggered_at, evaluation) = (purchase.received_at(), evaluation(purchase));
        if purchase.is_held(now) || purchase.lapse(now, false).is_err() {
            return Change::nothing(());
        }
        let record = detailed(Record::toll(now, triggered_at, TollStatus::PaymentRejected, why), evaluation);
        Change::recorded(if has_record { Vec::new() } else { vec![record] }, ())
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

/// What operators read of a settlement that is called made and is not on the chain.
const NOT_THERE: &str = "the facilitator reports a settlement that the chain does not have (oracle toll list)";

/// What they read of one whose payment is used, while the node shows no transfer.
const NOT_SHOWN: &str =
    "a settlement is not confirmed: its payment is used, and no receipt is there (oracle toll list)";

/// The node does not confirm the transfer that the facilitator reported. `what` says why.
async fn doubt(ports: Ports<'_>, purchase: Versioned<Purchase>, what: &str) -> Result<(), StepError> {
    let decide = |purchase: &mut Purchase, now: Timestamp| match purchase.doubt(now) {
        Ok(true) => {
            let details = json!({ "reported": purchase.transaction().map(cut), "on_chain": null });
            let record = Record::toll_check(now, purchase.received_at(), details);
            let subject = purchase.id().reference();
            let alert = Alert::about("ORACLE-TOLL", Severity::Critical, now, "SETTLEMENT", subject, what);
            Change::recorded(vec![record], ()).alerting(alert)
        }
        Ok(false) => postpone(purchase, now),
        Err(_) => Change::nothing(()),
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}

/// A transfer that was made before the purchase, and got no answer in time: we have the money and have not earned it.
async fn unanswered_transfer(ports: Ports<'_>, purchase: Versioned<Purchase>) -> Result<(), StepError> {
    let Paid::Transferred { transaction, .. } = purchase.value.paid().clone() else { return Ok(()) };
    match ports.node.transfer(&transaction, purchase.value.offer().price()).await {
        // A reorganisation removed the transfer after it was shown, or the node lags behind.
        Ok(Transfer::Unconfirmed(_)) => {
            return give_up(ports, purchase, "the transfer that was shown is not on the chain any more").await;
        }
        Ok(
            Transfer::Paid { .. }
            | Transfer::Several(_)
            | Transfer::Other { .. }
            | Transfer::Signed { .. }
            | Transfer::Refused(_),
        ) => {}
        Err(error) if !has_waited(&purchase.value, ports.journal.clock.now()) => return Err(error.into()),
        // The node has shown the transfer before, so the money is here.
        Err(error) => {
            let reference = purchase.value.id().reference();
            tracing::error!(purchase = reference, error = %error.source, "the node has not answered for a day");
        }
    }
    let decide = |purchase: &mut Purchase, now: Timestamp| {
        if purchase.is_held(now) {
            return Change::nothing(());
        }
        let triggered_at = purchase.received_at();
        settled(purchase, &transaction, true, now, triggered_at)
    };
    ports.journal.commit(purchase, decide).await?.settle().await;
    Ok(())
}
