//! The contents of headers and bodies: requirements, payments and settlements, as JSON and as base64 of JSON in
//! headers.

mod header;

pub use header::{
    HeaderError, LONGEST_HEADER, PAYMENT_REQUIRED, PAYMENT_RESPONSE, PAYMENT_SIGNATURE, X_PAYMENT, X_PAYMENT_RESPONSE,
    decode, encode,
};

use crate::network::Network;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The resource that is for sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its address.
    pub url: String,
    /// Its description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// One way to pay (version 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirements {
    /// The scheme: we accept `exact` only.
    pub scheme: String,
    /// The network (CAIP-2).
    pub network: String,
    /// The amount in the asset's smallest unit, in decimal digits.
    pub amount: String,
    /// The asset's contract.
    pub asset: Address,
    /// The recipient.
    pub pay_to: Address,
    /// The longest time that the payer may have to wait.
    pub max_timeout_seconds: u64,
    /// The data that the payer needs for the signature.
    #[serde(default)]
    pub extra: Extra,
}

/// The name and version for which the asset's contract checks signatures (EIP-712).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    /// The name.
    #[serde(default)]
    pub name: String,
    /// The version.
    #[serde(default)]
    pub version: String,
}

/// The request for a payment (version 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequired {
    /// 2.
    pub x402_version: u8,
    /// The reason for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The resource that is for sale.
    pub resource: Resource,
    /// The ways to pay.
    pub accepts: Vec<Requirements>,
    /// Protocol extensions, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

/// The request for a payment (version 1), in the body of the reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequiredV1 {
    /// 1.
    pub x402_version: u8,
    /// The reason for the request.
    pub error: String,
    /// The ways to pay.
    pub accepts: Vec<RequirementsV1>,
}

/// One way to pay (version 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequirementsV1 {
    /// `exact`.
    pub scheme: String,
    /// The network's name, such as `base-sepolia`.
    pub network: String,
    /// The amount in the asset's smallest unit, in decimal digits.
    pub max_amount_required: String,
    /// The address of the resource.
    pub resource: String,
    /// Its description for people.
    pub description: String,
    /// The media type of the answer.
    pub mime_type: String,
    /// The recipient.
    pub pay_to: Address,
    /// The longest time that the payer may have to wait.
    pub max_timeout_seconds: u64,
    /// The asset's contract.
    pub asset: Address,
    /// The data that the payer needs for the signature.
    pub extra: Extra,
}

impl RequirementsV1 {
    /// The same way to pay in the form of version 1; `None` for a network without a name in it.
    #[must_use]
    pub fn of(requirements: &Requirements, resource: &Resource) -> Option<Self> {
        Some(Self {
            scheme: requirements.scheme.clone(),
            network: Network::parse(&requirements.network)?.name().to_owned(),
            max_amount_required: requirements.amount.clone(),
            resource: resource.url.clone(),
            description: resource.description.clone().unwrap_or_default(),
            mime_type: resource.mime_type.clone().unwrap_or_default(),
            pay_to: requirements.pay_to,
            max_timeout_seconds: requirements.max_timeout_seconds,
            asset: requirements.asset,
            extra: requirements.extra.clone(),
        })
    }
}

/// A payment in either version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentPayload {
    /// Version 1.
    V1(Box<PayloadV1>),
    /// Version 2.
    V2(Box<PayloadV2>),
}

/// A payment (version 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadV1 {
    /// 1.
    pub x402_version: u8,
    /// `exact`.
    pub scheme: String,
    /// The network's name, such as `base-sepolia`.
    pub network: String,
    /// The signature with the signed fields.
    pub payload: SignedAuthorization,
}

/// A payment (version 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadV2 {
    /// 2.
    pub x402_version: u8,
    /// The resource that the payer wants to buy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Resource>,
    /// The way to pay that the payer chose.
    pub accepted: Requirements,
    /// The signature with the signed fields.
    pub payload: SignedAuthorization,
    /// Protocol extensions, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

/// A signature with the signed fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedAuthorization {
    /// 65 bytes.
    pub signature: Bytes,
    /// The signed fields.
    pub authorization: AuthorizationFields,
}

/// The fields of an authorization; numbers are decimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as EIP-3009 names them")]
pub struct AuthorizationFields {
    pub from: Address,
    pub to: Address,
    pub value: String,
    pub valid_after: String,
    pub valid_before: String,
    pub nonce: B256,
}

/// The result of a payment, for the payer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettlementResponse {
    /// Whether the transfer was made.
    pub success: bool,
    /// The reason for a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
    /// The transaction; empty without one.
    pub transaction: String,
    /// The network, by its name in the payment's version.
    pub network: String,
    /// The payer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<Address>,
}

impl PaymentPayload {
    /// The signature with the signed fields.
    #[must_use]
    pub const fn signed(&self) -> &SignedAuthorization {
        match self {
            Self::V1(payload) => &payload.payload,
            Self::V2(payload) => &payload.payload,
        }
    }
}

/// Parses a number of decimal digits, without sign, space or leading zero, so that each number has only one form.
pub(crate) fn number(digits: &str) -> Option<U256> {
    let is_canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    (is_canonical && !digits.is_empty()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_text() {
        assert_eq!(number("50000"), Some(U256::from(50_000)));
        assert_eq!(number("0"), Some(U256::ZERO));
        for text in ["", "00", "050000", "+5", "-5", " 5", "5 ", "0x5", "5e3", "5.0", "٥"] {
            assert_eq!(number(text), None, "{text:?}");
        }
        assert_eq!(number(&"9".repeat(78)), None);
    }
}
