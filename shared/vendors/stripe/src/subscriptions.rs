//! Subscriptions: sold in a Checkout Session, managed by the customer in the portal, and compared daily.

use crate::{
    Client, LazyClient,
    billing_objects::{self, BillingError, Collected, PLAN, SUBSCRIBER},
    client::{created, idempotency_key},
    payment_objects,
    reply::CallError,
    session::page_address,
    transport::{Call, Expected},
};
use async_trait::async_trait;
use domain::{
    Timestamp,
    chat::{BillingReport, SubscriberId},
    money::{ObjectId, PaymentId},
    ports::{BillingReports, NewSubscription, PaymentError, SubscriptionLedger, SubscriptionPages},
    tier::CURRENCY,
};
use serde_json::Value;

const SUBSCRIPTIONS: &str = "/v1/subscriptions";
const INVOICES: &str = "/v1/invoices";

/// The pairs, in a fixed order: Stripe refuses other parameters with the same idempotency key.
fn form(new: &NewSubscription, site: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = [
        ("mode", "subscription".to_owned()),
        ("success_url", format!("{site}/chat?subscribed=1")),
        ("cancel_url", format!("{site}/chat?canceled=1")),
        ("line_items[0][price_data][currency]", CURRENCY.to_owned()),
        ("line_items[0][price_data][unit_amount]", new.plan.price_cents_a_month().to_string()),
        ("line_items[0][price_data][recurring][interval]", "month".to_owned()),
        ("line_items[0][price_data][product_data][name]", new.plan.name().to_owned()),
        ("line_items[0][quantity]", "1".to_owned()),
        // As for the tiers: no converted price (Product Tiers, GAP-5).
        ("adaptive_pricing[enabled]", "false".to_owned()),
        ("client_reference_id", new.subscriber.as_str().to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    // The session's metadata is not copied to the subscription, whose events and invoices need the subscriber and the
    // plan.
    for holder in ["metadata", "subscription_data[metadata]"] {
        pairs.push((format!("{holder}[{SUBSCRIBER}]"), new.subscriber.as_str().to_owned()));
        pairs.push((format!("{holder}[{PLAN}]"), new.plan.key().to_owned()));
    }
    // Stripe's page asks a new customer for an address, because no store of ours holds one.
    if let Some(customer) = &new.customer {
        pairs.push(("customer".to_owned(), customer.as_str().to_owned()));
    }
    pairs
}

#[async_trait]
impl SubscriptionPages for Client {
    async fn subscribe(&self, new: &NewSubscription) -> Result<String, PaymentError> {
        let (form, key) = (form(new, &self.site), idempotency_key(&new.idempotency_key)?);
        let call = Call::Post { path: "/v1/checkout/sessions", form: &form, idempotency_key: key };
        Ok(created(&self.transport.call(&call).await?)?.url)
    }

    async fn portal(&self, customer: &ObjectId, key: &str) -> Result<String, PaymentError> {
        let form = [
            ("customer".to_owned(), customer.as_str().to_owned()),
            ("return_url".to_owned(), format!("{}/chat", self.site)),
        ];
        let path = "/v1/billing_portal/sessions";
        let call = Call::Post { path, form: &form, idempotency_key: idempotency_key(key)? };
        let reply = self.transport.call(&call).await?;
        let url = page_address(&reply["url"]);
        Ok(url.ok_or(CallError::Unexpected("no address of the portal"))?)
    }
}

#[async_trait]
impl SubscriptionLedger for Client {
    async fn billing_since(
        &self,
        since: Timestamp,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<BillingReports, PaymentError> {
        // Reads the subscriptions, and then the invoices: `from` names the list and the last object that was read.
        let (path, last) = match from.unwrap_or(SUBSCRIPTIONS).split_once(' ') {
            Some((path, last)) => (path, Some(last)),
            None => (from.unwrap_or(SUBSCRIPTIONS), None),
        };
        let since = since.as_seconds().to_string();
        let mut query = vec![("limit", "100")];
        if path == SUBSCRIPTIONS {
            query.push(("status", "all"));
        } else {
            query.extend([("created[gte]", since.as_str()), ("status", "paid")]);
        }
        query.extend(last.map(|last| ("starting_after", last)));
        let call = Call::Get { path: path.to_owned(), query: &query, expected: Expected::Page };
        Ok(page(&self.transport.call(&call).await?, path, now)?)
    }

    async fn invoice_of(
        &self,
        payment: &PaymentId,
        now: Timestamp,
    ) -> Result<Option<(SubscriberId, BillingReport)>, PaymentError> {
        let query = [
            ("payment[type]", "payment_intent"),
            ("payment[payment_intent]", payment.as_str()),
            ("limit", "1"),
            ("expand[]", "data.invoice"),
        ];
        let path = "/v1/invoice_payments".to_owned();
        let reply = self.transport.call(&Call::Get { path, query: &query, expected: Expected::Object }).await?;
        let found = reply["data"].as_array().ok_or(CallError::Unexpected("no list of invoice payments"))?;
        let Some(object) = found.first() else { return Ok(None) };
        if billing_objects::payment_of(object).as_ref() != Some(payment) {
            return Err(CallError::Unexpected("an invoice of another payment").into());
        }
        match billing_objects::paid_invoice(object, now) {
            Ok(found) => Ok(Some(found)),
            Err(BillingError::Foreign) => Ok(None),
            Err(BillingError::Unreadable(_)) => Err(CallError::Unexpected("an invoice that cannot be read").into()),
        }
    }
}

/// The reports in a page. Foreign objects are skipped.
fn page(reply: &Value, path: &str, now: Timestamp) -> Result<BillingReports, CallError> {
    let objects = reply["data"].as_array().ok_or(CallError::Unexpected("no list of subscriptions or invoices"))?;
    let (mut reports, mut unreadable) = (Vec::new(), Vec::new());
    for object in objects {
        let read = if path == SUBSCRIPTIONS {
            billing_objects::subscription(object, now)
        } else {
            billing_objects::invoice(object, Collected::Paid, now)
        };
        match read {
            Ok(report) => reports.push(report),
            Err(BillingError::Foreign) => {}
            Err(BillingError::Unreadable(_)) => unreadable.push(payment_objects::name(object)),
        }
    }
    let next = if reply["has_more"] == true {
        let last = objects.last().and_then(|object| ObjectId::parse(object["id"].as_str()?).ok());
        Some(format!("{path} {}", last.ok_or(CallError::Unexpected("no id to go on from"))?))
    } else {
        (path == SUBSCRIPTIONS).then(|| INVOICES.to_owned())
    };
    Ok(BillingReports { reports, unreadable, next })
}

#[async_trait]
impl SubscriptionPages for LazyClient {
    async fn subscribe(&self, new: &NewSubscription) -> Result<String, PaymentError> {
        self.client.call(|client| async move { client.subscribe(new).await }).await
    }

    async fn portal(&self, customer: &ObjectId, key: &str) -> Result<String, PaymentError> {
        self.client.call(|client| async move { client.portal(customer, key).await }).await
    }
}

#[async_trait]
impl SubscriptionLedger for LazyClient {
    async fn billing_since(
        &self,
        since: Timestamp,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<BillingReports, PaymentError> {
        self.client.call(|client| async move { client.billing_since(since, now, from).await }).await
    }

    async fn invoice_of(
        &self,
        payment: &PaymentId,
        now: Timestamp,
    ) -> Result<Option<(SubscriberId, BillingReport)>, PaymentError> {
        self.client.call(|client| async move { client.invoice_of(payment, now).await }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::chat::PaidPlan;
    use serde_json::json;

    fn new(customer: Option<&str>) -> NewSubscription {
        NewSubscription {
            subscriber: SubscriberId::parse("b".repeat(64)).unwrap(),
            plan: PaidPlan::Chat,
            customer: customer.map(|id| ObjectId::parse(id).unwrap()),
            idempotency_key: "key".to_owned(),
        }
    }

    #[test]
    fn the_form_is_stripes_and_no_sales() {
        let id = "b".repeat(64);
        let expected = [
            ("mode", "subscription"),
            ("success_url", "https://oracle.example/chat?subscribed=1"),
            ("cancel_url", "https://oracle.example/chat?canceled=1"),
            ("line_items[0][price_data][currency]", "cad"),
            ("line_items[0][price_data][unit_amount]", "500"),
            ("line_items[0][price_data][recurring][interval]", "month"),
            ("line_items[0][price_data][product_data][name]", "Sisters Chat"),
            ("line_items[0][quantity]", "1"),
            ("adaptive_pricing[enabled]", "false"),
            ("client_reference_id", &id),
            ("metadata[subscriber]", &id),
            ("metadata[plan]", "chat"),
            ("subscription_data[metadata][subscriber]", &id),
            ("subscription_data[metadata][plan]", "chat"),
        ];
        assert_eq!(
            form(&new(None), "https://oracle.example"),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        let known = form(&new(Some("cus_1")), "https://oracle.example");
        assert_eq!(known.last(), Some(&("customer".to_owned(), "cus_1".to_owned())), "a known customer is named");
        assert!(known.iter().all(|(name, _)| name != "metadata[tier]"));
    }

    #[test]
    fn both_lists_are_read_to_their_ends_and_strangers_are_nobodys() {
        let now = Timestamp::from_seconds(9);
        let metadata = json!({ "subscriber": "b".repeat(64), "plan": "pro" });
        let ours = json!({ "id": "sub_1", "customer": "cus_1", "status": "active", "metadata": metadata });
        let foreign = json!({ "id": "sub_2", "customer": "cus_1", "status": "active", "metadata": {} });
        let of = |data: Value, more: bool, path: &str| page(&json!({ "data": data, "has_more": more }), path, now);
        let first = of(json!([ours, foreign]), true, SUBSCRIPTIONS).unwrap();
        assert_eq!((first.reports.len(), first.next.as_deref()), (1, Some("/v1/subscriptions sub_2")));
        assert_eq!(of(json!([]), false, SUBSCRIPTIONS).unwrap().next.as_deref(), Some(INVOICES));
        assert_eq!(of(json!([]), false, INVOICES).unwrap().next, None);
        let mut broken = ours.clone();
        (broken["id"], broken["status"]) = (json!("sub_9"), json!("odd"));
        let beside = of(json!([broken, ours]), false, SUBSCRIPTIONS).unwrap();
        assert_eq!((beside.reports.len(), beside.next.as_deref()), (1, Some(INVOICES)), "the others are read");
        assert_eq!(beside.unreadable, [ObjectId::parse("sub_9").unwrap()]);
        assert!(of(json!([]), true, INVOICES).is_err(), "a page without an end");
    }
}
