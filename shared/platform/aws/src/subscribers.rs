//! Subscribers of the chat, in the table of sales: `pk` SUBSCRIBER#{id}, `sk` BILLING. All of them are in the index of open
//! work under a name of their own, by the time at which their access ends.

use crate::{
    DynamoSales,
    attempts::Step,
    items::{DUE, Item, WORK, expects, item, string, text, version, with_document},
    sales::Conditional,
    storage,
};
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    Timestamp,
    chat::{Access, Subscriber, SubscriberId},
    ports::{ChatAccess, SaveError, StorageError, Subscribers, Versioned},
};

/// What the partition of a subscriber begins with.
const PARTITION: &str = "SUBSCRIBER#";

/// Their place in the index.
const LIST: &str = "SUBSCRIBER";

/// Subscribers that one list holds.
const MOST: usize = 1000;

fn key(id: &SubscriberId) -> Item {
    item([("pk", string(format!("{PARTITION}{}", id.as_str()))), ("sk", string("BILLING"))])
}

fn step<'a>(name: &'static str, id: &'a SubscriberId) -> Step<'a> {
    Step { name, operation: "SUBSCRIPTION", subject: id.prefix() }
}

fn subscriber_item(subscriber: &Subscriber, version: u64, token: &str) -> Result<Item, StorageError> {
    let document = serde_json::to_string(subscriber).map_err(|error| storage("subscriber write", error))?;
    let mut stored = with_document(key(subscriber.id()), version, token, document);
    let due = subscriber.billing().access_until().map_or(0, Timestamp::as_millis);
    stored.extend(item([(WORK, string(LIST)), (DUE, AttributeValue::N(due.to_string()))]));
    Ok(stored)
}

fn parse(found: &Item) -> Result<Versioned<Subscriber>, StorageError> {
    let incomplete = || storage("subscriber read", std::io::Error::other("the item has no document or version"));
    let document = text(found, "document").ok_or_else(incomplete)?;
    let value = serde_json::from_str(document).map_err(|error| storage("subscriber read", error))?;
    Ok(Versioned { value, version: version(found).ok_or_else(incomplete)? })
}

#[async_trait]
impl ChatAccess for DynamoSales {
    async fn access(&self, subscriber: &SubscriberId, now: Timestamp) -> Result<Access, StorageError> {
        let found = Subscribers::load(self, subscriber).await?;
        Ok(found.map_or_else(Access::default, |found| found.value.access(now)))
    }
}

#[async_trait]
impl Subscribers for DynamoSales {
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Subscriber>>, StorageError> {
        let found = self.get(step("subscriber read", id), &key(id)).await?;
        found.as_ref().map(parse).transpose()
    }

    async fn save(&self, subscriber: &Subscriber, expected: u64) -> Result<u64, SaveError> {
        let (token, version) = (self.token(), expected + 1);
        let (condition, values) = expects(expected);
        let item = subscriber_item(subscriber, version, &token)?;
        let write = Conditional { item, condition, values, token: &token };
        self.put(step("subscriber write", subscriber.id()), &write).await?;
        Ok(version)
    }

    async fn ending_after(&self, from: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        let step = || Step { name: "subscribers read", operation: "SUBSCRIPTION", subject: "-" };
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let query = || async {
                let query = self.client().query().table_name(self.table()).index_name(WORK);
                let query = query
                    .key_condition_expression("#work = :work AND #due >= :from")
                    .expression_attribute_names("#work", WORK)
                    .expression_attribute_names("#due", DUE)
                    .expression_attribute_values(":work", string(LIST))
                    .expression_attribute_values(":from", AttributeValue::N(from.as_millis().to_string()));
                Ok(query.set_exclusive_start_key(start.clone()).send().await?)
            };
            let page = self.connection().call(step(), query).await?;
            let id = |item: &Item| SubscriberId::parse(text(item, "pk")?.strip_prefix(PARTITION)?).ok();
            found.extend(page.items.unwrap_or_default().iter().filter_map(id));
            start = page.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() || found.len() >= MOST {
                found.truncate(MOST);
                return Ok(found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        chat::{BillingReport, PaidPlan, billing::Bill},
        money::ObjectId,
    };

    #[test]
    fn a_subscriber_is_listed_by_the_end_of_their_access_and_read_as_they_were_written() {
        let mut subscriber = Subscriber::new(SubscriberId::parse("c".repeat(64)).unwrap());
        let empty = subscriber_item(&subscriber, 1, "token").unwrap();
        assert_eq!(empty[DUE], AttributeValue::N("0".to_owned()));
        let id = |text: &str| ObjectId::parse(text).unwrap();
        let until = Timestamp::from_seconds(100);
        let bill = Bill { until, subscription: id("sub_1"), plan: PaidPlan::Chat, amount: 500 };
        subscriber.billing_mut().note(&BillingReport::InvoicePaid { id: id("in_1"), bill, at: until });
        let mut stored = subscriber_item(&subscriber, 3, "token").unwrap();
        assert_eq!(text(&stored, "pk").unwrap(), format!("SUBSCRIBER#{}", "c".repeat(64)));
        assert_eq!((text(&stored, WORK), &stored[DUE]), (Some(LIST), &AttributeValue::N("100000".to_owned())));
        assert_eq!(parse(&stored).unwrap(), Versioned { value: subscriber, version: 3 });
        stored.remove("version");
        assert!(parse(&stored).is_err());
    }
}
