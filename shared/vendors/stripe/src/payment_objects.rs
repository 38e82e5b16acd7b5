//! Converts Stripe's charges, refunds and disputes, from an event or a list, to the domain's reports.

use domain::{
    Timestamp,
    money::{DisputeStatus, ObjectId, PaymentId, PaymentReport, RefundStatus},
};
use serde_json::Value;

/// The payment of a charge, a refund or a dispute, by id or expanded. Charges without a checkout may have none.
pub(crate) fn payment(object: &Value) -> Option<PaymentId> {
    let payment = &object["payment_intent"];
    payment.as_str().or_else(|| payment["id"].as_str()).and_then(|id| PaymentId::parse(id).ok())
}

/// The refunded part of a charge; `None` when the object does not contain it.
pub(crate) fn charge(object: &Value, at: Timestamp) -> Option<PaymentReport> {
    let (returned, amount) = (object["amount_refunded"].as_i64(), object["amount"].as_i64());
    let whole = object["refunded"].as_bool().or_else(|| Some(returned? >= amount?))?;
    let returned = returned.or(amount.filter(|_| whole)).unwrap_or_default();
    Some(PaymentReport::Charge { returned, whole, at })
}

/// The id or the status of a refund or a dispute is unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unreadable;

/// A refund; `None` if Stripe reports no status of it.
pub(crate) fn refund(object: &Value, at: Timestamp) -> Result<Option<PaymentReport>, Unreadable> {
    let Some(status) = refund_status(object)? else { return Ok(None) };
    let id = id(object).ok_or(Unreadable)?;
    Ok(Some(PaymentReport::Refund { id, amount: object["amount"].as_i64(), status, at }))
}

/// A dispute.
pub(crate) fn dispute(object: &Value, at: Timestamp) -> Result<PaymentReport, Unreadable> {
    let status = match object["status"].as_str().ok_or(Unreadable)? {
        "warning_needs_response" => DisputeStatus::WarningNeedsResponse,
        "warning_under_review" => DisputeStatus::WarningUnderReview,
        "warning_closed" => DisputeStatus::WarningClosed,
        "needs_response" => DisputeStatus::NeedsResponse,
        "under_review" => DisputeStatus::UnderReview,
        "won" => DisputeStatus::Won,
        "lost" => DisputeStatus::Lost,
        "prevented" => DisputeStatus::Prevented,
        _ => return Err(Unreadable),
    };
    let respond_by = object["evidence_details"]["due_by"].as_i64().map(Timestamp::from_seconds);
    Ok(PaymentReport::Dispute { id: id(object).ok_or(Unreadable)?, status, respond_by, at })
}

pub(crate) fn id(object: &Value) -> Option<ObjectId> {
    ObjectId::parse(object["id"].as_str()?).ok()
}

/// The id by which a log names an object that cannot be read.
pub(crate) fn name(object: &Value) -> ObjectId {
    id(object).unwrap_or_else(ObjectId::unnamed)
}

/// The status of a refund. Stripe's field is nullable.
pub(crate) fn refund_status(object: &Value) -> Result<Option<RefundStatus>, Unreadable> {
    let status = &object["status"];
    if status.is_null() {
        return Ok(None);
    }
    match status.as_str() {
        Some("succeeded") => Ok(Some(RefundStatus::Succeeded)),
        Some("pending" | "requires_action") => Ok(Some(RefundStatus::Pending)),
        Some("failed") => Ok(Some(RefundStatus::Failed)),
        Some("canceled") => Ok(Some(RefundStatus::Canceled)),
        _ => Err(Unreadable),
    }
}
