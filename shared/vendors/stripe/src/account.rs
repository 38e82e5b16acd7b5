//! The settings of the Stripe account that sales and subscriptions depend on: webhook endpoints, payment links and the
//! customer portal.

use crate::{
    Client,
    reply::CallError,
    transport::{Call, Expected},
};
use domain::{Tier, money::ObjectId, ports::PaymentError};
use serde_json::Value;
use std::collections::BTreeSet;

/// A webhook endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// The address that Stripe delivers to.
    pub url: String,
    /// Whether it is enabled.
    pub is_enabled: bool,
    /// The version of the events; `None` if it is the account's default.
    pub api_version: Option<String>,
    /// The types of events that are delivered; `*` means all.
    pub events: BTreeSet<String>,
}

/// A payment link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentLink {
    /// Its id.
    pub id: String,
    /// The value of `tier` in its metadata, which its sessions inherit.
    pub tier: Option<String>,
    /// Whether it asks for the question in the custom field that we read, and requires an answer.
    pub asks_for_question: bool,
    /// The address that the customer is sent to after the payment.
    pub returns_to: Option<String>,
    /// Whether its page offers more to buy beside the items.
    pub offers_more: bool,
    /// The items that it sells. They are read only if the link names one of our tiers.
    pub items: Vec<LinkItem>,
}

/// An item that a payment link sells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkItem {
    /// The price of its whole quantity, in the smallest unit of the currency.
    pub amount: Option<i64>,
    /// The currency, as Stripe writes it.
    pub currency: Option<String>,
    /// Whether the amount is paid once and customers cannot change it.
    pub is_fixed: bool,
}

/// The permissions of customers in the customer portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Whether they may switch plans, or change a subscription in another way.
    pub switches_plans: bool,
    /// Whether they may cancel, with effect from the end of the period.
    pub cancels_with_period: bool,
    /// Whether they may update their payment method.
    pub updates_payment_method: bool,
}

impl Client {
    /// Every webhook endpoint of the key's mode.
    ///
    /// # Errors
    /// [`PaymentError`] when Stripe does not answer, or refuses the key.
    pub async fn webhook_endpoints(&self) -> Result<Vec<WebhookEndpoint>, PaymentError> {
        Ok(self.whole_list("/v1/webhook_endpoints", &[]).await?.iter().map(endpoint).collect())
    }

    /// Every active payment link. Stripe lists the items of each link apart.
    ///
    /// # Errors
    /// As [`Self::webhook_endpoints`].
    pub async fn payment_links(&self) -> Result<Vec<PaymentLink>, PaymentError> {
        let mut links = Vec::new();
        for object in self.whole_list("/v1/payment_links", &[("active", "true")]).await? {
            let mut link = link(&object);
            if link.tier.as_deref().is_some_and(|tier| Tier::parse(tier).is_ok()) {
                let id = ObjectId::parse(link.id.as_str()).map_err(|_| CallError::Unexpected("no id of a link"))?;
                let items = self.whole_list(&format!("/v1/payment_links/{id}/line_items"), &[]).await?;
                link.items = items.iter().map(item).collect();
            }
            links.push(link);
        }
        Ok(links)
    }

    /// The configuration of the customer portal that its sessions have; `None` if the account has none.
    ///
    /// # Errors
    /// As [`Self::webhook_endpoints`].
    pub async fn portal_settings(&self) -> Result<Option<Portal>, PaymentError> {
        let default = [("is_default", "true"), ("active", "true")];
        Ok(self.whole_list("/v1/billing_portal/configurations", &default).await?.first().map(portal))
    }

    async fn whole_list(&self, path: &str, filter: &[(&str, &str)]) -> Result<Vec<Value>, PaymentError> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let last = all.last().and_then(|object| object["id"].as_str()).map(str::to_owned);
            let mut query = vec![("limit", "100")];
            query.extend(filter);
            query.extend(last.as_deref().map(|last| ("starting_after", last)));
            let call = Call::Get { path: path.to_owned(), query: &query, expected: Expected::List };
            let reply = self.transport.call(&call).await?;
            let page = reply["data"].as_array().ok_or(CallError::Unexpected("no list"))?;
            all.extend(page.iter().cloned());
            if page.is_empty() || reply["has_more"] != true {
                return Ok(all);
            }
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn endpoint(object: &Value) -> WebhookEndpoint {
    WebhookEndpoint {
        url: text(&object["url"]).unwrap_or_default(),
        is_enabled: object["status"] == "enabled",
        api_version: text(&object["api_version"]),
        events: object["enabled_events"].as_array().into_iter().flatten().filter_map(text).collect(),
    }
}

fn link(object: &Value) -> PaymentLink {
    let mut fields = object["custom_fields"].as_array().into_iter().flatten();
    PaymentLink {
        id: text(&object["id"]).unwrap_or_default(),
        tier: text(&object["metadata"]["tier"]),
        asks_for_question: fields.any(|field| {
            field["key"] == crate::session::QUESTION_FIELD && field["type"] == "text" && field["optional"] != true
        }),
        returns_to: text(&object["after_completion"]["redirect"]["url"]),
        offers_more: ["optional_items", "shipping_options"].into_iter().any(|name| has_elements(&object[name])),
        items: Vec::new(),
    }
}

fn has_elements(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}

fn item(object: &Value) -> LinkItem {
    let price = &object["price"];
    LinkItem {
        amount: object["amount_total"].as_i64(),
        currency: text(&object["currency"]),
        is_fixed: price["custom_unit_amount"].is_null()
            && price["recurring"].is_null()
            && object["adjustable_quantity"]["enabled"] != true,
    }
}

fn portal(object: &Value) -> Portal {
    let features = &object["features"];
    let cancel = &features["subscription_cancel"];
    Portal {
        // Anything but a plain "no" may let them.
        switches_plans: features["subscription_update"]["enabled"] != false,
        cancels_with_period: cancel["enabled"] == true && cancel["mode"] == "at_period_end",
        updates_payment_method: features["payment_method_update"]["enabled"] == true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_link_asks_for_the_question_in_one_field_and_insists() {
        let with = |field: Value| link(&json!({ "id": "plink_1", "custom_fields": [field] })).asks_for_question;
        assert!(with(json!({ "key": "idea", "type": "text", "optional": false })));
        for other in [
            json!({ "key": "question", "type": "text", "optional": false }),
            json!({ "key": "idea", "type": "dropdown", "optional": false }),
            json!({ "key": "idea", "type": "text", "optional": true }),
        ] {
            assert!(!with(other.clone()), "{other}");
        }
        let bare = link(&json!({ "id": "plink_1" }));
        assert_eq!((bare.tier, bare.returns_to, bare.asks_for_question), (None, None, false));
        assert!(!bare.offers_more);
        assert!(link(&json!({ "id": "plink_1", "optional_items": [{ "price": "price_1" }] })).offers_more);
        assert!(!link(&json!({ "id": "plink_1", "optional_items": null, "shipping_options": [] })).offers_more);
    }

    #[test]
    fn an_item_is_fixed_if_it_is_paid_once_and_customers_cannot_change_it() {
        let object = |price: Value, adjustable: Value| {
            let mut object = json!({ "amount_total": 500, "currency": "cad" });
            (object["price"], object["adjustable_quantity"]) = (price, adjustable);
            object
        };
        let fixed = item(&object(json!({ "custom_unit_amount": null, "recurring": null }), Value::Null));
        assert_eq!(fixed, LinkItem { amount: Some(500), currency: Some("cad".to_owned()), is_fixed: true });
        assert!(item(&object(json!({}), json!({ "enabled": false }))).is_fixed);
        for (price, adjustable) in [
            (json!({ "custom_unit_amount": { "minimum": 100 } }), Value::Null),
            (json!({ "recurring": { "interval": "month" } }), Value::Null),
            (json!({}), json!({ "enabled": true })),
        ] {
            assert!(!item(&object(price.clone(), adjustable)).is_fixed, "{price}");
        }
    }

    #[test]
    fn a_portal_that_says_nothing_may_let_customers_switch_plans_and_nothing_else() {
        let of = |features: Value| portal(&json!({ "id": "bpc_1", "features": features }));
        let nothing = Portal { switches_plans: true, cancels_with_period: false, updates_payment_method: false };
        assert_eq!(of(json!({})), nothing);
        let right = of(json!({
            "subscription_update": { "enabled": false },
            "subscription_cancel": { "enabled": true, "mode": "at_period_end" },
            "payment_method_update": { "enabled": true },
        }));
        let expected = Portal { switches_plans: false, cancels_with_period: true, updates_payment_method: true };
        assert_eq!(right, expected);
        let at_once = json!({ "subscription_cancel": { "enabled": true, "mode": "immediately" } });
        assert!(!of(at_once).cancels_with_period);
    }
}
