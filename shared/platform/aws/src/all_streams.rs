//! Reads the head of every stream of audit records in the table, other than those of sales, for operators.

use crate::{
    DynamoSales,
    all_sales::{next_key, start_key},
    attempts::Step,
    audited::TableState,
    items::{Item, parse_document, string, text},
};
use async_trait::async_trait;
use domain::{
    chat::{Account, Bridge, Subscriber},
    ports::{AllStreams, StorageError, StoredStream, StreamsPage},
    toll::Purchase,
};

const NOTE: &str = "NOTE";

#[async_trait]
impl AllStreams for DynamoSales {
    /// An unreadable row is an error, because a list of all streams must be complete.
    async fn streams(&self, from: Option<&str>) -> Result<StreamsPage, StorageError> {
        let step = Step { name: "streams read", operation: "AUDIT_READ", subject: "-" };
        let start = from.map(start_key).transpose()?;
        let kinds = [
            (":a", Account::SORT),
            (":b", Bridge::SORT),
            (":s", Subscriber::SORT),
            (":p", Purchase::SORT),
            (":n", NOTE),
        ];
        let scan = || async {
            let scan = self.client().scan().table_name(self.table()).consistent_read(true);
            let scan = scan.filter_expression("sk IN (:a, :b, :s, :p, :n)");
            let scan = kinds
                .iter()
                .fold(scan, |scan, (name, sort)| scan.expression_attribute_values(*name, string((*sort).to_owned())));
            Ok(scan.set_exclusive_start_key(start.clone()).send().await?)
        };
        let output = self.connection().call(step, scan).await?;
        let found: Result<Vec<_>, _> = output.items.unwrap_or_default().iter().map(stream).collect();
        let next = output.last_evaluated_key.as_ref().map(next_key).transpose()?;
        Ok(StreamsPage { streams: found?.into_iter().flatten().collect(), next })
    }
}

/// The stream of a row; `None` if the row has no published records, or is a note without a stream.
fn stream(item: &Item) -> Result<Option<StoredStream>, StorageError> {
    match text(item, "sk").unwrap_or_default() {
        Account::SORT => of::<Account>(item),
        Bridge::SORT => of::<Bridge>(item),
        Subscriber::SORT => of::<Subscriber>(item),
        Purchase::SORT => of::<Purchase>(item),
        _ => {
            let name = text(item, "pk").and_then(|pk| pk.strip_prefix("NOTE#"));
            Ok(name.zip(text(item, "document")).and_then(|(name, document)| StoredStream::of_note(name, document)))
        }
    }
}

fn of<S: TableState>(item: &Item) -> Result<Option<StoredStream>, StorageError> {
    Ok(StoredStream::of(&parse_document::<S>(item, "streams read")?.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{audited::stored, items::note_item};
    use domain::{
        Timestamp,
        audit_trail::{AuditEntry, AuditHead, Audited},
        chat::SubscriberId,
        toll::{Offer, Paid, purchase_id},
    };
    use serde_json::json;

    fn with_head<S: Audited>(mut state: S) -> S {
        let entry = AuditEntry { key: "k".to_owned(), line: "{}".to_owned(), measurements: Vec::new() };
        let head = AuditHead { opened: "2026-01-02".to_owned(), count: 1, hash: "h".to_owned() };
        state.trail_mut().append(entry, head);
        state.trail_mut().outbox_mut().0.clear();
        state
    }

    fn named(name: &str) -> Option<StoredStream> {
        Some(StoredStream { name: name.to_owned(), opened: "2026-01-02".to_owned() })
    }

    #[test]
    fn every_kind_of_row_names_its_stream() {
        let digits = "c".repeat(64);
        let paid = Paid::Transferred { transaction: "0x1".into(), payer: "0x2".into(), network: "n".into() };
        let (id, now) = (purchase_id(&digits).unwrap(), Timestamp::from_seconds(10));
        let purchase = Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), paid, now);
        assert_eq!(stream(&stored(&purchase, 1, "t").unwrap()).unwrap(), None, "it has no records");
        let purchase = stored(&with_head(purchase), 1, "t").unwrap();
        assert_eq!(stream(&purchase).unwrap(), named(&format!("session/cs_x402_{digits}")));
        let subscriber = with_head(Subscriber::new(SubscriberId::parse(digits).unwrap()));
        let stream_of_it = format!("session/{}", subscriber.stream());
        assert_eq!(stream(&stored(&subscriber, 1, "t").unwrap()).unwrap(), named(&stream_of_it));
        let note = json!({ "memory": {}, "head": { "opened": "2026-01-02", "count": 2, "hash": "h" } }).to_string();
        assert_eq!(stream(&note_item("toll", &note, 1, "t")).unwrap(), named("function/toll"));
        assert_eq!(stream(&note_item("corpus", "{}", 1, "t")).unwrap(), None);
        let mut broken = purchase;
        broken.remove("version");
        assert!(stream(&broken).is_err());
    }
}
