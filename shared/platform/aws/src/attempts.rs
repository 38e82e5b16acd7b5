//! Every call of a store: a few attempts at equal intervals, and the alerts about them (Cache Alert).
//!
//! There is no alert before the last attempt (Cache Alert, invariant 2). A call that finally succeeded is a WARN; one
//! that failed is an ERROR, or CRITICAL if the store could not even be reached (Cache Alert, failure mode 1).
//!
//! A service closes idle connections whenever it likes, and may do so while a request is on its way. Such a request is
//! repeated at once, once in a call, and counts neither as a failure nor as an attempt.
//!
//! DynamoDB refuses a write of an item that another process's transaction is writing, and a transaction that reads an
//! item which any other request is writing. Such a write takes milliseconds, so the request is repeated after a short
//! pause, up to three times in a call, and does not count either. It is no conflict of versions yet: only the next reply
//! shows what the other write has changed.

use crate::{Connection, RetryPolicy, now};
use aws_sdk_sqs::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};
use domain::{Alert, alert::Severity, ports::StorageError};
use std::{error::Error, future::Future, time::Duration};

/// How often a call is repeated because of another write, and the pause before each repetition.
const MAX_CONFLICTS: u32 = 3;
const CONFLICT_PAUSE: Duration = Duration::from_millis(50);

/// The description of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    /// In words, for errors: `sale read`.
    pub(crate) name: &'static str,
    /// In the alert's operation field: `CACHE_READ`.
    pub(crate) operation: &'static str,
    /// The sale's reference, or another subject; `-` means none.
    pub(crate) subject: &'a str,
}

impl Step<'_> {
    /// The alert's tag. Cache and archive contain verdicts: their alerts are the spec's. The others have the same form.
    fn tag(&self) -> &'static str {
        match self.operation {
            "CACHE_READ" | "CACHE_WRITE" | "ARCHIVE_READ" | "ARCHIVE_WRITE" => "ORACLE-CACHE-ALERT",
            _ => "ORACLE-STORE",
        }
    }
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No connection: it was refused, or the host name is unknown.
    Unreachable,
    /// The connection was open, and ended before a reply. hyper does not say whether it was used before.
    Closed,
    /// No reply in time.
    TimedOut,
    /// Another request is writing the item, and one of the two is a transaction.
    Conflict,
    /// An unexpected reply, with its status if there was one.
    Refused(Option<u16>),
}

impl Cause {
    const fn severity(self) -> Severity {
        match self {
            Self::Unreachable | Self::Closed => Severity::Critical,
            Self::TimedOut | Self::Conflict | Self::Refused(_) => Severity::Error,
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable => f.write_str("not reachable"),
            Self::Closed => f.write_str("closed the connection"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Conflict => f.write_str("refused because of another write"),
            Self::Refused(Some(status)) => write!(f, "answered {status}"),
            Self::Refused(None) => f.write_str("answered something unexpected"),
        }
    }
}

/// A failed attempt. The store's own text stays in the chain of causes, because it may quote keys.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) cause: Cause,
    source: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// A failure without a service's status: a body could not be read, or our own side failed.
    pub(crate) fn other<E: Error + Send + Sync + 'static>(error: E) -> Self {
        Self { cause: Cause::Refused(None), source: Box::new(error) }
    }

    /// A request that was refused because of another write.
    pub(crate) fn conflict<E: Error + Send + Sync + 'static>(error: E) -> Self {
        Self { cause: Cause::Conflict, source: Box::new(error) }
    }

    fn timed_out(error: tokio::time::error::Elapsed) -> Self {
        Self { cause: Cause::TimedOut, source: Box::new(error) }
    }
}

impl<E> From<SdkError<E, HttpResponse>> for Failure
where
    E: Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        let cause = match &error {
            SdkError::TimeoutError(_) => Cause::TimedOut,
            SdkError::DispatchFailure(failure) if failure.is_timeout() => Cause::TimedOut,
            SdkError::DispatchFailure(failure) if failure.as_connector_error().is_some_and(|e| was_connected(e)) => {
                Cause::Closed
            }
            SdkError::DispatchFailure(_) => Cause::Unreachable,
            SdkError::ServiceError(refusal) if refusal.err().code() == Some("TransactionConflictException") => {
                Cause::Conflict
            }
            other => Cause::Refused(other.raw_response().map(|response| response.status().as_u16())),
        };
        Self { cause, source: Box::new(error) }
    }
}

/// Whether the error of a request without a reply shows that it was sent on an open connection.
fn was_connected(error: &(dyn Error + 'static)) -> bool {
    let chain = std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    let mut clients = chain.filter_map(|error| error.downcast_ref::<hyper_util::client::legacy::Error>());
    clients.any(|error| !error.is_connect())
}

/// Makes up to `1 + retries` attempts. Returns the result of the last, and how many failed before it. Not counted: a
/// first attempt whose connection was closed (repeated at once), and up to three that met a transaction (repeated after
/// a pause).
pub(crate) async fn attempts<T, F>(retry_policy: RetryPolicy, attempt: impl Fn() -> F) -> (Result<T, Failure>, u32)
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut failed = 0;
    let mut conflicts = 0;
    let mut may_be_stale = true;
    loop {
        let outcome = tokio::time::timeout(retry_policy.timeout, attempt()).await;
        let outcome = outcome.unwrap_or_else(|elapsed| Err(Failure::timed_out(elapsed)));
        let cause = outcome.as_ref().err().map(|failure| failure.cause);
        if std::mem::take(&mut may_be_stale) && cause == Some(Cause::Closed) {
            continue;
        }
        if cause == Some(Cause::Conflict) && conflicts < MAX_CONFLICTS {
            conflicts += 1;
            tokio::time::sleep(CONFLICT_PAUSE).await;
            continue;
        }
        if outcome.is_ok() || failed >= retry_policy.retries {
            return (outcome, failed);
        }
        failed += 1;
        tokio::time::sleep(retry_policy.delay).await;
    }
}

/// The alert about a call, if any.
fn alert_of(
    step: Step<'_>,
    retry_policy: RetryPolicy,
    cause: Option<Cause>,
    failed: u32,
) -> Option<(Severity, String)> {
    let Step { name, .. } = step;
    match cause {
        None if failed == 0 => None,
        None => Some((Severity::Warn, format!("{name}: attempt {} succeeded", failed + 1))),
        Some(cause) => Some((cause.severity(), format!("{name}: {cause}, {} attempts", retry_policy.retries + 1))),
    }
}

impl Connection {
    /// Calls a store until it replies or the attempts are used up, and raises the alert about it. Raising the alert is
    /// limited in time (see [`crate::SnsAlerts`]) and never fails.
    pub(crate) async fn call<T, F>(&self, step: Step<'_>, attempt: impl Fn() -> F) -> Result<T, StorageError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let (outcome, failed) = attempts(self.retry_policy, attempt).await;
        let cause = outcome.as_ref().err().map(|failure| failure.cause);
        if let Some((severity, detail)) = alert_of(step, self.retry_policy, cause, failed) {
            self.raise_alert(step, severity, &detail).await;
        }
        outcome.map_err(|failure| StorageError { operation: step.name, source: failure.source })
    }

    /// Raises an alert about a store; without topics it is only logged.
    pub(crate) async fn raise_alert(&self, step: Step<'_>, severity: Severity, detail: &str) {
        let alert = Alert::about(step.tag(), severity, now(), step.operation, step.subject, detail);
        match self.alert_topics.get() {
            Some(topics) => topics.raise(alert).await,
            None => crate::alert_log::log(&alert),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use tokio::time::Instant;

    const RETRY_POLICY: RetryPolicy =
        RetryPolicy { timeout: Duration::from_secs(2), retries: 3, delay: Duration::from_millis(500) };
    const STEP: Step<'static> = Step { name: "sale read", operation: "CACHE_READ", subject: "ijklmnop" };

    fn refused() -> Failure {
        Failure { cause: Cause::Refused(Some(500)), source: "down".into() }
    }

    /// When each attempt began, in milliseconds, if `fails` of them fail.
    async fn begun(fails: usize) -> (Vec<u128>, bool) {
        let start = Instant::now();
        let begun = RefCell::new(Vec::new());
        let attempt = || async {
            begun.borrow_mut().push(start.elapsed().as_millis());
            if begun.borrow().len() <= fails { Err(refused()) } else { Ok(()) }
        };
        let (outcome, failed) = attempts(RETRY_POLICY, attempt).await;
        assert_eq!(failed as usize, fails.min(3));
        (begun.into_inner(), outcome.is_ok())
    }

    #[tokio::test(start_paused = true)]
    async fn three_retries_half_a_second_apart_and_no_fourth() {
        assert_eq!(begun(0).await, (vec![0], true));
        assert_eq!(begun(1).await, (vec![0, 500], true));
        assert_eq!(begun(3).await, (vec![0, 500, 1000, 1500], true));
        assert_eq!(begun(9).await, (vec![0, 500, 1000, 1500], false));
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_hangs_is_ended_and_made_again() {
        let start = Instant::now();
        let made = Cell::new(0);
        let hang = || async {
            made.set(made.get() + 1);
            std::future::pending::<Result<(), Failure>>().await
        };
        let (outcome, failed) = attempts(RETRY_POLICY, hang).await;
        assert_eq!((outcome.unwrap_err().cause, failed, made.get()), (Cause::TimedOut, 3, 4));
        // Cache Alert, verification criterion 5 (with its 500 ms of tolerance): the time of the whole call is limited.
        assert_eq!(start.elapsed(), Duration::from_millis(4 * 2000 + 3 * 500));
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_connection_is_replaced_at_once_and_only_once() {
        let closed = || Failure { cause: Cause::Closed, source: "closed".into() };
        for (closes, expected) in [(1, (2, 0, true)), (2, (3, 1, true)), (9, (5, 3, false))] {
            let start = Instant::now();
            let made = Cell::new(0);
            let attempt = || async {
                made.set(made.get() + 1);
                if made.get() <= closes { Err(closed()) } else { Ok(()) }
            };
            let (outcome, failed) = attempts(RETRY_POLICY, attempt).await;
            assert_eq!((made.get(), failed, outcome.is_ok()), expected);
            assert_eq!(start.elapsed(), RETRY_POLICY.delay * failed, "no wait before the repetition");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_transaction_is_waited_for_three_times_before_it_counts_as_a_failure() {
        let conflict = || Failure { cause: Cause::Conflict, source: "a transaction".into() };
        for (conflicts, expected) in
            [(1, (50, 0, true)), (3, (150, 0, true)), (4, (650, 1, true)), (9, (1650, 3, false))]
        {
            let start = Instant::now();
            let made = Cell::new(0);
            let attempt = || async {
                made.set(made.get() + 1);
                if made.get() <= conflicts { Err(conflict()) } else { Ok(()) }
            };
            let (outcome, failed) = attempts(RETRY_POLICY, attempt).await;
            assert_eq!((start.elapsed().as_millis(), failed, outcome.is_ok()), expected);
        }
    }

    #[test]
    fn the_severity_follows_the_outcome() {
        let alert = |cause, failed| alert_of(STEP, RETRY_POLICY, cause, failed);
        assert_eq!(alert(None, 0), None, "no alert when the first attempt succeeds");
        assert_eq!(alert(None, 2), Some((Severity::Warn, "sale read: attempt 3 succeeded".to_owned())));
        let error = |cause| alert(Some(cause), 3).unwrap();
        assert_eq!(error(Cause::TimedOut), (Severity::Error, "sale read: no answer in time, 4 attempts".to_owned()));
        assert_eq!(error(Cause::Refused(Some(503))).1, "sale read: answered 503, 4 attempts");
        assert_eq!(error(Cause::Unreachable).0, Severity::Critical);
    }
}
