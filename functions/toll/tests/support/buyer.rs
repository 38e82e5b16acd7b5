//! A buyer with a wallet: requests, and payments that it signs.

use super::NOW;
use alloy_primitives::{Address, B256, U256, address, hex};
use chain::{
    Authorization, Network,
    wire::{self, PaymentRequired, PaymentRequiredV1},
};
use k256::ecdsa::SigningKey;
use runtime::http::{Reply, Request};
use serde_json::{Value, json};

pub const KEY: [u8; 32] = hex!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
pub const PAYER: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
/// The second account of every development chain.
pub const OTHER_PAYER: (Address, [u8; 32]) = (
    address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    hex!("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"),
);

pub fn unpaid(path: &'static str, question: &str) -> Request {
    Request::post(path, json!({ "query": question }).to_string())
}

/// The payment requirements of a 402, in version 2.
pub fn required(reply: &Reply) -> PaymentRequired {
    wire::decode(reply.header_value(wire::PAYMENT_REQUIRED).unwrap()).unwrap()
}

pub fn required_v1(reply: &Reply) -> PaymentRequiredV1 {
    serde_json::from_str(reply.body()).unwrap()
}

/// A payment that meets the requirements, signed at the world's time.
pub fn pay(required: &PaymentRequired, nonce: u8) -> Value {
    pay_as((PAYER, KEY), required, nonce, NOW)
}

/// A payment by this payer, signed at this time.
pub fn pay_as((payer, key): (Address, [u8; 32]), required: &PaymentRequired, nonce: u8, now: i64) -> Value {
    let accepted = &required.accepts[0];
    let authorization = Authorization {
        from: payer,
        to: accepted.pay_to,
        value: accepted.amount.parse().unwrap(),
        valid_after: U256::from(now - 600),
        valid_before: U256::from(now + 300),
        nonce: B256::repeat_byte(nonce),
    };
    json!({
        "x402Version": 2,
        "resource": required.resource,
        "accepted": accepted,
        "payload": signed_on(Network::parse(&accepted.network).unwrap(), &authorization, key),
    })
}

/// The same payment with a name for the purchase.
pub fn called(mut payment: Value, name: &Value) -> Value {
    payment["extensions"] = json!({ "payment-identifier": { "info": { "required": false, "id": name } } });
    payment
}

pub fn signed(authorization: &Authorization, key: [u8; 32]) -> Value {
    signed_on(Network::BaseSepolia, authorization, key)
}

fn signed_on(network: Network, authorization: &Authorization, key: [u8; 32]) -> Value {
    let key = SigningKey::from_bytes(&key.into()).unwrap();
    let (signature, recovery) = key.sign_prehash_recoverable(authorization.digest(network).as_slice()).unwrap();
    let mut bytes = [0; 65];
    bytes[..64].copy_from_slice(&signature.to_bytes());
    bytes[64] = 27 + u8::from(recovery.is_y_odd());
    json!({
        "signature": hex::encode_prefixed(bytes),
        "authorization": {
            "from": authorization.from,
            "to": authorization.to,
            "value": authorization.value.to_string(),
            "validAfter": authorization.valid_after.to_string(),
            "validBefore": authorization.valid_before.to_string(),
            "nonce": authorization.nonce,
        },
    })
}

pub fn paid(path: &'static str, question: &str, payment: &Value) -> Request {
    unpaid(path, question).with_header("payment-signature", &wire::encode(payment).unwrap())
}
