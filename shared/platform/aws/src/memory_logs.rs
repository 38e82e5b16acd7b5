//! Logs of the memory in the table: `pk` MEMORY#{log}; `sk` R#{number} for a record, HEAD for the number and hash of
//! the last. One transaction writes all records of an append and the head, so every record of a log is in its head.

use crate::{
    DynamoSales,
    attempts::Step,
    items::{Item, item, number, numeral, string, text},
    sales::Conditional,
    storage,
    transactions::Transacted,
};
use async_trait::async_trait;
use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use domain::ports::{MemoryAppend, MemoryLogs, MemoryRecord, StorageError};

const HEAD: &str = "HEAD";

/// DynamoDB accepts items of 400 KB; the rest is for the other attributes.
const LARGEST_BODY: usize = 380_000;

/// Logs of the memory, in the table of sales.
pub struct DynamoMemoryLogs<'a>(pub &'a DynamoSales);

fn partition(log: &str) -> AttributeValue {
    string(format!("MEMORY#{log}"))
}

fn key(log: &str, sort: String) -> Item {
    item([("pk", partition(log)), ("sk", string(sort))])
}

fn stored(log: &str, record: &MemoryRecord) -> Item {
    let mut stored = key(log, sort(record.seq));
    stored.extend(item([
        ("prev", bytes(record.prev)),
        ("hash", bytes(record.hash)),
        ("body", bytes(record.body.clone())),
    ]));
    stored
}

fn sort(seq: u64) -> String {
    format!("R#{seq:012}")
}

fn bytes(value: impl Into<Vec<u8>>) -> AttributeValue {
    AttributeValue::B(Blob::new(value))
}

fn blob<'a>(item: &'a Item, name: &str) -> Option<&'a [u8]> {
    item.get(name).and_then(|value| value.as_b().ok()).map(Blob::as_ref)
}

fn hash(item: &Item, name: &str) -> Option<[u8; 32]> {
    blob(item, name)?.try_into().ok()
}

fn record(item: &Item) -> Option<MemoryRecord> {
    let seq = text(item, "sk")?.strip_prefix("R#")?.parse().ok()?;
    Some(MemoryRecord { seq, prev: hash(item, "prev")?, hash: hash(item, "hash")?, body: blob(item, "body")?.to_vec() })
}

/// The same append has the same token, so that DynamoDB itself carries it out once within ten minutes.
fn token(hash: &[u8; 32]) -> String {
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[async_trait]
impl MemoryLogs for DynamoMemoryLogs<'_> {
    async fn append(&self, log: &str, records: &[MemoryRecord]) -> Result<MemoryAppend, StorageError> {
        let step = Step { name: "memory append", operation: "MEMORY_APPEND", subject: "-" };
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return Ok(MemoryAppend::AlreadyThere);
        };
        if let Some(large) = records.iter().map(|record| record.body.len()).find(|size| *size > LARGEST_BODY) {
            let problem = format!("a record of {large} bytes is larger than {LARGEST_BODY}");
            return Err(storage(step.name, std::io::Error::other(problem)));
        }
        let built = |error| storage(step.name, error);
        let token = token(&last.hash);
        let mut items = Vec::with_capacity(records.len() + 1);
        for record in records {
            let free = Conditional {
                item: stored(log, record),
                condition: "attribute_not_exists(pk)",
                values: None,
                token: &token,
            };
            items.push(self.0.conditional_put(&free).map_err(built)?);
        }
        let mut head = key(log, HEAD.to_owned());
        head.extend(item([("log_seq", numeral(last.seq)), ("log_head", bytes(last.hash))]));
        let (condition, values) = match first.seq {
            1 => ("attribute_not_exists(pk)", None),
            seq => {
                let before = numeral(seq - 1);
                ("log_seq = :seq AND log_head = :head", Some(item([(":seq", before), (":head", bytes(first.prev))])))
            }
        };
        let follows = Conditional { item: head, condition, values, token: &token };
        items.push(self.0.conditional_put(&follows).map_err(built)?);
        let Transacted::Cancelled(_) = self.0.transact(step, &token, &items).await? else {
            return Ok(MemoryAppend::Written);
        };
        // The last record's hash covers the others.
        let found = self.0.get(step, &key(log, sort(last.seq))).await?;
        let is_ours = found.is_some_and(|found| hash(&found, "hash") == Some(last.hash));
        Ok(if is_ours { MemoryAppend::AlreadyThere } else { MemoryAppend::Taken })
    }

    async fn read(&self, log: &str, after: u64) -> Result<Vec<MemoryRecord>, StorageError> {
        let step = Step { name: "memory read", operation: "MEMORY_READ", subject: "-" };
        let query = || async {
            let query = self.0.client().query().table_name(self.0.table()).consistent_read(true);
            let query = query
                .key_condition_expression("pk = :pk AND sk BETWEEN :from AND :to")
                .expression_attribute_values(":pk", partition(log))
                .expression_attribute_values(":from", string(sort(after + 1)))
                .expression_attribute_values(":to", string("R#999999999999"));
            Ok(query.send().await?.items.unwrap_or_default())
        };
        let items = self.0.connection().call(step, query).await?;
        let read = |item: &Item| record(item).ok_or_else(|| storage(step.name, std::io::Error::other("no record")));
        items.iter().map(read).collect()
    }

    async fn head(&self, log: &str) -> Result<Option<(u64, [u8; 32])>, StorageError> {
        let step = Step { name: "memory head read", operation: "MEMORY_READ", subject: "-" };
        let found = self.0.get(step, &item([("pk", partition(log)), ("sk", string(HEAD))])).await?;
        let Some(found) = found else { return Ok(None) };
        let head = number(&found, "log_seq").and_then(|seq| u64::try_from(seq).ok()).zip(hash(&found, "log_head"));
        head.map(Some).ok_or_else(|| storage(step.name, std::io::Error::other("the head is malformed")))
    }
}
