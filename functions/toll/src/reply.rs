//! The HTTP replies of the function: the request for a payment, the answer with its receipt, and all others.

use crate::{payment_means::PAYMENT_IDENTIFIER, settings::Terms};
use authority::{Evaluation, Refusal};
use chain::{
    Network,
    wire::{
        PAYMENT_REQUIRED, PAYMENT_RESPONSE, PaymentRequired, PaymentRequiredV1, RequirementsV1, Resource,
        SettlementResponse, X_PAYMENT_RESPONSE, encode,
    },
};
use domain::toll::{Answered, Offer, Paid, PaymentIdentifier, Purchase};
use runtime::http::Reply;
use serde_json::{Map, Value, json};

/// The HTTP status for a question whose answer is not sold.
pub(crate) const DECLINED: u16 = 422;

/// The offered resource in x402's form.
pub(crate) fn resource(terms: &Terms, offer: Offer) -> Resource {
    Resource {
        url: format!("{}{}", terms.site, offer.path()),
        description: Some(offer.description().to_owned()),
        mime_type: Some("application/json".to_owned()),
    }
}

/// The same reply, unless the authority gate declines the question. Then it names no price. What the payer must know of
/// money that may be ours stays, and has the refusal beside it: the same request must come again until the money is
/// found, and the sources of help do not wait for that. Such a reply has no header but `retry-after`.
pub(crate) fn declined(reply: Reply, evaluation: &Evaluation) -> Reply {
    let Some(refusal) = Refusal::of(evaluation) else { return reply };
    if reply.header_value(PAYMENT_REQUIRED).is_some() {
        return Reply::json(DECLINED, &json!(refusal));
    }
    // An answer that was bought earlier, or the refusal itself.
    if matches!(reply.status(), 200 | DECLINED) {
        return reply;
    }
    let mut body: Value = serde_json::from_str(reply.body()).unwrap_or_default();
    body["refusal"] = json!(refusal);
    let with_refusal = Reply::json(reply.status(), &body);
    match reply.header_value("retry-after") {
        Some(wait) => with_refusal.header("retry-after", wait),
        None => with_refusal,
    }
}

/// 402: the header has the form of x402's version 2, the body that of version 1. If nothing is sold, the reply says so.
pub(crate) fn payment_required(terms: &Terms, offer: Offer, why: &str) -> Reply {
    if terms.pay_to.is_none() {
        return closed();
    }
    let (resource, requirements) = (resource(terms, offer), terms.price(offer).requirements());
    let accepts = RequirementsV1::of(&requirements, &resource).into_iter().collect();
    let body = PaymentRequiredV1 { x402_version: 1, error: why.to_owned(), accepts };
    let header = PaymentRequired {
        x402_version: 2,
        error: Some(why.to_owned()),
        resource,
        accepts: vec![requirements],
        extensions: extensions(offer),
    };
    match (serde_json::to_value(body), encode(&header)) {
        (Ok(body), Ok(header)) => Reply::json(402, &body).header(PAYMENT_REQUIRED, header),
        _ => unavailable("toll_unavailable", NOT_NOW),
    }
}

/// The extensions: the form of the call for catalogues of paid services (x402's `bazaar`), and that a payer may name
/// its purchase.
fn extensions(offer: Offer) -> Map<String, Value> {
    let entry = json!({
        "bazaar": {
            "info": {
                "input": {
                    "type": "http",
                    "method": "POST",
                    "bodyType": "json",
                    "body": { "query": "Should we open a second shop next spring?" },
                },
                "output": { "type": "json", "example": { "verdict": { "verdict": "AMBER", "summary": "…" } } },
            },
            // Catalogues validate `info` with this schema, and list nothing that does not match.
            "schema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {
                    "input": {
                        "type": "object",
                        "properties": {
                            "type": { "type": "string", "const": "http" },
                            "method": { "type": "string", "enum": ["POST"] },
                            "bodyType": { "type": "string", "enum": ["json"] },
                            "body": {
                                "type": "object",
                                "properties": {
                                    "query": { "type": "string", "minLength": 1, "maxLength": offer.longest() },
                                },
                                "required": ["query"],
                            },
                        },
                        "required": ["type", "method", "bodyType", "body"],
                        "additionalProperties": false,
                    },
                    "output": {
                        "type": "object",
                        "properties": { "type": { "type": "string" }, "example": { "type": "object" } },
                        "required": ["type"],
                    },
                },
                "required": ["input"],
            },
        },
        PAYMENT_IDENTIFIER: {
            "info": { "required": false },
            "schema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {
                    "required": { "type": "boolean" },
                    "id": {
                        "type": "string",
                        "minLength": PaymentIdentifier::SHORTEST,
                        "maxLength": PaymentIdentifier::LONGEST,
                        "pattern": "^[a-zA-Z0-9_-]+$",
                    },
                },
                "required": ["required"],
            },
        },
    });
    match entry {
        Value::Object(entry) => entry,
        _ => Map::new(),
    }
}

/// The stored answer with its receipt.
pub(crate) fn answer(purchase: &Purchase, answer: &Answered, version: u8) -> Reply {
    let (network, payer) = match purchase.paid() {
        Paid::Signed(signed) => (signed.network.as_str(), signed.payer.as_str()),
        Paid::Transferred { network, payer, .. } => (network.as_str(), payer.as_str()),
    };
    // The payment may have been made in the other version's words.
    let in_words = |known: Network| if version == 1 { known.name() } else { known.caip2() };
    let network = Network::parse(network).map_or(network, in_words).to_owned();
    let receipt = SettlementResponse {
        success: true,
        error_reason: None,
        transaction: purchase.transaction().unwrap_or_default().to_owned(),
        network,
        payer: payer.parse().ok(),
    };
    let reply = Reply::json_text(200, answer.body.clone());
    match encode(&receipt) {
        Ok(receipt) => reply.header(if version == 1 { X_PAYMENT_RESPONSE } else { PAYMENT_RESPONSE }, receipt),
        Err(_) => reply,
    }
}

const NOT_NOW: &str = "This cannot be sold at the moment. Please send the same request again in a few minutes, with the same payment if it has one.";

/// No answer was made and nothing was settled. The client may ask again with the same payment.
pub(crate) fn no_answer() -> Reply {
    unavailable(
        "no_answer",
        "The analysis failed. Please send the same request with the same payment again: it is charged once at most.",
    )
}

/// Too many attempts at the answer failed, and this payment gets no further one.
pub(crate) fn exhausted() -> Reply {
    let sentence = "The analysis of this question failed several times, and this payment buys no further attempt. We do not charge it, and give the money back if somebody else has submitted it. Please ask another question with a new payment.";
    Reply::error(409, "unanswered", sentence)
}

/// The facilitator or the node could not be reached.
pub(crate) fn unreachable() -> Reply {
    unavailable(
        "payment_unavailable",
        "The payment could not be checked. Please send the same request with the same payment again.",
    )
}

/// The answer is stored, and the outcome of its settlement is not known yet.
pub(crate) fn settlement_pending() -> Reply {
    unavailable(
        "settlement_pending",
        "The answer is ready and its payment is being settled. The same request with the same payment gets it.",
    )
}

/// Too many payments that bought nothing were asked about within this minute.
pub(crate) fn busy() -> Reply {
    let sentence =
        "Too many payments are being checked. Please send the same request with the same payment again in a minute.";
    Reply::error(429, "busy", sentence).header("retry-after", "60")
}

/// Another request with this payment is in progress.
pub(crate) fn in_progress() -> Reply {
    let sentence = "The answer to this payment is being made. The same request gets it.";
    Reply::error(409, "in_progress", sentence).header("retry-after", "5")
}

/// Our own store failed.
pub(crate) fn not_now() -> Reply {
    unavailable("toll_unavailable", NOT_NOW)
}

/// The money has arrived, but no answer can be delivered for it.
pub(crate) fn owed() -> Reply {
    let sentence = "This payment has arrived and bought no answer. We give it back; write to oracle@42sisters.ai.";
    Reply::error(409, "owed", sentence)
}

/// It is not known whether the payment has arrived, and a human looks for it. A 402 would ask for a second one.
pub(crate) fn untraced() -> Reply {
    let sentence =
        "It is not known yet whether this payment has arrived. Please do not pay again; write to oracle@42sisters.ai.";
    Reply::error(409, "untraced", sentence)
}

/// The payment was used for another request.
pub(crate) fn other_payload() -> Reply {
    Reply::error(409, "payment_used", "This payment was used for another request. Please sign a new one.")
}

/// The payment identifier was used for another request.
pub(crate) fn other_request() -> Reply {
    let sentence =
        "This payment identifier was used for another request. Nothing was charged. Please choose a new one.";
    Reply::error(409, "identifier_used", sentence)
}

/// The transaction is not confirmed yet.
pub(crate) fn unconfirmed(why: &str) -> Reply {
    Reply::error(402, "payment_unconfirmed", why).header("retry-after", "5")
}

/// Nothing is sold, because no address for payments is configured.
pub(crate) fn closed() -> Reply {
    Reply::error(404, "not_found", "Nothing is sold for USDC here.")
}

fn unavailable(code: &str, sentence: &str) -> Reply {
    Reply::error(503, code, sentence).header("retry-after", "5")
}
