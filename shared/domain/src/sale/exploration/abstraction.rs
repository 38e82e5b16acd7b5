//! Reduces a sale to what its transitions read.

use super::*;
use crate::money::PaymentReport;

/// The abstracted sale.
pub(super) fn normal(mut sale: Sale, walk: Walk) -> Sale {
    let side = |at: Timestamp| {
        if at > NOW {
            SOON
        } else if at == NOW {
            NOW
        } else {
            LONG_AGO
        }
    };
    match &mut sale.fulfilment {
        Fulfilment::Ordered { at } => *at = side(*at),
        Fulfilment::Generating { owner, lease_until } => {
            *owner = HOLDER.to_owned();
            *lease_until = side(*lease_until).max(NOW);
        }
        Fulfilment::Ready { at, .. }
        | Fulfilment::InReview { at, .. }
        | Fulfilment::Failed { at, .. }
        | Fulfilment::Unusable { at } => *at = LONG_AGO,
        Fulfilment::Erased { at, removed_at, .. } => {
            *at = LONG_AGO;
            *removed_at = removed_at.map(|_| LONG_AGO);
        }
    }
    for letter in Letter::ALL {
        match sale.letter_mut(letter) {
            Mail::Sending { owner, lease_until, progress } => {
                *owner = HOLDER.to_owned();
                *lease_until = side(*lease_until).max(NOW);
                *progress = waiting(progress);
            }
            Mail::Retrying { due, progress } => {
                *due = side(*due).max(NOW);
                *progress = waiting(progress);
            }
            Mail::Dead { at, progress } => {
                *at = LONG_AGO;
                *progress = Progress { draft: progress.draft.clone(), ..Progress::default() };
            }
            Mail::Sent { at } | Mail::Unknown { at } => *at = LONG_AGO,
            Mail::NotOrdered | Mail::Ordered | Mail::NoAddress | Mail::Held => {}
        }
    }
    match &mut sale.money {
        Money::RefundAuthorised { at, .. }
        | Money::Refunded { at }
        | Money::RefundFailed { at, .. }
        | Money::Disputed { at, .. } => *at = LONG_AGO,
        Money::Kept => {}
    }
    sale.unavailable_until = sale.unavailable_until.filter(|until| *until > NOW).map(|_| SOON);
    // The steps themselves vary the remaining wait.
    sale.model_wait = None;
    sale.regenerated_at = sale.regenerated_at.map(side);
    sale.refund_attempts = 0;
    sale.payment = settled(&sale.payment);
    sale.amount_noted = false;
    // It matters only for a failed sale.
    sale.not_paid = sale.not_paid();
    // No transition reads it.
    sale.given = false;
    if let Some(finding) = &mut sale.finding {
        finding.at = LONG_AGO;
        finding.settled = finding.settled.map(|_| Settled::Dismissed);
    }
    sale.declined = sale.declined.filter(|_| matches!(sale.fulfilment, Fulfilment::Failed { .. }));
    if let Some(declined) = &mut sale.declined {
        declined.approvals.clear();
        declined.approved_at = None;
    }
    sale.drop_alerted = false;
    sale.replies.iter_mut().for_each(|reply| {
        reply.at = LONG_AGO;
        reply.settled_at = reply.settled_at.map(|_| LONG_AGO);
    });
    sale.trail = trail(&sale.trail);
    // It decides only whether records are published first, and the time between reminders.
    sale.chased = if walk == Walk::Attention { sale.chased.min(2) } else { 0 };
    sale.reminded_at = None;
    sale.retrievals = 0;
    sale.followups_declined = 0;
    sale.waiting_since = LONG_AGO;
    sale.tier = None;
    sale.query_hash = None;
    sale.verdict_hash = None;
    sale.email_tag = None;
    sale
}

/// The progress of a mail without what no transition reads.
fn waiting(progress: &Progress) -> Progress {
    let early = progress.early.map(|due| if due > NOW { SOON } else { NOW });
    Progress { body_hash: None, failed_at: None, may_have_gone: false, early, ..progress.clone() }
}

/// At most one record and one alert that wait.
fn trail(trail: &AuditTrail) -> AuditTrail {
    let mut first = AuditTrail::new();
    let (records, alerts) = first.outbox_mut();
    records.extend(trail.outbox().first().cloned());
    alerts.extend(trail.alerts().first().cloned());
    first
}

/// The part of a history that still matters: objects that ended well for us are left out.
fn settled(history: &PaymentHistory) -> PaymentHistory {
    let mut settled = PaymentHistory::new();
    for dispute in history.disputes().iter().filter(|dispute| dispute.status.takes_money()) {
        let (id, status) = (dispute.id.clone(), dispute.status);
        settled.record_report(&PaymentReport::Dispute { id, status, respond_by: None, at: LONG_AGO }, Some(100));
    }
    for refund in history.refunds().iter().filter(|refund| !refund.status.is_void()) {
        let (id, amount, status) = (refund.id.clone(), refund.amount, refund.status);
        settled.record_report(&PaymentReport::Refund { id, amount, status, at: LONG_AGO }, Some(100));
    }
    settled
}

/// Makes leases expire, mails become due, and recent times old.
pub(super) fn time_passes(sale: &mut Sale) {
    match &mut sale.fulfilment {
        Fulfilment::Ordered { at } => *at = LONG_AGO,
        Fulfilment::Generating { lease_until, .. } => *lease_until = NOW,
        _ => {}
    }
    for letter in Letter::ALL {
        match sale.letter_mut(letter) {
            Mail::Sending { lease_until, progress, .. } => {
                *lease_until = NOW;
                progress.early = progress.early.map(|_| NOW);
            }
            Mail::Retrying { due, .. } => *due = NOW,
            _ => {}
        }
    }
    sale.unavailable_until = None;
    sale.regenerated_at = sale.regenerated_at.map(|_| LONG_AGO);
}
