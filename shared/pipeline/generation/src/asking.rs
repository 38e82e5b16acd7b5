//! The ports and settings of asking the model, and what it gets beside the question.

use authority::{Evaluation, ReplyProblem};
use domain::{
    Metric, Query, Tier,
    backoff::Backoff,
    breaker::{BreakerPolicy, Caller, Gauged},
    ports::{Alerts, Breakers, Clock, Meter, Model, Pause, Prompt, Randomness},
};
use lens::WorkingSet;
use prompt::{build_followup_prompt, build_referenced_prompt, build_verdict_prompt, corrected};
use std::time::Duration;

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
    pub meter: &'a dyn Meter,
}

impl<'a> Ports<'a> {
    /// The circuits, whose alarm watches what is measured here.
    pub(crate) const fn gauged(&self) -> Gauged<'a> {
        let Self { breakers, meter, clock, .. } = *self;
        Gauged { breakers, metric: Metric::BreakerOpen, meter, clock }
    }
}

/// How the model is asked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The models, best first; if one does not serve, the next one does.
    pub models: Vec<String>,
    /// Attempts and waits.
    pub backoff: Backoff,
    /// Whose circuits the models are behind.
    pub caller: Caller,
    /// When a model's circuit opens.
    pub breaker: BreakerPolicy,
    /// The longest time for both replies of a narrative answer, if there is a limit: a second one that takes longer is not
    /// waited for, and the first is the result.
    pub longest: Option<Duration>,
}

/// The context that the model gets with a question.
#[derive(Clone, Copy, Debug, Default)]
pub enum Background<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// The question is a follow-up: the first question and its verdict, as the model sees them.
    Followed(&'a WorkingSet),
    /// Reference texts.
    References(&'a [String]),
}

/// What the model is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The tier, which determines the form of the verdict.
    pub tier: Tier,
    /// The question.
    pub query: &'a Query,
    /// What the model gets beside it.
    pub background: Background<'a>,
    /// The authority gate's evaluation of the question. The prompt has its grammar, and the reply is checked for it.
    pub evaluation: &'a Evaluation,
}

impl Question<'_> {
    /// The prompt. `problem` is how the last reply broke the grammar of a narrative answer.
    pub(crate) fn prompt(&self, stricter: bool, problem: Option<&ReplyProblem>) -> Prompt {
        let Self { tier, query, background, evaluation } = *self;
        let prompt = match background {
            Background::Nothing => build_verdict_prompt(tier, query, evaluation, stricter),
            Background::Followed(memory) => build_followup_prompt(memory, query, evaluation, stricter),
            Background::References(texts) => build_referenced_prompt(tier, query, texts, evaluation, stricter),
        };
        match problem {
            Some(problem) => corrected(prompt, problem),
            None => prompt,
        }
    }
}
