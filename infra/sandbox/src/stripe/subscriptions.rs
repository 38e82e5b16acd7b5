//! Subscriptions and their invoices, driven by a separate clock: renewed at the end of each month, retried for two
//! weeks if a payment fails, and then ended. Each step sends its events.
//! The file has more than 300 lines because each step of a subscription is a short function, and the steps share the
//! functions that bill, pay and send events.

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{error::StripeError, events::event, form::Form, listing, objects::whole};
use crate::state::State;

/// The retries of a failed payment, in days after it failed; after the last one the subscription ends.
const RETRIES: [i64; 4] = [3, 5, 7, 14];

const DAY: i64 = 24 * 3600;

const STATUSES: [&str; 9] =
    ["active", "all", "canceled", "ended", "incomplete", "incomplete_expired", "past_due", "trialing", "unpaid"];

/// The objects that a paid session creates.
pub(super) struct Begun {
    pub(super) customer: String,
    pub(super) subscription: String,
    pub(super) invoice: String,
}

/// The time for subscriptions: the sandbox's, moved.
pub(crate) fn now(state: &State) -> i64 {
    state.now().as_second() + state.stripe.billing.advanced
}

/// The same day and time a number of months later.
fn months_after(start: i64, months: i64) -> i64 {
    let zoned = Timestamp::from_second(start).unwrap_or_default().to_zoned(TimeZone::UTC);
    zoned.checked_add(months.months()).map_or(start + months * 30 * DAY, |end| end.timestamp().as_second())
}

fn emit_event(state: &mut State, kind: &str, object: &Value, at: i64) {
    let mut event = event(state, kind, object);
    event["created"] = json!(at);
    state.unreported.push(event);
}

/// Starts the subscription that a session sells, with its first month paid.
pub(super) fn begin(state: &mut State, session: &Value, line: &Value, metadata: Map<String, Value>) -> Begun {
    let at = now(state);
    let known = session["customer"].as_str().map(str::to_owned);
    let customer = known.unwrap_or_else(|| state.identifiers.prefixed("cus_", 14));
    let id = state.identifiers.prefixed("sub_1", 23);
    let end = months_after(at, 1);
    let price = &line["price"];
    let plan = json!({
        "id": price["id"], "amount": price["unit_amount"], "created": at, "currency": session["currency"],
        "product": price["product"],
    });
    let item = json!({
        "id": state.identifiers.prefixed("si_", 14),
        "created": at,
        "current_period_start": at,
        "current_period_end": end,
        "plan": whole("plan", plan),
        "price": price,
        "subscription": id,
    });
    let given = json!({
        "id": id,
        "billing_cycle_anchor": at,
        "created": at,
        "currency": session["currency"],
        "customer": customer,
        "items": {
            "object": "list", "has_more": false, "url": format!("/v1/subscription_items?subscription={id}"),
            "data": [whole("subscription_item", item)],
        },
        "metadata": metadata,
        "start_date": at,
        "status": "incomplete",
    });
    let mut subscription = whole("subscription", given);
    emit_event(state, "customer.subscription.created", &subscription, at);
    let mut invoice = bill(state, &subscription, "subscription_create", at, end, at);
    take(state, &mut invoice, at);
    subscription["status"] = json!("active");
    subscription["latest_invoice"] = invoice["id"].clone();
    emit_event(state, "customer.subscription.updated", &subscription, at);
    let invoice_id = invoice["id"].as_str().unwrap_or("").to_owned();
    state.stripe.billing.invoices.push(invoice);
    state.stripe.billing.subscriptions.push(subscription);
    Begun { customer, subscription: id, invoice: invoice_id }
}

/// An unpaid invoice.
fn bill(state: &mut State, subscription: &Value, reason: &str, start: i64, end: i64, at: i64) -> Value {
    let id = state.identifiers.prefixed("in_1", 23);
    let item = &subscription["items"]["data"][0];
    let amount = item["price"]["unit_amount"].as_i64().unwrap_or(0);
    let line = json!({
        "id": state.identifiers.prefixed("il_1", 23),
        "amount": amount,
        "currency": subscription["currency"],
        "invoice": id,
        "parent": {
            "invoice_item_details": null,
            "subscription_item_details": {
                "invoice_item": null, "proration": false, "proration_details": null,
                "subscription": subscription["id"], "subscription_item": item["id"],
            },
            "type": "subscription_item_details",
        },
        "period": { "start": start, "end": end },
        "subscription": subscription["id"],
        "subtotal": amount,
    });
    let parent = json!({
        "quote_details": null,
        "subscription_details": { "metadata": subscription["metadata"], "subscription": subscription["id"] },
        "type": "subscription_details",
    });
    let given = json!({
        "id": id,
        "amount_due": amount,
        "amount_remaining": amount,
        "billing_reason": reason,
        "created": at,
        "currency": subscription["currency"],
        "customer": subscription["customer"],
        "effective_at": at,
        "lines": {
            "object": "list", "has_more": false, "url": format!("/v1/invoices/{id}/lines"),
            "data": [whole("line_item", line)],
        },
        "parent": parent,
        "period_start": at,
        "period_end": at,
        "status": "open",
        "subtotal": amount,
        "total": amount,
    });
    let mut invoice = whole("invoice", given);
    invoice["status_transitions"]["finalized_at"] = json!(at);
    invoice
}

/// Pays an invoice, and sends its events.
fn take(state: &mut State, invoice: &mut Value, at: i64) {
    let amount = invoice["amount_due"].clone();
    let intent = state.identifiers.prefixed("pi_3", 23);
    let charge = state.identifiers.prefixed("ch_3", 23);
    let given = json!({
        "id": intent, "amount": amount, "amount_received": amount, "created": at, "currency": invoice["currency"],
        "customer": invoice["customer"], "latest_charge": charge, "metadata": {},
    });
    state.stripe.payment_intents.insert(intent.clone(), whole("payment_intent", given));
    let mut payment = whole(
        "invoice_payment",
        json!({
            "id": state.identifiers.prefixed("inpay_1", 23), "amount_paid": amount, "amount_requested": amount,
            "created": at, "currency": invoice["currency"], "invoice": invoice["id"],
            "payment": { "type": "payment_intent", "payment_intent": intent },
        }),
    );
    payment["status_transitions"]["paid_at"] = json!(at);
    state.stripe.billing.invoice_payments.push(payment);
    invoice["status"] = json!("paid");
    invoice["amount_paid"] = amount;
    invoice["amount_remaining"] = json!(0);
    invoice["attempted"] = json!(true);
    invoice["attempt_count"] = json!(invoice["attempt_count"].as_i64().unwrap_or(0) + 1);
    invoice["next_payment_attempt"] = Value::Null;
    invoice["status_transitions"]["paid_at"] = json!(at);
    emit_event(state, "invoice.paid", invoice, at);
}

/// Fails to pay an invoice. Returns the time of the next attempt, if there is one.
fn fail(state: &mut State, invoice: &mut Value, at: i64) -> Option<i64> {
    let attempts = invoice["attempt_count"].as_i64().unwrap_or(0);
    let first = invoice["created"].as_i64().unwrap_or(at);
    let retry = usize::try_from(attempts).ok().and_then(|attempts| RETRIES.get(attempts));
    let next = retry.map(|days| first + days * DAY);
    invoice["attempted"] = json!(true);
    invoice["attempt_count"] = json!(attempts + 1);
    invoice["next_payment_attempt"] = json!(next);
    emit_event(state, "invoice.payment_failed", invoice, at);
    next
}

fn end_of(subscription: &Value) -> i64 {
    subscription["items"]["data"][0]["current_period_end"].as_i64().unwrap_or(i64::MAX)
}

/// Bills the next month of a subscription, and pays the invoice or fails to.
fn next_month(state: &mut State, subscription: &mut Value, pays: bool, at: i64) {
    let start = end_of(subscription);
    let anchor = subscription["billing_cycle_anchor"].as_i64().unwrap_or(start);
    let end = (1..).map(|months| months_after(anchor, months)).find(|end| *end > start).unwrap_or(start + 30 * DAY);
    let mut invoice = bill(state, subscription, "subscription_cycle", start, end, at);
    let item = &mut subscription["items"]["data"][0];
    item["current_period_start"] = json!(start);
    item["current_period_end"] = json!(end);
    subscription["latest_invoice"] = invoice["id"].clone();
    if pays {
        take(state, &mut invoice, at);
        subscription["status"] = json!("active");
    } else {
        fail(state, &mut invoice, at);
        subscription["status"] = json!("past_due");
    }
    state.stripe.billing.invoices.push(invoice);
    emit_event(state, "customer.subscription.updated", subscription, at);
}

fn open_invoice(state: &State, subscription: &Value) -> Option<usize> {
    let invoices = &state.stripe.billing.invoices;
    invoices.iter().position(|invoice| invoice["id"] == subscription["latest_invoice"] && invoice["status"] == "open")
}

fn end(state: &mut State, subscription: &mut Value, at: i64) {
    subscription["status"] = json!("canceled");
    subscription["canceled_at"] = json!(subscription["canceled_at"].as_i64().unwrap_or(at));
    subscription["ended_at"] = json!(at);
    emit_event(state, "customer.subscription.deleted", subscription, at);
}

/// The time of a subscription's next automatic step.
fn due(state: &State, subscription: &Value) -> Option<i64> {
    match subscription["status"].as_str()? {
        "active" => Some(end_of(subscription)),
        "past_due" => {
            let invoice = &state.stripe.billing.invoices[open_invoice(state, subscription)?];
            let gives_up = invoice["created"].as_i64()? + RETRIES[RETRIES.len() - 1] * DAY;
            Some(invoice["next_payment_attempt"].as_i64().unwrap_or(gives_up))
        }
        _ => None,
    }
}

/// Carries out all due steps, in the order of their times.
fn play(state: &mut State) {
    loop {
        let now = now(state);
        let subscriptions = state.stripe.billing.subscriptions.iter().enumerate();
        let next = subscriptions.filter_map(|(index, it)| Some((due(state, it)?, index))).min();
        let Some((at, index)) = next.filter(|(at, _)| *at <= now) else { return };
        let mut subscription = state.stripe.billing.subscriptions[index].clone();
        match open_invoice(state, &subscription) {
            Some(open) => {
                let mut invoice = state.stripe.billing.invoices[open].clone();
                if fail(state, &mut invoice, at).is_none() {
                    end(state, &mut subscription, at);
                }
                state.stripe.billing.invoices[open] = invoice;
            }
            None if subscription["cancel_at_period_end"] == true => end(state, &mut subscription, at),
            None => next_month(state, &mut subscription, true, at),
        }
        state.stripe.billing.subscriptions[index] = subscription;
    }
}

/// A request to move the clock of subscriptions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Moved {
    /// Seconds; a negative number moves the clock back, for subscriptions that begin later.
    advance_s: i64,
}

/// Moves the clock and carries out the steps that are due by then.
pub(crate) fn advance(state: &mut State, moved: &Moved) -> Result<Value, String> {
    let advanced = state.stripe.billing.advanced.checked_add(moved.advance_s);
    let advanced = advanced.filter(|seconds| seconds.abs() <= 100 * 366 * DAY);
    state.stripe.billing.advanced = advanced.ok_or("the clock moves by a hundred years at most")?;
    play(state);
    Ok(json!({ "advanced_s": state.stripe.billing.advanced, "now": now(state) }))
}

/// A request for an action on a subscription.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Played {
    subscription: Option<String>,
    customer: Option<String>,
    #[serde(rename = "do")]
    act: Act,
    /// Whether its events are dropped.
    #[serde(default)]
    pub(crate) lost: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// The customer cancels: the subscription ends with its period.
    Cancel,
    /// The customer takes the cancellation back.
    Resume,
    /// An operator ends it at once.
    CancelNow,
    /// The next month is billed now, and its payment fails.
    FailInvoice,
    /// An open invoice is paid, or the next month is billed and paid now.
    Renew,
    /// An operator deletes its customer, which ends it at once.
    DeleteCustomer,
}

/// Carries out the action and returns the subscription.
pub(crate) fn put(state: &mut State, played: &Played) -> Result<Value, String> {
    let subscriptions = &state.stripe.billing.subscriptions;
    let named = |it: &Value| match (&played.subscription, &played.customer) {
        (Some(id), _) => it["id"] == id.as_str(),
        (None, Some(customer)) => it["customer"] == customer.as_str(),
        (None, None) => false,
    };
    let index = subscriptions.iter().rposition(named).ok_or("no such subscription")?;
    act(state, index, played.act)
}

fn act(state: &mut State, index: usize, act: Act) -> Result<Value, String> {
    let at = now(state);
    let mut subscription = state.stripe.billing.subscriptions[index].clone();
    let has_ended = subscription["status"] == "canceled";
    if has_ended && !matches!(act, Act::DeleteCustomer) {
        return Err("the subscription has ended".to_owned());
    }
    match (act, open_invoice(state, &subscription)) {
        (Act::DeleteCustomer, _) => {
            state.stripe.billing.deleted_customers.extend(subscription["customer"].as_str().map(str::to_owned));
            if !has_ended {
                end(state, &mut subscription, at);
            }
        }
        (Act::Cancel | Act::Resume, _) => {
            let cancels = matches!(act, Act::Cancel);
            subscription["cancel_at_period_end"] = json!(cancels);
            subscription["cancel_at"] = if cancels { json!(end_of(&subscription)) } else { Value::Null };
            subscription["canceled_at"] = if cancels { json!(at) } else { Value::Null };
            emit_event(state, "customer.subscription.updated", &subscription, at);
        }
        (Act::CancelNow, _) => end(state, &mut subscription, at),
        (Act::FailInvoice | Act::Renew, None) => {
            next_month(state, &mut subscription, matches!(act, Act::Renew), at);
        }
        (Act::FailInvoice, Some(open)) => {
            let mut invoice = state.stripe.billing.invoices[open].clone();
            fail(state, &mut invoice, at);
            state.stripe.billing.invoices[open] = invoice;
        }
        (Act::Renew, Some(open)) => {
            let mut invoice = state.stripe.billing.invoices[open].clone();
            take(state, &mut invoice, at);
            state.stripe.billing.invoices[open] = invoice;
            subscription["status"] = json!("active");
            emit_event(state, "customer.subscription.updated", &subscription, at);
        }
    }
    state.stripe.billing.subscriptions[index] = subscription.clone();
    Ok(subscription)
}

pub(crate) fn list(state: &State, form: &Form) -> Result<Value, StripeError> {
    listing::allow_dated(form, &["status", "customer"])?;
    let status = form.get("status");
    if let Some(status) = status
        && !STATUSES.contains(&status)
    {
        let message = format!("Invalid status: must be one of {}", STATUSES.join(", "));
        return Err(StripeError::param(None, "status", message));
    }
    let items = listing::dated(&state.stripe.billing.subscriptions, form, |subscription| {
        let fits = match status {
            None => subscription["status"] != "canceled",
            Some("all") => true,
            Some(status) => subscription["status"] == status,
        };
        fits && form.get("customer").is_none_or(|id| subscription["customer"] == id)
    })?;
    listing::page(&items, "subscription", form, "/v1/subscriptions")
}

pub(crate) fn invoices(state: &State, form: &Form) -> Result<Value, StripeError> {
    listing::allow_dated(form, &["status", "customer", "subscription"])?;
    let items = listing::dated(&state.stripe.billing.invoices, form, |invoice| {
        let of = &invoice["parent"]["subscription_details"]["subscription"];
        ["status", "customer"].into_iter().all(|name| form.get(name).is_none_or(|it| invoice[name] == it))
            && form.get("subscription").is_none_or(|id| of == id)
    })?;
    listing::page(&items, "invoice", form, "/v1/invoices")
}

pub(crate) fn invoice_payments(state: &State, form: &Form) -> Result<Value, StripeError> {
    listing::allow(form, &["invoice", "status", "payment.type", "payment.payment_intent"])?;
    if form.get("payment[payment_intent]").is_some() && form.get("payment[type]") != Some("payment_intent") {
        return Err(StripeError::required("payment[type]"));
    }
    let mut items = Vec::new();
    for payment in state.stripe.billing.invoice_payments.iter().rev() {
        let of_intent = form.get("payment[payment_intent]").is_none_or(|id| payment["payment"]["payment_intent"] == id);
        if of_intent && form.get("invoice").is_none_or(|id| payment["invoice"] == id) {
            let mut payment = payment.clone();
            if form.expands("data.invoice") {
                let invoice = state.stripe.billing.invoices.iter().find(|invoice| invoice["id"] == payment["invoice"]);
                payment["invoice"] = invoice.cloned().unwrap_or_default();
            }
            items.push(payment);
        }
    }
    listing::page(&items, "invoice_payment", form, "/v1/invoice_payments")
}

/// Refuses a customer who never subscribed, or was deleted.
pub(super) fn known_customer(state: &State, id: &str) -> Result<(), StripeError> {
    let billing = &state.stripe.billing;
    let is_known = billing.subscriptions.iter().any(|it| it["customer"] == id);
    let is_deleted = billing.deleted_customers.iter().any(|deleted| deleted == id);
    if is_known && !is_deleted { Ok(()) } else { Err(StripeError::missing("customer", id, Some("customer"))) }
}

pub(crate) fn portal(state: &mut State, form: &Form, at: Timestamp) -> Result<Value, StripeError> {
    form.allow(&["customer", "return_url", "configuration", "locale", "expand.#"])?;
    let customer = form.required("customer")?.to_owned();
    known_customer(state, &customer)?;
    let return_url = form.get("return_url").unwrap_or("/").to_owned();
    let (id, token) = (state.identifiers.prefixed("bps_1", 23), state.identifiers.token(32));
    let url = format!("{}/stripe/portal/{token}", state.public_url);
    let given =
        json!({ "id": id, "created": at.as_second(), "customer": customer, "return_url": return_url, "url": url });
    state.stripe.billing.portals.push((token, customer, return_url));
    Ok(whole("billing_portal.session", given))
}

/// The subscriptions for a portal's page, and its return address.
pub(crate) fn of_portal(state: &State, token: &str) -> Option<(Vec<Value>, String)> {
    let (_, customer, back) = state.stripe.billing.portals.iter().find(|(known, ..)| known == token)?;
    let subscriptions = state.stripe.billing.subscriptions.iter().filter(|it| it["customer"] == customer.as_str());
    Some((subscriptions.cloned().collect(), back.clone()))
}

/// The action of the page's button: cancels, or takes the cancellation back.
pub(crate) fn act_in_portal(state: &mut State, token: &str, id: &str) -> Option<()> {
    let (subscriptions, _) = of_portal(state, token)?;
    let subscription = subscriptions.iter().find(|it| it["id"] == id)?;
    let wanted = if subscription["cancel_at_period_end"] == true { Act::Resume } else { Act::Cancel };
    let index = state.stripe.billing.subscriptions.iter().position(|it| it["id"] == id)?;
    act(state, index, wanted).ok().map(drop)
}
