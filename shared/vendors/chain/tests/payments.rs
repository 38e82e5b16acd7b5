//! Checks payments against prices: the specification's own example, a change of every single field, and 10^5 random
//! changes.
#![allow(clippy::unwrap_used, reason = "tests")]

use alloy_primitives::{Address, U256, address, b256, hex};
use chain::{
    Authorization, Network,
    payment::{PaymentError, Price, check},
    wire::{PaymentPayload, RequirementsV1, Resource, encode},
};
use domain::Timestamp;
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use std::time::Duration;

/// A time at which every payment of this file is valid.
const NOW: i64 = 1_740_672_100;
const PAY_TO: Address = address!("209693Bc6afc0C5328bA36FaF03C514EF312287C");
/// The key of the first account of every development chain, so that addresses can be compared with those of other
/// tools.
const KEY: [u8; 32] = hex!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
const PAYER: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");

fn now() -> Timestamp {
    Timestamp::from_millis(NOW * 1000)
}

fn price(network: Network) -> Price {
    Price { network, amount: 50_000, pay_to: PAY_TO, timeout: Duration::from_secs(60) }
}

fn authorization() -> Authorization {
    Authorization {
        from: PAYER,
        to: PAY_TO,
        value: U256::from(50_000),
        valid_after: U256::from(NOW - 600),
        valid_before: U256::from(NOW + 60),
        nonce: b256!("f3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"),
    }
}

fn sign(authorization: &Authorization, network: Network) -> [u8; 65] {
    let key = SigningKey::from_bytes(&KEY.into()).unwrap();
    let (signature, recovery) = key.sign_prehash_recoverable(authorization.digest(network).as_slice()).unwrap();
    let mut bytes = [0; 65];
    bytes[..64].copy_from_slice(&signature.to_bytes());
    bytes[64] = 27 + u8::from(recovery.is_y_odd());
    bytes
}

/// The payment in the form of version 2.
fn payment(authorization: &Authorization, signature: &[u8], price: &Price) -> Value {
    json!({
        "x402Version": 2,
        "resource": { "url": "https://oracle.example/query" },
        "accepted": price.requirements(),
        "payload": {
            "signature": hex::encode_prefixed(signature),
            "authorization": {
                "from": authorization.from,
                "to": authorization.to,
                "value": authorization.value.to_string(),
                "validAfter": authorization.valid_after.to_string(),
                "validBefore": authorization.valid_before.to_string(),
                "nonce": authorization.nonce,
            },
        },
    })
}

fn good(network: Network) -> Value {
    payment(&authorization(), &sign(&authorization(), network), &price(network))
}

fn judge(payment: &Value, price: &Price) -> Result<Address, PaymentError> {
    let payload = PaymentPayload::decode(&encode(payment).unwrap()).unwrap();
    check(&payload, price, now()).map(|payment| payment.authorization().from)
}

#[test]
fn a_payment_pays_in_both_versions_on_both_networks() {
    for network in Network::ALL {
        let two = good(network);
        assert_eq!(judge(&two, &price(network)), Ok(PAYER));
        let one = json!({
            "x402Version": 1, "scheme": "exact", "network": network.name(), "payload": two["payload"],
        });
        assert_eq!(judge(&one, &price(network)), Ok(PAYER));
    }
}

/// The example of the x402 specification is signed by the address that it names.
#[test]
fn the_example_of_the_specification_is_its_payers() {
    let authorization = Authorization {
        from: address!("857b06519E91e3A54538791bDbb0E22373e36b66"),
        to: PAY_TO,
        value: U256::from(10_000),
        valid_after: U256::from(1_740_672_089),
        valid_before: U256::from(1_740_672_154),
        nonce: b256!("f3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"),
    };
    let signature = hex!(
        "2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608a2ce6496642e377d6da8dbbf5836e9bd15092f9ecab05ded3d6293af148b571c"
    );
    assert_eq!(authorization.check(Network::BaseSepolia, &signature), Ok(()));
    assert!(authorization.check(Network::Base, &signature).is_err());
}

#[test]
fn addresses_are_written_with_their_checksum() {
    let usdc = price(Network::Base).requirements().asset;
    assert_eq!(usdc.to_checksum(None), "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
    // The reference vectors of EIP-55.
    for text in [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ] {
        assert_eq!(text.parse::<Address>().unwrap().to_checksum(None), text);
    }
}

/// One payment has one claim, in all its forms.
#[test]
fn a_claim_is_of_network_asset_payer_and_nonce() {
    let network = Network::Base;
    let claim = |payment: &Value| {
        let payload = PaymentPayload::decode(&encode(payment).unwrap()).unwrap();
        check(&payload, &price(network), now()).unwrap().claim().to_string()
    };
    let mut shouted = good(network);
    let from = shouted["payload"]["authorization"]["from"].as_str().unwrap().to_uppercase().replace("0X", "0x");
    shouted["payload"]["authorization"]["from"] = json!(from);
    let expected = format!("eip155:8453/{:#x}/{PAYER:#x}/{:#x}", network.usdc(), authorization().nonce);
    assert_eq!(claim(&shouted), expected);
    assert_eq!(claim(&good(network)), expected);
}

/// Every way in which a payment can differ from the requirements, with its error.
#[test]
fn what_does_not_pay_is_refused_by_name() {
    let network = Network::Base;
    let base = price(network);
    let resigned = |change: fn(&mut Authorization)| {
        let mut authorization = authorization();
        change(&mut authorization);
        payment(&authorization, &sign(&authorization, network), &base)
    };
    let changed = |pointer: &str, value: Value| {
        let mut payment = good(network);
        *payment.pointer_mut(pointer).unwrap() = value;
        payment
    };
    let other = "0x0000000000000000000000000000000000000001";
    let cases = [
        (changed("/accepted/scheme", json!("upto")), PaymentError::Scheme),
        (changed("/accepted/network", json!("eip155:1")), PaymentError::Network),
        (changed("/accepted/network", json!("eip155:84532")), PaymentError::Network),
        (changed("/accepted/asset", json!(other)), PaymentError::Asset),
        (changed("/accepted/payTo", json!(other)), PaymentError::Recipient),
        (changed("/accepted/amount", json!("49999")), PaymentError::Amount),
        (changed("/accepted/amount", json!("050000")), PaymentError::Amount),
        (changed("/accepted/maxTimeoutSeconds", json!(86_400)), PaymentError::Timeout),
        (changed("/accepted/extra/name", json!("USDC")), PaymentError::Token),
        (changed("/payload/authorization/value", json!("5e4")), PaymentError::Number("value")),
        (changed("/payload/authorization/validAfter", json!("-1")), PaymentError::Number("validAfter")),
        (changed("/payload/authorization/validBefore", json!("soon")), PaymentError::Number("validBefore")),
        (resigned(|it| it.to = PAYER), PaymentError::Recipient),
        (resigned(|it| it.value = U256::from(49_999)), PaymentError::Amount),
        (resigned(|it| it.value = U256::from(50_001)), PaymentError::Amount),
        (resigned(|it| it.from = Address::ZERO), PaymentError::Nobody),
        (resigned(|it| it.valid_after = U256::from(NOW)), PaymentError::NotYetValid),
        (resigned(|it| it.valid_before = U256::from(NOW)), PaymentError::Expired),
        (resigned(|it| it.valid_before = U256::from(NOW + 30)), PaymentError::Expired),
    ];
    for (payment, error) in cases {
        assert_eq!(judge(&payment, &base), Err(error), "{payment:#}");
    }
    assert_eq!(judge(&resigned(|it| it.valid_before = U256::from(NOW + 31)), &base), Ok(PAYER));
    assert_eq!(judge(&resigned(|it| it.valid_before = U256::from(NOW + 3600)), &base), Ok(PAYER));
    let too_late: [fn(&mut Authorization); 2] =
        [|it| it.valid_before = U256::from(NOW + 3601), |it| it.valid_before = U256::MAX];
    for change in too_late {
        assert_eq!(judge(&resigned(change), &base), Err(PaymentError::TooLong));
    }
}

#[test]
fn a_signature_that_is_not_the_payers_is_refused_by_name() {
    use chain::Authorization as A;
    let (authorization, network) = (authorization(), Network::Base);
    let good = sign(&authorization, network);
    let error = |signature: &[u8]| A::check(&authorization, network, signature).unwrap_err().to_string();
    let malformed = "the signature does not have 65 bytes that end in 27 or 28";
    let with = |at: usize, byte: u8| {
        let mut signature = good;
        signature[at] = byte;
        signature
    };
    for signature in [&[][..], &good[..64], &[&good[..], &[0]].concat(), &with(64, 0), &with(64, 29), &with(64, 35)] {
        assert_eq!(error(signature), malformed);
    }
    // The twin: the order minus s, and the other parity. It is equally valid on the curve.
    let order = U256::from_be_bytes(hex!("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"));
    let mut twin = good;
    twin[32..64].copy_from_slice(&(order - U256::from_be_slice(&good[32..64])).to_be_bytes::<32>());
    twin[64] = 27 + 28 - good[64];
    assert_eq!(error(&twin), "the signature's s is in the upper half of the order");
    // In the lower half again, but with the other parity: this is another key's signature.
    assert_eq!(error(&with(64, 27 + 28 - good[64])), "the signature is not the payer's");
    let mut zero = [0; 65];
    zero[64] = 27;
    assert_eq!(error(&zero), "no key can have made the signature");
    assert_eq!(
        authorization.check(Network::BaseSepolia, &good).unwrap_err().to_string(),
        "the signature is not the payer's"
    );
}

/// 10^5 payments with one random change: none counts as the payer's.
#[test]
fn no_changed_payment_is_accepted() {
    let network = Network::Base;
    let good = PaymentPayload::decode(&encode(&good(network)).unwrap()).unwrap();
    let price = price(network);
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below
    };
    for _ in 0..100_000 {
        let mut changed = good.clone();
        let PaymentPayload::V2(payload) = &mut changed else { unreachable!("made above") };
        let signed = &mut payload.payload;
        let bit = 1 << draw(8);
        match draw(6) {
            0..=2 => {
                let mut signature = signed.signature.to_vec();
                signature[draw(65)] ^= bit;
                signed.signature = signature.into();
            }
            3 => signed.authorization.nonce[draw(32)] ^= bit,
            4 => signed.authorization.from[draw(20)] ^= bit,
            _ => {
                let by = if draw(2) == 0 { 1 + draw(500) as i64 } else { -1 - draw(500) as i64 };
                let (field, at) = match draw(2) {
                    0 => (&mut signed.authorization.valid_after, NOW - 600),
                    _ => (&mut signed.authorization.valid_before, NOW + 60),
                };
                *field = (at + by).to_string();
            }
        }
        assert_ne!(changed, good);
        assert!(check(&changed, &price, now()).is_err(), "{changed:?}");
    }
}

#[test]
fn version_1_states_the_same_price_in_its_own_words() {
    let resource = Resource { url: "https://oracle.example/query".to_owned(), description: None, mime_type: None };
    let one = RequirementsV1::of(&price(Network::BaseSepolia).requirements(), &resource).unwrap();
    let expected = json!({
        "scheme": "exact", "network": "base-sepolia", "maxAmountRequired": "50000",
        "resource": "https://oracle.example/query", "description": "", "mimeType": "",
        "payTo": PAY_TO, "maxTimeoutSeconds": 60, "asset": "0x036cbd53842c5426634e7929541ec2318f3dcf7e",
        "extra": { "name": "USDC", "version": "2" },
    });
    assert_eq!(serde_json::to_value(&one).unwrap(), expected);
}
