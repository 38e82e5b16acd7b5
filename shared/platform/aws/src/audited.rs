//! States with an audit trail in the table of sales: chat accounts, subscribers, Bridges and purchases. Each is one item
//! with a version, and the index of open work lists it under the name of its open work.

use crate::{
    DynamoSales,
    attempts::Step,
    items::{DUE, Item, WORK, item, numeral, string, text},
};
use async_trait::async_trait;
use domain::{
    Timestamp,
    audit_trail::{Audited, StateId},
    ports::{SaveError, StorageError, Store, Versioned},
};

/// Where the table keeps a kind of state.
pub(crate) trait TableState: Audited {
    /// The prefix of the partition key.
    const PARTITION: &str;
    /// The sort key.
    const SORT: &str;
    /// In words, for errors.
    const READ: &str;
    /// In words, for errors.
    const WRITE: &str;
    /// In words, for errors.
    const LIST: &str;
    /// In an alert's operation field.
    const OPERATION: &str;

    /// Where the index of open work lists it, and when it is due.
    fn open(&self) -> Option<(&'static str, Timestamp)>;
}

/// The part of a list to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    From(Timestamp),
    Until(Timestamp),
}

fn key<S: TableState>(id: &S::Id) -> Item {
    item([("pk", string(format!("{}{}", S::PARTITION, id.text()))), ("sk", string(S::SORT))])
}

fn id<S: TableState>(item: &Item) -> Option<S::Id> {
    S::Id::read(text(item, "pk")?.strip_prefix(S::PARTITION)?)
}

/// The key of a state, and where the index of open work lists it.
fn listed<S: TableState>(state: &S) -> Item {
    let mut listed = key::<S>(state.id());
    if let Some((list, due)) = state.open() {
        listed.extend(item([(WORK, string(list)), (DUE, numeral(due.as_millis()))]));
    }
    listed
}

/// A stored state.
#[cfg(test)]
pub(crate) fn stored<S: TableState>(state: &S, version: u64, token: &str) -> Result<Item, StorageError> {
    crate::items::document_item(listed(state), state, version, token, S::WRITE)
}

#[async_trait]
impl<S: TableState> Store<S> for DynamoSales {
    async fn load(&self, id: &S::Id) -> Result<Option<Versioned<S>>, StorageError> {
        let step = Step { name: S::READ, operation: S::OPERATION, subject: id.reference() };
        // An unreadable state is not replaced: a new account would have three free exchanges again, and a new purchase
        // would let its payment be used again.
        self.document(step, &key::<S>(id)).await
    }

    async fn save(&self, state: &S, expected: u64) -> Result<u64, SaveError> {
        let step = Step { name: S::WRITE, operation: S::OPERATION, subject: state.id().reference() };
        self.put_document(step, listed(state), state, expected).await
    }
}

/// No limit of a list's length.
pub(crate) const ALL: usize = usize::MAX;

/// The most ids in one page of a list.
const PAGE: i32 = 1000;

impl DynamoSales {
    /// The ids in a list of the index of open work, the first due first; at most `most`.
    pub(crate) async fn open<S: TableState>(
        &self,
        list: &str,
        part: Part,
        most: usize,
    ) -> Result<Vec<S::Id>, StorageError> {
        let page = i32::try_from(most).unwrap_or(PAGE).min(PAGE);
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let query = || async {
                let query = self.client().query().table_name(self.table()).index_name(WORK).limit(page);
                let (condition, due) = match part {
                    Part::From(due) => ("#work = :work AND #due >= :due", due),
                    Part::Until(due) => ("#work = :work AND #due <= :due", due),
                };
                let query = query
                    .key_condition_expression(condition)
                    .expression_attribute_names("#work", WORK)
                    .expression_attribute_names("#due", DUE)
                    .expression_attribute_values(":work", string(list))
                    .expression_attribute_values(":due", numeral(due.as_millis()));
                Ok(query.set_exclusive_start_key(start.clone()).send().await?)
            };
            let step = Step { name: S::LIST, operation: S::OPERATION, subject: "-" };
            let reply = self.connection().call(step, query).await?;
            found.extend(reply.items.unwrap_or_default().iter().filter_map(id::<S>));
            start = reply.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() || found.len() >= most {
                found.truncate(most);
                return Ok(found);
            }
        }
    }
}
