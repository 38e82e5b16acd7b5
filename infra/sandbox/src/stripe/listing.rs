//! Lists, newest first, with Stripe's cursors.

use serde_json::{Value, json};

use super::{error::StripeError, form::Form};

const PARAMETERS: [&str; 4] = ["limit", "starting_after", "ending_before", "expand.#"];
/// The limits for `created`, in seconds since 1970.
const CREATED: [&str; 5] = ["created", "created.gt", "created.gte", "created.lt", "created.lte"];

/// Refuses every parameter but a list's `own` and those of every list.
pub(crate) fn allow(form: &Form, own: &[&str]) -> Result<(), StripeError> {
    form.allow(&[own, &PARAMETERS].concat())
}

/// As [`allow`], for a list that can be limited by the time of creation.
pub(crate) fn allow_dated(form: &Form, own: &[&str]) -> Result<(), StripeError> {
    form.allow(&[own, &PARAMETERS, &CREATED].concat())
}

pub(crate) fn retrieve(items: &[Value], object: &str, id: &str, form: &Form) -> Result<Value, StripeError> {
    form.allow(&["expand.#"])?;
    let found = items.iter().find(|item| item["id"] == id);
    found.cloned().ok_or_else(|| StripeError::missing(object, id, None))
}

/// One page of `items`, which are ordered oldest first: those of the payment or the charge that the form names.
pub(crate) fn of_payment(items: &[Value], object: &str, form: &Form, url: &str) -> Result<Value, StripeError> {
    let names = ["payment_intent", "charge"];
    allow_dated(form, &names)?;
    let is_named = |item: &Value| names.into_iter().all(|name| form.get(name).is_none_or(|id| item[name] == id));
    page(&dated(items, form, is_named)?, object, form, url)
}

/// The wanted `items` that were created within the form's limits, newest first. `items` are ordered oldest first.
pub(crate) fn dated(
    items: &[Value],
    form: &Form,
    is_wanted: impl Fn(&Value) -> bool,
) -> Result<Vec<Value>, StripeError> {
    let mut found = Vec::new();
    for item in items.iter().rev() {
        if is_wanted(item) && created_within(item, form)? {
            found.push(item.clone());
        }
    }
    Ok(found)
}

/// One page of `items`, which are ordered newest first.
pub(crate) fn page(items: &[Value], object: &str, form: &Form, url: &str) -> Result<Value, StripeError> {
    let limit = form.integer("limit")?.unwrap_or(10);
    if !(1..=100).contains(&limit) {
        let (code, message) = if limit < 1 {
            ("parameter_invalid_integer", "This value must be greater than or equal to 1.")
        } else {
            ("parameter_invalid_integer", "This value must be less than or equal to 100 (limit).")
        };
        return Err(StripeError::param(code, "limit", message));
    }
    let limit = usize::try_from(limit).unwrap_or(100);
    let position = |name: &str| -> Result<Option<usize>, StripeError> {
        let Some(id) = form.get(name) else {
            return Ok(None);
        };
        let found = items.iter().position(|item| item["id"] == id);
        found.map(Some).ok_or_else(|| StripeError::missing(object, id, Some(name)))
    };
    let (start, end, has_more) = match (position("starting_after")?, position("ending_before")?) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: starting_after, ending_before.";
            return Err(StripeError::invalid(message));
        }
        (_, Some(before)) => {
            let start = before.saturating_sub(limit);
            (start, before, start > 0)
        }
        (after, None) => {
            let start = after.map_or(0, |after| after + 1);
            let end = items.len().min(start + limit);
            (start, end, end < items.len())
        }
    };
    Ok(json!({
        "object": "list",
        "url": url,
        "has_more": has_more,
        "data": items[start..end],
    }))
}

/// Whether an object was created within the given limits.
pub(crate) fn created_within(item: &Value, form: &Form) -> Result<bool, StripeError> {
    let created = item["created"].as_i64().unwrap_or(0);
    let holds = |name: &str, test: fn(i64, i64) -> bool| -> Result<bool, StripeError> {
        Ok(form.integer(name)?.is_none_or(|bound| test(created, bound)))
    };
    Ok(holds("created", |a, b| a == b)?
        && holds("created[gt]", |a, b| a > b)?
        && holds("created[gte]", |a, b| a >= b)?
        && holds("created[lt]", |a, b| a < b)?
        && holds("created[lte]", |a, b| a <= b)?)
}
