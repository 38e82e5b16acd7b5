//! Sales and cached verdicts in one DynamoDB table.
//!
//! `pk` is `SESSION#{id}`; `sk` is `SALE` for the record and `VERDICT` for the cached verdict, so one Query reads
//! both and one transaction writes both. The record is a JSON document beside the attributes that conditions and
//! operators need.

use crate::{Connection, open_sales, storage};
use async_trait::async_trait;
use aws_sdk_dynamodb::{
    Client,
    operation::{put_item::PutItemError, transact_write_items::TransactWriteItemsError},
    types::{AttributeValue, CancellationReason, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem},
};
use domain::{
    CachedVerdict, Sale, SessionId,
    breaker::Breaker,
    ports::{Breakers, CacheEntry, Randomness, SaleStore, SaveError, StorageError, Versioned},
};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

pub(crate) type Item = HashMap<String, AttributeValue>;

const SALE: &str = "SALE";
const VERDICT: &str = "VERDICT";

/// The table of sales.
pub struct DynamoSales {
    connection: Connection,
    table: String,
    randomness: Arc<dyn Randomness>,
    client: OnceLock<Client>,
}

impl DynamoSales {
    /// Sales in this table. Random tokens mark each write, so that a write whose reply got lost is recognised.
    #[must_use]
    pub const fn new(connection: Connection, table: String, randomness: Arc<dyn Randomness>) -> Self {
        Self { connection, table, randomness, client: OnceLock::new() }
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    pub(crate) fn client(&self) -> &Client {
        self.client.get_or_init(|| self.connection.dynamodb())
    }

    pub(crate) fn key(session: &SessionId, sort: &str) -> Item {
        HashMap::from([
            ("pk".to_owned(), AttributeValue::S(format!("SESSION#{}", session.as_str()))),
            ("sk".to_owned(), AttributeValue::S(sort.to_owned())),
        ])
    }

    fn sale_item(sale: &Sale, version: u64, token: &str) -> Result<Item, StorageError> {
        let document = serde_json::to_string(sale).map_err(|error| storage("sale write", error))?;
        let mut item = Self::key(&sale.session_id, SALE);
        item.insert("version".to_owned(), AttributeValue::N(version.to_string()));
        item.insert("written_by".to_owned(), AttributeValue::S(token.to_owned()));
        item.insert("document".to_owned(), AttributeValue::S(document));
        // The index of open sales is sparse: a sale that has ended is not in it.
        if let Some(open) = sale.open_work() {
            item.insert(open_sales::WORK.to_owned(), AttributeValue::S(open.work.as_str().to_owned()));
            item.insert(open_sales::DUE.to_owned(), AttributeValue::N(open.due.as_millis().to_string()));
        }
        Ok(item)
    }

    fn verdict_item(session: &SessionId, verdict: &CachedVerdict) -> Result<Item, StorageError> {
        let document = serde_json::to_string(verdict).map_err(|error| storage("verdict write", error))?;
        let mut item = Self::key(session, VERDICT);
        item.insert("document".to_owned(), AttributeValue::S(document));
        Ok(item)
    }
}

pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str)
}

fn parse_sale(item: &Item) -> Result<Versioned<Sale>, StorageError> {
    let broken = || storage("sale read", std::io::Error::other("the sale's item has no document or version"));
    let version = item.get("version").and_then(|value| value.as_n().ok()).and_then(|n| n.parse().ok());
    let value = serde_json::from_str(text(item, "document").ok_or_else(broken)?);
    Ok(Versioned { value: value.map_err(|error| storage("sale read", error))?, version: version.ok_or_else(broken)? })
}

fn parse_verdict(item: &Item) -> CacheEntry {
    let parsed = text(item, "document").and_then(|document| serde_json::from_str(document).ok());
    parsed.map_or(CacheEntry::Corrupt, |verdict| CacheEntry::Hit(Box::new(verdict)))
}

/// The item that a failed condition found, if this very write had put it there before its reply got lost.
fn is_own_write(found: Option<&Item>, token: &str) -> bool {
    found.and_then(|item| text(item, "written_by")) == Some(token)
}

#[async_trait]
impl Breakers for DynamoSales {
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError> {
        let read = self.client().get_item().table_name(&self.table).set_key(Some(breaker_key(model)));
        let output = read.consistent_read(true).send().await.map_err(|error| storage("breaker read", error))?;
        let Some(item) = output.item else { return Ok(Versioned { value: Breaker::default(), version: 0 }) };
        let version = item.get("version").and_then(|value| value.as_n().ok()).and_then(|n| n.parse().ok());
        let value = text(&item, "document").and_then(|document| serde_json::from_str(document).ok());
        // A row that cannot be read must not stop every sale: it counts as closed and is written anew.
        Ok(Versioned { value: value.unwrap_or_default(), version: version.unwrap_or(0) })
    }

    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError> {
        let token = self.randomness.token();
        let document = serde_json::to_string(breaker).map_err(|error| storage("breaker write", error))?;
        let mut item = breaker_key(model);
        item.insert("version".to_owned(), AttributeValue::N((expected + 1).to_string()));
        item.insert("written_by".to_owned(), AttributeValue::S(token.clone()));
        item.insert("document".to_owned(), AttributeValue::S(document));
        let (condition, values) = condition(expected);
        self.put(item, condition, values, &token).await
    }
}

fn breaker_key(model: &str) -> Item {
    HashMap::from([
        ("pk".to_owned(), AttributeValue::S(format!("BREAKER#{model}"))),
        ("sk".to_owned(), AttributeValue::S("BREAKER".to_owned())),
    ])
}

/// The condition of a write that expects this version.
fn condition(expected: u64) -> (&'static str, Option<Item>) {
    if expected == 0 {
        return ("attribute_not_exists(pk)", None);
    }
    let values = HashMap::from([(":expected".to_owned(), AttributeValue::N(expected.to_string()))]);
    ("version = :expected", Some(values))
}

#[async_trait]
impl SaleStore for DynamoSales {
    async fn load(&self, session: &SessionId) -> Result<Option<Versioned<Sale>>, StorageError> {
        let read = self.client().get_item().table_name(&self.table).set_key(Some(Self::key(session, SALE)));
        let output = read.consistent_read(true).send().await.map_err(|error| storage("sale read", error))?;
        output.item.as_ref().map(parse_sale).transpose()
    }

    async fn load_with_verdict(
        &self,
        session: &SessionId,
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError> {
        let output = self
            .client()
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", AttributeValue::S(format!("SESSION#{}", session.as_str())))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| storage("sale read", error))?;
        let items = output.items.unwrap_or_default();
        let find = |sort| items.iter().find(|item| text(item, "sk") == Some(sort));
        let sale = find(SALE).map(parse_sale).transpose()?;
        Ok((sale, find(VERDICT).map_or(CacheEntry::Miss, parse_verdict)))
    }

    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        let token = self.randomness.token();
        let version = expected + 1;
        let item = Self::sale_item(sale, version, &token)?;
        let condition = if expected == 0 { "attribute_not_exists(pk)" } else { "version = :expected" };
        let values =
            (expected > 0).then(|| HashMap::from([(":expected".to_owned(), AttributeValue::N(expected.to_string()))]));
        let saved = match verdict {
            None => self.put(item, condition, values, &token).await,
            Some(verdict) => {
                let verdict = Self::verdict_item(&sale.session_id, verdict)?;
                self.put_both(item, condition, values, verdict, &token).await
            }
        };
        saved.map(|()| version)
    }
}

impl DynamoSales {
    async fn put(&self, item: Item, condition: &str, values: Option<Item>, token: &str) -> Result<(), SaveError> {
        let put = self
            .client()
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression(condition)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        match put {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                    if is_own_write(failed.item.as_ref(), token) { Ok(()) } else { Err(SaveError::Conflict) }
                }
                _ => Err(storage("sale write", error).into()),
            },
        }
    }

    async fn put_both(
        &self,
        sale: Item,
        condition: &str,
        values: Option<Item>,
        verdict: Item,
        token: &str,
    ) -> Result<(), SaveError> {
        let sale = Put::builder()
            .table_name(&self.table)
            .set_item(Some(sale))
            .condition_expression(condition)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(|error| storage("verdict write", error))?;
        let verdict = Put::builder()
            .table_name(&self.table)
            .set_item(Some(verdict))
            .build()
            .map_err(|error| storage("verdict write", error))?;
        let write = self
            .client()
            .transact_write_items()
            .client_request_token(token)
            .transact_items(TransactWriteItem::builder().put(sale).build())
            .transact_items(TransactWriteItem::builder().put(verdict).build())
            .send()
            .await;
        let Err(error) = write else { return Ok(()) };
        let reasons: &[CancellationReason] = match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                cancelled.cancellation_reasons.as_deref().unwrap_or_default()
            }
            _ => &[],
        };
        let first = reasons.first();
        match first.and_then(|reason| reason.code.as_deref()) {
            Some("ConditionalCheckFailed") => {
                let found = first.and_then(|reason| reason.item.as_ref());
                if is_own_write(found, token) { Ok(()) } else { Err(SaveError::Conflict) }
            }
            Some("TransactionConflict") => Err(SaveError::Conflict),
            _ => Err(storage("verdict write", error).into()),
        }
    }
}
