//! One run: ten stages, each with its own limit; a failed stage stops only stages that need its result.

use crate::{
    ports::{Ports, Settings},
    report::Report,
    stage::{Failure, Outcome, Stage, out_of_time},
    stages::{self, Answer, Removed},
};
use domain::{Secret, SessionId, Timestamp};
use runtime::{Interrupted, within};
use std::{future::Future, time::Duration};
use stripe::Created;

/// The whole test ends within a minute (Smoke Test, invariant 6): the state is read before the stages, and the report
/// is written after them.
const FOR_STAGES: Duration = Duration::from_secs(52);

/// The part of it that is reserved for the clean-up.
const FOR_CLEANUP: Duration = Duration::from_secs(5);

/// The time limit of one TCP connection.
const CONNECT: Duration = Duration::from_secs(5);

struct Run<'a> {
    ports: Ports<'a>,
    started_at: Timestamp,
    stages: Vec<(Stage, Outcome)>,
    warnings: Vec<String>,
}

/// Runs all stages. It never fails: every error is in the report.
pub(crate) async fn run(ports: Ports<'_>, settings: &Settings) -> Report {
    let started_at = ports.clock.now();
    let mut run = Run { ports, started_at, stages: Vec::new(), warnings: Vec::new() };
    let (session, leftovers) = run.all(settings).await;
    let took = ports.clock.now().since(started_at);
    Report { started_at, took, stages: run.stages, warnings: run.warnings, session, leftovers }
}

impl Run<'_> {
    /// Runs the stages. Returns the session that was used, and the sessions whose entries may still exist.
    async fn all(&mut self, settings: &Settings) -> (Option<SessionId>, Vec<SessionId>) {
        let ports = self.ports;
        let checked = self.stage(Stage::EnvironmentCheck, stages::configuration(ports)).await;
        // Without a key of the test mode nothing is called (Smoke Test, invariant 1, verification criterion 3).
        let Some(signing_secret) = checked else {
            for stage in Stage::ALL.into_iter().skip(1) {
                self.skip(stage, "the environment check failed: nothing is called");
            }
            return (None, settings.leftovers.clone());
        };
        self.reach(&settings.addresses).await;
        self.stage(Stage::TollHealth, stages::toll_health(ports)).await;
        self.stage(Stage::EmailServiceHealth, stages::mailbox_health(ports)).await;
        let created = self.stage(Stage::SessionCreation, stages::create(ports)).await;
        let session = created.as_ref().map(|created| created.id.clone());
        match &created {
            Some(created) => self.order(created, &signing_secret).await,
            None => {
                let needing = Stage::WebhookSimulation..Stage::CacheCleanup;
                for stage in Stage::ALL.into_iter().filter(|stage| needing.contains(stage)) {
                    self.skip(stage, "no session");
                }
            }
        }
        let regenerated = match &created {
            Some(created) => self.regenerate(created, &signing_secret).await,
            None => Ok(()),
        };
        let leftovers = self.clean_up(session.as_ref(), regenerated, &settings.leftovers).await;
        (session, leftovers)
    }

    /// Stages 5 to 9. A failed stage does not prevent the others (Smoke Test, invariant 5): the verdict may have come
    /// late, and each stage's result is useful. Stage 9 needs an entry to check.
    async fn order(&mut self, created: &Created, signing_secret: &Secret) {
        let (ports, session) = (self.ports, &created.id);
        let limit = self.limit(Stage::WebhookSimulation);
        self.stage(Stage::WebhookSimulation, stages::simulate(ports, created, signing_secret, limit)).await;
        let mut cached = None;
        self.stage(Stage::CacheWrite, stages::cache_write(ports, session, &mut cached)).await;
        self.stage(Stage::VerdictRoute, stages::verdict_route(ports, session)).await;
        let limit = self.limit(Stage::EmailSend);
        self.stage(Stage::EmailSend, stages::mail_sent(ports, session, limit)).await;
        match &cached {
            Some(cached) => drop(self.stage(Stage::Crosscheck, stages::crosscheck(cached)).await),
            None => self.skip(Stage::Crosscheck, "no verdict is cached"),
        }
    }

    /// The first part of stage 10: the page of a verdict that neither the cache nor the archive holds. It needs a verdict
    /// that was cached and shown.
    async fn regenerate(&mut self, created: &Created, signing_secret: &Secret) -> Result<(), Failure> {
        let passed =
            |wanted| self.stages.iter().any(|(stage, outcome)| *stage == wanted && matches!(outcome, Outcome::Pass(_)));
        if !passed(Stage::WebhookSimulation) || !passed(Stage::VerdictRoute) {
            return Ok(());
        }
        let ports = self.ports;
        let limit = Stage::CacheCleanup.limit();
        let limit = limit.min(FOR_STAGES.saturating_sub(FOR_CLEANUP).saturating_sub(self.passed()));
        let made = within(ports.pause, limit, stages::regenerate(ports, created, signing_secret, limit)).await;
        match made {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(warning))) => {
                self.warnings.push(warning.to_owned());
                Ok(())
            }
            Ok(Err(failure)) => Err(Failure { error: format!("regeneration: {}", failure.error), ..failure }),
            Err(Interrupted::OutOfTime) => {
                self.warnings.push("the verdict was not made again in time".to_owned());
                Ok(())
            }
            Err(Interrupted::Panicked) => Err(Failure::new("regeneration: the stage itself broke")),
        }
    }

    /// The time limit of a stage: its own, or what is left of the minute.
    fn limit(&self, stage: Stage) -> Duration {
        let reserved = if stage == Stage::CacheCleanup { Duration::ZERO } else { FOR_CLEANUP };
        stage.limit().min(FOR_STAGES.saturating_sub(reserved).saturating_sub(self.passed()))
    }

    /// The time since the run began.
    fn passed(&self) -> Duration {
        self.ports.clock.now().since(self.started_at)
    }

    /// Runs one stage within its limit and saves its outcome.
    async fn stage<T>(&mut self, stage: Stage, work: impl Future<Output = Answer<T>>) -> Option<T> {
        let limit = self.limit(stage);
        let answer = within(self.ports.pause, limit, work).await;
        let (made, outcome) = match answer {
            Ok(Ok((made, detail))) => (Some(made), Outcome::Pass(detail)),
            Ok(Err(failure)) => (None, Outcome::Fail(failure)),
            Err(Interrupted::OutOfTime) => (None, Outcome::Fail(out_of_time(limit))),
            Err(Interrupted::Panicked) => (None, Outcome::Fail(Failure::new("the stage itself broke"))),
        };
        self.stages.push((stage, outcome));
        made
    }

    fn skip(&mut self, stage: Stage, reason: &str) {
        self.stages.push((stage, Outcome::Skip(reason.to_owned())));
    }

    /// The rest of stage 1: checks that each address accepts connections. A service that is down is another finding
    /// than a wrong configuration, so the other stages still run (Smoke Test, verification criterion 2).
    async fn reach(&mut self, addresses: &[String]) {
        for address in addresses {
            // The stage has one limit for both of its parts.
            let left = Stage::EnvironmentCheck.limit().saturating_sub(self.passed());
            let connected = within(self.ports.pause, left.min(CONNECT), self.ports.network.connect(address)).await;
            let failure = match connected {
                Ok(Ok(())) => continue,
                Ok(Err(unreachable)) => Failure::new(unreachable.to_string()),
                Err(interrupted) => Failure::new(format!("TCP connect: {interrupted}")),
            };
            if let Some((_, outcome)) = self.stages.first_mut() {
                *outcome = Outcome::Fail(failure);
            }
            return;
        }
    }

    /// The rest of stage 10, which also removes the leftovers of earlier runs. Returns the sessions whose entries may still exist.
    async fn clean_up(
        &mut self,
        session: Option<&SessionId>,
        regenerated: Result<(), Failure>,
        earlier: &[SessionId],
    ) -> Vec<SessionId> {
        let (ports, mut remaining) = (self.ports, Vec::new());
        match session {
            None => self.skip(Stage::CacheCleanup, "no session"),
            Some(session) => {
                let removed =
                    within(ports.pause, self.limit(Stage::CacheCleanup), stages::remove(ports, session)).await;
                let outcome = match removed {
                    Ok(Ok(Removed::Entry)) => Outcome::Pass(format!("{} deleted", session.as_str())),
                    Ok(Ok(Removed::Nothing | Removed::NothingYet)) => {
                        let prefix = session.prefix();
                        self.warnings.push(format!("{prefix} may be cached yet; the next run takes it out"));
                        Outcome::Skip("nothing was cached".to_owned())
                    }
                    Ok(Err(failure)) => Outcome::Fail(failure),
                    Err(interrupted) => Outcome::Fail(Failure::new(interrupted.to_string())),
                };
                if !matches!(outcome, Outcome::Pass(_)) {
                    remaining.push(session.clone());
                }
                let outcome = regenerated.map_or_else(Outcome::Fail, |()| outcome);
                self.stages.push((Stage::CacheCleanup, outcome));
            }
        }
        for earlier in earlier {
            let removed = within(ports.pause, self.limit(Stage::CacheCleanup), stages::remove(ports, earlier)).await;
            match removed {
                Ok(Ok(Removed::Entry | Removed::Nothing)) => {}
                // Its order may be waiting in a queue: a later run checks again.
                Ok(Ok(Removed::NothingYet)) => remaining.push(earlier.clone()),
                Ok(Err(_)) | Err(_) => {
                    remaining.push(earlier.clone());
                    let prefix = earlier.prefix();
                    self.warnings.push(format!("{prefix}, which an earlier run left cached, could not be taken out"));
                }
            }
        }
        remaining
    }
}

#[cfg(test)]
mod tests;
