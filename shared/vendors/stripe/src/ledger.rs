//! Stripe's books behind [`Ledger`]: refunds, the session of a payment, and lists of paid sessions.

use crate::{
    Client,
    client::idempotency_key,
    payment_methods, payment_objects,
    reply::CallError,
    session::{self, SessionError},
    transport::{Call, Expected},
};
use async_trait::async_trait;
use domain::{
    CheckoutSession, SessionId, Timestamp,
    money::PaymentId,
    ports::{
        CompletedSessions, Ledger, MadeRefund, NewRefund, PaymentError, PaymentRefunds, PaymentReports, ReportsSince,
        UnknownRefund,
    },
};
use serde_json::Value;
use std::time::Duration;

pub(crate) const SESSIONS: &str = "/v1/checkout/sessions";
const REFUNDS: &str = "/v1/refunds";
const DISPUTES: &str = "/v1/disputes";

/// The metadata key of a refund for the idempotency key of its request, by which it is found again.
const KEY: &str = "attempt";

#[async_trait]
impl Ledger for Client {
    async fn refund(&self, payment: &PaymentId, key: &str) -> Result<NewRefund, PaymentError> {
        // Without an amount Stripe refunds what is left of the payment, so that no number of calls can refund more than
        // was paid, even after the day for which Stripe stores the key.
        let form =
            [("payment_intent".to_owned(), payment.as_str().to_owned()), (format!("metadata[{KEY}]"), key.to_owned())];
        let call = Call::Post { path: REFUNDS, form: &form, idempotency_key: idempotency_key(key)? };
        match self.transport.call(&call).await {
            Ok(reply) => {
                let made = made_refund(&reply).ok_or(CallError::Unexpected("a refund that cannot be read"))?;
                Ok(NewRefund::Made(made))
            }
            Err(PaymentError::Refused(code)) if code == "charge_already_refunded" => Ok(NewRefund::NothingLeft),
            Err(error) => Err(error),
        }
    }

    async fn refunds(&self, payment: &PaymentId) -> Result<PaymentRefunds, PaymentError> {
        let query = [("payment_intent", payment.as_str()), ("limit", "100")];
        let call = Call::Get { path: REFUNDS.to_owned(), query: &query, expected: Expected::Object };
        let reply = self.transport.call(&call).await?;
        let objects = reply["data"].as_array().ok_or(CallError::Unexpected("no list of refunds"))?;
        Ok(payment_refunds(objects))
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        let query = [("payment_intent", payment.as_str()), ("limit", "1")];
        let call = Call::Get { path: SESSIONS.to_owned(), query: &query, expected: Expected::Object };
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

    async fn completed_since(&self, since: Timestamp, from: Option<&str>) -> Result<CompletedSessions, PaymentError> {
        let since = since.as_seconds().to_string();
        let mut query = vec![("created[gte]", since.as_str()), ("status", "complete"), ("limit", "100")];
        query.extend(from.map(|last| ("starting_after", last)));
        let call = Call::Get { path: SESSIONS.to_owned(), query: &query, expected: Expected::Page };
        let reply = self.transport.call(&call).await?;
        Ok(completed_page(&reply)?)
    }

    async fn reports_since(
        &self,
        since: ReportsSince,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<PaymentReports, PaymentError> {
        // Reads the refunds, and then the disputes: `from` names the list and the last object that was read.
        let (path, last) = match from.unwrap_or(REFUNDS).split_once(' ') {
            Some((path, last)) => (path, Some(last)),
            None => (from.unwrap_or(REFUNDS), None),
        };
        let since = if path == REFUNDS { since.refunds } else { since.disputes }.as_seconds().to_string();
        let mut query = vec![("created[gte]", since.as_str()), ("limit", "100")];
        query.extend(last.map(|last| ("starting_after", last)));
        let call = Call::Get { path: path.to_owned(), query: &query, expected: Expected::Page };
        let reply = self.transport.call(&call).await?;
        Ok(report_page(&reply, path, now)?)
    }

    async fn slowest_method(&self) -> Result<Duration, PaymentError> {
        let query = [("limit", "100")];
        let path = "/v1/payment_method_configurations".to_owned();
        let reply = self.transport.call(&Call::Get { path, query: &query, expected: Expected::Object }).await?;
        let found = reply["data"].as_array().ok_or(CallError::Unexpected("no list of configurations"))?;
        Ok(payment_methods::slowest(found))
    }
}

/// A refund; `None` if its id or its status cannot be read.
fn made_refund(object: &Value) -> Option<MadeRefund> {
    let status = payment_objects::refund_status(object).ok().flatten()?;
    Some(MadeRefund { id: payment_objects::id(object)?, amount: object["amount"].as_i64(), status, key: key(object) })
}

/// One refund that cannot be read must not hide the others.
fn payment_refunds(objects: &[Value]) -> PaymentRefunds {
    let mut refunds = PaymentRefunds::default();
    for object in objects {
        match made_refund(object) {
            Some(made) => refunds.made.push(made),
            None => refunds.unknown.push(UnknownRefund { id: payment_objects::name(object), key: key(object) }),
        }
    }
    refunds
}

fn key(object: &Value) -> Option<String> {
    object["metadata"][KEY].as_str().map(str::to_owned)
}

/// The reports in a page of refunds or disputes. Objects without a payment and refunds without a status are skipped.
fn report_page(reply: &Value, path: &str, now: Timestamp) -> Result<PaymentReports, CallError> {
    let objects = reply["data"].as_array().ok_or(CallError::Unexpected("no list of refunds or disputes"))?;
    let report = |object: &Value| {
        if path == REFUNDS {
            payment_objects::refund(object, now)
        } else {
            // The time of its creation, which is earlier than any event's, so that no event counts as older than this
            // report. `PaymentHistory::as_of_reading` replaces it where an event was lost.
            let created = Timestamp::from_seconds(object["created"].as_i64().unwrap_or_default());
            payment_objects::dispute(object, created).map(Some)
        }
    };
    let (mut reports, mut unreadable) = (Vec::new(), Vec::new());
    for object in objects {
        let Some(payment) = payment_objects::payment(object) else { continue };
        match report(object) {
            Ok(report) => reports.extend(report.map(|report| (payment, report))),
            Err(payment_objects::Unreadable) => unreadable.push(payment_objects::name(object)),
        }
    }
    let next = if reply["has_more"] == true {
        let last = objects.last().and_then(payment_objects::id);
        Some(format!("{path} {}", last.ok_or(CallError::Unexpected("no id to go on from"))?))
    } else {
        (path == REFUNDS).then(|| DISPUTES.to_owned())
    };
    Ok(PaymentReports { reports, unreadable, next })
}

/// The completed sessions of a page. A paid session that cannot be read makes the page unreadable, because a comparison
/// that leaves out a payment would be worse than none. Unpaid sessions are not read.
pub(crate) fn completed_page(reply: &Value) -> Result<CompletedSessions, CallError> {
    let objects = reply["data"].as_array().ok_or(CallError::Unexpected("no list of sessions"))?;
    let paid = objects.iter().filter(|object| object["payment_status"] != "unpaid");
    let sessions = paid.filter_map(|object| match session::parse(object) {
        // Sessions that sell subscriptions are compared by their subscriptions.
        Err(SessionError::OtherMode) => None,
        read => Some(read),
    });
    let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
    let next = if reply["has_more"] == true {
        let last = objects.last().and_then(|object| SessionId::parse(object["id"].as_str()?).ok());
        Some(last.ok_or(CallError::Unexpected("no id to go on from"))?.as_str().to_owned())
    } else {
        None
    };
    Ok(CompletedSessions { sessions, next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::money::RefundStatus;
    use serde_json::json;

    #[test]
    fn every_status_of_a_refund_is_known_or_an_error() {
        let made = |word: Value| made_refund(&json!({ "id": "re_1", "status": word, "metadata": { "attempt": "k" } }));
        for (word, status) in [
            ("succeeded", RefundStatus::Succeeded),
            ("pending", RefundStatus::Pending),
            ("requires_action", RefundStatus::Pending),
            ("failed", RefundStatus::Failed),
            ("canceled", RefundStatus::Canceled),
        ] {
            let made = made(json!(word)).unwrap();
            assert_eq!((made.status, made.key.as_deref()), (status, Some("k")), "{word}");
        }
        for word in [json!(null), json!("Succeeded"), json!(true)] {
            assert!(made(word.clone()).is_none(), "{word}");
        }
        assert!(made_refund(&json!({ "status": "succeeded" })).is_none(), "a refund that nobody can name");
    }

    /// The refunds come first and are followed by the disputes; objects without a checkout, and refunds of which Stripe
    /// says no status, are skipped.
    #[test]
    fn reports_are_read_from_both_lists_to_their_ends() {
        let now = Timestamp::from_seconds(1_000);
        let refund = json!({ "id": "re_1", "payment_intent": "pi_1", "status": "failed", "amount": 5 });
        let stranger = json!({ "id": "re_2", "payment_intent": null, "status": "failed" });
        let page = |data: Value, more: bool, path: &str| {
            report_page(&json!({ "data": data, "has_more": more }), path, now).unwrap()
        };
        let silent = json!({ "id": "re_3", "payment_intent": "pi_1", "status": null });
        let new = json!({ "id": "re_4", "payment_intent": "pi_1", "status": "reversed" });
        let first = page(json!([refund, stranger, silent, new]), true, REFUNDS);
        assert_eq!((first.reports.len(), first.next.as_deref()), (1, Some("/v1/refunds re_4")));
        assert!(matches!(&first.reports[0].1, domain::money::PaymentReport::Refund { at, .. } if *at == now));
        assert_eq!(page(json!([]), false, REFUNDS).next.as_deref(), Some(DISPUTES));
        let dispute =
            |id: &str, status: &str| json!({ "id": id, "payment_intent": "pi_1", "status": status, "created": 7 });
        let last = page(json!([dispute("du_1", "forgiven"), dispute("du_2", "lost")]), false, DISPUTES);
        assert_eq!((last.reports.len(), last.next.as_deref()), (1, None));
        let unreadable = |page: &PaymentReports| page.unreadable.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((unreadable(&last).concat(), unreadable(&first).concat()), ("du_1".to_owned(), "re_4".to_owned()));
    }

    #[test]
    fn a_page_keeps_who_paid_and_goes_on_from_its_last_session() {
        let session = |id: &str, status: &str| json!({ "id": id, "payment_status": status });
        let page = |data: Value, more: Value| completed_page(&json!({ "data": data, "has_more": more }));
        let mixed = json!([session("cs_1", "paid"), session("cs_2", "unpaid"), session("cs_3", "no_payment_required")]);
        let found = page(mixed.clone(), json!(true)).unwrap();
        assert_eq!(found.sessions.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["cs_1", "cs_3"]);
        assert_eq!(found.next.as_deref(), Some("cs_3"), "also where the last one is not paid");
        assert_eq!(page(mixed, json!(false)).unwrap().next, None);
        assert_eq!(page(json!([]), json!(false)).unwrap().sessions.len(), 0);
        let subscription = json!({ "id": "cs_9", "payment_status": "paid", "mode": "subscription" });
        let beside = page(json!([session("cs_1", "paid"), subscription]), json!(true)).unwrap();
        assert_eq!((beside.sessions.len(), beside.next.as_deref()), (1, Some("cs_9")), "a subscription is no sale");
        assert!(page(json!([session("pi_1", "paid")]), json!(false)).is_err(), "a payment nobody can name");
        assert!(page(json!([]), json!(true)).is_err(), "a page without an end");
        assert!(completed_page(&json!({ "error": {} })).is_err());
    }
}
