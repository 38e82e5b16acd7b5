//! Alerts operators again to sales that wait for them.

use crate::Ports;
use audit::Change;
use domain::{
    Alert, Sale, StepError, Timestamp,
    alert::Severity,
    open_work::{OpenWork, Work},
    ports::Versioned,
    sale::{Mail, NotPaid},
};

/// Alerts operators again to a sale that waits for a human.
pub(crate) async fn remind(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    ports.journal.commit(sale, reminder).await?.settle().await;
    Ok(())
}

/// The reminder of an operator, if one is due.
pub(crate) fn reminder(sale: &mut Sale, now: Timestamp) -> Change<()> {
    let Some(open) = sale.due_work(now) else { return Change::nothing(()) };
    let what = match open.work {
        Work::RefundFailed => "a refund came back: issue it again, or give the money back by hand and record it",
        Work::Dispute => "Stripe waits for an answer to the bank (oracle list names the deadline)",
        Work::Review => "held by the content filter: approve, replace or refund it",
        Work::Declined => "the authority gate lets nobody answer it: approve it (oracle authority queue), or refund it",
        Work::Reply => "the customer has written back: read it (oracle replies show), and settle it",
        // Silent Drop, output 3: after 72 h a human decides, and only a human.
        Work::Unusable if *sale.notice() == Mail::NotOrdered => Sale::UNANNOUNCED,
        Work::Unusable => "the customer has not said what was asked: try again with their reply, or refund it",
        Work::NotPaid if sale.not_paid() == Some(NotPaid::Free) => {
            "there was nothing to pay for it: give it away (oracle reattempt), or erase it (oracle erase)"
        }
        Work::NotPaid => "Stripe shows no payment: look at the session there; it ends by itself if it is never paid",
        Work::Failed => "there is no verdict: try again or refund it",
        Work::Owed => "erased, paid and not delivered: refund it (oracle refunds issue)",
        Work::DeadLetter => "its mail was given up: send it on its way again",
        Work::UnknownMail => "its mail may or may not have gone: look into the mailbox",
        Work::Finding => {
            "the block list holds back what was delivered: oracle findings show, then dismiss, replace or refund"
        }
        Work::InFlight | Work::Refund | Work::Erasure => return Change::nothing(()),
    };
    match sale.remind(now) {
        Ok(_) => Change::save(()).alerting(escalation(sale, open, what, now)),
        Err(_) => Change::nothing(()),
    }
}

/// The critical alert about a sale that waits.
pub(crate) fn escalation(sale: &Sale, open: OpenWork, what: &str, now: Timestamp) -> Alert {
    let hours = now.since(open.since).as_secs() / 3600;
    let detail = format!("waits for a human for {hours} h: {what}");
    Alert::event("ORACLE-DEADLINES", Severity::Critical, now, open.work.as_str(), sale.session_id(), &detail)
}
