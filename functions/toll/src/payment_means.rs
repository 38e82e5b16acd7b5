//! The means of payment of a request: a signed transfer (x402), or a transaction that was sent before.

use audit::hash::sha256;
use chain::{
    Network,
    payment::{self, ClaimKey, Payment, PaymentError, Price},
    wire::{PAYMENT_SIGNATURE, PaymentPayload, RequirementsV1, Resource, X_PAYMENT},
};
use domain::{
    SessionId, Timestamp,
    ports::StorageError,
    toll::{InvalidPurchase, Offer, Paid, PaymentIdentifier, SignedPayment, purchase_id},
};
use runtime::http::Request;
use serde_json::{Value, json};

/// The header with the hash of a transaction that was sent before.
pub(crate) const PAYMENT_TRANSACTION: &str = "X-PAYMENT-TRANSACTION";

/// The extension by which a payer names its purchase.
pub(crate) const PAYMENT_IDENTIFIER: &str = "payment-identifier";

/// The means of payment as received.
pub(crate) enum PaymentMeans {
    Signed(Box<PaymentPayload>, Option<PaymentIdentifier>),
    Transfer(String),
}

/// The checked means of payment: signed by its payer for our price, or a transaction that must still be looked up on
/// the chain.
pub(crate) enum CheckedMeans {
    Signed(Box<PaymentPayload>, Box<Payment>, Option<PaymentIdentifier>),
    Transfer(String),
}

/// Why a signed payment cannot be used now.
pub(crate) enum Unusable {
    /// It does not pay; the payer may see why.
    Refused(String),
    /// The facilitator or the node did not answer.
    Unknown(String),
}

/// The payer's name for the purchase. Version 1 has no extensions.
fn identifier(payload: &PaymentPayload) -> Result<Option<PaymentIdentifier>, String> {
    let PaymentPayload::V2(payload) = payload else { return Ok(None) };
    let id = payload.extensions.get(PAYMENT_IDENTIFIER).map(|extension| &extension["info"]["id"]);
    match id {
        None | Some(Value::Null) => Ok(None),
        Some(id) => PaymentIdentifier::parse(id.as_str().unwrap_or_default()).map(Some).map_err(|why| why.to_string()),
    }
}

impl PaymentMeans {
    /// Reads the headers. Returns `None` without a payment. The error says what cannot be read.
    ///
    /// Several payments in one request are refused: nothing says which of them the payer wants to spend.
    pub(crate) fn of(request: &Request) -> Result<Option<Self>, String> {
        let headers = [PAYMENT_SIGNATURE, X_PAYMENT, PAYMENT_TRANSACTION];
        if headers.into_iter().map(|name| request.header_count(name)).sum::<usize>() > 1 {
            let [two, one, direct] = headers;
            return Err(format!("A request has one payment: {two}, {one} or {direct}, once."));
        }
        if let Some(header) = request.header(PAYMENT_SIGNATURE).or_else(|| request.header(X_PAYMENT)) {
            let payload = PaymentPayload::decode(header).map_err(|error| error.to_string())?;
            let identifier = identifier(&payload)?;
            return Ok(Some(Self::Signed(Box::new(payload), identifier)));
        }
        let Some(transaction) = request.header(PAYMENT_TRANSACTION) else { return Ok(None) };
        let transaction = transaction.trim().to_ascii_lowercase();
        let digits = transaction.strip_prefix("0x").unwrap_or_default();
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("{PAYMENT_TRANSACTION} must be 0x and 64 hexadecimal digits."));
        }
        Ok(Some(Self::Transfer(transaction)))
    }

    /// Checks that the payer signed for our price. [`CheckedMeans::check_time`] checks the time.
    pub(crate) fn checked(&self, price: &Price) -> Result<CheckedMeans, PaymentError> {
        Ok(match self {
            Self::Signed(payload, identifier) => {
                let payment = payment::identify(payload, price)?;
                CheckedMeans::Signed(payload.clone(), Box::new(payment), identifier.clone())
            }
            Self::Transfer(transaction) => CheckedMeans::Transfer(transaction.clone()),
        })
    }

    /// The id of a signed payment's purchase. Its signature is not checked yet.
    pub(crate) fn signed_purchase(&self, network: Network) -> Option<Result<SessionId, InvalidPurchase>> {
        let Self::Signed(payload, _) = self else { return None };
        let signed = &payload.signed().authorization;
        Some(signed_purchase(network, &format!("{:#x}", signed.from), &format!("{:#x}", signed.nonce)))
    }
}

/// The error for a digest that is not the id of a purchase, which no digest causes.
pub(crate) fn unnamed(error: InvalidPurchase) -> StorageError {
    StorageError { operation: "purchase id", source: Box::new(error) }
}

/// The id of the purchase of a signed payment with this payer and nonce, in lower case.
pub(crate) fn signed_purchase(network: Network, payer: &str, nonce: &str) -> Result<SessionId, InvalidPurchase> {
    purchase_id(&sha256(ClaimKey::new(network, payer, nonce).to_string().as_bytes()))
}

impl CheckedMeans {
    /// The id of the purchase. All encodings of the same payment have the same id.
    pub(crate) fn purchase(&self, price: &Price) -> Result<SessionId, InvalidPurchase> {
        let name = match self {
            Self::Signed(_, payment, _) => payment.claim().to_string(),
            Self::Transfer(transaction) => format!("{}/transaction/{transaction}", price.network.caip2()),
        };
        purchase_id(&sha256(name.as_bytes()))
    }

    /// The key of the payer's name for the purchase, if the payer gives one. The key includes the payer's address,
    /// because names are not secret: another payer who learns a name must neither read the answer nor occupy the name.
    pub(crate) fn name(&self, price: &Price) -> Option<Result<SessionId, InvalidPurchase>> {
        let Self::Signed(_, payment, Some(identifier)) = self else { return None };
        let (network, payer) = (price.network.caip2(), payment.authorization().from);
        Some(purchase_id(&sha256(format!("{network}/{payer:#x}/name/{}", identifier.as_str()).as_bytes())))
    }

    /// Checks that the payment is valid now.
    pub(crate) fn check_time(&self, now: Timestamp) -> Result<(), PaymentError> {
        match self {
            Self::Signed(_, payment, _) => payment.check_time(now),
            Self::Transfer(_) => Ok(()),
        }
    }

    /// The transaction that was sent before.
    pub(crate) fn transaction(&self) -> Option<&str> {
        match self {
            Self::Signed(..) => None,
            Self::Transfer(transaction) => Some(transaction),
        }
    }

    /// The x402 version of the reply.
    pub(crate) fn version(&self) -> u8 {
        match self {
            Self::Signed(payload, ..) if matches!(**payload, PaymentPayload::V1(_)) => 1,
            _ => 2,
        }
    }

    /// The payment as the purchase stores it. `payer` is the payer of a transfer, as found on the chain.
    pub(crate) fn paid(&self, price: &Price, offer: Offer, resource: &Resource, payer: &str) -> Paid {
        let (payload, payment) = match self {
            Self::Signed(payload, payment, _) => (payload, payment),
            Self::Transfer(transaction) => {
                let (transaction, payer) = (transaction.clone(), payer.to_owned());
                return Paid::Transferred { transaction, payer, network: price.network.caip2().to_owned() };
            }
        };
        let ours = price.requirements();
        let (version, sent, requirements, network) = match &**payload {
            PaymentPayload::V1(sent) => {
                (1, json!(sent), json!(RequirementsV1::of(&ours, resource)), price.network.name())
            }
            PaymentPayload::V2(sent) => (2, json!(sent), json!(ours), price.network.caip2()),
        };
        let signed = payment.authorization();
        Paid::Signed(Box::new(SignedPayment {
            version,
            payload: sent,
            requirements,
            network: network.to_owned(),
            amount: offer.price(),
            payer: format!("{:#x}", signed.from),
            nonce: format!("{:#x}", signed.nonce),
            valid_before: payment.valid_before(),
        }))
    }
}
