//! A customer's session and payment, as Stripe knows and reports them.

use super::{Afterwards, Customer};
use domain::{
    CheckoutSession, EmailAddress, PaymentStatus, Query, SessionId, Timestamp,
    money::{ObjectId, PaymentChange, PaymentReport, RefundStatus},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Stripe's id of a refund that no function of ours asked for.
const OUTSIDE_REFUND: &str = "re_outside";

impl Customer {
    /// The session as Stripe knows it before it is paid.
    pub(crate) fn stripe_session(&self, id: SessionId) -> CheckoutSession {
        let tier = if self.unusable { "premium" } else { self.tier.key() };
        let mut metadata = BTreeMap::from([("tier".to_owned(), tier.to_owned())]);
        if let (false, Ok(query)) = (self.by_link, Query::parse(self.question.as_str())) {
            metadata.extend(query.to_metadata());
        }
        CheckoutSession {
            id,
            payment_status: PaymentStatus::Unpaid,
            stage: domain::SessionStage::Open,
            url: None,
            metadata,
            idea: self.by_link.then(|| self.question.clone()),
            email: if self.has_address { EmailAddress::parse(&self.address()).ok() } else { None },
            amount_total: Some(i64::from(self.tier.price_cents())),
            currency: Some("cad".to_owned()),
            payment: self.payment_id(),
            created: None,
            locale: None,
        }
    }

    /// The refund or dispute in Stripe's list that this change makes or changes.
    pub(crate) fn listed(&self, change: PaymentChange, at: Timestamp) -> PaymentReport {
        let amount = i64::from(self.tier.price_cents());
        let refund = |id, amount, status| {
            let id = ObjectId::parse(id).unwrap_or_else(|_| ObjectId::unnamed());
            PaymentReport::Refund { id, amount: Some(amount), status, at }
        };
        match change {
            PaymentChange::Refunded if self.afterwards == Afterwards::InParts => {
                refund("re_rest", amount - amount / 2, RefundStatus::Succeeded)
            }
            PaymentChange::Refunded => refund(OUTSIDE_REFUND, amount, RefundStatus::Succeeded),
            PaymentChange::PartlyRefunded => refund(OUTSIDE_REFUND, amount / 2, RefundStatus::Succeeded),
            PaymentChange::RefundFailed => refund(OUTSIDE_REFUND, amount, RefundStatus::Failed),
            _ => testkit::reports::report(change, amount, at),
        }
    }

    /// The body of Stripe's event about the payment.
    pub(crate) fn payment_event(&self, change: PaymentChange, created: i64) -> Option<String> {
        let (payment, amount) = (self.payment_id()?, self.tier.price_cents());
        let charge = |back: u32| {
            json!({
                "id": "ch_1", "object": "charge", "payment_intent": payment.as_str(), "amount": amount,
                "amount_refunded": back, "refunded": back == amount,
            })
        };
        let of_id = |id: &str, status: &str| {
            json!({ "id": id, "object": "dispute", "payment_intent": payment.as_str(), "status": status,
                    "evidence_details": { "due_by": created + 7 * 24 * 3600 } })
        };
        let dispute = |status: &str| of_id("du_1", status);
        let (kind, object) = match change {
            PaymentChange::Refunded => ("charge.refunded", charge(amount)),
            PaymentChange::PartlyRefunded => ("charge.refunded", charge(amount / 2)),
            PaymentChange::RefundFailed => {
                let refund = json!({ "id": OUTSIDE_REFUND, "object": "refund", "payment_intent": payment.as_str(),
                                     "status": "failed", "amount": amount });
                ("refund.failed", refund)
            }
            PaymentChange::InquiryOpened => ("charge.dispute.created", of_id("du_2", "warning_needs_response")),
            PaymentChange::InquiryAnswered => ("charge.dispute.updated", of_id("du_2", "warning_under_review")),
            PaymentChange::InquiryClosed => ("charge.dispute.closed", of_id("du_2", "warning_closed")),
            PaymentChange::DisputeAnswered => ("charge.dispute.updated", dispute("under_review")),
            PaymentChange::DisputePrevented => ("charge.dispute.created", dispute("prevented")),
            PaymentChange::DisputeOpened | PaymentChange::DeadlineChanged => {
                ("charge.dispute.created", dispute("needs_response"))
            }
            PaymentChange::DisputeWon => ("charge.dispute.closed", dispute("won")),
            PaymentChange::DisputeLost => ("charge.dispute.closed", dispute("lost")),
        };
        let id = format!("evt_{}", self.number);
        Some(json!({ "id": id, "type": kind, "created": created, "data": { "object": object } }).to_string())
    }

    /// The body of Stripe's event about the session.
    pub(crate) fn event(&self, kind: &str, paid: bool) -> Option<String> {
        let session = self.stripe_session(self.session.clone()?);
        let fields: Vec<Value> =
            session.idea.iter().map(|idea| json!({ "key": "idea", "text": { "value": idea } })).collect();
        let object = json!({
            "id": session.id.as_str(), "object": "checkout.session", "metadata": session.metadata,
            "payment_status": if paid { "paid" } else { "unpaid" }, "custom_fields": fields,
            "customer_details": { "email": session.email.as_ref().map(EmailAddress::expose) },
            "amount_total": session.amount_total, "currency": session.currency,
        });
        Some(json!({ "id": format!("evt_{}", self.number), "type": kind, "data": { "object": object } }).to_string())
    }
}
