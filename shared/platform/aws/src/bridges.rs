//! Bridges in the table of sales: `pk` CHATBRIDGE#{id}, `sk` BRIDGE. Those whose agreement is accepted, and others
//! that are due, are in the index of open work under a name of their own, with the time at which they are due.

use crate::{
    DynamoSales,
    audited::{ALL, Part, TableState},
};
use async_trait::async_trait;
use domain::{
    Timestamp,
    chat::{Bridge, SubscriberId},
    ports::{Bridges, StorageError},
};

/// The name of the list in the index.
const LIST: &str = "BRIDGE";

/// The due time of a Bridge for which the schedule has nothing to do: in the year 9999.
const NEVER: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// The Bridges that one run of the schedule looks at.
const MOST: usize = 1000;

impl TableState for Bridge {
    const PARTITION: &str = "CHATBRIDGE#";
    const SORT: &str = "BRIDGE";
    const READ: &str = "bridge read";
    const WRITE: &str = "bridge write";
    const LIST: &str = "bridges read";
    const OPERATION: &str = "BRIDGE";

    fn open(&self) -> Option<(&'static str, Timestamp)> {
        let is_listed = self.acceptance().is_some() || self.due().is_some();
        is_listed.then(|| (LIST, self.due().unwrap_or(NEVER)))
    }
}

#[async_trait]
impl Bridges for DynamoSales {
    async fn letters_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.open::<Bridge>(LIST, Part::Until(until), MOST).await
    }

    async fn listed(&self) -> Result<Vec<SubscriberId>, StorageError> {
        self.open::<Bridge>(LIST, Part::Until(NEVER), ALL).await
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
    use domain::{Operator, chat::CURRENT_AGREEMENT, ports::Versioned};

    #[test]
    fn a_bridge_is_listed_while_its_agreement_is_accepted_and_read_as_it_was_written() {
        let mut bridge = Bridge::new(SubscriberId::parse("c".repeat(64)).unwrap());
        assert!(!stored(&bridge, 1, "token").unwrap().contains_key(WORK));
        bridge.accept(&CURRENT_AGREEMENT, "memory", "person", Timestamp::from_seconds(100)).unwrap();
        let mut item = stored(&bridge, 3, "token").unwrap();
        assert_eq!(text(&item, "pk").unwrap(), format!("CHATBRIDGE#{}", "c".repeat(64)));
        let never = AttributeValue::N(NEVER.as_millis().to_string());
        assert_eq!((text(&item, WORK), &item[DUE]), (Some(LIST), &never));
        assert_eq!(
            parse_document::<Bridge>(&item, "bridge read").unwrap(),
            Versioned { value: bridge.clone(), version: 3 }
        );
        item.remove("version");
        assert!(parse_document::<Bridge>(&item, "bridge read").is_err());
        let dana = Operator::parse("dana", None).unwrap();
        bridge.grant(&dana, "asked", Timestamp::from_seconds(900), Timestamp::from_seconds(200)).unwrap();
        let due = |bridge: &Bridge| stored(bridge, 1, "token").unwrap()[DUE].clone();
        assert_eq!(due(&bridge), AttributeValue::N("200000".to_owned()), "the letter about the grant");
        let letter = bridge.letter().unwrap().clone();
        bridge.end_letter(&letter, true).unwrap();
        assert_eq!(due(&bridge), AttributeValue::N("900000".to_owned()), "the letter about its expiry");
        bridge.erase(Timestamp::from_seconds(300)).unwrap();
        assert_eq!(due(&bridge), AttributeValue::N("900000".to_owned()), "its mails");
        bridge.record_mails_removed().unwrap();
        assert!(!stored(&bridge, 1, "token").unwrap().contains_key(WORK));
    }
}
