//! The mailbox's circuit. While it is open, waiting mails look for the mailbox's return, and afterwards each of them is
//! attempted before its scheduled time (infra/decisions/mail-retry.md). Scheduled attempts never ask it.

use domain::{
    Timestamp,
    breaker::{Admission, Breaker, BreakerPolicy, Gauged, Reopen, update},
    mail::{Failure, Progress},
    ports::{Breakers, Mailbox, SaveError},
    sending,
};
use std::time::Duration;

/// The name of its row.
const NAME: &str = "mailbox";

/// It opens when a mail's first attempt and its immediate retry fail, so that one mail alone can open it. The mailbox
/// has no limit of slowness.
const POLICY: BreakerPolicy = BreakerPolicy {
    failures: 2,
    slow_successes: u32::MAX,
    slow: Duration::MAX,
    open: Duration::from_secs(60),
    reopen: Reopen::STANDARD,
};

/// The circuit and the mailbox that it protects.
#[derive(Clone, Copy)]
pub(crate) struct Circuit<'a> {
    pub(crate) breakers: Gauged<'a>,
    pub(crate) mailbox: &'a dyn Mailbox,
}

impl Circuit<'_> {
    /// When a mail that is due at `due` should be looked at.
    pub(crate) async fn next_look(self, progress: &Progress, due: Timestamp) -> Timestamp {
        let now = self.now();
        if !progress.may_go_early(now) {
            return due;
        }
        match self.breakers.load(NAME).await {
            Ok(row) if row.value.opened_at.is_some() => row.value.refuses_until(now, &POLICY).unwrap_or(now).min(due),
            _ => due,
        }
    }

    /// Whether a mail that waits until `due` may be attempted now: the circuit has closed since its last failure, or the
    /// mailbox answers this mail's probe. The error is the time of the next look.
    pub(crate) async fn readmits(self, progress: &Progress, due: Timestamp) -> Result<(), Timestamp> {
        let now = self.now();
        if !progress.may_go_early(now) {
            return Err(due);
        }
        let Ok(mut row) = self.breakers.load(NAME).await else { return Err(due) };
        match row.value.admit(now, &POLICY) {
            Admission::Call if row.value.closed_at > progress.failed_at => Ok(()),
            Admission::Call => Err(due),
            Admission::Refuse(until) => Err(until.min(due)),
            // Only the mail that saves the probe makes it.
            Admission::Probe => match self.breakers.save(NAME, &row.value, row.version).await {
                Ok(()) => self.probe(progress, due).await,
                Err(SaveError::Conflict) => Err(now.plus(POLICY.reopen.least).min(due)),
                Err(SaveError::Storage(_)) => Err(due),
            },
        }
    }

    /// Asks the mailbox before the mail is attempted, so that during an outage a mail is attempted on its schedule only.
    async fn probe(self, progress: &Progress, due: Timestamp) -> Result<(), Timestamp> {
        if sending::answers(self.mailbox).await.is_ok() {
            return Ok(());
        }
        let now = self.now();
        self.change(|breaker| breaker.failed(now, &POLICY)).await;
        Err(self.next_look(progress, due).await)
    }

    /// Ends a probe whose mail never came to call the mailbox: the next waiting mail makes the next one.
    pub(crate) async fn release(self) {
        let release = |breaker: &mut Breaker| {
            breaker.not_asked();
            false
        };
        self.change(release).await;
    }

    /// Records the outcome of a call for a mail; without a failure, the mailbox sent it. A scheduled attempt that fails
    /// while the circuit is open does not delay the next probe.
    pub(crate) async fn record(self, is_early: bool, failure: Option<&Failure>) {
        let now = self.now();
        if failure.is_some_and(Failure::is_outage) {
            let failed =
                |breaker: &mut Breaker| (is_early || breaker.opened_at.is_none()) && breaker.failed(now, &POLICY);
            self.change(failed).await;
        } else {
            self.change(|breaker| breaker.succeeded(Duration::ZERO, now, &POLICY)).await;
        }
    }

    async fn change(self, change: impl Fn(&mut Breaker) -> bool + Send) {
        update(&self.breakers, NAME, change).await;
    }

    fn now(self) -> Timestamp {
        self.breakers.clock.now()
    }
}
