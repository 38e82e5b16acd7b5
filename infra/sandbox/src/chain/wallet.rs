//! A buyer's wallet: it signs any payment that a 402 reply requests.

use alloy_primitives::{hex, keccak256};
use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};

use super::{
    ledger::{WALLET, WALLET_KEY},
    signature::Authorization,
};

/// Why no payment is signed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WalletError {
    #[error("required must be the value of a PAYMENT-REQUIRED header")]
    Unreadable,
    #[error("the wallet cannot sign")]
    Key,
}

/// The PAYMENT-SIGNATURE header that pays the first option of a PAYMENT-REQUIRED header. The nonce is derived from
/// `seed`: the same seed signs the same payment.
pub(crate) fn pay(required: &str, seed: &str, now: Timestamp) -> Result<String, WalletError> {
    let decoded = STANDARD.decode(required.trim()).map_err(|_| WalletError::Unreadable)?;
    let required: Value = serde_json::from_slice(&decoded).map_err(|_| WalletError::Unreadable)?;
    let accepted = &required["accepts"][0];
    let seconds = now.as_second().unsigned_abs();
    let lasts = accepted["maxTimeoutSeconds"].as_u64().ok_or(WalletError::Unreadable)?;
    let nonce = format!("{:#x}", keccak256(seed));
    let authorization = json!({
        "from": WALLET, "to": accepted["payTo"], "value": accepted["amount"], "nonce": nonce,
        "validAfter": (seconds - 600).to_string(), "validBefore": (seconds + lasts).to_string(),
    });
    let unsigned = json!({"authorization": authorization, "signature": "0x"});
    let digest = Authorization::read(&unsigned).ok_or(WalletError::Unreadable)?.digest();
    let key = hex::decode(WALLET_KEY).map_err(|_| WalletError::Key)?;
    let key = SigningKey::from_slice(&key).map_err(|_| WalletError::Key)?;
    let (signature, recovery) = key.sign_prehash_recoverable(digest.as_slice()).map_err(|_| WalletError::Key)?;
    let mut bytes = signature.to_bytes().to_vec();
    bytes.push(27 + u8::from(recovery.is_y_odd()));
    let payment = json!({
        "x402Version": 2, "resource": required["resource"], "accepted": accepted,
        "payload": {"signature": hex::encode_prefixed(bytes), "authorization": authorization},
    });
    Ok(STANDARD.encode(payment.to_string()))
}
