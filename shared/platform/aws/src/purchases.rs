//! Purchases in USDC, in the table of sales: `pk` TOLL#{id}, `sk` PURCHASE. Those that somebody has to look at are in the
//! index of open work, under names of their own. What payers call their purchases lies beside them: `sk` NAME.

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
    SessionId, Timestamp,
    ports::{Purchases, SaveError, StorageError, Versioned},
    toll::{List, Named, Purchase},
};
use serde::de::DeserializeOwned;

/// What the partition of a purchase begins with.
const PARTITION: &str = "TOLL#";

/// Purchases that one look lists.
const PAGE: i32 = 100;

fn key(id: &SessionId) -> Item {
    item([("pk", string(format!("{PARTITION}{}", id.as_str()))), ("sk", string("PURCHASE"))])
}

fn name_key(id: &SessionId) -> Item {
    item([("pk", string(format!("{PARTITION}{}", id.as_str()))), ("sk", string("NAME"))])
}

/// Alerts name a purchase by its reference: the whole id is the digest of a payment.
fn step<'a>(name: &'static str, id: &'a SessionId) -> Step<'a> {
    Step { name, operation: "TOLL", subject: id.reference() }
}

fn purchase_item(purchase: &Purchase, version: u64, token: &str) -> Result<Item, StorageError> {
    let document = serde_json::to_string(purchase).map_err(|error| storage("purchase write", error))?;
    let mut stored = with_document(key(purchase.id()), version, token, document);
    if let Some((list, due)) = purchase.next() {
        stored.extend(item([(WORK, string(list.as_str())), (DUE, AttributeValue::N(due.as_millis().to_string()))]));
    }
    Ok(stored)
}

fn parse<T: DeserializeOwned>(found: &Item) -> Result<Versioned<T>, StorageError> {
    let incomplete = || storage("purchase read", std::io::Error::other("the item has no document or version"));
    let document = text(found, "document").ok_or_else(incomplete)?;
    let value = serde_json::from_str(document).map_err(|error| storage("purchase read", error))?;
    Ok(Versioned { value, version: version(found).ok_or_else(incomplete)? })
}

#[async_trait]
impl Purchases for DynamoSales {
    async fn load(&self, id: &SessionId) -> Result<Option<Versioned<Purchase>>, StorageError> {
        let found = self.get(step("purchase read", id), &key(id)).await?;
        // One that cannot be read is left where it is: it keeps its payment from being used again.
        found.as_ref().map(parse).transpose()
    }

    async fn save(&self, purchase: &Purchase, expected: u64) -> Result<u64, SaveError> {
        let (token, version) = (self.token(), expected + 1);
        let (condition, values) = expects(expected);
        let item = purchase_item(purchase, version, &token)?;
        let write = Conditional { item, condition, values, token: &token };
        self.put(step("purchase write", purchase.id()), &write).await?;
        Ok(version)
    }

    async fn listed(&self, list: List, until: Timestamp) -> Result<Vec<SessionId>, StorageError> {
        let step = Step { name: "purchases read", operation: "TOLL", subject: "-" };
        let query = || async {
            let query = self.client().query().table_name(self.table()).index_name(WORK);
            let query = query
                .key_condition_expression("#work = :work AND #due <= :until")
                .expression_attribute_names("#work", WORK)
                .expression_attribute_names("#due", DUE)
                .expression_attribute_values(":work", string(list.as_str()))
                .expression_attribute_values(":until", AttributeValue::N(until.as_millis().to_string()));
            Ok(query.limit(PAGE).send().await?.items.unwrap_or_default())
        };
        let id = |item: &Item| SessionId::parse(text(item, "pk")?.strip_prefix(PARTITION)?).ok();
        Ok(self.connection().call(step, query).await?.iter().filter_map(id).collect())
    }

    async fn named(&self, key: &SessionId) -> Result<Option<Versioned<Named>>, StorageError> {
        let found = self.get(step("purchase name read", key), &name_key(key)).await?;
        found.as_ref().map(parse).transpose()
    }

    async fn name(&self, key: &SessionId, named: &Named, expected: u64) -> Result<u64, SaveError> {
        let (token, version) = (self.token(), expected + 1);
        let (condition, values) = expects(expected);
        let document = serde_json::to_string(named).map_err(|error| storage("purchase name write", error))?;
        let item = with_document(name_key(key), version, &token, document);
        let write = Conditional { item, condition, values, token: &token };
        self.put(step("purchase name write", key), &write).await?;
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::toll::{Offer, Paid, purchase_id};

    #[test]
    fn a_purchase_is_listed_by_who_looks_next_and_read_as_it_was_written() {
        let paid =
            Paid::Transferred { transaction: "0x1".to_owned(), payer: "0x2".to_owned(), network: "n".to_owned() };
        let id = purchase_id(&"c".repeat(64)).unwrap();
        let now = Timestamp::from_seconds(10);
        let purchase = Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), paid, now);
        let mut stored = purchase_item(&purchase, 3, "token").unwrap();
        assert_eq!(text(&stored, "pk").unwrap(), format!("TOLL#cs_x402_{}", "c".repeat(64)));
        assert_eq!((text(&stored, WORK), &stored[DUE]), (Some("TOLL"), &AttributeValue::N("3610000".to_owned())));
        assert_eq!(parse(&stored).unwrap(), Versioned { value: purchase, version: 3 });
        stored.remove("version");
        assert!(parse::<Purchase>(&stored).is_err());
    }
}
