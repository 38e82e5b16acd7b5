//! The effects of a run: its saved state, its records and its broadcast.

use crate::report::{Report, Trigger};
use audit::{FunctionJournal, Notebook, Noted};
use domain::{
    SessionId, Timestamp,
    ports::{Pause, Versioned},
    smoke::LastRun,
};
use runtime::within;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The most sessions that are remembered: entries are also removed by age.
const MOST_LEFTOVERS: usize = 20;

/// The time limits for reading the state, for saving it with the record, and for alerting operators if that fails.
/// Together with the stages they fit into a minute (Smoke Test, invariant 6).
const FOR_READING: Duration = Duration::from_secs(2);
const FOR_SAVING: Duration = Duration::from_secs(4);
const FOR_ALERTING: Duration = Duration::from_secs(2);

/// The smoke test's saved state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SmokeState {
    /// Sessions whose cache entries may still exist.
    #[serde(default)]
    pub(crate) leftovers: Vec<SessionId>,
    /// The last run, for the gate of deployments.
    #[serde(default)]
    pub(crate) last: Option<LastRun>,
}

/// The state at the beginning of a run; `None` if it could not be read.
pub(crate) struct Remembered(Option<Versioned<Notebook<SmokeState>>>);

impl Remembered {
    /// Reads the state. A state that cannot be read counts as empty, so that the test still runs.
    pub(crate) async fn of(journal: FunctionJournal<'_>, pause: &dyn Pause) -> Self {
        Self(loaded(journal, pause).await)
    }

    /// The sessions that earlier runs left in the cache.
    pub(crate) fn leftovers(&self) -> Vec<SessionId> {
        self.0.as_ref().map(|notebook| notebook.value.memory.leftovers.clone()).unwrap_or_default()
    }

    /// Records a run with its leftovers, and alerts operators, in one write. If the write fails, the broadcast is
    /// still sent.
    pub(crate) async fn record(
        self,
        journal: FunctionJournal<'_>,
        pause: &dyn Pause,
        report: &Report,
        trigger: Trigger,
        now: Timestamp,
        log: &str,
    ) {
        let (alerts, cleaned) = (report.alerts(trigger, now, log), self.leftovers());
        let save_run = |state: &mut SmokeState, _| {
            // Another run may have added its own leftovers meanwhile.
            state.leftovers.retain(|session| !cleaned.contains(session));
            state.leftovers.extend(report.leftovers.iter().cloned());
            let surplus = state.leftovers.len().saturating_sub(MOST_LEFTOVERS);
            state.leftovers.drain(..surplus);
            state.last = Some(report.last_run());
            Noted::save(()).recording("smoke_test", report.facts(trigger)).alerting_all(alerts.clone())
        };
        let save = async {
            let notebook = match self.0 {
                Some(notebook) => notebook,
                None => journal.load().await.map_err(|error| error.to_string())?,
            };
            journal.commit(notebook, save_run).await.map_err(|error| error.to_string())?.settle().await;
            Ok::<(), String>(())
        };
        let saved = within(pause, FOR_SAVING, save).await.unwrap_or_else(|interrupted| Err(interrupted.to_string()));
        if let Err(error) = saved {
            tracing::error!(error, "the run is not recorded");
            let alert = async {
                for alert in alerts {
                    journal.alerts.raise(alert).await;
                }
            };
            if let Err(interrupted) = within(pause, FOR_ALERTING, alert).await {
                tracing::error!(broke = %interrupted, "operators are not alerted");
            }
        }
    }
}

async fn loaded(journal: FunctionJournal<'_>, pause: &dyn Pause) -> Option<Versioned<Notebook<SmokeState>>> {
    let read = within(pause, FOR_READING, journal.load()).await;
    let error = match read {
        Ok(Ok(notebook)) => return Some(notebook),
        Ok(Err(error)) => error.to_string(),
        Err(interrupted) => interrupted.to_string(),
    };
    tracing::warn!(error, "what earlier runs have left is not known");
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{Failure, Outcome, Stage};
    use domain::{Channel, smoke::FUNCTION};
    use serde_json::{Value, json};
    use testkit::{Fault, Plan, World, run};

    const NOW: Timestamp = Timestamp::from_seconds(1_776_322_800);

    fn session(number: usize) -> SessionId {
        SessionId::parse(format!("cs_test_{number}")).unwrap()
    }

    /// A failed run with these leftovers.
    fn report(leftovers: Vec<SessionId>) -> Report {
        let fails = (Stage::WebhookSimulation, Outcome::Fail(Failure::new("down")));
        let (took, stages, warnings) = (Duration::from_secs(1), vec![fails], Vec::new());
        Report { started_at: NOW, took, stages, warnings, session: None, leftovers }
    }

    /// One run: reads the state and leaves these sessions. Returns the leftovers that it was given.
    fn ran(world: &World, leaves: impl Fn(Vec<SessionId>) -> Vec<SessionId>) -> Vec<SessionId> {
        let journal = FunctionJournal { function: FUNCTION, notes: world, log: world, alerts: world, clock: world };
        let whole = async {
            let remembered = Remembered::of(journal, world).await;
            let given = remembered.leftovers();
            let report = report(leaves(given.clone()));
            remembered.record(journal, world, &report, Trigger::Cron, NOW, "log").await;
            given
        };
        run(whole).unwrap()
    }

    fn kept(world: &World) -> Vec<SessionId> {
        let document: Value = serde_json::from_str(&world.state().notes[FUNCTION].0).unwrap();
        serde_json::from_value(document["memory"]["leftovers"].clone()).unwrap()
    }

    fn channels(world: &World) -> Vec<Channel> {
        world.state().alerts.iter().map(|alert| alert.channel).collect()
    }

    #[test]
    fn what_a_run_leaves_is_given_to_the_next_one_and_forgotten_once_it_is_gone() {
        let world = World::at(NOW);
        assert_eq!(ran(&world, |_| vec![session(1), session(2)]), []);
        assert_eq!(ran(&world, |_| vec![session(2)]), [session(1), session(2)]);
        assert_eq!(kept(&world), [session(2)]);
        assert_eq!(ran(&world, |_| Vec::new()), [session(2)]);
        assert_eq!(kept(&world), []);
        assert_eq!(world.state().log.len(), 3, "each run is recorded");
        assert_eq!(channels(&world), [Channel::Ops, Channel::Critical].repeat(3));
        assert_eq!(world.state().boundaries.iter().filter(|name| **name == "notes.load").count(), 3, "once a run");
    }

    #[test]
    fn what_is_written_stays_byte_for_byte() {
        let world = World::at(NOW);
        ran(&world, |_| vec![session(1), session(2)]);
        world.plan(Plan::none().whenever("log.publish", Fault::Fail));
        ran(&world, |_| vec![session(2)]);
        world.plan(Plan::none());
        ran(&world, |_| Vec::new());
        testkit::golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/runs.txt"), &world.written());
    }

    #[test]
    fn no_more_than_twenty_are_remembered_and_those_are_the_latest() {
        let world = World::at(NOW);
        for number in 0..25 {
            ran(&world, |given| given.into_iter().chain([session(number)]).collect());
        }
        assert_eq!(kept(&world), (5..25).map(session).collect::<Vec<_>>());
    }

    /// A concurrent run has saved its own leftovers: neither run drops the other's.
    #[test]
    fn what_another_run_has_left_meanwhile_stays() {
        let world = World::at(NOW);
        ran(&world, |_| vec![session(1)]);
        ran(&world, |given| {
            ran(&world, |_| vec![session(1), session(2)]);
            assert_eq!(given, [session(1)]);
            vec![session(3)]
        });
        assert_eq!(kept(&world), [session(2), session(3)]);
    }

    /// The critical alert must be sent even if the table is down too.
    #[test]
    fn a_run_that_cannot_be_saved_alerts_operators() {
        for (boundary, fault) in [
            ("notes.save", Fault::Fail),
            ("notes.load", Fault::Fail),
            ("notes.save", Fault::CrashBefore),
            ("notes.load", Fault::CrashBefore),
        ] {
            let world = World::at(NOW);
            world.plan(Plan::none().whenever(boundary, fault));
            assert_eq!(ran(&world, |_| vec![session(1)]), []);
            assert_eq!(channels(&world), [Channel::Ops, Channel::Critical], "{fault:?} at {boundary}");
            assert!(world.state().alerts[1].line.contains("ORACLE SMOKE FAIL — Stage 5"), "{fault:?} at {boundary}");
            let took = world.state().now - NOW.as_millis();
            let most = (FOR_READING + FOR_SAVING + FOR_ALERTING).as_millis();
            assert!(u128::try_from(took).unwrap() <= most, "{took}");
            assert!(world.state().notes.is_empty());
        }
    }

    /// An unreadable state is alerted on, and stops nothing.
    #[test]
    fn a_state_that_cannot_be_read_counts_as_empty() {
        let world = World::at(NOW);
        world.state().notes.insert(FUNCTION.to_owned(), (json!("garbage").to_string(), 1));
        assert_eq!(ran(&world, |_| vec![session(1)]), []);
        assert_eq!(kept(&world), [session(1)]);
    }
}
