//! Converts Stripe's subscriptions and invoices, from an event or a list, to the domain's reports.

use crate::payment_objects;
use domain::{
    Timestamp,
    chat::{
        BillingReport, PaidPlan, SubscriberId,
        billing::{Bill, SubscriptionState, SubscriptionStatus},
    },
    money::ObjectId,
};
use serde_json::Value;

/// The metadata keys of a subscription for its subscriber and its plan.
pub(crate) const SUBSCRIBER: &str = "subscriber";
pub(crate) const PLAN: &str = "plan";

/// Why an object cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BillingError {
    /// It does not belong to a subscription of our checkout.
    #[error("the object belongs to no subscription of ours")]
    Foreign,
    /// A field that decides about money is missing or unknown.
    #[error("the {0} cannot be read")]
    Unreadable(&'static str),
}

/// The subscriber and the plan of an object.
fn owner(metadata: &Value) -> Result<(SubscriberId, PaidPlan), BillingError> {
    let subscriber = metadata[SUBSCRIBER].as_str().ok_or(BillingError::Foreign)?;
    let subscriber = SubscriberId::parse(subscriber).map_err(|_| BillingError::Unreadable("subscriber"))?;
    let plan = metadata[PLAN].as_str().and_then(|key| PaidPlan::parse(key).ok());
    Ok((subscriber, plan.ok_or(BillingError::Unreadable("plan"))?))
}

/// The id of an object, which may be expanded.
fn named(value: &Value, what: &'static str) -> Result<ObjectId, BillingError> {
    let id = value.as_str().or_else(|| value["id"].as_str());
    id.and_then(|id| ObjectId::parse(id).ok()).ok_or(BillingError::Unreadable(what))
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_i64().map(Timestamp::from_seconds)
}

/// A subscription in its state at this time.
pub(crate) fn subscription(object: &Value, at: Timestamp) -> Result<(SubscriberId, BillingReport), BillingError> {
    let (subscriber, plan) = owner(&object["metadata"])?;
    let status = object["status"].as_str().and_then(SubscriptionStatus::parse);
    let status = status.ok_or(BillingError::Unreadable("status"))?;
    let item = || object["items"]["data"].get(0);
    let with_period = || {
        let ends = object["cancel_at_period_end"] == true;
        // Since 2025 the period is a field of the item; before, it was a field of the subscription.
        let end = item().and_then(|item| time(&item["current_period_end"]));
        ends.then(|| end.or_else(|| time(&object["current_period_end"]))).flatten()
    };
    let ends_at = time(&object["ended_at"]).or_else(|| time(&object["cancel_at"])).or_else(with_period);
    let customer = named(&object["customer"], "customer")?;
    let state = SubscriptionState { customer, plan, status, ends_at, at };
    Ok((subscriber, BillingReport::Subscription { id: named(&object["id"], "subscription")?, state }))
}

/// Whether an invoice was paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collected {
    Paid,
    Failed,
}

/// An invoice of a subscription. Any other invoice is foreign.
pub(crate) fn invoice(
    object: &Value,
    collected: Collected,
    at: Timestamp,
) -> Result<(SubscriberId, BillingReport), BillingError> {
    let details = &object["parent"]["subscription_details"];
    let (subscriber, plan) = owner(&details["metadata"])?;
    let subscription = named(&details["subscription"], "subscription")?;
    // The invoice's own period is the previous one; its lines have the billed period.
    let lines = object["lines"]["data"].as_array().into_iter().flatten();
    let until = lines.filter_map(|line| time(&line["period"]["end"])).max();
    let until = until.ok_or(BillingError::Unreadable("period"))?;
    let id = named(&object["id"], "invoice")?;
    let amount = |field: &str| object[field].as_i64().ok_or(BillingError::Unreadable("amount"));
    let bill = |amount| Bill { until, subscription, plan, amount };
    let report = match collected {
        Collected::Paid => {
            let at = time(&object["status_transitions"]["paid_at"]).unwrap_or(at);
            BillingReport::InvoicePaid { id, bill: bill(amount("amount_paid")?), at }
        }
        Collected::Failed => BillingReport::InvoiceFailed { id, bill: bill(amount("amount_due")?), at },
    };
    Ok((subscriber, report))
}

/// The paid invoice of an invoice payment, with its amount.
pub(crate) fn paid_invoice(object: &Value, at: Timestamp) -> Result<(SubscriberId, BillingReport), BillingError> {
    let paid = &object["invoice"];
    if paid["status"] != "paid" {
        return Err(BillingError::Unreadable("invoice's status"));
    }
    invoice(paid, Collected::Paid, at)
}

/// The payment of an invoice payment.
pub(crate) fn payment_of(object: &Value) -> Option<domain::money::PaymentId> {
    payment_objects::payment(&object["payment"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn subscriber() -> String {
        "a".repeat(64)
    }

    fn object() -> Value {
        json!({
            "id": "sub_1", "customer": "cus_1", "status": "active", "cancel_at_period_end": false, "cancel_at": null,
            "ended_at": null, "metadata": { "subscriber": subscriber(), "plan": "pro" },
            "items": { "data": [{ "current_period_end": 2_000 }] },
        })
    }

    fn bill() -> Value {
        json!({
            "id": "in_1", "amount_paid": 500, "amount_due": 500, "status": "paid",
            "status_transitions": { "paid_at": 77 }, "period_end": 1,
            "parent": { "subscription_details": {
                "subscription": "sub_1", "metadata": { "subscriber": subscriber(), "plan": "chat" } } },
            "lines": { "data": [{ "period": { "end": 1_000 } }, { "period": { "end": 2_000 } }] },
        })
    }

    fn changed(mut object: Value, path: &str, value: Value) -> Value {
        *object.pointer_mut(path).unwrap() = value;
        object
    }

    #[test]
    fn a_subscription_says_whose_it_is_and_when_it_ends() {
        let at = Timestamp::from_seconds(9);
        let end = |object: Value| match subscription(&object, at).unwrap().1 {
            BillingReport::Subscription { state, .. } => (state.status, state.ends_at.map(Timestamp::as_seconds)),
            other => panic!("{other:?}"),
        };
        assert_eq!(subscription(&object(), at).unwrap().0.as_str(), subscriber());
        assert_eq!(end(object()), (SubscriptionStatus::Active, None));
        let canceled = changed(object(), "/cancel_at_period_end", json!(true));
        assert_eq!(end(canceled.clone()).1, Some(2_000));
        assert_eq!(end(changed(canceled, "/cancel_at", json!(1_500))).1, Some(1_500));
        let ended = changed(changed(object(), "/status", json!("canceled")), "/ended_at", json!(1_400));
        assert_eq!(end(ended), (SubscriptionStatus::Canceled, Some(1_400)));
        for (path, value, error) in [
            ("/metadata", json!({}), BillingError::Foreign),
            ("/metadata/subscriber", json!("x"), BillingError::Unreadable("subscriber")),
            ("/metadata/plan", json!("bridge"), BillingError::Unreadable("plan")),
            ("/status", json!("new"), BillingError::Unreadable("status")),
            ("/customer", json!(null), BillingError::Unreadable("customer")),
            ("/id", json!("../x"), BillingError::Unreadable("subscription")),
        ] {
            assert_eq!(subscription(&changed(object(), path, value), at), Err(error), "{path}");
        }
    }

    #[test]
    fn an_invoice_bills_the_period_of_its_lines() {
        let at = Timestamp::from_seconds(9);
        let of = |object: &Value, collected| invoice(object, collected, at).unwrap().1;
        let id = |text: &str| ObjectId::parse(text).unwrap();
        let expected = Bill {
            until: Timestamp::from_seconds(2_000),
            subscription: id("sub_1"),
            plan: PaidPlan::Chat,
            amount: 500,
        };
        let paid =
            BillingReport::InvoicePaid { id: id("in_1"), bill: expected.clone(), at: Timestamp::from_seconds(77) };
        assert_eq!(of(&bill(), Collected::Paid), paid);
        assert_eq!(of(&bill(), Collected::Failed), BillingReport::InvoiceFailed { id: id("in_1"), bill: expected, at });
        for (path, value, error) in [
            ("/parent", json!(null), BillingError::Foreign),
            ("/lines/data", json!([]), BillingError::Unreadable("period")),
            ("/amount_paid", json!(null), BillingError::Unreadable("amount")),
            ("/parent/subscription_details/subscription", json!(7), BillingError::Unreadable("subscription")),
        ] {
            assert_eq!(invoice(&changed(bill(), path, value), Collected::Paid, at), Err(error), "{path}");
        }
        let payment = json!({ "invoice": bill(), "payment": { "payment_intent": "pi_1" } });
        assert_eq!(paid_invoice(&payment, at).unwrap().1, paid);
        assert_eq!(payment_of(&payment).unwrap().as_str(), "pi_1");
        assert!(paid_invoice(&changed(payment, "/invoice/status", json!("open")), at).is_err());
    }
}
