//! Whole runs against an in-memory world.

use crate::{CacheHealthState, Ports, Service, Settings, Unrecorded, When, state::Problem};
use async_trait::async_trait;
use audit::{CommitError, FunctionJournal, Notebook};
use domain::{
    CachedVerdict, Channel, SessionId, Timestamp,
    cache_health::{FUNCTION, Health, HealthRecord, ServiceProbe},
    ports::CacheEntries,
};
use proptest::prelude::*;
use runtime::Environment;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use testkit::{Fault, Plan, World, every_single_fault};

mod checks;
mod full_scan;
mod golden;
mod handled;
mod outages;
mod removal;
mod sampling;
mod second_look;

const DAY: Duration = Duration::from_secs(86_400);

/// 2026-04-15, a Wednesday.
const NOW: Timestamp = Timestamp::from_seconds(1_776_240_000);

/// The following Sunday, 02:00 UTC.
const SUNDAY: Timestamp = Timestamp::from_seconds(1_776_564_000);

struct Site(AtomicBool);

#[async_trait]
impl Service for Site {
    async fn probe(&self) -> ServiceProbe {
        let reachable = self.0.load(Ordering::Relaxed);
        ServiceProbe { reachable, response_ms: 3, http_status: reachable.then_some(200) }
    }
}

struct Stage {
    world: World,
    site: Site,
    settings: Settings,
    unrecorded: Unrecorded,
}

fn session(number: usize) -> SessionId {
    SessionId::parse(format!("cs_test_{number:06}")).unwrap()
}

fn verdict(number: usize) -> CachedVerdict {
    let verdict = json!({ "verdict": "GREEN", "summary": format!("Yes, {number}.") });
    serde_json::from_value(json!({ "tier": "quick", "query": "q", "verdict": verdict, "cached_at": "t" })).unwrap()
}

impl Stage {
    fn new() -> Self {
        let settings = Settings::from_environment(&Environment::of(&[])).unwrap();
        let world = World::at(NOW).suppressing(Duration::from_secs(60));
        Self { world, site: Site(AtomicBool::new(true)), settings, unrecorded: Unrecorded::default() }
    }

    /// Adds an entry of this age to the cache and the archive.
    fn entry(&self, number: usize, age: Duration) {
        let mut state = self.world.state();
        let stored_at = Timestamp::from_millis(state.now - i64::try_from(age.as_millis()).unwrap());
        state.cache_verdict(&session(number), &verdict(number), stored_at);
        state.archive.insert(session(number), verdict(number));
    }

    fn ports(&self) -> Ports<'_> {
        let world = &self.world;
        let journal = FunctionJournal { function: FUNCTION, notes: world, log: world, alerts: world, clock: world };
        Ports {
            journal,
            sales: audit::Journal { store: world, log: world, alerts: world, clock: world },
            service: &self.site,
            cache: world,
            archive: world,
            randomness: world,
            pause: world,
            meter: world,
        }
    }

    async fn runs(&self, when: When) -> Result<Vec<HealthRecord>, CommitError> {
        self.unrecorded.run(self.ports(), self.settings, when).await
    }

    fn check(&self) -> HealthRecord {
        self.world.advance(Duration::from_secs(60));
        testkit::run(self.runs(When::Now)).unwrap().unwrap().pop().unwrap()
    }

    /// The lines of the alerts since the last call.
    fn alerts(&self) -> Vec<String> {
        let raised = std::mem::take(&mut self.world.state().alerts);
        raised.iter().map(|alert| alert.line.clone()).collect()
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let lines = self.world.state().records();
        lines.into_iter().filter(|line| line["event"] == name).map(|line| line["details"].clone()).collect()
    }

    fn saved_state(&self) -> CacheHealthState {
        let (document, _) = self.world.state().notes[FUNCTION].clone();
        serde_json::from_str::<Notebook<CacheHealthState>>(&document).unwrap().memory
    }

    fn left(&self) -> BTreeSet<SessionId> {
        self.world.state().cache.keys().cloned().collect()
    }
}
