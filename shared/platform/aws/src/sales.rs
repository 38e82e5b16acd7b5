//! Sales, cached verdicts and breakers in one DynamoDB table; [`crate::items`] has the form of the items.
//!
//! A write needs no separate confirmation: it is conditional on the version that was read, its reply means that it is
//! stored on three disks, and reads are consistent. A write whose reply was lost is recognised by its token.

use crate::{
    Connection,
    attempts::{Failure, Step},
    items::{
        Item, SALE, VERDICT, breaker_key, document_item, expects, is_own_write, key, note_item, note_key,
        parse_breaker, parse_document, parse_note, sale_item, submission_item, verdict_item,
    },
};
use async_trait::async_trait;
use aws_sdk_dynamodb::{Client, operation::put_item::PutItemError, types::ReturnValuesOnConditionCheckFailure};
use domain::{
    CachedVerdict, Sale, SessionId, Submission,
    alert::Severity,
    breaker::Breaker,
    ports::{Breakers, CacheEntry, Notes, Randomness, SaleStore, SaveError, StorageError, Versioned},
};
use serde::{Serialize, de::DeserializeOwned};
use std::sync::{Arc, OnceLock};

/// The table of sales.
pub struct DynamoSales {
    connection: Connection,
    table: String,
    randomness: Arc<dyn Randomness>,
    client: OnceLock<Client>,
}

/// The result of a conditional write.
enum Write {
    Done,
    Conflict,
}

/// A conditional write: the item, its condition, and the token of the writer.
pub(crate) struct Conditional<'a> {
    pub(crate) item: Item,
    pub(crate) condition: &'static str,
    pub(crate) values: Option<Item>,
    pub(crate) token: &'a str,
}

impl DynamoSales {
    /// Sales in this table. A random token marks each write, so that a write whose reply was lost is recognised.
    #[must_use]
    pub const fn new(connection: Connection, table: String, randomness: Arc<dyn Randomness>) -> Self {
        Self { connection, table, randomness, client: OnceLock::new() }
    }

    /// A random token: 32 hexadecimal digits.
    pub(crate) fn token(&self) -> String {
        self.randomness.token()
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn client(&self) -> &Client {
        self.client.get_or_init(|| self.connection.dynamodb())
    }

    pub(crate) async fn get(&self, step: Step<'_>, key: &Item) -> Result<Option<Item>, StorageError> {
        let get = || async {
            let read = self.client().get_item().table_name(&self.table).set_key(Some(key.clone()));
            Ok(read.consistent_read(true).send().await?.item)
        };
        self.connection.call(step, get).await
    }

    pub(crate) async fn put(&self, step: Step<'_>, write: &Conditional<'_>) -> Result<(), SaveError> {
        let put = || async {
            let put = self
                .client()
                .put_item()
                .table_name(&self.table)
                .set_item(Some(write.item.clone()))
                .condition_expression(write.condition)
                .set_expression_attribute_values(write.values.clone())
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                .send()
                .await;
            match put {
                Ok(_) => Ok(Write::Done),
                Err(error) => match error.as_service_error() {
                    Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                        let own = is_own_write(failed.item.as_ref(), write.token);
                        Ok(if own { Write::Done } else { Write::Conflict })
                    }
                    _ => Err(Failure::from(error)),
                },
            }
        };
        saved(self.connection.call(step, put).await)
    }

    /// Reads the document of an item, with its version.
    pub(crate) async fn document<T: DeserializeOwned>(
        &self,
        step: Step<'_>,
        key: &Item,
    ) -> Result<Option<Versioned<T>>, StorageError> {
        self.get(step, key).await?.as_ref().map(|found| parse_document(found, step.name)).transpose()
    }

    /// Writes a document into `item`, a key with other attributes, if the stored one still has this version. Returns the
    /// new version.
    pub(crate) async fn put_document<T: Serialize>(
        &self,
        step: Step<'_>,
        item: Item,
        value: &T,
        expected: u64,
    ) -> Result<u64, SaveError> {
        let (token, version) = (self.token(), expected + 1);
        let (condition, values) = expects(expected);
        let item = document_item(item, value, version, &token, step.name)?;
        self.put(step, &Conditional { item, condition, values, token: &token }).await?;
        Ok(version)
    }

    /// Writes an item, whatever is stored.
    pub(crate) async fn overwrite(&self, step: Step<'_>, item: Item) -> Result<(), StorageError> {
        let put = || async {
            self.client().put_item().table_name(&self.table).set_item(Some(item.clone())).send().await?;
            Ok(())
        };
        self.connection.call(step, put).await
    }

    /// Deletes an item, if there is one.
    pub(crate) async fn delete(&self, step: Step<'_>, key: Item) -> Result<(), StorageError> {
        let delete = || async {
            self.client().delete_item().table_name(&self.table).set_key(Some(key.clone())).send().await?;
            Ok(())
        };
        self.connection.call(step, delete).await
    }
}

fn saved(write: Result<Write, StorageError>) -> Result<(), SaveError> {
    match write? {
        Write::Done => Ok(()),
        Write::Conflict => Err(SaveError::Conflict),
    }
}

#[async_trait]
impl SaleStore for DynamoSales {
    async fn load(&self, session: &SessionId) -> Result<Option<Versioned<Sale>>, StorageError> {
        let step = Step { name: "sale read", operation: "CACHE_READ", subject: session.reference() };
        match self.get(step, &key(session, SALE)).await? {
            Some(item) => self.sale_of(session, &item).await.map(Some),
            None => Ok(None),
        }
    }

    async fn load_with_verdict(
        &self,
        session: &SessionId,
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError> {
        let step = Step { name: "sale and verdict read", operation: "CACHE_READ", subject: session.reference() };
        // A query is not isolated from the transaction that writes both (infra/decisions/stores.md).
        let items = self.snapshot(step, &[key(session, SALE), key(session, VERDICT)]).await?;
        self.sale_and_entry(session, &items).await
    }

    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        let step = Step { name: "sale write", operation: "CACHE_WRITE", subject: sale.session_id().reference() };
        let (token, version) = (self.randomness.token(), expected + 1);
        let (condition, values) = expects(expected);
        let write = Conditional { item: sale_item(sale, version, &token)?, condition, values, token: &token };
        match verdict {
            None => self.put(step, &write).await?,
            Some(verdict) => {
                // The time of storage is that of the sale's change: a restored entry counts as new.
                let entry = verdict_item(sale.session_id(), verdict, sale.changed_at())?;
                self.put_with_verdict(step, &write, &entry).await?;
            }
        }
        Ok(version)
    }

    async fn open_followup(&self, sale: &Sale, text: &Submission, first_version: u64) -> Result<(), SaveError> {
        let step = Step { name: "follow-up write", operation: "CACHE_WRITE", subject: sale.session_id().reference() };
        let token = self.token();
        let (condition, values) = expects(0);
        let write = Conditional { item: sale_item(sale, 1, &token)?, condition, values, token: &token };
        let first = key(&sale.session_id().paid_session(), SALE);
        self.put_followup(step, &write, submission_item(sale.session_id(), text), first, first_version).await
    }
}

#[async_trait]
impl Breakers for DynamoSales {
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError> {
        let step = Step { name: "breaker read", operation: "BREAKER_READ", subject: "-" };
        let Some(item) = self.get(step, &breaker_key(model)).await? else {
            return Ok(Versioned { value: Breaker::default(), version: 0 });
        };
        let (breaker, readable) = parse_breaker(&item);
        if !readable {
            self.connection.raise_alert(step, Severity::Error, "corrupt breaker: it counts as closed").await;
        }
        Ok(breaker)
    }

    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError> {
        let step = Step { name: "breaker write", operation: "BREAKER_WRITE", subject: "-" };
        self.put_document(step, breaker_key(model), breaker, expected).await.map(drop)
    }
}

#[async_trait]
impl Notes for DynamoSales {
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        let step = Step { name: "note read", operation: "NOTE", subject: "-" };
        Ok(parse_note(self.get(step, &note_key(name)).await?.as_ref()))
    }

    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError> {
        let step = Step { name: "note write", operation: "NOTE", subject: "-" };
        let (token, version) = (self.randomness.token(), expected + 1);
        // A note that was stored by an earlier version without a version number counts as missing.
        let (condition, values) =
            if expected == 0 { ("attribute_not_exists(version)", None) } else { expects(expected) };
        let item = note_item(name, document, version, &token);
        self.put(step, &Conditional { item, condition, values, token: &token }).await?;
        Ok(version)
    }
}
