//! One purchase: everything is checked before Stripe hears of it.

use crate::{gate, record::Records};
use authority::evaluate;
use domain::{
    Metric, Query, Recall, Recent, Tier,
    ports::{Clock, Meter, NewCheckoutSession, PaymentError, Payments, Randomness},
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The largest body that is read: 20,000 characters, each escaped at its longest, fit in.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// What the function needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub payments: &'a dyn Payments,
    pub randomness: &'a dyn Randomness,
    pub meter: &'a dyn Meter,
    pub clock: &'a dyn Clock,
    pub unknown_codes: &'a Recent,
    pub records: Records<'a>,
}

/// Remembers referral codes that Stripe does not know, for a minute. Ten of them mean that somebody is guessing:
/// checkout then asks Stripe about no code until the oldest one expires.
#[must_use]
pub fn unknown_codes() -> Recent {
    Recent::new(Duration::from_secs(60), 10)
}

/// A request that was understood.
#[derive(Debug)]
struct Purchase {
    tier: Tier,
    query: Query,
    referral_code: Option<String>,
    locale: Option<String>,
}

/// The path of a purchase.
const CHECKOUT: &str = "/api/checkout";

/// The path of the other call.
const EVALUATE: &str = "/api/authority/evaluate";

/// Handles one request.
pub async fn handle(ports: Ports<'_>, request: Request) -> Reply {
    if request.body().len() > MAX_BODY_BYTES {
        return Reply::error(413, "too_large", "The request is larger than 256 KiB.");
    }
    if request.path() == EVALUATE {
        return gate::evaluate_request(ports.records, EVALUATE, request.body()).await;
    }
    let reply = purchase(ports, request.body()).await;
    if reply.status() == UNAVAILABLE {
        ports.meter.record(&[Metric::CheckoutUnavailable.once()], ports.clock.now());
    }
    reply
}

/// Creates the session for a request body, or says what is wrong with it.
async fn purchase(ports: Ports<'_>, body: &[u8]) -> Reply {
    let Purchase { tier, query, referral_code, locale } = match parse(body) {
        Ok(purchase) => purchase,
        Err((code, sentence)) => return Reply::error(400, code, &sentence),
    };
    // Before anything is bought: what must not be answered is not sold.
    let evaluation = evaluate(query.as_str(), locale.as_deref());
    gate::log(&evaluation);
    ports.records.keep(CHECKOUT, &query, &evaluation).await;
    if let Some(refusal) = gate::refusal(&evaluation) {
        return refusal;
    }
    let promotion_code = match referral_code {
        None => None,
        Some(code) => match promotion_code(ports, &code).await {
            Ok(id) => Some(id),
            Err(reply) => return reply,
        },
    };
    let is_discounted = promotion_code.is_some();
    let new = NewCheckoutSession { tier, query, promotion_code, idempotency_key: ports.randomness.token() };
    match ports.payments.create_session(&new).await {
        // Stripe would complete it without a payment, and nothing would be owed or delivered. Nobody has its address, so
        // it expires unused.
        Ok(created) if created.amount_total == Some(0) => {
            tracing::warn!(session = created.id.prefix(), "a discount that leaves nothing to pay is refused");
            Reply::error(
                400,
                "referral_code_unusable",
                "This referral code leaves nothing to pay, so it cannot be used here.",
            )
        }
        Ok(created) => {
            tracing::info!(session = created.id.prefix(), tier = tier.key(), "session created");
            let mut reply = json!({ "url": created.url, "session_id": created.id });
            if let Some(notice) = evaluation.notice() {
                reply["notice"] = notice.into();
            }
            Reply::json(200, &reply)
        }
        // Everything else in the request is ours and the same for everybody, so it is the code that Stripe refuses:
        // its order is too small, or it is for first-time customers only.
        Err(PaymentError::Refused(reason)) if is_discounted => {
            tracing::warn!(reason, "Stripe refused a discounted session");
            Reply::error(400, "referral_code_unusable", "This referral code cannot be used for this purchase.")
        }
        Err(error) => unavailable(&error),
    }
}

fn parse(body: &[u8]) -> Result<Purchase, (&'static str, String)> {
    let malformed = |sentence: &str| ("malformed_json", sentence.to_owned());
    let value: Value =
        serde_json::from_slice(body).map_err(|_| malformed("The request body must be a JSON document in UTF-8."))?;
    let Value::Object(fields) = value else { return Err(malformed("The request body must be a JSON object.")) };
    let tier = Tier::parse(text(&fields, "tier", "tier_invalid")?.unwrap_or_default())
        .map_err(|error| ("tier_invalid", error.to_string()))?;
    let query = Query::parse(text(&fields, "query", "query_invalid")?.unwrap_or_default())
        .map_err(|error| ("query_invalid", error.to_string()))?;
    let code = text(&fields, "referral_code", "referral_code_invalid")?.map(str::trim).filter(|code| !code.is_empty());
    let locale = text(&fields, "locale", "locale_invalid")?.map(str::to_owned);
    Ok(Purchase { tier, query, referral_code: code.map(str::to_owned), locale })
}

/// A field that is absent, null, or a string.
fn text<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    code: &'static str,
) -> Result<Option<&'a str>, (&'static str, String)> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err((code, format!("{name} must be a string"))),
    }
}

/// The provider's id of a referral code (Product Tiers GAP-1: a Stripe promotion code), or the reply. A text that cannot
/// be a code is not asked about, nor one that was unknown a moment ago.
async fn promotion_code(ports: Ports<'_>, code: &str) -> Result<String, Reply> {
    let possible = code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let now = ports.clock.now();
    let recall = if possible { ports.unknown_codes.recall(code, now) } else { Recall::Known(()) };
    match recall {
        Recall::Nothing => match ports.payments.promotion_code(code).await {
            Ok(Some(id)) => return Ok(id),
            Ok(None) => ports.unknown_codes.keep(code, (), now),
            Err(error) => return Err(unavailable(&error)),
        },
        Recall::Known(()) => {}
        Recall::Full => return Err(too_many_codes()),
    }
    ports.meter.record(&[Metric::ReferralCodeUnknown.once()], now);
    Err(unknown_code())
}

fn unknown_code() -> Reply {
    Reply::error(400, "referral_code_unknown", "This referral code is not known or no longer active.")
}

fn too_many_codes() -> Reply {
    let sentence = "Referral codes cannot be checked right now. Please try again in a minute, or leave the code out.";
    Reply::error(429, "referral_code_busy", sentence).header("retry-after", "60")
}

/// The status of a reply to a customer whom no page to pay at could be given.
const UNAVAILABLE: u16 = 502;

/// What Stripe said is for operators; the customer learns that nothing was charged.
fn unavailable(error: &PaymentError) -> Reply {
    tracing::error!(error = %telemetry::chain(error), "no session created");
    Reply::error(
        UNAVAILABLE,
        "payment_unavailable",
        "The payment page could not be opened. Nothing was charged. Please try again in a moment.",
    )
}

#[cfg(test)]
mod tests;
