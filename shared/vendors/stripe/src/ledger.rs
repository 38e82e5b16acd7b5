//! Stripe's books behind [`Ledger`]: refunds, the session a payment belongs to, and lists of paid sessions.

use crate::{
    Client,
    client::idempotency_key,
    reply::CallError,
    session,
    transport::{Call, MAX_PAGE_BYTES, MAX_REPLY_BYTES},
};
use async_trait::async_trait;
use domain::{
    CheckoutSession, SessionId, Timestamp,
    money::PaymentId,
    ports::{Ledger, PaidSessions, PaymentError, RefundStatus},
};
use serde_json::Value;

pub(crate) const SESSIONS: &str = "/v1/checkout/sessions";

#[async_trait]
impl Ledger for Client {
    async fn refund(&self, payment: &PaymentId, key: &str) -> Result<RefundStatus, PaymentError> {
        // Without an amount Stripe gives back what is left of the payment, so that no number of calls can ever
        // give back more than was paid, also after the day for which it keeps the key.
        let form = [("payment_intent".to_owned(), payment.as_str().to_owned())];
        let call = Call::Post { path: "/v1/refunds", form: &form, idempotency_key: idempotency_key(key)? };
        match self.transport.call(&call).await {
            Ok(reply) => Ok(refund_status(&reply)?),
            Err(PaymentError::Refused(code)) if code == "charge_already_refunded" => Ok(RefundStatus::Succeeded),
            Err(error) => Err(error),
        }
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        let query = [("payment_intent", payment.as_str()), ("limit", "1")];
        let call = Call::Get { path: SESSIONS.to_owned(), query: &query, most_bytes: MAX_REPLY_BYTES };
        let reply = self.transport.call(&call).await?;
        let found = reply["data"].as_array().ok_or(CallError::Unexpected("no list of sessions"))?;
        let Some(object) = found.first() else { return Ok(None) };
        let session = session::parse(object).map_err(CallError::from)?;
        if session.payment.as_ref() == Some(payment) {
            Ok(Some(session))
        } else {
            Err(CallError::Unexpected("a session of another payment").into())
        }
    }

    async fn paid_since(&self, since: Timestamp, from: Option<&str>) -> Result<PaidSessions, PaymentError> {
        let since = since.as_seconds().to_string();
        let mut query = vec![("created[gte]", since.as_str()), ("status", "complete"), ("limit", "100")];
        query.extend(from.map(|last| ("starting_after", last)));
        let call = Call::Get { path: SESSIONS.to_owned(), query: &query, most_bytes: MAX_PAGE_BYTES };
        let reply = self.transport.call(&call).await?;
        Ok(paid_page(&reply)?)
    }
}

fn refund_status(reply: &Value) -> Result<RefundStatus, CallError> {
    match reply["status"].as_str() {
        Some("succeeded") => Ok(RefundStatus::Succeeded),
        Some("pending" | "requires_action") => Ok(RefundStatus::Pending),
        Some("failed" | "canceled") => Ok(RefundStatus::Failed),
        _ => Err(CallError::Unexpected("no known status of a refund")),
    }
}

/// The paid sessions of a page. One of them that cannot be read makes the page unreadable: a comparison that
/// leaves out what somebody paid would be worse than none. Of the others nothing is read.
pub(crate) fn paid_page(reply: &Value) -> Result<PaidSessions, CallError> {
    let objects = reply["data"].as_array().ok_or(CallError::Unexpected("no list of sessions"))?;
    let paid = objects.iter().filter(|object| object["payment_status"] == "paid");
    let sessions = paid.map(session::parse).collect::<Result<Vec<_>, _>>()?;
    let next = if reply["has_more"] == true {
        let last = objects.last().and_then(|object| SessionId::parse(object["id"].as_str()?).ok());
        Some(last.ok_or(CallError::Unexpected("no id to go on from"))?.as_str().to_owned())
    } else {
        None
    };
    Ok(PaidSessions { sessions, next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_status_of_a_refund_is_known_or_an_error() {
        let status = |word: Value| refund_status(&json!({ "status": word })).ok();
        assert_eq!(status(json!("succeeded")), Some(RefundStatus::Succeeded));
        for word in ["pending", "requires_action"] {
            assert_eq!(status(json!(word)), Some(RefundStatus::Pending));
        }
        for word in ["failed", "canceled"] {
            assert_eq!(status(json!(word)), Some(RefundStatus::Failed));
        }
        for word in [json!(null), json!("Succeeded"), json!(true)] {
            assert_eq!(status(word.clone()), None, "{word}");
        }
    }

    #[test]
    fn a_page_keeps_who_paid_and_goes_on_from_its_last_session() {
        let session = |id: &str, status: &str| json!({ "id": id, "payment_status": status });
        let page = |data: Value, more: Value| paid_page(&json!({ "data": data, "has_more": more }));
        let mixed = json!([session("cs_1", "paid"), session("cs_2", "unpaid"), session("cs_3", "no_payment_required")]);
        let found = page(mixed.clone(), json!(true)).unwrap();
        assert_eq!(found.sessions.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["cs_1"]);
        assert_eq!(found.next.as_deref(), Some("cs_3"), "also where the last one is not paid");
        assert_eq!(page(mixed, json!(false)).unwrap().next, None);
        assert_eq!(page(json!([]), json!(false)).unwrap().sessions.len(), 0);
        assert!(page(json!([session("pi_1", "paid")]), json!(false)).is_err(), "a payment nobody can name");
        assert!(page(json!([]), json!(true)).is_err(), "a page without an end");
        assert!(paid_page(&json!({ "error": {} })).is_err());
    }
}
