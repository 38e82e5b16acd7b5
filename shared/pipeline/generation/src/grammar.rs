//! Asks for a verdict that keeps to the grammar of a narrative answer (Authority Governance, NARRATIVE_ONLY).

use crate::{
    asking::{Background, Policy, Ports, Question},
    generate::{Generated, generate as generate_once},
};
use authority::{Evaluation, ReplyProblem};
use domain::{Query, SessionId, Tier, Verdict};
use gates::Gate;

/// The most attempts at the first reply of a narrative answer. Of the three of a sale, one is left for the other reply.
const FIRST_ATTEMPTS: u32 = 2;

/// Asks for the verdict of a question, with what the model gets beside it.
///
/// The texts of a narrative answer are checked as customers would read them: after the content filter. If they break
/// the grammar and an attempt is left, the model is told how and is asked once more. The result may still break it:
/// the caller checks what it delivers.
pub async fn generate(
    ports: Ports<'_>,
    policy: &Policy,
    session: &SessionId,
    tier: Tier,
    query: &Query,
    background: Background<'_>,
    evaluation: &Evaluation,
) -> Generated {
    let question = Question { tier, query, background, problem: None };
    let has_grammar = !evaluation.forbidden_phrases().is_empty() || !evaluation.required_phrases().is_empty();
    if !has_grammar {
        return generate_once(ports, policy, session, question).await;
    }
    let most = policy.backoff.attempts;
    let first = generate_once(ports, &limited(policy, most.min(FIRST_ATTEMPTS)), session, question).await;
    let problem = first.verdict.as_ref().ok().and_then(|verdict| problem(verdict, evaluation));
    let left = most.saturating_sub(first.attempts);
    let (Some(problem), 1..) = (problem, left) else { return first };
    tracing::warn!(session = session.prefix(), %problem, "the reply breaks the grammar of a narrative answer");
    let question = Question { problem: Some(&problem), ..question };
    let mut second = generate_once(ports, &limited(policy, left), session, question).await;
    second.attempts += first.attempts;
    second.crosschecks.splice(0..0, first.crosschecks);
    second
}

fn limited(policy: &Policy, attempts: u32) -> Policy {
    let mut policy = policy.clone();
    policy.backoff.attempts = attempts;
    policy
}

/// How the texts that the filter would deliver break the grammar. Texts that it holds are not delivered.
fn problem(verdict: &Verdict, evaluation: &Evaluation) -> Option<ReplyProblem> {
    let texts = gates::run(Gate::BeforeCache, verdict.texts()).delivered()?;
    evaluation.check_reply(&texts.join("\n")).err()
}
