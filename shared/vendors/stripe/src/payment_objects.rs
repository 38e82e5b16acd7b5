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

/// A refund; `None` when its id or its status is unknown.
pub(crate) fn refund(object: &Value, at: Timestamp) -> Option<PaymentReport> {
    let (id, status) = (id(object)?, refund_status(object)?);
    Some(PaymentReport::Refund { id, amount: object["amount"].as_i64(), status, at })
}

/// A dispute; `None` when its id or its status is unknown.
pub(crate) fn dispute(object: &Value, at: Timestamp) -> Option<PaymentReport> {
    let status = match object["status"].as_str()? {
        "warning_needs_response" => DisputeStatus::WarningNeedsResponse,
        "warning_under_review" => DisputeStatus::WarningUnderReview,
        "warning_closed" => DisputeStatus::WarningClosed,
        "needs_response" => DisputeStatus::NeedsResponse,
        "under_review" => DisputeStatus::UnderReview,
        "won" => DisputeStatus::Won,
        "lost" => DisputeStatus::Lost,
        "prevented" => DisputeStatus::Prevented,
        _ => return None,
    };
    let respond_by = object["evidence_details"]["due_by"].as_i64().map(Timestamp::from_seconds);
    Some(PaymentReport::Dispute { id: id(object)?, status, respond_by, at })
}

pub(crate) fn id(object: &Value) -> Option<ObjectId> {
    ObjectId::parse(object["id"].as_str()?).ok()
}

/// The id by which a log names an object that cannot be read.
pub(crate) fn name(object: &Value) -> ObjectId {
    id(object).unwrap_or_else(ObjectId::unnamed)
}

pub(crate) fn refund_status(object: &Value) -> Option<RefundStatus> {
    match object["status"].as_str()? {
        "succeeded" => Some(RefundStatus::Succeeded),
        "pending" | "requires_action" => Some(RefundStatus::Pending),
        "failed" => Some(RefundStatus::Failed),
        "canceled" => Some(RefundStatus::Canceled),
        _ => None,
    }
}
