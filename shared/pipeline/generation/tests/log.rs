//! The log lines of attempts. The test has a process of its own: another thread that logs first, without a subscriber,
//! would switch a line off for all.
#![allow(clippy::unwrap_used, reason = "a failed test shows where")]

use domain::{
    Query, SessionId, Tier, Timestamp,
    backoff::Backoff,
    breaker::Caller,
    ports::{ModelError, ModelReply},
};
use generation::{Background, Policy, Ports, Question, breaker_policy, generate};
use runtime::Environment;
use std::{
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};
use testkit::{World, run};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Gemini Timeout, verification criterion 2.
#[test]
fn the_log_numbers_the_attempts() {
    let log = Log::default();
    let written = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let world = World::at(Timestamp::from_seconds(1_000));
    let timeout = || Err::<ModelReply, _>(ModelError::Timeout);
    let good = testkit::reply(r#"{"verdict":"GREEN","summary":"Demand is real and the format fits."}"#);
    world.state().answers = [timeout(), timeout(), Ok(good)].into();
    let policy = Policy {
        models: vec!["model-a".to_owned()],
        backoff: Backoff { attempts: 3, base: Duration::from_secs(1), cap: Duration::from_secs(8) },
        breaker: breaker_policy(&Environment::of(&[])).unwrap(),
        caller: Caller::Orders,
        longest: None,
    };
    let ports = Ports {
        model: &world,
        breakers: &world,
        alerts: &world,
        clock: &world,
        randomness: &world,
        pause: &world,
        meter: &world,
    };
    let query = Query::parse("Open a second shop?").unwrap();
    let evaluation = authority::evaluate(query.as_str(), None);
    let (tier, background) = (Tier::Quick, Background::Nothing);
    let question = Question { tier, query: &query, background, evaluation: &evaluation };
    let session = SessionId::parse("cs_test_1").unwrap();
    assert!(run(generate(ports, &policy, &session, question)).unwrap().verdict.is_ok());
    let log = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let said: Vec<&str> = log.lines().filter_map(|line| Some(line.split_once("[gemini] ")?.1)).collect();
    let specified = ["attempt 1 failed", "attempt 2 failed", "attempt 3 succeeded"];
    assert!(said.len() == 3 && said.iter().zip(specified).all(|(line, words)| line.starts_with(words)), "{log}");
}
