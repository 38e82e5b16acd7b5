//! The function's settings, read from its environment at start.

use chain::{Address, Network, payment::Price};
use domain::{backoff::Backoff, breaker::Caller, toll::Offer};
use gemini::ModelList;
use generation::Policy;
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The required validity of a payment. The answer takes less than half a minute; the rest is for retries of the
/// settlement.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The lease of a claim. It is longer than the function's time-out (28 s), so that no second invocation takes over
/// while the first still runs.
const LEASE: Duration = Duration::from_secs(40);

/// The time for the model, out of API Gateway's time-out of 29 seconds. The facilitator takes at most 13 of them. The
/// second reply of a narrative answer must fit in too; if it does not, there is no answer, and nothing is paid.
const MODEL_TIME: Duration = Duration::from_secs(13);

/// The network, the address and the site of payments in USDC.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Terms {
    pub network: Network,
    /// `None` if nothing is sold: then only purchases that have begun are finished.
    pub pay_to: Option<Address>,
    pub site: String,
}

impl Terms {
    /// The price of an answer. Its recipient is the zero address if nothing is sold.
    #[must_use]
    pub fn price(&self, offer: Offer) -> Price {
        let pay_to = self.pay_to.unwrap_or(Address::ZERO);
        Price { network: self.network, amount: offer.price(), pay_to, timeout: TIMEOUT }
    }
}

/// The settings of the function.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The terms of payment.
    pub terms: Terms,
    /// Retries of the model's calls. [`Self::model_time`] limits their time.
    pub policy: Policy,
    /// The lease of a claim.
    pub lease: Duration,
    /// The time for retrieval and the model's calls, within the lease.
    pub model_time: Duration,
}

impl Settings {
    /// Reads and validates the settings. The caller waits for the answer, so the model is asked twice at most.
    ///
    /// # Errors
    /// [`ConfigurationError`] names the variable that is out of its range.
    pub fn from_environment(
        environment: &Environment,
        models: &ModelList,
        terms: Terms,
    ) -> Result<Self, ConfigurationError> {
        if terms.pay_to.is_none() {
            tracing::warn!("TOLL_PAY_TO is empty: only purchases that have begun are finished");
        }
        let base = Duration::from_millis(environment.bounded("GEMINI_BACKOFF_BASE_MS", 500, 1, 5_000)?);
        let backoff = Backoff { attempts: 2, base, cap: Duration::from_secs(2) };
        Ok(Self {
            terms,
            policy: Policy::from_environment(environment, models.names(), Caller::Toll, backoff)?,
            lease: LEASE,
            model_time: MODEL_TIME,
        })
    }
}
