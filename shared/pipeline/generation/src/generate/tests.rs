//! Generations: the models that are asked, their circuits, and the result.
//! The file has more than 300 lines because each result of a call has a short test of its own with the same circuits.

use super::*;
use crate::{asking::Background, breaker_policy};
use domain::{
    backoff::Backoff,
    breaker::{Breaker, BreakerPolicy},
};
use runtime::Environment;
use std::{sync::LazyLock, time::Duration};
use testkit::{World, run};

fn policy() -> Policy {
    Policy {
        models: vec!["model-a".to_owned(), "model-b".to_owned()],
        backoff: Backoff { attempts: 3, base: Duration::from_secs(1), cap: Duration::from_secs(8) },
        breaker: breaker_policy(&Environment::of(&[])).unwrap(),
        caller: domain::breaker::Caller::Orders,
        longest: None,
    }
}

fn world() -> World {
    World::at(Timestamp::from_seconds(1_000))
}

/// A circuit that has been open for more than a minute: the next caller makes the half-open call.
fn open_circuit(world: &World, model: &str) {
    let opened_at = Some(Timestamp::from_seconds(900));
    world.state().breakers.insert(model.to_owned(), (Breaker { failures: 5, opened_at, ..Breaker::default() }, 1));
}

fn open_until(seconds: i64) -> Unavailable {
    Unavailable::CircuitOpen(Timestamp::from_seconds(seconds))
}

fn delayed_until(seconds: i64) -> Unavailable {
    Unavailable::Delayed(Timestamp::from_seconds(seconds))
}

fn good() -> Result<ModelReply, ModelError> {
    Ok(testkit::reply(r#"{"verdict":"GREEN","summary":"Demand is real and the format fits."}"#))
}

/// The evaluation of the question that these tests ask.
static EVALUATION: LazyLock<authority::Evaluation> = LazyLock::new(|| authority::evaluate("Open a second shop?", None));

fn question(query: &Query) -> Question<'_> {
    Question { tier: Tier::Quick, query, background: Background::Nothing, evaluation: &EVALUATION }
}

fn ports(world: &World) -> Ports<'_> {
    Ports { model: world, breakers: world, alerts: world, clock: world, randomness: world, pause: world, meter: world }
}

#[test]
fn an_open_circuit_is_measured_for_its_alarm() {
    let world = world();
    open_circuit(&world, "model-a");
    run(guard::closed_until(ports(&world), &policy(), "model-a")).unwrap();
    assert_eq!(world.state().measured(domain::Metric::BreakerOpen), 1);
}

fn generated(world: &World, answers: impl IntoIterator<Item = Result<ModelReply, ModelError>>) -> Generated {
    world.state().answers = answers.into_iter().collect();
    let session = SessionId::parse("cs_test_1").unwrap();
    let query = Query::parse("Open a second shop?").unwrap();
    run(generate(ports(world), &policy(), &session, question(&query), None)).unwrap()
}

fn models_asked(world: &World) -> Vec<String> {
    world.state().prompts.iter().map(|(model, _)| model.clone()).collect()
}

#[test]
fn a_model_that_is_gone_costs_no_attempt() {
    let world = world();
    let timeout = || Err(ModelError::Timeout);
    let generated = generated(&world, [Err(ModelError::UnknownModel), timeout(), timeout(), good()]);
    assert!(generated.verdict.is_ok());
    assert_eq!(generated.attempts, 4, "every call is on record");
    assert_eq!(models_asked(&world), ["model-a", "model-b", "model-b", "model-b"]);
}

#[test]
fn the_fourth_attempt_is_never_made_and_the_list_ends() {
    let timeout = || Err(ModelError::Timeout);
    let unknown = || Err(ModelError::UnknownModel);
    let first = world();
    assert!(generated(&first, [unknown(), timeout(), timeout(), timeout(), good()]).verdict.is_err());
    assert_eq!(models_asked(&first).len(), 4);
    let second = world();
    assert!(generated(&second, [timeout(), unknown(), timeout(), timeout(), good()]).verdict.is_err());
    assert_eq!(models_asked(&second), ["model-a", "model-a", "model-b", "model-b"]);
    let third = world();
    assert!(generated(&third, [unknown(), unknown(), good()]).verdict.is_err());
    assert_eq!(models_asked(&third), ["model-a", "model-b"]);
    let last = world();
    assert!(generated(&last, [timeout(), timeout(), hollow(), good()]).verdict.is_err());
    assert_eq!(models_asked(&last), ["model-a", "model-a", "model-b"]);
}

#[test]
fn the_next_model_is_asked_only_if_its_own_circuit_lets_it() {
    let world = world();
    let opened_at = Some(Timestamp::from_seconds(990));
    world.state().breakers.insert("model-b".to_owned(), (Breaker { failures: 5, opened_at, ..Breaker::default() }, 1));
    let generated = generated(&world, [Err(ModelError::UnknownModel), good()]);
    assert_eq!(generated.verdict, Err(NoVerdict::NotBefore(open_until(1_050))));
    assert_eq!(models_asked(&world), ["model-a"]);
}

#[test]
fn no_end_of_the_one_half_open_call_leaves_the_circuit_half_open() {
    let not_ready = ModelError::NotReady("no key".into());
    for (error, closes) in [
        (ModelError::BadRequest(400), true),
        (ModelError::NoVerdict("SAFETY".to_owned()), true),
        (ModelError::UnknownModel, true),
        (ModelError::Unauthorized(401), false),
        (ModelError::Account(402), false),
        (ModelError::QuotaExhausted, false),
        (not_ready, false),
    ] {
        let (world, what) = (world(), error.to_string());
        open_circuit(&world, "model-a");
        generated(&world, [Err(error), good()]);
        let breaker = world.state().breakers["model-a"].0.clone();
        assert_eq!(breaker.probing_since, None, "{what}");
        assert_eq!(breaker.opened_at.is_none(), closes, "{what}");
    }
}

/// Gemini Timeout, failure mode 6: a refused key opens the circuit, so that sales wait instead of failing.
#[test]
fn a_refused_key_or_account_opens_the_circuit_and_refused_questions_do_not() {
    let errors: [(fn() -> ModelError, bool); 3] = [
        (|| ModelError::Unauthorized(401), true),
        (|| ModelError::Account(402), true),
        (|| ModelError::BadRequest(400), false),
    ];
    for (error, opens) in errors {
        let world = world();
        for _ in 0..5 {
            let verdict = generated(&world, [Err(error())]).verdict;
            assert!(match verdict {
                Err(NoVerdict::Failed(failure)) => opens && failure.is_ours,
                verdict => !opens && matches!(verdict, Err(NoVerdict::Refused(_))),
            });
        }
        world.state().prompts.clear();
        assert!(generated(&world, [good()]).verdict.is_ok());
        assert_eq!(models_asked(&world), [if opens { "model-b" } else { "model-a" }]);
    }
}

fn cut() -> ModelError {
    ModelError::Incomplete("MAX_TOKENS".to_owned())
}

/// The asker decides how long the reply is. The other questions are answered.
#[test]
fn replies_that_reach_their_limit_open_no_circuit() {
    for cut in [cut, ModelError::cut_by_time] {
        let world = world();
        for _ in 0..6 {
            assert!(generated(&world, [Err(cut()), Err(cut()), Err(cut())]).verdict.is_err());
        }
        world.state().prompts.clear();
        assert!(generated(&world, [good()]).verdict.is_ok());
        assert_eq!(models_asked(&world), ["model-a"]);
        for _ in 0..6 {
            assert!(replied(&world, [Err(cut()), Err(cut())]).is_err());
        }
        world.state().prompts.clear();
        assert!(replied(&world, [good()]).is_ok());
        assert_eq!(models_asked(&world), ["model-a"]);
        assert!(world.state().alerts.is_empty());
    }
}

/// The half-open call shows that the service is up, and the failure is the question's own.
#[test]
fn a_half_open_call_whose_reply_reaches_its_limit_closes_the_circuit_and_counts_for_its_sale() {
    let world = world();
    open_circuit(&world, "model-a");
    let failed = generated(&world, [Err(cut()), Err(cut()), Err(cut())]);
    assert!(matches!(failed.verdict, Err(NoVerdict::Failed(_))), "{:?}", failed.verdict);
    assert_eq!(models_asked(&world), ["model-a", "model-a", "model-b"]);
    let state = world.state();
    assert!(["model-a", "model-b"].iter().all(|model| state.breakers.get(*model).is_none_or(|it| it.0.is_fresh())));
}

#[test]
fn nothing_a_model_says_reaches_an_alert_but_a_short_code() {
    let world = world();
    let warning = format!("<b>a@b \n| {}", "word ".repeat(100));
    let reply = good().map(|reply| ModelReply { status_warning: Some(warning), ..reply });
    generated(&world, [reply]);
    let line = world.state().alerts[0].line.clone();
    let detail = line.rsplit(" | ").next().unwrap();
    assert!(detail.starts_with("m-1: bab ") && detail.len() <= 5 + 80, "{line}");
    let refused = generated(&world, [Err(ModelError::NoVerdict("what was asked: <b>\n".repeat(50)))]);
    let Err(NoVerdict::Refused(reason)) = refused.verdict else { panic!("no failure") };
    assert!(reason.len() <= 80 && !reason.contains(['<', '\n']), "{reason}");
}

fn hollow() -> Result<ModelReply, ModelError> {
    Ok(testkit::reply(r#"{"verdict":"GREEN","summary":"[insert the summary here]"}"#))
}

#[test]
fn a_hollow_reply_is_asked_for_once_more_and_never_sold() {
    let once = world();
    let sold = generated(&once, [hollow(), good()]);
    assert!(sold.verdict.is_ok());
    assert_eq!((sold.attempts, sold.crosschecks.len()), (2, 2));
    let instructions: Vec<_> = once.state().prompts.iter().map(|(_, prompt)| prompt.instruction.clone()).collect();
    assert!(instructions[1].len() > instructions[0].len(), "the second time the instruction insists");
    let twice = generated(&world(), [hollow(), hollow(), good()]);
    assert_eq!(twice.verdict, Err(NoVerdict::failed("the reply is hollow: empty:summary".to_owned())));
    assert_eq!(twice.attempts, 2);
}

#[test]
fn the_next_model_serves_when_the_first_is_overloaded_throttled_or_closed() {
    let throttled = || Err(ModelError::Throttled(Duration::from_secs(36)));
    for (answers, asked) in [
        (vec![throttled(), good()], vec!["model-a", "model-b"]),
        (vec![Err(ModelError::Unavailable(429)), good()], vec!["model-a", "model-b"]),
        (vec![Err(ModelError::QuotaExhausted), good()], vec!["model-a", "model-b"]),
        (
            vec![Err(ModelError::Unavailable(503)), Err(ModelError::Unavailable(503)), good()],
            vec!["model-a", "model-a", "model-b"],
        ),
        (vec![Err(ModelError::Incomplete("MAX_TOKENS".to_owned())), good()], vec!["model-a", "model-a"]),
    ] {
        let world = world();
        assert!(generated(&world, answers).verdict.is_ok(), "{asked:?}");
        assert_eq!(models_asked(&world), asked);
    }
    let closed = world();
    let opened_at = Some(Timestamp::from_seconds(990));
    closed.state().breakers.insert("model-a".to_owned(), (Breaker { failures: 5, opened_at, ..Breaker::default() }, 1));
    assert!(generated(&closed, [good()]).verdict.is_ok());
    assert_eq!(models_asked(&closed), ["model-b"]);
}

/// A vendor's delay is a minimum: a short one is waited for, and a long one hides the order for at least that time.
#[test]
fn a_delay_is_never_cut_short() {
    let throttled = |seconds| Err(ModelError::Throttled(Duration::from_secs(seconds)));
    let long = world();
    let waits = generated(&long, [throttled(36), throttled(120)]);
    assert_eq!(waits.verdict, Err(NoVerdict::NotBefore(delayed_until(1_120))));
    let unlike = world();
    let waits = generated(&unlike, [throttled(120), throttled(36)]);
    assert_eq!(waits.verdict, Err(NoVerdict::NotBefore(delayed_until(1_120))), "the first is asked first");
    let short = world();
    assert!(generated(&short, [throttled(36), throttled(5), good()]).verdict.is_ok());
    assert_eq!(models_asked(&short), ["model-a", "model-b", "model-b"]);
    assert!(short.state().now >= Timestamp::from_seconds(1_005).as_millis(), "five seconds at least");
}

/// The next model fails while the first one's delay runs: the retry, which begins with the first model, waits for it.
#[test]
fn a_delay_outlasts_the_failure_of_the_next_model() {
    let throttled = || Err(ModelError::Throttled(Duration::from_secs(60)));
    let down = || Err(ModelError::Unavailable(503));
    let world = world();
    let failed = generated(&world, [throttled(), down(), down()]);
    assert_eq!(models_asked(&world), ["model-a", "model-b", "model-b"]);
    let Err(NoVerdict::Failed(failure)) = failed.verdict else { panic!("{:?}", failed.verdict) };
    assert_eq!(failure.not_before, Some(Timestamp::from_seconds(1_060)));
    let probed = self::world();
    open_circuit(&probed, "model-b");
    let closed = generated(&probed, [throttled(), down()]);
    let Err(NoVerdict::NotBefore(unavailable)) = closed.verdict else { panic!("{:?}", closed.verdict) };
    assert!(unavailable.until() >= Timestamp::from_seconds(1_060), "{unavailable:?}");
}

/// The half-open call is made once, and its failure counts for the circuit, not for the sale: the next model serves, or
/// the order waits.
#[test]
fn a_half_open_call_that_fails_is_no_failure_of_its_sale() {
    let lonely = world();
    open_circuit(&lonely, "model-a");
    lonely.state().breakers.insert(
        "model-b".to_owned(),
        (Breaker { opened_at: Some(Timestamp::from_seconds(990)), ..Breaker::default() }, 1),
    );
    let probed = generated(&lonely, [Err(ModelError::Unavailable(503)), good()]);
    assert_eq!(probed.verdict, Err(NoVerdict::NotBefore(open_until(1_050))), "the first that may be tried");
    assert_eq!(models_asked(&lonely), ["model-a"]);
    let next = world();
    open_circuit(&next, "model-a");
    assert!(generated(&next, [Err(ModelError::Timeout), good()]).verdict.is_ok());
    assert_eq!(models_asked(&next), ["model-a", "model-b"]);
    assert!(next.state().paused.is_empty(), "no backoff between two models");
}

/// Orders run at the same time, and an attempt may outlast the minute for which the circuit opens.
#[test]
fn a_call_that_was_admitted_before_its_circuit_opened_does_not_end_the_half_open_one() {
    let (world, policy, session) = (world(), policy(), SessionId::parse("cs_test_1").unwrap());
    let circuits = Circuits { ports: ports(&world), policy: &policy, session: &session };
    let late = run(circuits.admit("model-a")).unwrap().unwrap();
    open_circuit(&world, "model-a");
    let half_open = run(circuits.admit("model-a")).unwrap().unwrap();
    assert_eq!((late, half_open), (Admitted::Call, Admitted::Probe));
    let probed = world.state().breakers["model-a"].0.clone();
    for end in [ModelError::Timeout, ModelError::NotReady("no key".into())] {
        run(circuits.ended("model-a", late, &end)).unwrap();
        assert_eq!(world.state().breakers["model-a"].0, probed, "{end}");
    }
    run(circuits.ended("model-a", half_open, &ModelError::Timeout)).unwrap();
    assert_eq!(world.state().breakers["model-a"].0.probing_since, None);
}

/// A half-open call that is admitted and not made would keep everybody else from making one for three minutes.
#[test]
fn the_last_attempt_admits_no_other_model() {
    let world = world();
    for model in ["model-a", "model-b"] {
        open_circuit(&world, model);
    }
    world.state().answers = [Err(ModelError::Timeout)].into();
    let policy = Policy { backoff: Backoff { attempts: 1, ..policy().backoff }, ..policy() };
    let (session, query) = (SessionId::parse("cs_test_1").unwrap(), Query::parse("Open a second shop?").unwrap());
    let verdict = run(generate(ports(&world), &policy, &session, question(&query), None)).unwrap().verdict;
    assert!(matches!(verdict, Err(NoVerdict::NotBefore(Unavailable::CircuitOpen(_)))), "{verdict:?}");
    assert_eq!(world.state().breakers["model-b"].0.probing_since, None);
}

/// Gemini Timeout, GAP-02B: the customer's whole wait counts, not only the last attempt.
#[test]
fn a_call_is_slow_by_its_whole_duration() {
    let world = world();
    world.state().answers = [Err(ModelError::Throttled(Duration::from_secs(8))), good()].into();
    let slow = BreakerPolicy { slow: Duration::from_secs(8), ..policy().breaker };
    let policy = Policy { models: vec!["model-a".to_owned()], breaker: slow, ..policy() };
    let session = SessionId::parse("cs_test_1").unwrap();
    let query = Query::parse("Open a second shop?").unwrap();
    assert!(run(generate(ports(&world), &policy, &session, question(&query), None)).unwrap().verdict.is_ok());
    assert_eq!(world.state().breakers["model-a"].0.slow_successes, 1);
}

/// A throttled or exhausted model gives way while an attempt is left; a failing one before the last attempt.
#[test]
fn the_next_model_serves_while_an_attempt_is_left_for_it() {
    let gives = |error: ModelError| [0, 1, 2].map(|left| gives_way(&error, left));
    assert_eq!(gives(ModelError::UnknownModel), [true, true, true]);
    assert_eq!(gives(ModelError::QuotaExhausted), [false, true, true]);
    assert_eq!(gives(ModelError::Unavailable(429)), [false, true, true]);
    assert_eq!(gives(ModelError::Unavailable(503)), [false, true, false]);
}

#[test]
fn a_model_that_does_not_exist_is_no_failure_of_its_circuit() {
    let world = world();
    assert!(generated(&world, [Err(ModelError::UnknownModel), good()]).verdict.is_ok());
    let failures = world.state().breakers.get("model-a").map_or(0, |(breaker, _)| breaker.failures);
    assert_eq!(failures, 0);
}

struct Deaf;

#[async_trait::async_trait]
impl domain::ports::Listener for Deaf {
    async fn hear(&mut self, _text: &str) {}
}

/// Asks for a reply of the chat.
fn replied(
    world: &World,
    answers: impl IntoIterator<Item = Result<ModelReply, ModelError>>,
) -> Result<ModelReply, crate::NotReplied> {
    world.state().answers = answers.into_iter().collect();
    let chat = Policy { caller: domain::breaker::Caller::Chat, ..policy() };
    let query = Query::parse("Open a second shop?").unwrap();
    let prompt = question(&query).prompt(false, None);
    let session = SessionId::parse("cs_chat_1").unwrap();
    run(crate::reply(ports(world), &chat, &session, &prompt, &mut Deaf)).unwrap()
}

/// The chat gives a call up after ten seconds, and an order after 45.
#[test]
fn a_model_that_is_too_slow_for_the_chat_still_answers_orders() {
    let world = world();
    let chat = Policy { models: vec!["model-a".to_owned()], caller: domain::breaker::Caller::Chat, ..policy() };
    let query = Query::parse("Open a second shop?").unwrap();
    let prompt = question(&query).prompt(false, None);
    for _ in 0..6 {
        world.state().answers = [Err(ModelError::Timeout)].into();
        let session = SessionId::parse("cs_chat_1").unwrap();
        assert!(run(crate::reply(ports(&world), &chat, &session, &prompt, &mut Deaf)).unwrap().is_err());
    }
    assert_eq!(models_asked(&world).len(), 5, "the chat's circuit is open");
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("circuit of chat/model-a opened")));
    assert!(generated(&world, [good()]).verdict.is_ok());
    assert_eq!(models_asked(&world).last().unwrap(), "model-a");
}
