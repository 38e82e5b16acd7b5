//! Base64 of JSON in headers.

use super::PaymentPayload;
use base64::{
    Engine,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The header in which version 2 requests a payment.
pub const PAYMENT_REQUIRED: &str = "PAYMENT-REQUIRED";
/// The header in which version 2 pays.
pub const PAYMENT_SIGNATURE: &str = "PAYMENT-SIGNATURE";
/// The header in which version 2 confirms.
pub const PAYMENT_RESPONSE: &str = "PAYMENT-RESPONSE";
/// The header in which version 1 pays.
pub const X_PAYMENT: &str = "X-PAYMENT";
/// The header in which version 1 confirms.
pub const X_PAYMENT_RESPONSE: &str = "X-PAYMENT-RESPONSE";

/// The longest header that is read, in bytes. A payment has about 1,200.
pub const LONGEST_HEADER: usize = 8 * 1024;

/// Why a header cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// It is longer than [`LONGEST_HEADER`].
    #[error("the header has more than {LONGEST_HEADER} bytes")]
    TooLong,
    /// It is not base64.
    #[error("the header is not base64")]
    Base64(#[from] base64::DecodeError),
    /// Its JSON is not the expected content.
    #[error("the header's JSON is not a payment: {0}")]
    Json(#[from] serde_json::Error),
    /// We do not support its version.
    #[error("x402 version {0} is not supported; versions 1 and 2 are")]
    Version(u64),
}

/// Accepts base64 with and without padding, because clients differ.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Encodes the content as a header's value.
///
/// # Errors
/// When the content cannot be written as JSON, which all of this module's types can.
pub fn encode(content: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(STANDARD.encode(serde_json::to_vec(content)?))
}

/// Decodes the content of a header.
///
/// # Errors
/// [`HeaderError`]
pub fn decode<T: DeserializeOwned>(header: &str) -> Result<T, HeaderError> {
    if header.len() > LONGEST_HEADER {
        return Err(HeaderError::TooLong);
    }
    Ok(serde_json::from_slice(&LENIENT.decode(header.trim())?)?)
}

impl PaymentPayload {
    /// Decodes the payment in a header, in either version.
    ///
    /// # Errors
    /// [`HeaderError`]
    pub fn decode(header: &str) -> Result<Self, HeaderError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Versioned {
            x402_version: u64,
        }
        match decode::<Versioned>(header)?.x402_version {
            1 => Ok(Self::V1(Box::new(decode(header)?))),
            2 => Ok(Self::V2(Box::new(decode(header)?))),
            other => Err(HeaderError::Version(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_cannot_be_read_says_why() {
        let error = |header: &str| PaymentPayload::decode(header).err().map(|error| error.to_string());
        assert_eq!(error(&"a".repeat(9_000)), Some("the header has more than 8192 bytes".to_owned()));
        assert_eq!(error("{}"), Some("the header is not base64".to_owned()));
        let three = STANDARD.encode(r#"{"x402Version":3}"#);
        assert_eq!(error(&three), Some("x402 version 3 is not supported; versions 1 and 2 are".to_owned()));
        assert!(error(&STANDARD.encode("{}")).is_some_and(|why| why.contains("x402Version")));
    }
}
