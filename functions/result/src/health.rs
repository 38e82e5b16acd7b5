//! GET /health: whether sales can be read, and whether the cache was healthy at the last check (Cache Health, outputs
//! 2).
//!
//! The reply separates the two (Cache Health, invariant 5): `service` is what this request found, and `status` also
//! takes the last record of the cache-health function into account. That function reads `service` only, so its own
//! record never becomes a reason for its next one. The figures about the cache (Cache Health, output 2) reveal the
//! volume of sales and a listed term, so the public does not get them; `oracle cache status` shows them. A build whose
//! authority gate has not passed its suite says so ("canonical only when tests pass").

use attestation::State;
use audit::Notebook;
use domain::{
    Timestamp,
    cache_health::{FUNCTION, Health, HealthRecord},
    ports::{Clock, Notes},
};
use runtime::{http::Reply, telemetry};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The part of cache-health's saved state that is shown here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Remembered {
    last: Option<HealthRecord>,
}

/// Reads the last record of the cache's health. This one consistent read also proves that sales can be read.
pub(crate) async fn health(notes: &dyn Notes, clock: &dyn Clock, suite: State) -> Reply {
    let read = notes.load(FUNCTION).await.map_err(|error| telemetry::chain(&error));
    let now = clock.now();
    let (alive, record) = match read {
        Ok(note) => (true, note.value.map_or(Cache::NeverChecked, |document| last_record(&document))),
        Err(error) => {
            tracing::error!(error, "health probe failed");
            (false, Cache::Unreadable)
        }
    };
    let status = status(alive, &record, now);
    let code = if status == "failed" { 503 } else { 200 };
    let service = if alive { "resonant" } else { "failed" };
    let mut body = json!({ "status": status, "service": service, "timestamp": now.to_iso() });
    if !suite.is_canonical() {
        body["authority_suite"] = suite.as_str().into();
    }
    Reply::json(code, &body)
}

/// The last record about the cache, if there is one.
enum Cache {
    NeverChecked,
    Unreadable,
    Checked(Box<HealthRecord>),
}

fn last_record(document: &str) -> Cache {
    match serde_json::from_str::<Notebook<Remembered>>(document) {
        Err(_) => Cache::Unreadable,
        Ok(notebook) => notebook.memory.last.map_or(Cache::NeverChecked, |record| Cache::Checked(Box::new(record))),
    }
}

/// The status from both facts. Before the first check it is healthy, because no fault is known. A record that cannot be
/// read, or is stale, is unreliable, so the status is degraded at best.
fn status(alive: bool, record: &Cache, now: Timestamp) -> &'static str {
    let cache = match record {
        Cache::NeverChecked => Health::Healthy,
        Cache::Unreadable => Health::Degraded,
        Cache::Checked(record) if record.is_stale(now) => record.cache.max(Health::Degraded),
        Cache::Checked(record) => record.cache,
    };
    match cache {
        _ if !alive => "failed",
        Health::Healthy => "resonant",
        Health::Degraded => "degraded",
        Health::Failed => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::cache_health::ServiceProbe;
    use serde_json::Value;
    use std::time::Duration;
    use testkit::{Fault, Plan, World, run};

    fn record(cache: Health) -> HealthRecord {
        HealthRecord {
            at: Timestamp::from_seconds(1000),
            service: ServiceProbe::default(),
            measures: None,
            budget_bytes: 1,
            corrupt: None,
            cache,
            overall: Health::Failed,
            interval_s: 60,
        }
    }

    fn asked(world: &World) -> (u16, Value) {
        asked_of(world, State::PASSED)
    }

    fn asked_of(world: &World, suite: State) -> (u16, Value) {
        let reply = run(health(world, world, suite)).unwrap();
        (reply.status(), serde_json::from_str(reply.body()).unwrap())
    }

    fn remembering(record: &HealthRecord) -> World {
        let world = World::at(record.at);
        let mut notebook: Notebook<Remembered> = Notebook::default();
        notebook.memory.last = Some(record.clone());
        let document = serde_json::to_string(&notebook).unwrap();
        world.state().notes.insert(FUNCTION.to_owned(), (document, 1));
        world
    }

    #[test]
    fn it_tells_whether_the_store_answers_with_one_read() {
        let world = World::default();
        let (code, body) = asked(&world);
        assert_eq!((code, &body["status"], &body["service"]), (200, &json!("resonant"), &json!("resonant")));
        let names: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(names, ["service", "status", "timestamp"], "nothing else is public");
        assert_eq!(world.state().boundaries, ["notes.load"]);
        world.plan(Plan::at(0, Fault::Fail));
        let (code, body) = asked(&world);
        assert_eq!((code, &body["status"], &body["service"]), (503, &json!("failed"), &json!("failed")));
        assert!(!body.to_string().contains("planned"));
    }

    #[test]
    fn a_build_whose_suite_did_not_pass_says_so() {
        let (code, body) = asked_of(&World::default(), State::NOT_ATTESTED);
        assert_eq!(
            (code, &body["status"], &body["authority_suite"]),
            (200, &json!("resonant"), &json!("not attested"))
        );
    }

    #[test]
    fn the_cache_is_distinguished_from_the_service() {
        let expected =
            [(Health::Healthy, 200, "resonant"), (Health::Degraded, 200, "degraded"), (Health::Failed, 503, "failed")];
        for (cache, code, status) in expected {
            let (found, body) = asked(&remembering(&record(cache)));
            assert_eq!((found, &body["status"]), (code, &json!(status)));
            // The record itself says that the service had failed when it was probed: that is not repeated here.
            assert_eq!(body["service"], "resonant");
        }
    }

    #[test]
    fn an_outdated_record_is_reported_as_degraded() {
        for (cache, code, status) in
            [(Health::Healthy, 200, "degraded"), (Health::Degraded, 200, "degraded"), (Health::Failed, 503, "failed")]
        {
            let world = remembering(&record(cache));
            world.advance(Duration::from_secs(181));
            let (found, body) = asked(&world);
            assert_eq!((found, &body["status"]), (code, &json!(status)));
        }
    }

    #[test]
    fn a_record_that_nobody_can_read_is_not_taken_for_health() {
        let world = World::default();
        world.state().notes.insert(FUNCTION.to_owned(), ("nonsense".to_owned(), 2));
        let (code, body) = asked(&world);
        assert_eq!((code, &body["status"], &body["service"]), (200, &json!("degraded"), &json!("resonant")));
    }
}
