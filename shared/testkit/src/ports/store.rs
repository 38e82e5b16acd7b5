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

/// The kinds, each with its table, which begins the names of its boundaries.
macro_rules! kinds {
    ($($kind:ty: $table:ident,)*) => {$(
        impl Kind for $kind {
            const LOAD: &str = concat!(stringify!($table), ".load");
            const SAVE: &str = concat!(stringify!($table), ".save");

            fn table(state: &mut State) -> &mut Table<Self> {
                &mut state.$table
            }
        }
    )*};
}

kinds! {
    Account: accounts,
    Subscriber: subscribers,
    Bridge: bridges,
    Purchase: purchases,
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
