//! The circuits of the models that this configuration calls.

use domain::{
    breaker::Caller,
    ports::{Breakers, StorageError},
};
use runtime::telemetry;

/// The callers whose circuits count. Without a purchase to answer the toll calls no model, so its open circuits stay open.
pub(crate) fn callers(needs_toll: &Result<bool, StorageError>) -> impl Iterator<Item = Caller> {
    let calls_none = matches!(needs_toll, Ok(false));
    Caller::ALL.into_iter().filter(move |caller| !calls_none || *caller != Caller::Toll)
}

/// Whether one of the circuits is open; `None` if none is known to be open and one cannot be read.
pub(crate) async fn open_circuit(
    breakers: &dyn Breakers,
    models: &[&str],
    callers: impl Iterator<Item = Caller>,
) -> Option<bool> {
    let mut open = Some(false);
    for caller in callers {
        for model in models {
            match breakers.load(&caller.circuit(model)).await {
                Ok(row) if row.value.opened_at.is_some() => return Some(true),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(model, error = %telemetry::chain(&error), "whether a circuit is open is unknown");
                    open = None;
                }
            }
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Timestamp, breaker::Breaker};
    use testkit::{Fault, Plan, World, run};

    #[test]
    fn only_the_circuits_that_are_called_count() {
        let world = World::default();
        let opened = |circuits: &[&str]| {
            let open = Breaker { opened_at: Some(Timestamp::from_seconds(1)), ..Breaker::default() };
            world.state().breakers = circuits.iter().map(|name| ((*name).to_owned(), (open.clone(), 1))).collect();
        };
        let seen = |needs_toll| run(open_circuit(&world, &["new", "other"], callers(&Ok(needs_toll)))).unwrap();
        assert_eq!(seen(true), Some(false));
        opened(&["retired", "chat/retired", "mailbox"]);
        assert_eq!(seen(true), Some(false), "a model that was taken from the list");
        opened(&["toll/new"]);
        assert_eq!((seen(true), seen(false)), (Some(true), Some(false)), "the toll is off");
        for circuit in ["new", "other", "chat/other"] {
            opened(&[circuit]);
            assert_eq!(seen(false), Some(true), "{circuit}");
        }
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
