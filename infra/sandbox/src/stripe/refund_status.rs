//! The statuses of a refund, and which of them return money.

use serde_json::Value;

pub(crate) const STATUSES: [&str; 5] = ["pending", "requires_action", "succeeded", "failed", "canceled"];

/// Whether a refund returns money, or may.
pub(super) fn counts(refund: &Value) -> bool {
    refund["status"] != "failed" && refund["status"] != "canceled"
}
