//! What asking the model needs from outside, and by which settings it is asked.

use domain::{
    backoff::Backoff,
    breaker::BreakerPolicy,
    ports::{Alerts, Breakers, Clock, Model, Pause, Randomness},
};

/// What asking the model needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub model: &'a dyn Model,
    pub breakers: &'a dyn Breakers,
    pub alerts: &'a dyn Alerts,
    pub clock: &'a dyn Clock,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
}

/// How the model is asked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The models, best first; the next one serves when one does not.
    pub models: Vec<String>,
    /// Attempts and waits.
    pub backoff: Backoff,
    /// When a model is left alone.
    pub breaker: BreakerPolicy,
}
