//! GET /health: whether sales can be read.

use domain::{
    SessionId,
    ports::{Clock, SaleStore},
};
use runtime::{http::Reply, telemetry};
use serde_json::json;

/// Probes the store with one read of an item that does not exist.
pub async fn health(store: &dyn SaleStore, clock: &dyn Clock) -> Reply {
    let started = clock.now();
    let probe = match SessionId::parse("cs_health_probe") {
        Ok(probe) => store.load(&probe).await.map(drop).map_err(|error| telemetry::chain(&error)),
        Err(error) => Err(error.to_string()),
    };
    let now = clock.now();
    let (code, status) = match &probe {
        Ok(()) => (200, "resonant"),
        Err(error) => {
            tracing::error!(error, "health probe failed");
            (503, "failed")
        }
    };
    let cache = json!({ "reachable": probe.is_ok(), "response_ms": now.millis_since(started) });
    Reply::json(
        code,
        &json!({
            "status": status,
            "phi": crosscheck::constants::PHI,
            "timestamp": now.to_iso(),
            "dry_run": false,
            "cache": cache,
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::{Fault, Plan, World, run};

    #[test]
    fn it_tells_whether_the_store_answers_and_no_more() {
        let world = World::default();
        let reply = run(health(&world, &world)).unwrap();
        assert!(reply.status() == 200 && reply.body().contains(r#""status":"resonant""#));
        world.plan(Plan::at(0, Fault::Fail));
        let reply = run(health(&world, &world)).unwrap();
        assert!(reply.status() == 503 && reply.body().contains(r#""status":"failed""#));
        assert!(!reply.body().contains("planned"));
    }
}
