//! The index of open sales: the kind of open work, and its due time.

use crate::{
    DynamoSales,
    attempts::Step,
    items::{DUE, Item, WORK, numeral, string, text},
    storage,
};
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    SessionId, Timestamp,
    open_work::Work,
    ports::{Listed, OpenSales, StorageError},
};
use std::collections::HashMap;

/// Sales per page.
const PAGE: i32 = 100;

#[async_trait]
impl OpenSales for DynamoSales {
    async fn open(&self, work: Work, until: Option<Timestamp>, from: Option<&str>) -> Result<Listed, StorageError> {
        let until = until.map_or(i64::MAX, Timestamp::as_millis);
        let start = from.map(start_key).transpose()?;
        let step = Step { name: "open sales read", operation: "CACHE_READ", subject: "-" };
        let query = || async {
            let query = self.client().query().table_name(self.table()).index_name(WORK);
            let query = query
                .key_condition_expression("#work = :work AND #due <= :until")
                .expression_attribute_names("#work", WORK)
                .expression_attribute_names("#due", DUE)
                .expression_attribute_values(":work", string(work.as_str()))
                .expression_attribute_values(":until", numeral(until));
            Ok(query.set_exclusive_start_key(start.clone()).limit(PAGE).send().await?)
        };
        let output = self.connection().call(step, query).await?;
        let session = |key: &str| SessionId::parse(key.strip_prefix("SESSION#")?).ok();
        let items = output.items.unwrap_or_default();
        let sessions = items.iter().filter_map(|item| session(text(item, "pk")?)).collect();
        let next = output.last_evaluated_key.map(|key| serde_json::to_string(&plain(&key)));
        Ok(Listed { sessions, next: next.transpose().map_err(|error| storage(step.name, error))? })
    }
}

/// A page's last key as plain text; numbers are marked by their name.
fn plain(key: &Item) -> HashMap<&str, &str> {
    key.iter().filter_map(|(name, found)| Some((name.as_str(), plain_value(found)?))).collect()
}

fn plain_value(value: &AttributeValue) -> Option<&str> {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => Some(text),
        _ => None,
    }
}

fn start_key(text: &str) -> Result<Item, StorageError> {
    let plain: HashMap<String, String> =
        serde_json::from_str(text).map_err(|error| storage("open sales read", error))?;
    let typed = |name: &str, value| if name == DUE { AttributeValue::N(value) } else { AttributeValue::S(value) };
    Ok(plain.into_iter().map(|(name, value)| (name.clone(), typed(&name, value))).collect())
}
