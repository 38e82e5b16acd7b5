//! One scheduled run: calls [`run`], which records the metric that its alarm watches.

use crate::{
    Ports,
    limits::{Limits, Summary},
    run::run,
};
use runtime::Error;

/// A digest of 5,000 objects is about a megabyte, and 20 such digests fit well within the function's time-out. A record
/// has some hundred bytes; an object above a megabyte is not a record.
const LIMITS: Limits = Limits { entries: 5_000, documents: 20, bytes: 1_000_000, rechecked: 5_000 };

/// Digests the objects that are new in the log.
///
/// # Errors
/// When the digest is incomplete; the function's alarm shows it.
pub async fn handle(ports: Ports<'_>) -> Result<(), Error> {
    let Summary { documents, entries, unreadable, left, overtaken } = run(ports, LIMITS).await?;
    tracing::info!(documents, entries, unreadable, left, overtaken, "digested");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::FunctionJournal;
    use domain::{Metric, Timestamp};
    use testkit::{Fault, Plan, World, run as poll};

    #[test]
    fn only_a_complete_run_is_measured() {
        let world = World::at(Timestamp::from_seconds(1_776_349_384));
        let journal =
            FunctionJournal { function: crate::FUNCTION, notes: &world, log: &world, alerts: &world, clock: &world };
        let ports = Ports {
            journal,
            bucket: "log",
            log: &world,
            notices: &world,
            digests: &world,
            signer: &world,
            meter: &world,
        };
        world.plan(Plan::none().whenever("notes.load", Fault::Fail));
        assert!(poll(handle(ports)).unwrap().is_err());
        assert!(world.state().measurements.is_empty());
        world.plan(Plan::none());
        poll(handle(ports)).unwrap().unwrap();
        assert!(world.state().measurements.contains(&Metric::Digested.once()));
    }
}
