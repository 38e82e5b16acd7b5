//! The ten stages, as data, and their possible outcomes.

use runtime::telemetry;
use serde_json::Value;
use std::{error::Error, time::Duration};

domain::enum_with_words! {
    /// A stage (Smoke Test, stage definitions).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[allow(missing_docs)]
    pub(crate) enum Stage {
        EnvironmentCheck = "environment check",
        TollHealth = "oracle_toll health",
        EmailServiceHealth = "oracle_email_service health",
        SessionCreation = "Stripe test session creation",
        WebhookSimulation = "webhook simulation",
        CacheWrite = "cache write verification",
        VerdictRoute = "verdict route retrieval",
        EmailSend = "email service send validation",
        Crosscheck = "TMM crosscheck on test verdict",
        CacheCleanup = "cache cleanup",
    }
    /// Its name in alerts and JSON.
    pub(crate) const fn name;
    /// Every stage, in order.
    pub(crate) const ALL;
}

/// The time limit of a stage: 30 seconds.
const LONGEST: Duration = Duration::from_secs(30);

/// The time limit of the two health checks: 10 seconds.
const HEALTH: Duration = Duration::from_secs(10);

/// The interval between two checks of the pipeline's progress.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Stage {
    /// Its number, from 1.
    pub(crate) const fn number(self) -> usize {
        self as usize + 1
    }

    /// Its line in the report without the outcome, verbatim from the spec.
    pub(crate) const fn head(self) -> &'static str {
        match self {
            Self::EnvironmentCheck => "[STAGE 1] Environment check .......................",
            Self::TollHealth => "[STAGE 2] oracle_toll health .....................",
            Self::EmailServiceHealth => "[STAGE 3] oracle_email_service health .............",
            Self::SessionCreation => "[STAGE 4] Stripe test session creation ...........",
            Self::WebhookSimulation => "[STAGE 5] Webhook simulation .....................",
            Self::CacheWrite => "[STAGE 6] Cache write verification ...............",
            Self::VerdictRoute => "[STAGE 7] Verdict route retrieval ................",
            Self::EmailSend => "[STAGE 8] Email service send validation ..........",
            Self::Crosscheck => "[STAGE 9] TMM crosscheck on test verdict .........",
            Self::CacheCleanup => "[STAGE 10] Cache cleanup .........................",
        }
    }

    /// Its time limit.
    pub(crate) const fn limit(self) -> Duration {
        match self {
            Self::TollHealth | Self::EmailServiceHealth => HEALTH,
            _ => LONGEST,
        }
    }
}

/// The failure of a stage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// The message for people; it contains no question, no address, and at most twelve characters of a session id.
    pub(crate) error: String,
    /// The reply that was received, if it helps.
    pub(crate) payload: Option<Value>,
}

impl Failure {
    /// A failure without a payload.
    pub(crate) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), payload: None }
    }

    /// A failure with the reply that was received.
    pub(crate) fn with(error: impl Into<String>, payload: Value) -> Self {
        Self { error: error.into(), payload: Some(payload) }
    }
}

pub(crate) fn out_of_time(limit: Duration) -> Failure {
    if limit.is_zero() {
        Failure::new("no time was left of the minute")
    } else {
        Failure::new(format!("no answer within {:.0} s", limit.as_secs_f64()))
    }
}

/// An error with its causes; adapters keep addresses and questions out of their errors.
pub(crate) fn failed(error: &(dyn Error + 'static)) -> Failure {
    Failure::new(telemetry::chain(error))
}

/// The outcome of a stage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It passed, with the detail after PASS.
    Pass(String),
    /// It failed.
    Fail(Failure),
    /// It could not be tried, because an earlier stage failed.
    Skip(String),
}

impl Outcome {
    /// Its word in the report.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Pass(_) => "PASS",
            Self::Fail(_) => "FAIL",
            Self::Skip(_) => "SKIP",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_bear_their_numbers() {
        for (index, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage.number(), index + 1);
            assert!(stage.head().starts_with(&format!("[STAGE {}] ", index + 1)), "{}", stage.head());
            assert!(stage.head().ends_with("........."), "{}", stage.head());
        }
    }
}
