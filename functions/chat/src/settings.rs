//! The function's settings, read from its environment at start.

use domain::{backoff::Backoff, breaker::Caller};
use gemini::ModelList;
use generation::Policy;
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The lease of a claim. It is longer than the function's time-out (28 s), so that no second invocation takes over
/// while the first still runs.
const LEASE: Duration = Duration::from_secs(35);

/// The time for the model: two calls of each voice have to end before API Gateway's time-out of 29 seconds.
const MODEL_TIME: Duration = Duration::from_secs(21);

/// The time from a request's arrival until the model's calls must end; the rest of the function's 28 seconds stores the replies.
/// A memory that is read for more than four seconds leaves less than [`MODEL_TIME`].
const ANSWER_TIME: Duration = Duration::from_secs(25);

/// The settings of the function.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The site's address.
    pub site: String,
    /// Time-outs and retries of the model's calls.
    pub policy: Policy,
    /// The lease of a claim.
    pub lease: Duration,
    /// The time for the model's calls, within the lease.
    pub model_time: Duration,
    /// The time from a request's arrival until the model's calls must end.
    pub answer_time: Duration,
    /// The longest time of a write of a reply's beginning. The model's stream is not read meanwhile.
    pub write_time: Duration,
    /// How many links are mailed within a minute in all. The mailbox's rate is limited, and verdicts need it too.
    pub mails_a_minute: u32,
    /// How many free exchanges one network gets within a day, and how many links it may request within an hour.
    pub per_network: u32,
}

impl Settings {
    /// Reads and validates the settings.
    ///
    /// # Errors
    /// [`ConfigurationError`] names the variable that is out of its range.
    pub fn from_environment(
        environment: &Environment,
        models: &ModelList,
        site: String,
    ) -> Result<Self, ConfigurationError> {
        let backoff = Backoff { attempts: 2, base: Duration::from_millis(1), cap: Duration::from_millis(1) };
        Ok(Self {
            site,
            policy: Policy::from_environment(environment, models.names(), Caller::Chat, backoff)?,
            lease: LEASE,
            model_time: MODEL_TIME,
            answer_time: ANSWER_TIME,
            write_time: Duration::from_millis(environment.bounded("CHAT_BEGINNING_TIMEOUT_MS", 1000, 100, 10_000)?),
            mails_a_minute: environment.bounded("CHAT_MAILS_A_MINUTE", 15, 1, 1_000_000)?,
            per_network: environment.bounded("CHAT_PER_NETWORK", 90, 1, 1_000_000)?,
        })
    }
}
