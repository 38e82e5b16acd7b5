//! Checks the parameters of POST /v1/checkout/sessions before anything is created.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{error::StripeError, form::Form, objects::whole, promotions, subscriptions};
use crate::config::{is_email, is_web_address};
use crate::state::State;

/// The supported parameters. Stripe has more; one that is missing here is refused as unknown, which a test reveals at
/// once.
const PARAMETERS: [&str; 40] = [
    "mode",
    "ui_mode",
    "success_url",
    "cancel_url",
    "client_reference_id",
    "customer_email",
    "customer_creation",
    "locale",
    "submit_type",
    "expires_at",
    "adaptive_pricing.enabled",
    "allow_promotion_codes",
    "billing_address_collection",
    "payment_method_types.#",
    "automatic_tax.enabled",
    "phone_number_collection.enabled",
    "invoice_creation.enabled",
    "consent_collection.terms_of_service",
    "custom_text.submit.message",
    "line_items.#.quantity",
    "line_items.#.price_data.currency",
    "line_items.#.price_data.unit_amount",
    "line_items.#.price_data.tax_behavior",
    "line_items.#.price_data.recurring.interval",
    "customer",
    "subscription_data.metadata.@",
    "line_items.#.price_data.product_data.name",
    "line_items.#.price_data.product_data.description",
    "line_items.#.price_data.product_data.metadata.@",
    "discounts.#.promotion_code",
    "metadata.@",
    "payment_intent_data.metadata.@",
    "payment_intent_data.description",
    "payment_intent_data.receipt_email",
    "payment_intent_data.statement_descriptor",
    "payment_intent_data.statement_descriptor_suffix",
    "payment_intent_data.capture_method",
    "payment_intent_data.setup_future_usage",
    "consent_collection.promotions",
    "expand.#",
];

/// The supported currencies; all have two decimals and a minimum of 50 cents.
const CURRENCIES: [&str; 3] = ["cad", "usd", "eur"];
const MINIMUM_CHARGE: i64 = 50;

pub(crate) struct NewSession {
    /// `payment` or `subscription`.
    pub(crate) mode: &'static str,
    pub(crate) customer: Option<String>,
    pub(crate) success_url: String,
    pub(crate) cancel_url: Option<String>,
    pub(crate) client_reference_id: Option<String>,
    pub(crate) customer_email: Option<String>,
    pub(crate) currency: String,
    pub(crate) line_items: Vec<Value>,
    pub(crate) amount_subtotal: i64,
    pub(crate) amount_discount: i64,
    pub(crate) discounts: Vec<Value>,
    /// `None` where the account's setting decides.
    pub(crate) adaptive_pricing: Option<bool>,
    pub(crate) allow_promotion_codes: Option<bool>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) intent_metadata: Map<String, Value>,
    /// Seconds since 1970.
    pub(crate) expires_at: i64,
}

pub(crate) fn parse(state: &mut State, form: &Form, now: Timestamp) -> Result<NewSession, StripeError> {
    form.allow(&PARAMETERS)?;
    let mode = match form.required("mode")? {
        "payment" => "payment",
        "subscription" => "subscription",
        "setup" => {
            let message = "The sandbox offers mode=payment and mode=subscription only.";
            return Err(StripeError::param(None, "mode", message));
        }
        other => {
            let message = format!("Invalid mode: must be one of payment, setup, or subscription, got {other}");
            return Err(StripeError::param(None, "mode", message));
        }
    };
    let success_url = web_address("success_url", form.required("success_url")?)?;
    let cancel_url = form.get("cancel_url").map(|address| web_address("cancel_url", address)).transpose()?;
    let customer_email = form.get("customer_email").map(str::to_owned);
    if let Some(email) = &customer_email
        && !is_email(email)
    {
        return Err(StripeError::param("email_invalid", "customer_email", format!("Invalid email address: {email}")));
    }
    let metadata = form.metadata("metadata")?;
    let of_intent = form.metadata("payment_intent_data[metadata]")?;
    let of_subscription = form.metadata("subscription_data[metadata]")?;
    let (other, parameter) =
        if mode == "payment" { (&of_subscription, "subscription_data") } else { (&of_intent, "payment_intent_data") };
    if !other.is_empty() {
        return Err(StripeError::param(None, parameter, format!("You can not pass `{parameter}` in `{mode}` mode.")));
    }
    let intent_metadata = if mode == "payment" { of_intent } else { of_subscription };
    let customer = form.get("customer").map(str::to_owned);
    if customer.is_some() && customer_email.is_some() {
        return Err(StripeError::invalid("You may only specify one of these parameters: customer, customer_email."));
    }
    if let Some(customer) = &customer {
        subscriptions::known_customer(state, customer)?;
    }
    let (line_items, currency, amount_subtotal) = line_items(state, form, mode, now)?;
    let allow_promotion_codes = form.boolean("allow_promotion_codes")?;
    let discounts = discounts(state, form)?;
    if allow_promotion_codes.is_some() && !discounts.is_empty() {
        let message = "You may only specify one of these parameters: allow_promotion_codes, discounts.";
        return Err(StripeError::invalid(message));
    }
    let percent_off = discounts.first().map_or(0, |(_, percent_off)| *percent_off);
    let amount_discount = (amount_subtotal * percent_off + 50) / 100;
    let total = amount_subtotal - amount_discount;
    if total != 0 && total < MINIMUM_CHARGE {
        return Err(StripeError {
            code: Some("amount_too_small"),
            ..StripeError::invalid(format!(
                "The Checkout Session's total amount must be at least 0.50 {currency}, got {total} cents."
            ))
        });
    }
    Ok(NewSession {
        mode,
        customer,
        success_url,
        cancel_url,
        client_reference_id: form.get("client_reference_id").map(str::to_owned),
        customer_email,
        currency,
        line_items,
        amount_subtotal,
        amount_discount,
        discounts: discounts.into_iter().map(|(discount, _)| discount).collect(),
        adaptive_pricing: form.boolean("adaptive_pricing[enabled]")?,
        allow_promotion_codes,
        metadata,
        intent_metadata,
        expires_at: expires_at(form, now)?,
    })
}

fn line_items(
    state: &mut State,
    form: &Form,
    mode: &str,
    now: Timestamp,
) -> Result<(Vec<Value>, String, i64), StripeError> {
    let count = form.count("line_items");
    if count == 0 {
        return Err(StripeError::required("line_items"));
    }
    let mut items = Vec::with_capacity(count);
    let mut currency = String::new();
    let mut subtotal: i64 = 0;
    for index in 0..count {
        let name = |rest: &str| format!("line_items[{index}]{rest}");
        let quantity_name = name("[quantity]");
        form.required(&quantity_name)?;
        let quantity = at_least(form, &quantity_name, 1)?;
        let currency_name = name("[price_data][currency]");
        let item_currency = form.required(&currency_name)?.to_ascii_lowercase();
        if !CURRENCIES.contains(&item_currency.as_str()) {
            let message = format!(
                "Invalid currency: {item_currency}. The sandbox takes these currencies: {}",
                CURRENCIES.join(", ")
            );
            return Err(StripeError::param(None, currency_name, message));
        }
        if index > 0 && item_currency != currency {
            let message = "All prices of a Checkout Session must have the same currency.";
            return Err(StripeError::param(None, currency_name, message));
        }
        currency = item_currency;
        let amount_name = name("[price_data][unit_amount]");
        form.required(&amount_name)?;
        let unit_amount = at_least(form, &amount_name, 0)?;
        let product = form.required(&name("[price_data][product_data][name]"))?;
        let interval_name = name("[price_data][recurring][interval]");
        match (mode, form.get(&interval_name)) {
            ("payment", None) | ("subscription", Some("month")) => {}
            ("payment", Some(_)) => {
                let message = "You must use `subscription` mode to use recurring prices.";
                return Err(StripeError::param(None, interval_name, message));
            }
            (_, None) => {
                let message = "You must provide at least one recurring price in `subscription` mode when using prices.";
                return Err(StripeError::param(None, "mode", message));
            }
            (_, Some(_)) => {
                return Err(StripeError::param(None, interval_name, "The sandbox offers months only."));
            }
        }
        let amount = unit_amount.checked_mul(quantity);
        let (Some(amount), true) = (amount, unit_amount <= 99_999_999) else {
            return Err(StripeError::param("amount_too_large", amount_name, "Amount must be no more than 999,999.99."));
        };
        subtotal = subtotal.saturating_add(amount);
        let price = json!({
            "id": state.identifiers.prefixed("price_", 24),
            "created": now.as_second(),
            "currency": currency,
            "product": state.identifiers.prefixed("prod_", 14),
            "unit_amount": unit_amount,
            "unit_amount_decimal": unit_amount.to_string(),
        });
        let mut price = whole("price", price);
        if mode == "subscription" {
            price["type"] = json!("recurring");
            price["recurring"] = json!({
                "interval": "month", "interval_count": 1, "meter": null, "trial_period_days": null,
                "usage_type": "licensed",
            });
        }
        let item = json!({
            "id": state.identifiers.prefixed("li_", 24),
            "amount_subtotal": amount,
            "amount_total": amount,
            "currency": currency,
            "description": product,
            "price": price,
            "quantity": quantity,
        });
        items.push(whole("item", item));
    }
    Ok((items, currency, subtotal))
}

/// The discount and its percentage. Stripe accepts only one.
fn discounts(state: &State, form: &Form) -> Result<Vec<(Value, i64)>, StripeError> {
    let count = form.count("discounts");
    if count > 1 {
        return Err(StripeError::param(None, "discounts", "You may only specify one discount."));
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let name = "discounts[0][promotion_code]";
    let id = form.required(name)?;
    let promotion =
        promotions::find(state, id).ok_or_else(|| StripeError::missing("promotion code", id, Some(name)))?;
    if !promotion.active {
        return Err(StripeError::param(None, name, format!("This promotion code is not active: {}.", promotion.code)));
    }
    let discount = json!({"coupon": null, "promotion_code": promotion.id});
    Ok(vec![(discount, i64::from(promotion.percent_off))])
}

/// Between 30 minutes and 24 hours from now; 24 hours by default.
fn expires_at(form: &Form, now: Timestamp) -> Result<i64, StripeError> {
    let now = now.as_second();
    let expires_at = form.integer("expires_at")?.unwrap_or(now + 24 * 3600);
    if !(now + 30 * 60..=now + 24 * 3600).contains(&expires_at) {
        let message = "The `expires_at` timestamp must be at least 30 minutes and less than 24 hours from Checkout Session creation.";
        return Err(StripeError::param(None, "expires_at", message));
    }
    Ok(expires_at)
}

fn at_least(form: &Form, name: &str, minimum: i64) -> Result<i64, StripeError> {
    let value = form.integer(name)?.unwrap_or(minimum);
    if value < minimum {
        let message = format!("This value must be greater than or equal to {minimum}.");
        return Err(StripeError::param("parameter_invalid_integer", name, message));
    }
    Ok(value)
}

fn web_address(name: &str, address: &str) -> Result<String, StripeError> {
    if is_web_address(address) {
        Ok(address.to_owned())
    } else {
        Err(StripeError::param("url_invalid", name, "Not a valid URL"))
    }
}
