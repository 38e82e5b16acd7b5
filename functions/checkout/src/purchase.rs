//! One purchase: checks everything before it calls Stripe.

use crate::{gate, record::Records};
use authority::evaluate;
use domain::{
    Metric, Query, Tier, UnknownIdLimiter,
    ports::{Clock, Meter, NewCheckoutSession, PaymentError, Payments, Randomness, UnknownIdCounter},
    unknown_ids::{Answer, Limits, NotAnswered},
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};
use serde_json::{Map, Value, json};

/// The largest body that is read: 20,000 characters fit in, each in its longest escaped form.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub payments: &'a dyn Payments,
    pub randomness: &'a dyn Randomness,
    pub meter: &'a dyn Meter,
    pub clock: &'a dyn Clock,
    pub codes: &'a UnknownIdLimiter,
    pub unknown_ids: &'a dyn UnknownIdCounter,
    pub records: Records<'a>,
}

/// Limits the questions about referral codes, which a client may be guessing.
#[must_use]
pub fn codes(limits: Limits) -> UnknownIdLimiter {
    UnknownIdLimiter::new("code", limits)
}

/// A parsed request.
#[derive(Debug)]
struct Purchase {
    tier: Tier,
    query: Query,
    referral_code: Option<String>,
    locale: Option<String>,
}

/// The path of a purchase, as its record names it.
const CHECKOUT: &str = "/api/checkout";

/// The path of an evaluation without a purchase.
const EVALUATE: &str = "/api/authority/evaluate";

/// Handles one request.
pub async fn handle(ports: Ports<'_>, request: Request) -> Reply {
    if request.body().len() > MAX_BODY_BYTES {
        return Reply::error(413, "too_large", "The request is larger than 256 KiB.");
    }
    if request.path() == EVALUATE {
        return gate::evaluate_request(ports.records, EVALUATE, request.body()).await;
    }
    let reply = purchase(ports, request.body(), request.network().as_deref()).await;
    if reply.status() == UNAVAILABLE {
        ports.meter.record(&[Metric::CheckoutUnavailable.once()], ports.clock.now());
    }
    reply
}

/// Creates the session for a request body, or replies what is wrong with it.
async fn purchase(ports: Ports<'_>, body: &[u8], network: Option<&str>) -> Reply {
    let Purchase { tier, query, referral_code, locale } = match parse(body) {
        Ok(purchase) => purchase,
        Err((code, sentence)) => return Reply::error(400, code, &sentence),
    };
    // Evaluated before anything is bought: a question that must not be answered is not sold.
    let evaluation = evaluate(query.as_str(), locale.as_deref());
    gate::log(&evaluation);
    ports.records.keep(CHECKOUT, &query, &evaluation).await;
    if let Some(refusal) = gate::refusal(&evaluation) {
        return refusal;
    }
    let promotion_code = match referral_code {
        None => None,
        Some(code) => match promotion_code(ports, &code, network).await {
            Ok(id) => Some(id),
            Err(reply) => return reply,
        },
    };
    let is_discounted = promotion_code.is_some();
    let new = NewCheckoutSession { tier, query, promotion_code, idempotency_key: ports.randomness.token() };
    match ports.payments.create_session(&new).await {
        // Stripe would complete this session without a payment, and nothing would be owed or delivered. Its address is
        // not given out, so it expires unused.
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
        // Everything else in the request is ours and the same for every customer, so Stripe refuses the code: the order
        // is too small for it, or it is for first-time customers only.
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

/// Reads a field that may be absent, null, or a string.
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

/// The Stripe id of a referral code (Product Tiers GAP-1: a Stripe promotion code), or the reply. Stripe is not asked
/// about a text that cannot be a code, or about one that was unknown a moment ago.
async fn promotion_code(ports: Ports<'_>, code: &str, network: Option<&str>) -> Result<String, Reply> {
    let possible = code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let now = ports.clock.now();
    let answer = if possible {
        let question = ports.payments.promotion_code(code);
        ports.codes.ask(ports.unknown_ids, (code, network, now), question, |_| false).await
    } else {
        Ok(Answer::Unknown)
    };
    match answer {
        Ok(Answer::Known(id)) => Ok(id),
        Ok(Answer::Unknown) => {
            ports.meter.record(&[Metric::ReferralCodeUnknown.once()], now);
            Err(unknown_code())
        }
        Ok(Answer::TooMany) => Err(too_many_codes()),
        Err(NotAnswered::Vendor(error)) => Err(unavailable(&error)),
        // A customer can buy without the code.
        Err(NotAnswered::Storage(error)) => {
            tracing::error!(error = %telemetry::chain(&error), "a question about a code was not counted");
            Err(too_many_codes())
        }
    }
}

fn unknown_code() -> Reply {
    Reply::error(400, "referral_code_unknown", "This referral code is not known or no longer active.")
}

fn too_many_codes() -> Reply {
    let sentence = "Referral codes cannot be checked right now. Please try again in a minute, or leave the code out.";
    Reply::error(429, "referral_code_busy", sentence).header("retry-after", "60")
}

/// The HTTP status when no payment page could be created.
const UNAVAILABLE: u16 = 502;

/// Logs Stripe's error for operators; the customer's reply says that nothing was charged.
fn unavailable(error: &PaymentError) -> Reply {
    tracing::error!(error = %telemetry::chain(error), "no session could be created");
    Reply::error(
        UNAVAILABLE,
        "payment_unavailable",
        "The payment page could not be opened. Nothing was charged. Please try again in a moment.",
    )
}

#[cfg(test)]
mod tests;
