//! The ports and settings of asking the model, and what it gets beside the question.

use domain::{
    FirstVerdict,
    backoff::Backoff,
    breaker::BreakerPolicy,
    ports::{Alerts, Breakers, Clock, Model, Pause, Randomness},
};

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

/// What the model gets beside a question.
#[derive(Clone, Copy, Debug, Default)]
pub enum Background<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// The question is a follow-up of this.
    Followed(&'a FirstVerdict),
    /// Reference texts.
    References(&'a [String]),
}

impl<'a> Background<'a> {
    /// That of a question which may be a follow-up.
    #[must_use]
    pub fn of_first(first: Option<&'a FirstVerdict>) -> Self {
        first.map_or(Self::Nothing, Self::Followed)
    }
}
