//! The clock, the random source, the pause and the meter of a real process, and its start.

use async_trait::async_trait;
use domain::{
    Secret, Timestamp,
    metric::{self, Measurement},
    ports::{Clock, Meter, Pause, Randomness},
};
use std::{
    future::Future,
    sync::OnceLock,
    time::{Duration, SystemTime},
};

/// The operating system's clock and random source, tokio's timer, and standard output for CloudWatch.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

impl Randomness for System {
    fn fraction(&self) -> f64 {
        let bits = getrandom::u32().unwrap_or_default();
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }

    fn token(&self) -> String {
        let mut bytes = [0; 16];
        if getrandom::fill(&mut bytes).is_err() {
            // Without a random source, the clock keeps tokens distinct; none of them is a secret.
            let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
            bytes = nanos.to_be_bytes();
        }
        hex::encode(bytes)
    }

    fn secret(&self) -> Option<Secret> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        Some(Secret::new(hex::encode(bytes)))
    }
}

#[async_trait]
impl Pause for System {
    async fn pause(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

impl Meter for System {
    #[allow(clippy::print_stdout)] // CloudWatch reads metrics from a line of their own.
    fn record(&self, measurements: &[Measurement], at: Timestamp) {
        println!("{}", metric::line(namespace(), measurements, at));
    }
}

/// The namespace of this stack's metrics.
#[allow(clippy::disallowed_methods)] // A meter has no settings to be handed: every port of time and chance is this unit.
fn namespace() -> &'static str {
    static NAMESPACE: OnceLock<String> = OnceLock::new();
    NAMESPACE.get_or_init(|| std::env::var("METRICS_NAMESPACE").unwrap_or_else(|_| metric::NAMESPACE.to_owned()))
}

/// Runs a function on one thread: a Lambda environment handles one event at a time, and a second thread would only cost
/// start-up time and memory.
///
/// # Errors
/// The error that stopped the function; it is logged first, as one line.
pub fn start<F>(function: F) -> Result<(), lambda_runtime::Error>
where
    F: Future<Output = Result<(), lambda_runtime::Error>>,
{
    let logging = crate::telemetry::start(&crate::Environment::of_process());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = match logging {
        Ok(()) => runtime.block_on(function),
        Err(error) => Err(error.into()),
    };
    if let Err(error) = &ended {
        tracing::error!(error = %crate::telemetry::chain(error.as_ref()), "the function stopped");
    }
    ended
}
