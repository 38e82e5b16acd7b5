//! The mailbox's circuit. While it is open, waiting mails look for the mailbox's return, and afterwards each of them is
//! attempted before its scheduled time (infra/decisions/mail-retry.md). Scheduled attempts never ask it. Mails of a vendor
//! that cannot be probed have scheduled attempts only: a mail as the probe would be an attempt too many.

use domain::{
    Timestamp,
    breaker::{Admission, Breaker, BreakerPolicy, Gauged, MAILBOX, Reopen, update},
    mail::{Failure, Progress},
    ports::{Breakers, Mailbox, SaveError},
    sending,
};
use std::time::Duration;

/// It opens when a mail's first attempt and its immediate retry fail, so that one mail alone can open it. A lost reply to
/// sending has no immediate retry: the mail's next attempt opens it, or another mail. The mailbox has no limit of slowness.
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
        if !self.may_go_early(progress, now) {
            return due;
        }
        match self.breakers.load(MAILBOX).await {
            Ok(row) if row.value.opened_at.is_some() => row.value.refuses_until(now, &POLICY).unwrap_or(now).min(due),
            _ => due,
        }
    }

    /// Whether a mail that waits until `due` may be attempted now: the circuit has closed since its last failure, or the
    /// mailbox answers this mail's probe. The error is the time of the next look.
    pub(crate) async fn readmits(self, progress: &Progress, due: Timestamp) -> Result<(), Timestamp> {
        let now = self.now();
        if !self.may_go_early(progress, now) {
            return Err(due);
        }
        let Ok(mut row) = self.breakers.load(MAILBOX).await else { return Err(due) };
        match row.value.admit(now, &POLICY) {
            Admission::Call if row.value.closed_at > progress.failed_at => Ok(()),
            Admission::Call => Err(due),
            Admission::Refuse(until) => Err(until.min(due)),
            // Only the mail that saves the probe makes it.
            Admission::Probe => match self.breakers.save(MAILBOX, &row.value, row.version).await {
                Ok(()) => self.probe(progress, due).await,
                Err(SaveError::Conflict) => Err(row.value.look_again(now, &POLICY).min(due)),
                Err(SaveError::Storage(_)) => Err(due),
            },
        }
    }

    fn may_go_early(self, progress: &Progress, now: Timestamp) -> bool {
        self.mailbox.can_be_probed() && progress.may_go_early(now)
    }

    /// Asks the mailbox before the mail is attempted, so that during an outage a mail is attempted on its schedule only.
    async fn probe(self, progress: &Progress, due: Timestamp) -> Result<(), Timestamp> {
        if sending::answers(self.mailbox).await.is_ok() {
            return Ok(());
        }
        let now = self.now();
        self.change(|breaker| breaker.failed(true, now, &POLICY)).await;
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

    /// Records the outcome of a call for a mail; without a failure, the mailbox sent it. An early attempt is the probe.
    /// A scheduled one that fails while the circuit is open does not delay the next probe.
    pub(crate) async fn record(self, is_early: bool, failure: Option<&Failure>) {
        let now = self.now();
        if failure.is_some_and(Failure::is_outage) {
            self.change(|breaker| breaker.failed(is_early, now, &POLICY)).await;
        } else {
            self.change(|breaker| breaker.succeeded(Duration::ZERO, now, &POLICY)).await;
        }
    }

    async fn change(self, change: impl Fn(&mut Breaker) -> bool + Send) {
        update(&self.breakers, MAILBOX, change).await;
    }

    fn now(self) -> Timestamp {
        self.breakers.clock.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Metric, relay::RelayMailbox};
    use testkit::{Fault, Plan, World, run};

    const NOW: i64 = 1_000;
    const DUE: i64 = 2_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn world(breaker: Breaker) -> World {
        let world = World::at(at(NOW));
        world.state().breakers.insert(MAILBOX.to_owned(), (breaker, 1));
        world
    }

    fn circuit(world: &World) -> Circuit<'_> {
        let breakers = Gauged { breakers: world, metric: Metric::MailboxBreakerOpen, meter: world, clock: world };
        Circuit { breakers, mailbox: world }
    }

    /// A mail whose last attempt failed at this time.
    fn failed(seconds: i64) -> Progress {
        Progress { failed_at: Some(at(seconds)), ..Progress::default() }
    }

    fn open(since: i64) -> Breaker {
        Breaker { failures: 2, opened_at: Some(at(since)), open_since: Some(at(since)), ..Breaker::default() }
    }

    #[test]
    fn a_mail_goes_early_once_the_mailbox_has_come_back_since_its_failure() {
        for (closed_at, expected) in
            [(None, Err(at(DUE))), (Some(499), Err(at(DUE))), (Some(500), Err(at(DUE))), (Some(501), Ok(()))]
        {
            let world = world(Breaker { closed_at: closed_at.map(at), ..Breaker::default() });
            assert_eq!(run(circuit(&world).readmits(&failed(500), at(DUE))).unwrap(), expected, "{closed_at:?}");
        }
        let world = world(Breaker { closed_at: Some(at(900)), ..Breaker::default() });
        let early = Progress { early: Some(at(DUE)), ..failed(500) };
        assert_eq!(run(circuit(&world).readmits(&early, at(DUE))).unwrap(), Err(at(DUE)), "once for each attempt");
    }

    #[test]
    fn an_open_circuit_is_looked_at_again_when_it_may_be_asked_and_at_the_latest_when_the_mail_is_due() {
        let world = world(open(NOW - 10));
        for due in [DUE, NOW + 20] {
            let expected = at(due.min(NOW + 50));
            assert_eq!(run(circuit(&world).readmits(&failed(500), at(due))).unwrap(), Err(expected));
            assert_eq!(run(circuit(&world).next_look(&failed(500), at(due))).unwrap(), expected);
        }
    }

    /// Our own store of drafts answers, whatever the service does.
    #[test]
    fn mails_of_a_service_that_cannot_be_probed_keep_to_their_schedule() {
        for breaker in [open(NOW - 10), open(NOW - 60), Breaker { closed_at: Some(at(501)), ..Breaker::default() }] {
            let world = world(breaker);
            let relay = RelayMailbox { drafts: &world, relay: &world, randomness: &world };
            let circuit = Circuit { mailbox: &relay, ..circuit(&world) };
            assert_eq!(run(circuit.readmits(&failed(500), at(DUE))).unwrap(), Err(at(DUE)));
            assert_eq!(run(circuit.next_look(&failed(500), at(DUE))).unwrap(), at(DUE));
            assert_eq!(world.state().breakers[MAILBOX].0.probing_since, None);
        }
    }

    #[test]
    fn a_mail_that_probes_goes_if_the_mailbox_answers_and_waits_if_not() {
        let answers = world(open(NOW - 60));
        assert_eq!(run(circuit(&answers).readmits(&failed(500), at(DUE))).unwrap(), Ok(()));
        assert!(answers.state().breakers[MAILBOX].0.probing_since.is_some(), "its attempt is the probe");
        let silent = world(open(NOW - 60));
        silent.plan(Plan::none().whenever("mailbox.was_sent", Fault::Fail));
        assert_eq!(run(circuit(&silent).readmits(&failed(500), at(DUE))).unwrap(), Err(at(NOW + 20)));
        assert_eq!(silent.state().breakers[MAILBOX].0.opened_at, Some(at(NOW)));
    }
}
