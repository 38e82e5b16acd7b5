//! The facilitator: `POST /verify` and `POST /settle` of x402.

use crate::http::{CallError, Endpoint};
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

fn unavailable(error: CallError) -> FacilitatorError {
    FacilitatorError::Unavailable(Box::new(error))
}

fn failed(status: u16) -> FacilitatorError {
    FacilitatorError::Unavailable(format!("the facilitator answered {status}").into())
}

/// A transaction's hash, in lower case.
fn transaction(reply: &Value) -> Option<String> {
    let text = reply["transaction"].as_str()?.to_ascii_lowercase();
    let digits = text.strip_prefix("0x")?;
    (digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(text)
}

#[async_trait]
impl Facilitator for FacilitatorClient {
    async fn verify(&self, payment: &SignedPayment) -> Result<(), FacilitatorError> {
        let (status, reply) = self.0.post("/verify", &request(payment), None).await.map_err(unavailable)?;
        match reply["isValid"].as_bool() {
            Some(true) if status == 200 => Ok(()),
            Some(false) if status < 500 => Err(FacilitatorError::Refused(word(&reply, "invalidReason"))),
            _ => Err(failed(status)),
        }
    }

    async fn settle(&self, payment: &SignedPayment) -> Result<String, FacilitatorError> {
        let (status, reply) = self.0.post("/settle", &request(payment), Some(SETTLE)).await.map_err(unavailable)?;
        match reply["success"].as_bool() {
            // A success without a transaction does not confirm that anything is on the chain.
            Some(true) if status == 200 => transaction(&reply).ok_or(FacilitatorError::Pending),
            Some(false) if word(&reply, "errorReason") == "settlement_pending" => Err(FacilitatorError::Pending),
            Some(false) if status < 500 => Err(FacilitatorError::Refused(word(&reply, "errorReason"))),
            _ => Err(failed(status)),
        }
    }
}
