//! Simulates an x402 facilitator and a node of Base Sepolia, over one simulated chain.

pub(crate) mod ledger;
mod node;
mod signature;
pub(crate) mod wallet;

use hyper::Method;
use serde_json::{Value, json};

use crate::http::{Reply, Request};
use crate::state::State;
use ledger::{NETWORK, NETWORK_V1, USDC};
use signature::Authorization;

pub(crate) use node::handle as node;

pub(crate) fn facilitator(state: &mut State, request: &Request) -> Reply {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (&request.method, segments.as_slice()) {
        (&Method::GET, [_, "supported"]) => Reply::json(
            200,
            json!({"kinds": [
                {"x402Version": 2, "scheme": "exact", "network": NETWORK},
                {"x402Version": 1, "scheme": "exact", "network": NETWORK_V1},
            ]}),
        ),
        (&Method::POST, [_, "verify"]) => verify(state, request),
        (&Method::POST, [_, "settle"]) => settle(state, request),
        _ => Reply::json(404, json!({"error": "not found"})),
    }
}

fn verify(state: &State, request: &Request) -> Reply {
    match examined(state, &request.body_value()) {
        Ok(payment) => Reply::json(200, json!({"isValid": true, "payer": payment.from})),
        Err(reason) => Reply::json(200, json!({"isValid": false, "invalidReason": reason, "payer": ""})),
    }
}

fn settle(state: &mut State, request: &Request) -> Reply {
    let body = request.body_value();
    let network = body["paymentRequirements"]["network"].clone();
    let refused = |reason: &str| {
        let reply =
            json!({"success": false, "errorReason": reason, "transaction": "", "network": network, "payer": ""});
        Reply::json(200, reply)
    };
    let payment = match examined(state, &body) {
        Ok(payment) => payment,
        Err(reason) => return refused(reason),
    };
    let fault = state.chain.next_fault();
    if fault.as_deref() == Some("pending") {
        return refused("settlement_pending");
    }
    let now = state.now();
    let settled = |transaction: &str| {
        let reply = json!({
            "success": true, "transaction": transaction, "network": network, "payer": payment.from,
        });
        Reply::json(200, reply)
    };
    if fault.as_deref() == Some("lie") {
        return settled(&format!("0x{}", "1e".repeat(32)));
    }
    let nonce = Some(payment.nonce.clone());
    let transaction = state.chain.transfer(now, &payment.from, &payment.to, payment.value, nonce);
    if fault.as_deref() == Some("refuse_after") {
        return refused("invalid_transaction_state");
    }
    settled(&transaction)
}

/// Checks a payment as the contract, or a facilitator before it, would.
fn examined(state: &State, body: &Value) -> Result<Authorization, &'static str> {
    let version = body["x402Version"].as_u64();
    let (payload, asked) = (&body["paymentPayload"], &body["paymentRequirements"]);
    let (network, amount) = match version {
        Some(1) => (NETWORK_V1, "maxAmountRequired"),
        Some(2) => (NETWORK, "amount"),
        _ => return Err("invalid_x402_version"),
    };
    if payload["x402Version"].as_u64() != version {
        return Err("invalid_x402_version");
    }
    let chosen = if version == Some(2) { &payload["accepted"] } else { payload };
    if asked["scheme"] != "exact" || chosen["scheme"] != "exact" {
        return Err("unsupported_scheme");
    }
    if asked["network"] != network || chosen["network"] != network {
        return Err("invalid_network");
    }
    let is_asset = asked["asset"].as_str().is_some_and(|asset| asset.eq_ignore_ascii_case(USDC));
    let is_token = asked["extra"]["name"] == "USDC" && asked["extra"]["version"] == "2";
    if !is_asset || !is_token {
        return Err("invalid_payment_requirements");
    }
    let payment = Authorization::read(&payload["payload"]).ok_or("invalid_payload")?;
    let pay_to = asked["payTo"].as_str().unwrap_or_default();
    if !payment.to.eq_ignore_ascii_case(pay_to) {
        return Err("invalid_exact_evm_payload_recipient_mismatch");
    }
    if asked[amount].as_str().and_then(|text| text.parse::<u64>().ok()) != Some(payment.value) {
        return Err("invalid_exact_evm_payload_authorization_value");
    }
    let now = state.now().as_second().unsigned_abs();
    if payment.valid_after >= now {
        return Err("invalid_exact_evm_payload_authorization_valid_after");
    }
    if payment.valid_before <= now {
        return Err("invalid_exact_evm_payload_authorization_valid_before");
    }
    if !payment.is_signed() {
        return Err("invalid_exact_evm_payload_signature");
    }
    if state.chain.is_used(&payment.from, &payment.nonce) {
        return Err("invalid_exact_evm_nonce_already_used");
    }
    if state.chain.balance(&payment.from) < payment.value {
        return Err("insufficient_funds");
    }
    Ok(payment)
}
