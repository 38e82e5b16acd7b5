//! Asks for a verdict that keeps to the grammar of a narrative answer (Authority Governance, NARRATIVE_ONLY).

use crate::{
    asking::{Policy, Ports, Question},
    generate::{Generated, generate as generate_once},
};
use authority::{Evaluation, ReplyProblem};
use domain::{SessionId, Verdict};
use gates::Gate;
use runtime::within;
use std::time::Duration;

/// The most attempts at the first reply of a narrative answer. Of the three of a sale, one is left for the other reply.
const FIRST_ATTEMPTS: u32 = 2;

/// Asks for the verdict of a question.
///
/// The texts of a narrative answer are checked as customers would read them: after the content filter. If they break
/// the grammar and an attempt is left, a second prompt names the broken phrases, within the time of the policy. The
/// result may still break it: the caller checks what it delivers.
pub async fn generate(ports: Ports<'_>, policy: &Policy, session: &SessionId, question: Question<'_>) -> Generated {
    let (begun_at, evaluation) = (ports.clock.now(), question.evaluation);
    let has_grammar = !evaluation.forbidden_phrases().is_empty() || !evaluation.required_phrases().is_empty();
    if !has_grammar {
        return generate_once(ports, policy, session, question, None).await;
    }
    let most = policy.backoff.attempts;
    let first = generate_once(ports, &limited(policy, most.min(FIRST_ATTEMPTS)), session, question, None).await;
    let problem = first.verdict.as_ref().ok().and_then(|verdict| problem(verdict, evaluation));
    let left = most.saturating_sub(first.attempts);
    let (Some(problem), 1..) = (problem, left) else { return first };
    tracing::warn!(session = session.prefix(), %problem, "the reply breaks the grammar of a narrative answer");
    let policy = limited(policy, left);
    let again = generate_once(ports, &policy, session, question, Some(&problem));
    let second = match policy.longest {
        None => Ok(again.await),
        Some(longest) => {
            let spent = Duration::from_millis(ports.clock.now().millis_since(begun_at));
            within(ports.pause, longest.saturating_sub(spent), again).await
        }
    };
    let mut second = match second {
        Ok(second) => second,
        Err(interrupted) => {
            tracing::warn!(session = session.prefix(), broke = %interrupted, "the second reply is not waited for");
            return first;
        }
    };
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
    gates::run(Gate::BeforeCache, verdict.texts()).checked(|text| evaluation.check_reply(text)).err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{asking::Background, breaker_policy};
    use async_trait::async_trait;
    use domain::{
        Query, Tier, Timestamp,
        backoff::Backoff,
        ports::{Listener, Model, ModelError, ModelReply, Prompt},
    };
    use runtime::Environment;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use testkit::{World, run};

    const LACKING: &str = r#"{"verdict":"GREEN","summary":"The term names an event that no one could prevent."}"#;

    /// Answers without the required phrase first, and then never.
    #[derive(Default)]
    struct Hanging(AtomicU32);

    #[async_trait]
    impl Model for Hanging {
        async fn ask(&self, _: &str, _: &Prompt) -> Result<ModelReply, ModelError> {
            if self.0.fetch_add(1, Relaxed) > 0 {
                std::future::pending::<()>().await;
            }
            Ok(ModelReply { text: LACKING.to_owned(), model_version: "m-1".to_owned(), status_warning: None })
        }

        async fn stream(&self, model: &str, prompt: &Prompt, _: &mut dyn Listener) -> Result<ModelReply, ModelError> {
            self.ask(model, prompt).await
        }
    }

    #[test]
    fn a_second_reply_that_takes_too_long_leaves_the_first_with_its_crosscheck() {
        let (world, model) = (World::at(Timestamp::from_seconds(1_000)), Hanging::default());
        let ports = Ports {
            model: &model,
            breakers: &world,
            alerts: &world,
            clock: &world,
            randomness: &world,
            pause: &world,
            meter: &world,
        };
        let second = Duration::from_secs(1);
        let policy = Policy {
            models: vec!["model-a".to_owned()],
            backoff: Backoff { attempts: 2, base: second, cap: second },
            breaker: breaker_policy(&Environment::of(&[])).unwrap(),
            caller: domain::breaker::Caller::Toll,
            longest: Some(second * 13),
        };
        let query = Query::parse("What does 'force majeure' mean?").unwrap();
        let evaluation = authority::evaluate(query.as_str(), None);
        let session = SessionId::parse("cs_test_1").unwrap();
        let (tier, background) = (Tier::Quick, Background::Nothing);
        let question = Question { tier, query: &query, background, evaluation: &evaluation };
        let generated = run(generate(ports, &policy, &session, question)).unwrap();
        assert_eq!(model.0.load(Relaxed), 2);
        assert_eq!((generated.crosschecks.len(), generated.is_corrected, generated.verdict.is_ok()), (1, false, true));
    }
}
