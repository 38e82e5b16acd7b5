//! Purchases by what their payers call them (x402's extension `payment-identifier`): an agent that lost its reply, and its
//! payment with it, asks again under the same name and is not charged twice.

use crate::{means::Checked, sell::unnamed};
use chain::payment::{MARGIN, Price};
use domain::{
    SessionId, Timestamp,
    ports::{Purchases, SaveError, StorageError, Versioned},
    toll::{Named, Purchase, Stage},
};
use std::time::Duration;

/// A purchase is written right after its name. One that is not there by now never will be: no invocation lives as long.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);

/// A name that this request may take.
pub(crate) struct Name {
    key: SessionId,
    version: u64,
}

/// What a request's name stands for.
pub(crate) enum Called {
    /// Nothing else than the request's own payment.
    Own(Option<Name>),
    /// A purchase that an earlier payment of the same payer began for the same request.
    Earlier(Box<Versioned<Purchase>>),
    /// Another request.
    Other,
    /// A purchase that is being begun, or whose payment is about to end: which of the two is known soon.
    Busy,
}

/// Looks up what the payer calls its purchase.
pub(crate) async fn look(
    store: &dyn Purchases,
    means: &Checked,
    price: &Price,
    own: &SessionId,
    fingerprint: &str,
    now: Timestamp,
) -> Result<Called, StorageError> {
    let Some(key) = means.name(price) else { return Ok(Called::Own(None)) };
    let key = key.map_err(unnamed)?;
    let Some(Versioned { value: named, version }) = store.named(&key).await? else {
        return Ok(Called::Own(Some(Name { key, version: 0 })));
    };
    if named.fingerprint != fingerprint {
        return Ok(Called::Other);
    }
    if named.purchase == *own {
        return Ok(Called::Own(None));
    }
    let Some(earlier) = store.load(&named.purchase).await? else {
        let is_written = now < named.at.plus(WRITTEN_WITHIN);
        return Ok(if is_written { Called::Busy } else { Called::Own(Some(Name { key, version })) });
    };
    let ends = earlier.value.signed().map(|signed| signed.valid_before);
    Ok(match earlier.value.stage() {
        // It can bring neither an answer nor a settlement any more.
        Stage::Lapsed { .. } => Called::Own(Some(Name { key, version })),
        Stage::Unanswered | Stage::Working { .. } if now >= earlier.value.lapses_at() => {
            Called::Own(Some(Name { key, version }))
        }
        Stage::Unanswered if ends.is_some_and(|ends| now.plus(MARGIN) >= ends) => Called::Busy,
        Stage::Unanswered
        | Stage::Working { .. }
        | Stage::Settling { .. }
        | Stage::Settled { .. }
        | Stage::Owed { .. } => Called::Earlier(Box::new(earlier)),
    })
}

impl Name {
    /// Takes the name for a purchase; `false` where another request was faster.
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
