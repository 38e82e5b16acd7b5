//! Removes a cached verdict: the archive keeps it, and the page restores it from there.

use crate::{Done, Operator, Refusals};
use audit::{Change, Context, Journal, hash};
use domain::{
    CachedVerdict, Sale, SessionId, Timestamp,
    ports::{CacheEntries, CacheEntry, VerdictArchive},
};

/// Why a cached verdict is not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// There is no such sale.
    #[error("there is no such sale")]
    NoSale,
    /// Without an archived copy the customer would get another verdict (Regen Consistency, invariant 4).
    #[error("its verdict is not in the archive")]
    NotArchived,
    /// The archive has the first verdict, and the page would hold it back or show it again.
    #[error("an operator replaced its verdict or its notice: only the cache has the new one")]
    Replaced,
}

impl Refusals for RemoveError {}

/// Removes a sale's cached verdict, after recording the removal; `false` if there was none.
///
/// # Errors
/// [`RemoveError`]. Repeating is safe.
pub async fn remove(
    journal: Journal<'_>,
    entries: &dyn CacheEntries,
    archive: &dyn VerdictArchive,
    operator: &Operator,
    session: &SessionId,
) -> Done<bool, RemoveError> {
    let (sale, entry) = journal.store.load_with_verdict(session).await?;
    let sale = sale.ok_or(RemoveError::NoSale)?;
    // A damaged entry has nothing that the archive lacks.
    if let CacheEntry::Hit(cached) = entry {
        let archived = archive.find(session).await?.ok_or(RemoveError::NotArchived)?;
        if archived != *cached && !is_damaged(&sale.value, &cached, &archived) {
            return Err(RemoveError::Replaced.into());
        }
    }
    let decided = journal.commit(sale, |sale, now| decide(sale, operator, now)).await?;
    decided.settle().await.1?;
    Ok(entries.remove(session).await?)
}

/// Whether a cached verdict was changed without a command: it is not the archived one, which is the last that the sale
/// has recorded. A command that replaces a verdict records the new one.
fn is_damaged(sale: &Sale, cached: &CachedVerdict, archived: &CachedVerdict) -> bool {
    let recorded = sale.verdict_hash() == Some(hash::verdict_hash(&archived.verdict).as_str());
    recorded && cached.verdict != archived.verdict
}

/// Decides on the sale's current state, because a regeneration may have happened in between.
fn decide(sale: &Sale, operator: &Operator, now: Timestamp) -> Change<Result<(), RemoveError>> {
    match sale.remove_from_cache(operator) {
        Ok(event) => Change::of(&event, &Context::at(now), Ok(())),
        Err(_) => Change::nothing(Err(RemoveError::NotArchived)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NotDone::Refused;
    use crate::testing::{at, decisions, journal, operator, sale, session, stored, whatever_breaks, world_with};
    use domain::{Colour, Query, Tier, Verdict, sale::Fulfilment};
    use testkit::{World, run, sale::WithField};

    fn cached(sale: Sale) -> World {
        let world = world_with(sale);
        let verdict = Verdict { verdict: Colour::Green, summary: "Yes.".into(), breakdown: None, strategy: None };
        let cached = CachedVerdict::first(Tier::Quick, &Query::parse("Open a shop?").unwrap(), verdict, at(-500));
        world.state().cache_verdict(&session(), &cached, at(-500));
        world.state().archive.insert(session(), cached);
        world
    }

    #[test]
    fn whatever_breaks_an_archived_verdict_is_out_and_somebody_said_so() {
        let go = |world: &World| run(remove(journal(world), world, world, &operator(), &session()));
        let fresh = || cached(sale());
        whatever_breaks(fresh, go, |world, what| {
            assert!(world.state().cache.is_empty(), "{what}");
            assert!(!decisions(world).is_empty(), "{what}");
        });
    }

    #[test]
    fn what_is_not_archived_stays() {
        let waits = Fulfilment::Ready { at: at(-500), archived: false };
        for fulfilment in [
            waits,
            Fulfilment::InReview { gate: domain::Gate::BeforeDelivery, at: at(-9) },
            Fulfilment::Ordered { at: at(-9) },
        ] {
            let kept = sale().with("fulfilment", fulfilment);
            let world = cached(kept.clone());
            let error = run(remove(journal(&world), &world, &world, &operator(), &session())).unwrap().unwrap_err();
            assert!(error.is_refusal());
            assert_eq!((stored(&world), decisions(&world).len()), (kept, 0));
            assert_eq!(world.state().cache.len(), 1);
        }
    }

    /// The sale's hash tells whether a command wrote the verdict that differs from the archived one.
    #[test]
    fn a_damaged_entry_is_removed_and_a_replaced_or_unarchived_one_is_not() {
        let world = cached(sale());
        let go = || run(remove(journal(&world), &world, &world, &operator(), &session())).unwrap();
        let set = |verdict_hash: &str| world.change_sales("verdict_hash", verdict_hash);
        let first = world.state().archive[&session()].clone();
        let archived = hash::verdict_hash(&first.verdict);
        let mut other = first.clone();
        other.verdict.summary = "Yes, at once.".into();
        world.state().cache.insert(session(), other.clone());
        set(&hash::verdict_hash(&other.verdict));
        assert!(matches!(go(), Err(Refused(RemoveError::Replaced))), "another verdict");
        set(&archived);
        let noticed = CachedVerdict { notice: Some("Ask a lawyer.".into()), ..first.clone() };
        world.state().cache.insert(session(), noticed);
        assert!(matches!(go(), Err(Refused(RemoveError::Replaced))), "another notice");
        world.state().cache.insert(session(), other);
        world.state().archive.clear();
        assert!(matches!(go(), Err(Refused(RemoveError::NotArchived))));
        assert!(decisions(&world).is_empty());
        assert_eq!(world.state().cache.len(), 1);
        world.state().archive.insert(session(), first);
        assert!(matches!(go(), Ok(true)), "damaged by hand");
        assert!(world.state().cache.is_empty());
    }
}
