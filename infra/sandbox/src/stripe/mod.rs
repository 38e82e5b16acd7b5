//! Simulates Stripe's v1 API: Checkout sessions, payment intents, subscriptions, refunds, disputes, promotion codes,
//! webhook endpoints, payment methods and payment links.

mod account;
mod charges;
pub(crate) mod disputes;
pub(crate) mod error;
pub(crate) mod events;
mod form;
mod idempotency;
mod listing;
pub(crate) mod objects;
mod promotions;
pub(crate) mod refund_status;
pub(crate) mod refunds;
mod session_form;
pub(crate) mod sessions;
pub(crate) mod store;
pub(crate) mod subscriptions;
mod version;

use hyper::Method;
use jiff::Timestamp;
use serde_json::Value;

use crate::credentials::STRIPE_KEY;
use crate::http::{Reply, Request};
use crate::state::State;
use error::StripeError;
use form::Form;
use version::{API_VERSION, VERSIONS};

/// Handles one API call.
pub(crate) fn handle(state: &mut State, request: &Request) -> Reply {
    let now = state.now();
    let outcome = admit(request).and_then(|()| Form::of(request)).and_then(|form| {
        if request.method != Method::POST {
            return route(state, request, &form, now).map(|value| Reply::json(200, value));
        }
        let key = request.header("idempotency-key");
        if let Some(replay) = state.stripe.replies.find(key, request, now)? {
            return Ok(replay);
        }
        let reply = match route(state, request, &form, now) {
            Ok(value) => Reply::json(200, value),
            // A refusal is stored for its key too, and is replayed.
            Err(error) => error.into_reply(&state.identifiers.prefixed("req_", 14)),
        };
        state.stripe.replies.keep(key, request, &reply, now);
        Ok(reply)
    });
    let request_id = state.identifiers.prefixed("req_", 14);
    outcome
        .unwrap_or_else(|error| error.into_reply(&request_id))
        .with_header("Request-Id", request_id)
        .with_header("Stripe-Version", API_VERSION)
}

/// Stores an injected reply for the call's idempotency key, as Stripe does with its own failures.
pub(crate) fn keep_reply(state: &mut State, request: &Request, reply: &Reply) {
    let now = state.now();
    let key = request.header("idempotency-key");
    state.stripe.replies.keep(key, request, reply, now);
}

fn admit(request: &Request) -> Result<(), StripeError> {
    let Some(key) = request.bearer() else {
        let message = "You did not provide an API key. You need to provide your API key in the Authorization header, \
                       using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').";
        return Err(StripeError::unauthorized(message.to_owned()));
    };
    if key != STRIPE_KEY {
        let end: String = key.chars().skip(key.chars().count().saturating_sub(4)).collect();
        return Err(StripeError::unauthorized(format!("Invalid API Key provided: ********{end}")));
    }
    let version = request.header("stripe-version");
    if !version.is_empty() && !VERSIONS.contains(&version) {
        return Err(StripeError::invalid(format!("Invalid Stripe API version: {version}")));
    }
    Ok(())
}

fn route(state: &mut State, request: &Request, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().skip(2).map(String::as_str).collect();
    match (request.method.as_str(), segments.as_slice()) {
        ("POST", ["checkout", "sessions"]) => sessions::create(state, form, now),
        ("GET", ["checkout", "sessions"]) => sessions::list(state, form, now),
        ("GET", ["checkout", "sessions", id]) => sessions::retrieve(state, id, form, now),
        ("GET", ["checkout", "sessions", id, "line_items"]) => sessions::line_items(state, id, form),
        ("POST", ["checkout", "sessions", id, "expire"]) => sessions::expire(state, id, form, now),
        ("GET", ["webhook_endpoints"]) => account::endpoints(state, form, now),
        ("GET", ["payment_method_configurations"]) => account::payment_methods(form),
        ("GET", ["payment_links"]) => account::links(state, form),
        ("GET", ["payment_links", id, "line_items"]) => account::link_items(state, id, form, now),
        ("GET", ["billing_portal", "configurations"]) => account::portals(state, form),
        ("GET", ["promotion_codes"]) => promotions::list(state, form),
        ("GET", ["promotion_codes", id]) => promotions::retrieve(state, id, form),
        ("GET", ["payment_intents", id]) => {
            form.allow(&["expand.#"])?;
            let found = state.stripe.payment_intents.get(*id).cloned();
            found.ok_or_else(|| StripeError::missing("payment_intent", id, None))
        }
        ("GET", ["charges", "search"]) => charges::search(state, form),
        ("GET", ["disputes"]) => listing::of_payment(&state.stripe.disputes, "dispute", form, "/v1/disputes"),
        ("GET", ["disputes", id]) => listing::retrieve(&state.stripe.disputes, "dispute", id, form),
        ("GET", ["subscriptions"]) => subscriptions::list(state, form),
        ("GET", ["subscriptions", id]) => {
            listing::retrieve(&state.stripe.billing.subscriptions, "subscription", id, form)
        }
        ("GET", ["invoices"]) => subscriptions::invoices(state, form),
        ("GET", ["invoice_payments"]) => subscriptions::invoice_payments(state, form),
        ("POST", ["billing_portal", "sessions"]) => subscriptions::portal(state, form, now),
        ("POST", ["refunds"]) => refunds::create(state, form, now),
        ("GET", ["refunds"]) => listing::of_payment(&state.stripe.refunds, "refund", form, "/v1/refunds"),
        ("GET", ["refunds", id]) => listing::retrieve(&state.stripe.refunds, "refund", id, form),
        _ => Err(StripeError {
            status: 404,
            ..StripeError::invalid(format!(
                "Unrecognized request URL ({}: {}). Please see https://stripe.com/docs or we can help at https://support.stripe.com/.",
                request.method, request.path
            ))
        }),
    }
}
