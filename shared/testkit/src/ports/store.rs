//! The stores of states with an audit trail, in a [`World`].

use super::{replace, versioned};
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
        self.stored(S::LOAD, |state| versioned(S::table(state).get(id))).await
    }

    async fn save(&self, value: &S, expected: u64) -> Result<u64, SaveError> {
        let put = |state: &mut State| replace(S::table(state), value.id().clone(), value.clone(), expected);
        self.saved(S::SAVE, put).await
    }
}
