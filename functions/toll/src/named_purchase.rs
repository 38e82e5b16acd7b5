//! Finds purchases by their payers' names for them (x402's extension `payment-identifier`). An agent that lost its
//! reply and its payment asks again under the same name and is not charged twice.

use crate::payment_means::{CheckedMeans, unnamed};
use chain::payment::{MARGIN, Price};
use domain::{
    SessionId, Timestamp,
    ports::{Purchases, SaveError, StorageError, Versioned},
    toll::{Named, Purchase, Stage},
};
use std::time::Duration;

/// The time within which a purchase is written after its name. No invocation lasts as long, so a purchase that is
/// missing after this time is never written.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);

/// A name that this request may take.
pub(crate) struct FreeName {
    key: SessionId,
    version: u64,
}

/// The purchase to which a request's name leads.
pub(crate) enum NamedPurchase {
    /// The purchase of the request's own payment.
    Own(Option<FreeName>),
    /// A purchase that an earlier payment of the same payer began for the same request.
    Earlier(Box<Versioned<Purchase>>),
    /// A purchase for another request.
    Other,
    /// A purchase that is not written yet: another request is writing it.
    Unwritten,
    /// An unanswered purchase whose payment is about to expire, or has expired and may have reached us. Once the
    /// schedule has asked the chain, the same request begins a new purchase, or the payer gets the money back.
    Expiring,
}

/// Finds the purchase that has the name which the payer gives, or a name that this request may take.
pub(crate) async fn find_named_purchase(
    store: &dyn Purchases,
    means: &CheckedMeans,
    price: &Price,
    own: &SessionId,
    fingerprint: &str,
    now: Timestamp,
) -> Result<NamedPurchase, StorageError> {
    let Some(key) = means.name(price) else { return Ok(NamedPurchase::Own(None)) };
    let key = key.map_err(unnamed)?;
    let Some(Versioned { value: named, version }) = store.named(&key).await? else {
        return Ok(NamedPurchase::Own(Some(FreeName { key, version: 0 })));
    };
    if named.fingerprint != fingerprint {
        return Ok(NamedPurchase::Other);
    }
    if named.purchase == *own {
        return Ok(NamedPurchase::Own(None));
    }
    let Some(earlier) = store.load(&named.purchase).await? else {
        let is_written = now < named.at.plus(WRITTEN_WITHIN);
        return Ok(if is_written {
            NamedPurchase::Unwritten
        } else {
            NamedPurchase::Own(Some(FreeName { key, version }))
        });
    };
    let ends = earlier.value.signed().map(|signed| signed.valid_before);
    Ok(match earlier.value.stage() {
        // The earlier purchase can no longer lead to an answer or a settlement. Only the schedule ends it, because
        // anyone may have submitted its payment. An untraced payment may have reached us, until a human has dealt with
        // it.
        Stage::Lapsed { untraced, resolved, .. } if !untraced || *resolved => {
            NamedPurchase::Own(Some(FreeName { key, version }))
        }
        Stage::Unanswered | Stage::Working { .. }
            if !earlier.value.is_held(now) && ends.is_some_and(|ends| now.plus(MARGIN) >= ends) =>
        {
            NamedPurchase::Expiring
        }
        Stage::Unanswered
        | Stage::Working { .. }
        | Stage::Settling { .. }
        | Stage::Settled { .. }
        | Stage::Lapsed { .. }
        | Stage::Owed { .. } => NamedPurchase::Earlier(Box::new(earlier)),
    })
}

impl FreeName {
    /// Takes the name for a purchase. Returns `false` if another request has taken it first.
    pub(crate) async fn take(
        &self,
        store: &dyn Purchases,
        fingerprint: String,
        purchase: SessionId,
        at: Timestamp,
    ) -> Result<bool, StorageError> {
        match store.name(&self.key, &Named { fingerprint, purchase, at }, self.version).await {
            Ok(_) => Ok(true),
            Err(SaveError::Conflict) => Ok(false),
            Err(SaveError::Storage(error)) => Err(error),
        }
    }
}
