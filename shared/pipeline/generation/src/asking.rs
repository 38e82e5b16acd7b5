//! The ports and settings of asking the model, and what it gets beside the question.

use domain::{
    backoff::Backoff,
    breaker::BreakerPolicy,
    ports::{Alerts, Breakers, Clock, Model, Pause, Randomness},
};
use lens::WorkingSet;

/// The ports that a call of the model uses.
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
    /// The models, best first; if one does not serve, the next one does.
    pub models: Vec<String>,
    /// Attempts and waits.
    pub backoff: Backoff,
    /// When a model's circuit opens.
    pub breaker: BreakerPolicy,
}

/// The context that the model gets with a question.
#[derive(Clone, Copy, Debug, Default)]
pub enum Background<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// The question is a follow-up.
    Followed {
        /// The first question, for the authority gate.
        question: &'a str,
        /// The first question and its verdict, as the model sees them.
        memory: &'a WorkingSet,
    },
    /// Reference texts.
    References(&'a [String]),
}
