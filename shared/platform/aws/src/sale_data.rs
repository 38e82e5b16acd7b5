//! Counts and removes the data of one sale in the table and the buckets.

use crate::{
    DynamoSales,
    attempts::Step,
    buckets::Bucket,
    cache_entries::holds_something,
    items::{Item, SALE, VERDICT, partition, text},
    relay_drafts::drafts_of,
};
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    SessionId,
    erasure::Store,
    ports::{CacheEntries, SaleData, StorageError},
};

/// The stores of a stack from which erasure removes a sale's data.
pub struct StoredSaleData {
    sales: DynamoSales,
    archive: Bucket,
    quarantine: Bucket,
}

/// The place of a sale's data in a store.
enum DataPlace<'a> {
    Table,
    Bucket(&'a Bucket, String),
    /// Not in the table or these buckets.
    Elsewhere,
}

impl StoredSaleData {
    /// The table, and the buckets of archived verdicts and of held payloads.
    #[must_use]
    pub fn new(sales: DynamoSales, archive: String, quarantine: String) -> Self {
        let bucket = |name| Bucket::new(sales.connection().clone(), name);
        Self { archive: bucket(archive), quarantine: bucket(quarantine), sales }
    }

    fn find(&self, store: Store, session: &SessionId) -> DataPlace<'_> {
        let session = session.as_str();
        match store {
            Store::Table => DataPlace::Table,
            Store::Archive => DataPlace::Bucket(&self.archive, format!("verdicts/{session}.json")),
            Store::DeadLetters => DataPlace::Bucket(&self.archive, format!("dead-letters/{session}/")),
            Store::Quarantine => DataPlace::Bucket(&self.quarantine, format!("held/{session}/")),
            Store::Mailbox => DataPlace::Elsewhere,
        }
    }

    /// Every item of the sale except its own record, without items that are empty already, and its drafts of mails.
    async fn items(&self, session: &SessionId) -> Result<Vec<Item>, StorageError> {
        let mut items = self.items_in(session, partition(session)).await?;
        items.retain(|item| match text(item, "sk") {
            Some(SALE) | None => false,
            Some(VERDICT) => holds_something(item),
            Some(_) => true,
        });
        items.extend(self.items_in(session, drafts_of(session)).await?);
        Ok(items)
    }

    async fn items_in(&self, session: &SessionId, partition: AttributeValue) -> Result<Vec<Item>, StorageError> {
        let step = Step { name: "sale data read", operation: "ERASURE", subject: session.reference() };
        let (mut items, mut from): (Vec<Item>, Option<Item>) = (Vec::new(), None);
        loop {
            let query = || async {
                let query = self.sales.client().query().table_name(self.sales.table());
                let query = query.key_condition_expression("pk = :pk").consistent_read(true);
                let query = query.expression_attribute_values(":pk", partition.clone());
                Ok(query.set_exclusive_start_key(from.clone()).send().await?)
            };
            let page = self.sales.connection().call(step, query).await?;
            items.extend(page.items.unwrap_or_default());
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(items);
            }
        }
    }

    async fn remove_items(&self, session: &SessionId) -> Result<u64, StorageError> {
        let step = Step { name: "sale data removal", operation: "ERASURE", subject: session.reference() };
        let items = self.items(session).await?;
        for item in &items {
            if text(item, "sk") == Some(VERDICT) {
                // This also updates the counters of the cache, and leaves an empty item, which causes no alert.
                CacheEntries::remove(&self.sales, session).await?;
                continue;
            }
            self.sales.delete(step, key_of(item)).await?;
        }
        Ok(items.len() as u64)
    }
}

/// The key of an item.
fn key_of(item: &Item) -> Item {
    ["pk", "sk"].iter().filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone()))).collect()
}

#[async_trait]
impl SaleData for StoredSaleData {
    async fn kept(&self, store: Store, session: &SessionId) -> Result<u64, StorageError> {
        let step = Step { name: "sale data read", operation: "ERASURE", subject: session.reference() };
        match self.find(store, session) {
            DataPlace::Table => Ok(self.items(session).await?.len() as u64),
            DataPlace::Bucket(bucket, prefix) => Ok(bucket.versions(step, &prefix).await?.len() as u64),
            DataPlace::Elsewhere => Ok(0),
        }
    }

    async fn remove(&self, store: Store, session: &SessionId) -> Result<u64, StorageError> {
        let step = Step { name: "sale data removal", operation: "ERASURE", subject: session.reference() };
        match self.find(store, session) {
            DataPlace::Table => self.remove_items(session).await,
            DataPlace::Bucket(bucket, prefix) => bucket.remove_versions(step, &prefix).await,
            DataPlace::Elsewhere => Ok(0),
        }
    }
}
