//! The stores of states with an audit trail, in a [`World`].

use super::storage;
use crate::world::{State, World};
use async_trait::async_trait;
use domain::{
    audit_trail::Audited,
    chat::{Account, Bridge, Subscriber},
    ports::{SaveError, StorageError, Store, Versioned},
    toll::Purchase,
};
use std::collections::BTreeMap;

/// States of one kind by their ids, each with its version.
type Table<S> = BTreeMap<<S as Audited>::Id, (S, u64)>;

/// A kind of state that a world stores.
trait Kind: Audited {
    const LOAD: &str;
    const SAVE: &str;

    fn table(state: &mut State) -> &mut Table<Self>;
}

impl Kind for Account {
    const LOAD: &str = "accounts.load";
    const SAVE: &str = "accounts.save";

    fn table(state: &mut State) -> &mut Table<Self> {
        &mut state.accounts
    }
}

impl Kind for Subscriber {
    const LOAD: &str = "subscribers.load";
    const SAVE: &str = "subscribers.save";

    fn table(state: &mut State) -> &mut Table<Self> {
        &mut state.subscribers
    }
}

impl Kind for Bridge {
    const LOAD: &str = "bridges.load";
    const SAVE: &str = "bridges.save";

    fn table(state: &mut State) -> &mut Table<Self> {
        &mut state.bridges
    }
}

impl Kind for Purchase {
    const LOAD: &str = "purchases.load";
    const SAVE: &str = "purchases.save";

    fn table(state: &mut State) -> &mut Table<Self> {
        &mut state.purchases
    }
}

#[async_trait]
impl<S: Kind> Store<S> for World {
    async fn load(&self, id: &S::Id) -> Result<Option<Versioned<S>>, StorageError> {
        let read = self.boundary(S::LOAD, |state| {
            S::table(state).get(id).map(|(value, version)| Versioned { value: value.clone(), version: *version })
        });
        read.await.map_err(|_| storage(S::LOAD))
    }

    async fn save(&self, value: &S, expected: u64) -> Result<u64, SaveError> {
        let write = self.boundary(S::SAVE, |state| {
            let table = S::table(state);
            if table.get(value.id()).map_or(0, |(_, version)| *version) != expected {
                return Err(SaveError::Conflict);
            }
            table.insert(value.id().clone(), (value.clone(), expected + 1));
            Ok(expected + 1)
        });
        write.await.unwrap_or_else(|_| Err(storage(S::SAVE).into()))
    }
}
