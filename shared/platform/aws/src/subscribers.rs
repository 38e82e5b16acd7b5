//! Subscribers of the chat, in the table of sales: `pk` SUBSCRIBER#{id}, `sk` BILLING. All of them are in the index of
//! open work under a separate name, ordered by the end of their access.

use crate::{
    DynamoSales,
    audited::{ALL, Part, TableState},
};
use async_trait::async_trait;
use domain::{
    Timestamp,
    chat::{Access, Subscriber, SubscriberId},
    ports::{ChatAccess, StorageError, Store, Subscribers},
};

/// Their partition in the index.
const LIST: &str = "SUBSCRIBER";

impl TableState for Subscriber {
    const PARTITION: &str = "SUBSCRIBER#";
    const SORT: &str = "BILLING";
    const READ: &str = "subscriber read";
    const WRITE: &str = "subscriber write";
    const LIST: &str = "subscribers read";
    const OPERATION: &str = "SUBSCRIPTION";

    fn open(&self) -> Option<(&'static str, Timestamp)> {
        Some((LIST, self.billing().access_until().unwrap_or(Timestamp::from_millis(0))))
    }
}

#[async_trait]
impl ChatAccess for DynamoSales {
    async fn access(&self, subscriber: &SubscriberId, now: Timestamp) -> Result<Access, StorageError> {
        let found = Store::<Subscriber>::load(self, subscriber).await?;
        Ok(found.map_or_else(Access::default, |found| found.value.access(now)))
    }
}

#[async_trait]
impl Subscribers for DynamoSales {
    async fn ending_after(&self, from: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.open::<Subscriber>(LIST, Part::From(from), ALL).await
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
    use domain::{
        chat::{BillingReport, PaidPlan, billing::Bill},
        money::ObjectId,
        ports::Versioned,
    };

    #[test]
    fn a_subscriber_is_listed_by_the_end_of_their_access_and_read_as_they_were_written() {
        let mut subscriber = Subscriber::new(SubscriberId::parse("c".repeat(64)).unwrap());
        let empty = stored(&subscriber, 1, "token").unwrap();
        assert_eq!(empty[DUE], AttributeValue::N("0".to_owned()));
        let id = |text: &str| ObjectId::parse(text).unwrap();
        let until = Timestamp::from_seconds(100);
        let bill = Bill { until, subscription: id("sub_1"), plan: PaidPlan::Chat, amount: 500 };
        subscriber.billing_mut().record_report(&BillingReport::InvoicePaid { id: id("in_1"), bill, at: until });
        let mut item = stored(&subscriber, 3, "token").unwrap();
        assert_eq!(text(&item, "pk").unwrap(), format!("SUBSCRIBER#{}", "c".repeat(64)));
        assert_eq!((text(&item, WORK), &item[DUE]), (Some(LIST), &AttributeValue::N("100000".to_owned())));
        assert_eq!(
            parse_document::<Subscriber>(&item, "subscriber read").unwrap(),
            Versioned { value: subscriber, version: 3 }
        );
        item.remove("version");
        assert!(parse_document::<Subscriber>(&item, "subscriber read").is_err());
    }
}
