//! Purchases in USDC, in the table of sales: `pk` TOLL#{id}, `sk` PURCHASE. Purchases with open work are in the index
//! of open work, under separate names. Payers' names for purchases are items with `sk` NAME.

use crate::{
    DynamoSales,
    attempts::Step,
    audited::{ALL, Part, TableState},
    items::{Item, item, string},
};
use async_trait::async_trait;
use domain::{
    SessionId, Timestamp,
    ports::{Purchases, SaveError, StorageError, Versioned},
    toll::{List, Named, Purchase},
};

/// The prefix of a purchase's partition key.
const PARTITION: &str = "TOLL#";

/// The most purchases of the schedule in one list.
const PAGE: usize = 100;

impl TableState for Purchase {
    const PARTITION: &str = PARTITION;
    const SORT: &str = "PURCHASE";
    const READ: &str = "purchase read";
    const WRITE: &str = "purchase write";
    const LIST: &str = "purchases read";
    const OPERATION: &str = "TOLL";

    fn open(&self) -> Option<(&'static str, Timestamp)> {
        self.next().map(|(list, due)| (list.as_str(), due))
    }
}

fn name_key(id: &SessionId) -> Item {
    item([("pk", string(format!("{PARTITION}{}", id.as_str()))), ("sk", string("NAME"))])
}

/// Alerts name a purchase by its reference, because the whole id is the digest of a payment.
fn step<'a>(name: &'static str, id: &'a SessionId) -> Step<'a> {
    Step { name, operation: Purchase::OPERATION, subject: id.reference() }
}

#[async_trait]
impl Purchases for DynamoSales {
    async fn listed(&self, list: List, until: Timestamp) -> Result<Vec<SessionId>, StorageError> {
        let most = if list == List::Humans { ALL } else { PAGE };
        self.open::<Purchase>(list.as_str(), Part::Until(until), most).await
    }

    async fn named(&self, key: &SessionId) -> Result<Option<Versioned<Named>>, StorageError> {
        self.document(step("purchase name read", key), &name_key(key)).await
    }

    async fn name(&self, key: &SessionId, named: &Named, expected: u64) -> Result<u64, SaveError> {
        self.put_document(step("purchase name write", key), name_key(key), named, expected).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        audited::stored,
        items::{DUE, WORK, parse_document, text},
    };
    use aws_sdk_dynamodb::types::AttributeValue;
    use domain::toll::{Offer, Paid, purchase_id};

    #[test]
    fn a_purchase_is_listed_by_who_looks_next_and_read_as_it_was_written() {
        let paid =
            Paid::Transferred { transaction: "0x1".to_owned(), payer: "0x2".to_owned(), network: "n".to_owned() };
        let id = purchase_id(&"c".repeat(64)).unwrap();
        let now = Timestamp::from_seconds(10);
        let purchase = Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), paid, now);
        let mut item = stored(&purchase, 3, "token").unwrap();
        assert_eq!(text(&item, "pk").unwrap(), format!("TOLL#cs_x402_{}", "c".repeat(64)));
        assert_eq!((text(&item, WORK), &item[DUE]), (Some("TOLL"), &AttributeValue::N("3610000".to_owned())));
        assert_eq!(parse_document(&item, "purchase read").unwrap(), Versioned { value: purchase, version: 3 });
        item.remove("version");
        assert!(parse_document::<Purchase>(&item, "purchase read").is_err());
    }
}
