//! Stripe's reports about a payment, selected by the change that they cause.

use domain::{
    Timestamp,
    money::{DisputeStatus, ObjectId, PaymentChange, PaymentReport, RefundStatus},
};

/// A report that causes this change, on a payment of `charged`: about the refund `re_1`, the dispute `du_1` or the
/// inquiry `du_2`, or about the whole charge.
#[must_use]
pub fn report(change: PaymentChange, charged: i64, at: Timestamp) -> PaymentReport {
    let named = |id: &str| ObjectId::parse(id).unwrap_or_else(|_| ObjectId::unnamed());
    let respond_by = Some(at.plus(std::time::Duration::from_secs(7 * 24 * 3600)));
    let dispute = |id: &str, status| PaymentReport::Dispute { id: named(id), status, respond_by, at };
    match change {
        PaymentChange::Refunded => PaymentReport::Charge { returned: charged, whole: true, at },
        PaymentChange::PartlyRefunded => PaymentReport::Charge { returned: charged / 2, whole: false, at },
        PaymentChange::RefundFailed => {
            PaymentReport::Refund { id: named("re_1"), amount: Some(charged), status: RefundStatus::Failed, at }
        }
        PaymentChange::InquiryOpened => dispute("du_2", DisputeStatus::WarningNeedsResponse),
        PaymentChange::InquiryAnswered => dispute("du_2", DisputeStatus::WarningUnderReview),
        PaymentChange::InquiryClosed => dispute("du_2", DisputeStatus::WarningClosed),
        PaymentChange::DisputeOpened | PaymentChange::DeadlineChanged => dispute("du_1", DisputeStatus::NeedsResponse),
        PaymentChange::DisputeAnswered => dispute("du_1", DisputeStatus::UnderReview),
        PaymentChange::DisputeWon => dispute("du_1", DisputeStatus::Won),
        PaymentChange::DisputeLost => dispute("du_1", DisputeStatus::Lost),
        PaymentChange::DisputePrevented => dispute("du_1", DisputeStatus::Prevented),
    }
}
