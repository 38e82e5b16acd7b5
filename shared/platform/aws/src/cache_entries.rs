//! The cache as a whole, in the table.

use crate::{
    DynamoSales,
    attempts::Step,
    cache_items::{AGES, BYTES, CACHED, PLACE, TOTALS, counted, parse_listed, removed, sum},
    items::{Item, VERDICT, key, string, text},
    now, storage,
};
use async_trait::async_trait;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use domain::{
    SessionId,
    cache_entries::{CacheDelta, CacheTotals, ListedEntry, ListedPage, Removal},
    ports::{CacheEntries, StorageError},
};
use std::collections::{BTreeMap, HashMap};

/// How often an entry that changes concurrently is read again before it is removed.
const MOST_LOOKS: u32 = 4;

/// The most items in one batch read of DynamoDB.
const MOST_IN_A_BATCH: usize = 100;

const fn step(name: &'static str, operation: &'static str) -> Step<'static> {
    Step { name, operation, subject: "-" }
}

impl DynamoSales {
    async fn index(&self, after: &str, most: u32, newest_first: bool) -> Result<ListedPage, StorageError> {
        let query = || async {
            let query = self.client().query().table_name(self.table()).index_name(AGES);
            let query = query
                .key_condition_expression("#cached = :cached AND #place > :after")
                .expression_attribute_names("#cached", CACHED)
                .expression_attribute_names("#place", PLACE)
                .expression_attribute_values(":cached", string(VERDICT))
                .expression_attribute_values(":after", string(if after.is_empty() { "-" } else { after }))
                .scan_index_forward(!newest_first)
                .limit(i32::try_from(most).unwrap_or(i32::MAX));
            let page = query.send().await?;
            // The page ends where the table stopped, even if that row cannot be parsed.
            let next = page.last_evaluated_key.as_ref().and_then(|last| text(last, PLACE)).map(str::to_owned);
            Ok(ListedPage { entries: page.items.iter().flatten().filter_map(parse_listed).collect(), next })
        };
        self.connection().call(step("index of ages read", "CACHE_READ"), query).await
    }
}

#[async_trait]
impl CacheEntries for DynamoSales {
    async fn totals(&self) -> Result<CacheTotals, StorageError> {
        let query = || async {
            let query = self.client().query().table_name(self.table()).key_condition_expression("pk = :pk");
            let query = query.expression_attribute_values(":pk", string(TOTALS)).consistent_read(true);
            Ok(query.send().await?.items.unwrap_or_default())
        };
        let counters: Vec<Item> = self.connection().call(step("cache totals read", "CACHE_READ"), query).await?;
        Ok(sum(&counters))
    }

    async fn listed(&self, after: &str, most: u32) -> Result<ListedPage, StorageError> {
        self.index(after, most, false).await
    }

    async fn newest(&self) -> Result<Option<ListedEntry>, StorageError> {
        Ok(self.index("", 1, true).await?.entries.pop())
    }

    async fn documents(&self, sessions: &[SessionId]) -> Result<BTreeMap<SessionId, String>, StorageError> {
        let mut documents = BTreeMap::new();
        for sessions in sessions.chunks(MOST_IN_A_BATCH) {
            let mut wanted: Vec<Item> = sessions.iter().map(|session| key(session, VERDICT)).collect();
            while !wanted.is_empty() {
                let get = || async {
                    let keys = KeysAndAttributes::builder().set_keys(Some(wanted.clone())).build();
                    let keys = keys.map_err(crate::attempts::Failure::other)?;
                    Ok(self.client().batch_get_item().request_items(self.table(), keys).send().await?)
                };
                let output = self.connection().call(step("verdicts read", "CACHE_READ"), get).await?;
                let items = output.responses.unwrap_or_default().remove(self.table()).unwrap_or_default();
                let before = wanted.len();
                wanted = output
                    .unprocessed_keys
                    .unwrap_or_default()
                    .remove(self.table())
                    .map(|rest| rest.keys)
                    .unwrap_or_default();
                if wanted.len() == before {
                    let nothing = std::io::Error::other("the batch was not read at all");
                    return Err(storage("verdicts read", nothing));
                }
                documents.extend(items.iter().filter_map(entry));
            }
        }
        Ok(documents)
    }

    async fn remove(&self, session: &SessionId) -> Result<bool, StorageError> {
        let step = Step { name: "verdict removal", operation: "CACHE_WRITE", subject: session.reference() };
        let empty = removed(session, now());
        for look in 0..MOST_LOOKS {
            let found = self.get(step, &key(session, VERDICT)).await?;
            // An earlier look found it and it is gone now: another process removed it, or our own call did and its
            // reply was lost.
            let Some(entry) = found.filter(holds_something) else { return Ok(look > 0) };
            if self.put_removed(step, &empty, counted(Some(&entry)), text(&entry, PLACE)).await? {
                return Ok(true);
            }
        }
        Err(storage(step.name, std::io::Error::other("the entry kept changing")))
    }

    async fn remove_listed(&self, listed: &ListedEntry) -> Result<Removal, StorageError> {
        let step = Step { name: "verdict removal", operation: "CACHE_WRITE", subject: listed.session.reference() };
        let empty = removed(&listed.session, now());
        if self.put_removed(step, &empty, Some(listed.bytes), Some(&listed.place())).await? {
            return Ok(Removal::Gone);
        }
        let found = self.get(step, &key(&listed.session, VERDICT)).await?;
        Ok(if found.as_ref().is_some_and(holds_something) { Removal::Renewed } else { Removal::Gone })
    }

    async fn correct(&self, delta: CacheDelta, token: &str) -> Result<(), StorageError> {
        self.put_totals(step("cache totals correction", "CACHE_WRITE"), delta, token).await
    }
}

/// Whether a verdict's item has content that could be removed.
pub(crate) fn holds_something(item: &Item) -> bool {
    item.contains_key("document") || item.contains_key(BYTES)
}

/// The document of a verdict's item; an item that should have one but does not counts as an empty document.
fn entry(item: &HashMap<String, AttributeValue>) -> Option<(SessionId, String)> {
    let session = SessionId::parse(text(item, "pk")?.strip_prefix("SESSION#")?).ok()?;
    holds_something(item).then(|| (session, text(item, "document").unwrap_or_default().to_owned()))
}
