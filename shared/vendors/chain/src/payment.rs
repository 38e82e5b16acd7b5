//! Checks that a payment pays what we asked for. It trusts no claim of the payer or a facilitator.

use crate::{
    authorization::{Authorization, SignatureError},
    network::Network,
    wire::{AuthorizationFields, Extra, PaymentPayload, Requirements, number},
};
use alloy_primitives::{Address, U256};
use domain::{Timestamp, toll::SignedPayment};
use std::{fmt, time::Duration};

/// The only scheme that we accept: exactly the requested amount.
pub const SCHEME: &str = "exact";

/// How long a payment must stay valid, because the answer is made before it is settled.
pub const MARGIN: Duration = Duration::from_secs(30);

/// A payment that is valid for longer is refused, because only after its expiry is it certain that it is not settled.
pub const LONGEST: Duration = Duration::from_secs(3600);

/// Our price for one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// The network to pay on.
    pub network: Network,
    /// The amount in millionths of a dollar.
    pub amount: u64,
    /// The recipient.
    pub pay_to: Address,
    /// The longest time that the payer may have to wait, in whole seconds.
    pub timeout: Duration,
}

impl Price {
    /// The price in the form of version 2.
    #[must_use]
    pub fn requirements(&self) -> Requirements {
        Requirements {
            scheme: SCHEME.to_owned(),
            network: self.network.caip2().to_owned(),
            amount: self.amount.to_string(),
            asset: self.network.usdc(),
            pay_to: self.pay_to,
            max_timeout_seconds: self.timeout.as_secs(),
            extra: Extra { name: self.network.token_name().to_owned(), version: Network::TOKEN_VERSION.to_owned() },
        }
    }

    /// The price that a stored payment was signed for, by our requirements at that time: the amount and the recipient
    /// may have changed since.
    #[must_use]
    pub fn of_stored(&self, payment: &SignedPayment) -> Self {
        let pay_to = payment.requirements["payTo"].as_str().and_then(|address| address.parse().ok());
        Self { amount: payment.amount, pay_to: pay_to.unwrap_or(self.pay_to), ..self.clone() }
    }
}

/// A payment that pays a price. Only [`check`] and [`identify`] create one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    network: Network,
    authorization: Authorization,
}

impl Payment {
    /// The signed authorization.
    #[must_use]
    pub const fn authorization(&self) -> &Authorization {
        &self.authorization
    }

    /// The time from which it cannot be settled.
    #[must_use]
    pub fn valid_before(&self) -> Timestamp {
        let seconds = i64::try_from(self.authorization.valid_before).unwrap_or(i64::MAX / 1000);
        Timestamp::from_seconds(seconds.min(i64::MAX / 1000))
    }

    /// Checks that it is valid now, for long enough to settle it, and for no longer than an hour.
    ///
    /// # Errors
    /// [`PaymentError`], which the payer may see.
    pub fn check_time(&self, now: Timestamp) -> Result<(), PaymentError> {
        let now = u64::try_from(now.as_seconds()).unwrap_or(0);
        if U256::from(now) <= self.authorization.valid_after {
            return Err(PaymentError::NotYetValid);
        }
        if !self.authorization.is_valid_for(now, MARGIN) {
            return Err(PaymentError::Expired);
        }
        if self.authorization.valid_before > U256::from(now.saturating_add(LONGEST.as_secs())) {
            return Err(PaymentError::TooLong);
        }
        Ok(())
    }

    /// The key of what can be spent only once on the chain, and so may be claimed only once by us.
    #[must_use]
    pub fn claim(&self) -> ClaimKey {
        let Authorization { from, nonce, .. } = &self.authorization;
        ClaimKey::new(self.network, &format!("{from:#x}"), &format!("{nonce:#x}"))
    }
}

/// Network, asset, payer and nonce: equal for all forms of the same payment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey(String);

impl ClaimKey {
    /// The key of a payer and a nonce, in lower case.
    #[must_use]
    pub fn new(network: Network, payer: &str, nonce: &str) -> Self {
        Self(format!("{}/{:#x}/{payer}/{nonce}", network.caip2(), network.usdc()))
    }
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a payment does not pay the price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaymentError {
    /// It uses another scheme than `exact`.
    #[error("the scheme is not `exact`")]
    Scheme,
    /// It is for another network.
    #[error("the payment is for another network")]
    Network,
    /// It is in another asset than USDC.
    #[error("the payment is in another asset")]
    Asset,
    /// It is to another recipient.
    #[error("the payment is to another address")]
    Recipient,
    /// It is more or less than the price.
    #[error("the payment is not the amount that is asked for")]
    Amount,
    /// Its `accepted.maxTimeoutSeconds` is not ours.
    #[error("accepted.maxTimeoutSeconds is not the one that is asked for")]
    Timeout,
    /// Its `accepted.extra` does not name the token as its contract does.
    #[error("accepted.extra is not the name and version that are asked for")]
    Token,
    /// A number is not written in decimal digits.
    #[error("{0} is not a number")]
    Number(&'static str),
    /// It is not valid yet.
    #[error("the payment is not valid yet")]
    NotYetValid,
    /// It has expired, or would expire before it could be settled.
    #[error("the payment expires too soon")]
    Expired,
    /// It is valid for too long.
    #[error("the payment is valid for more than an hour")]
    TooLong,
    /// It is from the zero address.
    #[error("the payment is from the zero address")]
    Nobody,
    /// The payer did not sign it.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Checks that this payment pays this price now.
///
/// # Errors
/// [`PaymentError`], which the payer may see.
pub fn check(payload: &PaymentPayload, price: &Price, now: Timestamp) -> Result<Payment, PaymentError> {
    let payment = identify(payload, price)?;
    payment.check_time(now)?;
    Ok(payment)
}

/// Checks that the payer signed this payment of this price, regardless of its validity period: for a payment that was
/// used before.
///
/// # Errors
/// [`PaymentError`], which the payer may see.
pub fn identify(payload: &PaymentPayload, price: &Price) -> Result<Payment, PaymentError> {
    let authorization = read(payload, price)?;
    authorization.check(price.network, &payload.signed().signature)?;
    Ok(Payment { network: price.network, authorization })
}

/// The authorization of a payment that agrees with our requirements.
fn read(payload: &PaymentPayload, price: &Price) -> Result<Authorization, PaymentError> {
    check_terms(payload, price)?;
    let authorization = parse(&payload.signed().authorization)?;
    if authorization.to != price.pay_to {
        return Err(PaymentError::Recipient);
    }
    if authorization.value != U256::from(price.amount) {
        return Err(PaymentError::Amount);
    }
    if authorization.from == Address::ZERO {
        return Err(PaymentError::Nobody);
    }
    Ok(authorization)
}

/// Compares the payment's own fields with our offer.
fn check_terms(payload: &PaymentPayload, price: &Price) -> Result<(), PaymentError> {
    let (scheme, network) = match payload {
        PaymentPayload::V1(payload) => (&payload.scheme, &payload.network),
        PaymentPayload::V2(payload) => (&payload.accepted.scheme, &payload.accepted.network),
    };
    if scheme != SCHEME {
        return Err(PaymentError::Scheme);
    }
    if Network::parse(network) != Some(price.network) {
        return Err(PaymentError::Network);
    }
    let PaymentPayload::V2(payload) = payload else { return Ok(()) };
    let (accepted, ours) = (&payload.accepted, price.requirements());
    if accepted.asset != ours.asset {
        return Err(PaymentError::Asset);
    }
    if accepted.pay_to != ours.pay_to {
        return Err(PaymentError::Recipient);
    }
    if accepted.amount != ours.amount {
        return Err(PaymentError::Amount);
    }
    if accepted.max_timeout_seconds != ours.max_timeout_seconds {
        return Err(PaymentError::Timeout);
    }
    if accepted.extra != ours.extra {
        return Err(PaymentError::Token);
    }
    Ok(())
}

fn parse(fields: &AuthorizationFields) -> Result<Authorization, PaymentError> {
    let parsed = |digits: &str, name| number(digits).ok_or(PaymentError::Number(name));
    Ok(Authorization {
        from: fields.from,
        to: fields.to,
        value: parsed(&fields.value, "value")?,
        valid_after: parsed(&fields.valid_after, "validAfter")?,
        valid_before: parsed(&fields.valid_before, "validBefore")?,
        nonce: fields.nonce,
    })
}
