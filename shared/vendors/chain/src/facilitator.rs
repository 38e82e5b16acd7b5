//! The facilitator: `POST /verify`, `POST /settle` and `GET /supported` of x402.

use crate::{
    http::{CallError, Endpoint},
    network::Network,
    payment::SCHEME,
};
use async_trait::async_trait;
use domain::{
    ports::{Facilitator, FacilitatorError},
    toll::SignedPayment,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The time-out of a check, which reads the chain.
const VERIFY: Duration = Duration::from_secs(4);

/// The time-out of a settlement, which waits for a block. The customer waits with it, behind a gateway with a time-out
/// of 29 s.
const SETTLE: Duration = Duration::from_secs(9);

/// A facilitator.
#[derive(Debug)]
pub struct FacilitatorClient(Endpoint);

impl FacilitatorClient {
    /// The facilitator at this address; `None` when it is not an http or https address.
    #[must_use]
    pub fn new(url: &str) -> Option<Self> {
        Endpoint::new(url, VERIFY).map(Self)
    }

    /// The versions of x402 in which it does not offer to settle payments of the scheme `exact` on this network.
    ///
    /// # Errors
    /// [`FacilitatorError::Unavailable`] when it does not answer with a list of what it settles.
    pub async fn unsupported_versions(&self, network: Network) -> Result<Vec<u8>, FacilitatorError> {
        let (status, reply) = self.0.get("/supported").await.map_err(unavailable)?;
        let kinds = reply["kinds"].as_array().filter(|_| status == 200).ok_or_else(|| failed(status))?;
        let is_offered = |version: u8, network: &str| {
            let is_it =
                |kind: &Value| kind["x402Version"] == version && kind["scheme"] == SCHEME && kind["network"] == network;
            kinds.iter().any(is_it)
        };
        let versions = [(1, network.name()), (2, network.caip2())].into_iter();
        Ok(versions.filter(|&(version, name)| !is_offered(version, name)).map(|(version, _)| version).collect())
    }
}

fn request(payment: &SignedPayment) -> Value {
    json!({
        "x402Version": payment.version,
        "paymentPayload": payment.payload,
        "paymentRequirements": payment.requirements,
    })
}

/// The facilitator's reason, reduced to characters that may be logged.
fn word(reply: &Value, field: &str) -> String {
    let known = |c: &char| c.is_ascii_alphanumeric() || "_-. ".contains(*c);
    let word: String = reply[field].as_str().unwrap_or("unspecified").chars().filter(known).take(80).collect();
    if word.is_empty() { "unspecified".to_owned() } else { word }
}

/// The reasons of a refusal that precedes any submission, without the prefix of their scheme, as the reference
/// implementations of x402 and their facilitators spell them. Everything else may follow a submission: a failed
/// transaction, a receipt that did not arrive in time, a nonce that is used, or any exception.
const BEFORE_SUBMISSION: [&str; 26] = [
    "insufficient_funds",
    "insufficient_balance",
    "insufficient_amount",
    "required_amount",
    "authorization_value",
    "authorization_value_mismatch",
    "authorization_valid_after",
    "authorization_valid_before",
    "payment_expired",
    "signature",
    "invalid_signature",
    "missing_signature",
    "signature_format",
    "undeployed_smart_wallet",
    "recipient_mismatch",
    "network_mismatch",
    "invalid_network",
    "unsupported_network",
    "scheme",
    "invalid_scheme",
    "unsupported_scheme",
    "unsupported_payload_type",
    "invalid_payload",
    "invalid_payment_requirements",
    "invalid_x402_version",
    "missing_eip712_domain",
];

/// Whether a failed settlement was refused before anything was submitted: by its reason, and without a transaction.
fn precedes_submission(reason: &str, reply: &Value) -> bool {
    let reason = reason.strip_prefix("invalid_exact_evm_").unwrap_or(reason);
    let reason = reason.strip_prefix("payload_").unwrap_or(reason);
    let names_transaction = match &reply["transaction"] {
        Value::Null => false,
        Value::String(transaction) => !transaction.is_empty(),
        _ => true,
    };
    BEFORE_SUBMISSION.contains(&reason) && !names_transaction
}

/// Whether this reason of a failed check names the facilitator's own failure, as the reference implementations spell
/// it: most often its node did not answer. A simulation also fails once the payment is submitted.
fn says_nothing(reason: &str) -> bool {
    reason.contains("failed_to_") || reason.starts_with("unexpected") || reason.contains("simulation_failed")
}

fn unavailable(error: CallError) -> FacilitatorError {
    FacilitatorError::Unavailable(Box::new(error))
}

/// A reply without what was asked for.
#[derive(Debug, thiserror::Error)]
#[error("the facilitator answered {0}")]
pub(crate) struct Answered(pub(crate) u16);

fn failed(status: u16) -> FacilitatorError {
    FacilitatorError::Unavailable(Box::new(Answered(status)))
}

/// A transaction's hash, in lower case.
fn transaction(reply: &Value) -> Option<String> {
    let text = reply["transaction"].as_str()?.to_ascii_lowercase();
    let digits = text.strip_prefix("0x")?;
    (digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(text)
}

fn not_settled(reply: &Value) -> FacilitatorError {
    match word(reply, "errorReason") {
        reason if reason == "settlement_pending" => FacilitatorError::Pending,
        reason if precedes_submission(&reason, reply) => FacilitatorError::Refused(reason),
        reason => FacilitatorError::Unclear(reason),
    }
}

#[async_trait]
impl Facilitator for FacilitatorClient {
    async fn verify(&self, payment: &SignedPayment) -> Result<(), FacilitatorError> {
        let (status, reply) = self.0.post("/verify", &request(payment), None).await.map_err(unavailable)?;
        match reply["isValid"].as_bool() {
            Some(true) if status == 200 => Ok(()),
            Some(false) if status < 500 => Err(match word(&reply, "invalidReason") {
                reason if says_nothing(&reason) => FacilitatorError::Unclear(reason),
                reason => FacilitatorError::Refused(reason),
            }),
            _ => Err(failed(status)),
        }
    }

    async fn settle(&self, payment: &SignedPayment) -> Result<String, FacilitatorError> {
        let (status, reply) = self.0.post("/settle", &request(payment), Some(SETTLE)).await.map_err(unavailable)?;
        match reply["success"].as_bool() {
            // A success without a transaction does not confirm that anything is on the chain.
            Some(true) if status == 200 => transaction(&reply).ok_or(FacilitatorError::Pending),
            Some(false) if status < 500 => Err(not_settled(&reply)),
            _ => Err(failed(status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;
    use test_server::{Request, with_server};

    fn payment() -> SignedPayment {
        SignedPayment {
            version: 2,
            payload: Value::Null,
            requirements: Value::Null,
            network: "eip155:84532".to_owned(),
            amount: 50_000,
            payer: "0x1".to_owned(),
            nonce: "0x2".to_owned(),
            valid_before: Timestamp::from_seconds(100),
        }
    }

    /// The outcome of a settlement for which the facilitator sends this reply.
    async fn settled(status: u16, reply: Value) -> Result<String, FacilitatorError> {
        asked(status, reply, async |client: FacilitatorClient| client.settle(&payment()).await).await
    }

    /// What a call returns for which the facilitator sends this reply.
    async fn asked<T>(status: u16, reply: Value, call: impl AsyncFnOnce(FacilitatorClient) -> T) -> T {
        let answer = |_: &Request| test_server::json(status, &reply);
        with_server(answer, async |url: String| call(FacilitatorClient::new(&url).unwrap()).await).await
    }

    async fn failed_with(reason: &str, transaction: Value) -> FacilitatorError {
        let reply = json!({ "success": false, "errorReason": reason, "transaction": transaction });
        settled(200, reply).await.unwrap_err()
    }

    /// A refusal asks the payer for another payment, so it must exclude that this one was submitted.
    #[tokio::test]
    async fn only_a_reason_that_precedes_a_submission_is_a_refusal() {
        for reason in [
            "insufficient_funds",
            "invalid_exact_evm_insufficient_balance",
            "invalid_exact_evm_payload_authorization_valid_before",
            "invalid_exact_evm_payload_authorization_value",
            "invalid_exact_evm_payload_signature",
            "invalid_exact_evm_signature",
            "invalid_exact_evm_payload_recipient_mismatch",
            "invalid_network",
            "unsupported_scheme",
        ] {
            assert!(matches!(failed_with(reason, json!("")).await, FacilitatorError::Refused(_)), "{reason}");
            assert!(matches!(failed_with(reason, Value::Null).await, FacilitatorError::Refused(_)), "{reason}");
            let hash = format!("0x{}", "ab".repeat(32));
            assert!(matches!(failed_with(reason, json!(hash)).await, FacilitatorError::Unclear(_)), "{reason}");
        }
        for reason in [
            "invalid_exact_evm_transaction_failed",
            "invalid_exact_evm_failed_to_get_receipt",
            "invalid_exact_evm_nonce_already_used",
            "invalid_transaction_state",
            "unexpected_settle_error",
            "",
        ] {
            let failed = failed_with(reason, json!("")).await;
            assert!(matches!(failed, FacilitatorError::Unclear(_)), "{reason}");
            assert_eq!(failed.says_used(), reason.contains("nonce"), "{reason}");
        }
        assert!(matches!(failed_with("settlement_pending", json!("0x1")).await, FacilitatorError::Pending));
        let broken = settled(500, json!({ "success": false, "errorReason": "insufficient_funds" })).await;
        assert!(matches!(broken, Err(FacilitatorError::Unavailable(_))));
        let hash = format!("0x{}", "AB".repeat(32));
        assert_eq!(settled(200, json!({ "success": true, "transaction": hash })).await.unwrap(), hash.to_lowercase());
        let nowhere = settled(200, json!({ "success": true, "transaction": "" })).await;
        assert!(matches!(nowhere, Err(FacilitatorError::Pending)));
    }

    #[tokio::test]
    async fn a_check_that_failed_is_no_refusal() {
        let verified = async |reason: &str| {
            let reply = json!({ "isValid": false, "invalidReason": reason });
            asked(200, reply, async |client: FacilitatorClient| client.verify(&payment()).await.unwrap_err()).await
        };
        for reason in [
            "invalid_exact_evm_failed_to_check_nonce",
            "invalid_exact_evm_failed_to_get_balance",
            "invalid_exact_evm_failed_to_get_network_config",
            "invalid_exact_evm_failed_to_verify_signature",
            "invalid_exact_evm_transaction_simulation_failed",
            "unexpected_error",
            "unexpected_verify_error",
        ] {
            assert!(matches!(verified(reason).await, FacilitatorError::Unclear(why) if why == reason), "{reason}");
        }
        for reason in ["insufficient_funds", "invalid_exact_evm_nonce_already_used", "invalid_network", ""] {
            assert!(matches!(verified(reason).await, FacilitatorError::Refused(_)), "{reason}");
        }
    }

    fn kind(version: u8, scheme: &str, network: &str) -> Value {
        json!({ "x402Version": version, "scheme": scheme, "network": network })
    }

    #[tokio::test]
    async fn unsupported_versions_are_found_by_version_and_network() {
        let unsupported = async |status: u16, reply: Value| {
            let call = async |client: FacilitatorClient| client.unsupported_versions(Network::BaseSepolia).await;
            asked(status, reply, call).await
        };
        let (one, two) = (kind(1, "exact", "base-sepolia"), kind(2, "exact", "eip155:84532"));
        for (kinds, versions) in [
            (json!([one, two]), vec![]),
            (json!([two]), vec![1]),
            (json!([kind(2, "exact", "eip155:8453"), kind(2, "upto", "eip155:84532"), one]), vec![2]),
            (json!([]), vec![1, 2]),
        ] {
            let found = unsupported(200, json!({ "kinds": kinds, "extensions": [] })).await.unwrap();
            assert_eq!(found, versions, "{kinds}");
        }
        for (status, reply) in [(200, json!({})), (500, json!({ "kinds": [] })), (404, Value::Null)] {
            let error = unsupported(status, reply).await.unwrap_err();
            assert!(matches!(error, FacilitatorError::Unavailable(_)), "{status}");
        }
    }
}
