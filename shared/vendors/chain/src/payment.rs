//! Whether a payment pays what we asked. Nothing that the payer or a facilitator says is believed.

use crate::{
    authorization::{Authorization, SignatureError},
    network::Network,
    wire::{AuthorizationFields, Extra, PaymentPayload, Requirements, number},
};
use alloy_primitives::{Address, U256};
use domain::Timestamp;
use std::{fmt, time::Duration};

/// The only scheme we take: exactly the amount that is asked for.
pub const SCHEME: &str = "exact";

/// How long a payment must stay valid: the answer is made before it is settled.
pub const MARGIN: Duration = Duration::from_secs(30);

/// A payment that could be settled for longer is refused: until its time is over nobody can say that it never will be.
pub const LONGEST: Duration = Duration::from_secs(3600);

/// What we ask for one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Where it is paid.
    pub network: Network,
    /// Millionths of a dollar.
    pub amount: u64,
    /// Who is paid.
    pub pay_to: Address,
    /// How long the payer may have to wait, in whole seconds.
    pub timeout: Duration,
}

impl Price {
    /// The price as version 2 states it.
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
}

/// A payment that pays a price: only [`check`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    network: Network,
    authorization: Authorization,
}

impl Payment {
    /// What was signed.
    #[must_use]
    pub const fn authorization(&self) -> &Authorization {
        &self.authorization
    }

    /// When it cannot be settled any more.
    #[must_use]
    pub fn valid_before(&self) -> Timestamp {
        let seconds = i64::try_from(self.authorization.valid_before).unwrap_or(i64::MAX / 1000);
        Timestamp::from_seconds(seconds.min(i64::MAX / 1000))
    }

    /// What can be spent once on the chain, and so may be claimed once by us.
    #[must_use]
    pub fn claim(&self) -> ClaimKey {
        ClaimKey(format!(
            "{}/{:#x}/{:#x}/{:#x}",
            self.network.caip2(),
            self.network.usdc(),
            self.authorization.from,
            self.authorization.nonce
        ))
    }
}

/// Network, asset, payer and nonce: the same for every way of writing the same payment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey(String);

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a payment does not pay the price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaymentError {
    /// Another scheme than `exact`.
    #[error("the scheme is not `exact`")]
    Scheme,
    /// Another network.
    #[error("the payment is for another network")]
    Network,
    /// Another asset than USDC.
    #[error("the payment is in another asset")]
    Asset,
    /// To somebody else.
    #[error("the payment is to another address")]
    Recipient,
    /// More or less than the price.
    #[error("the payment is not the amount that is asked for")]
    Amount,
    /// What it accepts is not what we offer.
    #[error("the accepted requirements are not ours")]
    Accepted,
    /// A number is not written in decimal digits.
    #[error("{0} is not a number")]
    Number(&'static str),
    /// Its time has not begun.
    #[error("the payment is not valid yet")]
    NotYetValid,
    /// Its time is over, or would be before it could be settled.
    #[error("the payment expires too soon")]
    Expired,
    /// Its time would be over too late.
    #[error("the payment is valid for more than an hour")]
    TooLong,
    /// It is from nobody.
    #[error("the payment is from the zero address")]
    Nobody,
    /// The payer did not sign it.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Decides whether this payment pays this price now.
///
/// # Errors
/// [`PaymentError`], of which the payer may hear.
pub fn check(payload: &PaymentPayload, price: &Price, now: Timestamp) -> Result<Payment, PaymentError> {
    let authorization = read(payload, price)?;
    let now = u64::try_from(now.as_seconds()).unwrap_or(0);
    if U256::from(now) <= authorization.valid_after {
        return Err(PaymentError::NotYetValid);
    }
    if !authorization.is_valid_for(now, MARGIN) {
        return Err(PaymentError::Expired);
    }
    if authorization.valid_before > U256::from(now.saturating_add(LONGEST.as_secs())) {
        return Err(PaymentError::TooLong);
    }
    sealed(payload, price, authorization)
}

/// Decides whether the payer signed this payment of this price, whether or not its time has come or is over: for one
/// that was shown before.
///
/// # Errors
/// [`PaymentError`], of which the payer may hear.
pub fn identify(payload: &PaymentPayload, price: &Price) -> Result<Payment, PaymentError> {
    sealed(payload, price, read(payload, price)?)
}

/// The authorization of a payment that says what we ask.
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

fn sealed(payload: &PaymentPayload, price: &Price, authorization: Authorization) -> Result<Payment, PaymentError> {
    authorization.check(price.network, &payload.signed().signature)?;
    Ok(Payment { network: price.network, authorization })
}

/// Compares what the payment says about itself with what we offer.
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
    if *accepted != ours {
        return Err(PaymentError::Accepted);
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
