//! The circuits of the models that this configuration calls.

use domain::{
    Timestamp,
    breaker::Caller,
    ports::{Breakers, StorageError},
};
use runtime::telemetry;
use std::time::Duration;

/// An open circuit counts for this long after a call last opened it: while it is called, a half-open call that fails opens
/// it anew at least every five minutes ([`domain::breaker::Reopen::STANDARD`]). After an outage of all models nothing calls
/// the next one while the first works, so its circuit stays open.
const COUNTED_FOR: Duration = Duration::from_secs(15 * 60);

/// The callers whose circuits count. Without a purchase to answer the toll calls no model, so its open circuits stay open.
pub(crate) fn callers(needs_toll: &Result<bool, StorageError>) -> impl Iterator<Item = Caller> {
    let calls_none = matches!(needs_toll, Ok(false));
    Caller::ALL.into_iter().filter(move |caller| !calls_none || *caller != Caller::Toll)
}

/// Whether one of the circuits is open; `None` if one cannot be read before an open one is found.
pub(crate) async fn open_circuit(
    breakers: &dyn Breakers,
    models: &[&str],
    callers: impl Iterator<Item = Caller>,
    now: Timestamp,
) -> Option<bool> {
    for caller in callers {
        for model in models {
            match breakers.load(&caller.circuit(model)).await {
                Ok(row) if row.value.opened_at.is_some_and(|at| now.since(at) < COUNTED_FOR) => return Some(true),
                Ok(_) => {}
                // The others would not answer either, and the run has to end in time.
                Err(error) => {
                    tracing::warn!(model, error = %telemetry::chain(&error), "whether a circuit is open is unknown");
                    return None;
                }
            }
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::breaker::Breaker;
    use testkit::{Fault, Plan, World, run};

    #[test]
    fn only_the_circuits_that_are_called_count() {
        let world = World::default();
        let now = Timestamp::from_seconds(10_000);
        let opened_before = |seconds: i64, circuits: &[&str]| {
            let open = Breaker { opened_at: Some(Timestamp::from_seconds(10_000 - seconds)), ..Breaker::default() };
            world.state().breakers = circuits.iter().map(|name| ((*name).to_owned(), (open.clone(), 1))).collect();
        };
        let opened = |circuits: &[&str]| opened_before(1, circuits);
        let seen = |needs_toll| run(open_circuit(&world, &["new", "other"], callers(&Ok(needs_toll)), now)).unwrap();
        assert_eq!(seen(true), Some(false));
        opened(&["retired", "chat/retired", "mailbox"]);
        assert_eq!(seen(true), Some(false), "a model that was taken from the list");
        opened(&["toll/new"]);
        assert_eq!((seen(true), seen(false)), (Some(true), Some(false)), "the toll is off");
        for circuit in ["new", "other", "chat/other"] {
            opened(&[circuit]);
            assert_eq!(seen(false), Some(true), "{circuit}");
        }
        opened_before(899, &["other"]);
        assert_eq!(seen(true), Some(true));
        opened_before(900, &["other"]);
        assert_eq!(seen(true), Some(false), "a model that is not called while the first one works");
        opened(&[]);
        world.plan(Plan::none().whenever("breaker.load", Fault::Fail));
        assert_eq!(seen(true), None);
    }

    /// A toll that may have a purchase to answer counts.
    #[test]
    fn an_unknown_toll_counts() {
        let failed = Err(StorageError { operation: "purchases listed", source: "no answer".into() });
        assert_eq!(callers(&failed).count(), Caller::ALL.len());
        assert_eq!(callers(&Ok(false)).collect::<Vec<_>>(), [Caller::Orders, Caller::Chat]);
    }
}
