//! The items of the table: converts records to attributes, and back.
//!
//! `pk` is `SESSION#{id}`; `sk` is `SALE` for the record and `VERDICT` for the cached verdict. One transaction
//!   writes both, and one reads both. The record is a JSON document beside the attributes that conditions and operators
//!   need. A circuit's breaker is at `BREAKER#{circuit}`, `BREAKER`.

pub(crate) use crate::attributes::{
    Item, SALE, SUBMISSION, VERDICT, item, key, number, numeral, partition, string, text,
};
use crate::{
    cache_items::{counted, list, unlist},
    storage,
};
use domain::{
    CachedVerdict, Sale, SessionId, Submission, Timestamp,
    breaker::Breaker,
    ports::{CacheEntry, StorageError, Versioned},
    smoke,
};
use serde::{Serialize, de::DeserializeOwned};
use std::time::Duration;

/// The partition key of the index of open sales, which is also the index's name.
pub(crate) const WORK: &str = "open";

/// The sort key of that index, in milliseconds.
pub(crate) const DUE: &str = "due";

/// A corrupt entry that was set aside may contain customer text, so it expires like quarantined payloads.
const CORRUPT_LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);

pub(crate) fn breaker_key(model: &str) -> Item {
    item([("pk", string(format!("BREAKER#{model}"))), ("sk", string("BREAKER"))])
}

pub(crate) fn note_key(name: &str) -> Item {
    item([("pk", string(format!("NOTE#{name}"))), ("sk", string("NOTE"))])
}

/// A note that is saved on condition of its version.
pub(crate) fn note_item(name: &str, document: &str, version: u64, token: &str) -> Item {
    with_document(note_key(name), version, token, document.to_owned())
}

/// The document of a note.
pub(crate) fn parse_note(found: Option<&Item>) -> Versioned<Option<String>> {
    let value = found.and_then(|item| text(item, "document")).map(str::to_owned);
    Versioned { value, version: found.and_then(version).unwrap_or(0) }
}

pub(crate) fn version(item: &Item) -> Option<u64> {
    number(item, "version").and_then(|version| u64::try_from(version).ok())
}

fn with_document(mut key: Item, version: u64, token: &str, document: String) -> Item {
    key.extend(item([("version", numeral(version)), ("written_by", string(token)), ("document", string(document))]));
    key
}

/// An item, which has its key and other attributes, with a document of this version.
pub(crate) fn document_item<T: Serialize>(
    item: Item,
    value: &T,
    version: u64,
    token: &str,
    name: &'static str,
) -> Result<Item, StorageError> {
    let document = serde_json::to_string(value).map_err(|error| storage(name, error))?;
    Ok(with_document(item, version, token, document))
}

/// The document of an item with a version.
pub(crate) fn parse_document<T: DeserializeOwned>(
    found: &Item,
    name: &'static str,
) -> Result<Versioned<T>, StorageError> {
    let incomplete = || storage(name, std::io::Error::other("the item has no document or version"));
    let document = text(found, "document").ok_or_else(incomplete)?;
    let value = serde_json::from_str(document).map_err(|error| storage(name, error))?;
    Ok(Versioned { value, version: version(found).ok_or_else(incomplete)? })
}

pub(crate) fn sale_item(sale: &Sale, version: u64, token: &str) -> Result<Item, StorageError> {
    let document = serde_json::to_string(sale).map_err(|error| storage("sale write", error))?;
    let mut stored = with_document(key(sale.session_id(), SALE), version, token, document);
    // The index of open sales is sparse: a sale that has ended is not in it.
    if let Some(open) = sale.open_work() {
        stored.extend(item([(WORK, string(open.work.as_str())), (DUE, numeral(open.due.as_millis()))]));
    }
    // The smoke test makes one sale a day; a customer's sale never expires.
    if sale.smoke() {
        let expires = sale.received_at().plus(smoke::KEPT_FOR).as_seconds();
        stored.insert("expires_at".to_owned(), numeral(expires));
    }
    Ok(stored)
}

/// The item of a submission that replaces Stripe's data of a sale.
pub(crate) fn submission_item(session: &SessionId, submission: &Submission) -> Item {
    let mut stored = key(session, SUBMISSION);
    stored.insert("tier".to_owned(), string(submission.tier.key()));
    stored.insert("query".to_owned(), string(submission.query.as_str()));
    stored
}

/// The item of a verdict that is cached at this moment.
pub(crate) fn verdict_item(
    session: &SessionId,
    verdict: &CachedVerdict,
    stored_at: Timestamp,
) -> Result<Item, StorageError> {
    let document = serde_json::to_string(verdict).map_err(|error| storage("verdict write", error))?;
    let mut item = key(session, VERDICT);
    item.insert("document".to_owned(), string(document));
    list(&mut item, session, stored_at);
    Ok(item)
}

/// Why a sale's item cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the item has no document or version")]
    Incomplete,
    #[error("the document cannot be read")]
    Malformed(#[from] serde_json::Error),
}

pub(crate) fn parse_sale(item: &Item) -> Result<Versioned<Sale>, Unreadable> {
    let value = serde_json::from_str(text(item, "document").ok_or(Unreadable::Incomplete)?)?;
    Ok(Versioned { value, version: version(item).ok_or(Unreadable::Incomplete)? })
}

/// The cache entry in an item. A removed entry leaves an empty item, and so does a corrupt one that was set aside, with
/// an alert of its own: neither is a write that was lost.
pub(crate) fn parse_verdict(item: &Item) -> CacheEntry {
    match text(item, "document") {
        None if text(item, "removed_at").or(text(item, "set_aside_at")).is_some() => CacheEntry::Removed,
        document => {
            let parsed = document.and_then(|document| serde_json::from_str(document).ok());
            parsed.map_or(CacheEntry::Corrupt, |verdict| CacheEntry::Hit(Box::new(verdict)))
        }
    }
}

/// The breaker in an item. An unreadable row must not stop every sale: it counts as closed and is overwritten (`false`:
/// it could not be read).
pub(crate) fn parse_breaker(item: &Item) -> (Versioned<Breaker>, bool) {
    let value = text(item, "document").and_then(|document| serde_json::from_str(document).ok());
    let readable = value.is_some();
    (Versioned { value: value.unwrap_or_default(), version: version(item).unwrap_or(0) }, readable)
}

/// The condition of a write that expects this version, with its values.
pub(crate) fn expects(version: u64) -> (&'static str, Option<Item>) {
    if version == 0 {
        return ("attribute_not_exists(pk)", None);
    }
    ("version = :expected", Some(item([(":expected", numeral(version))])))
}

/// Whether the item that a failed condition found was written by this same write, whose reply was lost.
pub(crate) fn is_own_write(found: Option<&Item>, token: &str) -> bool {
    found.and_then(|item| text(item, "written_by")) == Some(token)
}

/// The writes that set a corrupt entry aside: a copy under another key, and an empty item in its place.
pub(crate) struct SetAside {
    pub(crate) copy: Item,
    pub(crate) emptied: Item,
    /// The condition: the entry is still the one that was found.
    pub(crate) condition: &'static str,
    pub(crate) values: Option<Item>,
    /// The bytes with which it is counted.
    pub(crate) counted: Option<u64>,
}

pub(crate) fn set_aside(session: &SessionId, corrupt: &Item, now: Timestamp) -> SetAside {
    let mut copy = corrupt.clone();
    unlist(&mut copy);
    copy.insert("sk".to_owned(), string(format!("CORRUPT#{VERDICT}#{now}")));
    let expires = now.plus(CORRUPT_LIFETIME).as_seconds();
    copy.insert("expires_at".to_owned(), numeral(expires));
    let mut emptied = key(session, VERDICT);
    emptied.insert("set_aside_at".to_owned(), string(now.to_iso()));
    let found = corrupt.get("document").cloned();
    let condition = if found.is_some() { "document = :found" } else { "attribute_not_exists(document)" };
    let values = found.map(|found| item([(":found", found)]));
    SetAside { copy, emptied, condition, values, counted: counted(Some(corrupt)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::AttributeValue;

    fn verdict(document: Option<&str>) -> Item {
        let mut entry = key(&SessionId::parse("cs_test_1").unwrap(), VERDICT);
        entry.extend(document.map(|document| ("document".to_owned(), string(document))));
        entry
    }

    #[test]
    fn an_entry_that_is_not_a_verdict_is_corrupt_and_once_set_aside_counts_as_removed() {
        let session = SessionId::parse("cs_test_1").unwrap();
        for document in [None, Some(""), Some("{}"), Some("{\"tier\":\"quick\""), Some("not JSON")] {
            let corrupt = verdict(document);
            assert_eq!(parse_verdict(&corrupt), CacheEntry::Corrupt, "{document:?}");
            let written = set_aside(&session, &corrupt, Timestamp::from_millis(1));
            assert_eq!(text(&written.copy, "sk"), Some("CORRUPT#VERDICT#1970-01-01T00:00:00.001Z"));
            assert_eq!(text(&written.copy, "document"), document, "the copy is what was found");
            assert_eq!(written.copy["expires_at"], AttributeValue::N("7776000".to_owned()));
            assert_eq!(parse_verdict(&written.emptied), CacheEntry::Removed);
            assert_eq!(written.values.is_some(), document.is_some());
        }
    }

    #[test]
    fn an_unreadable_sale_or_breaker_is_distinguished() {
        let sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), Timestamp::from_millis(1));
        let mut document = serde_json::to_value(&sale).unwrap();
        document["smoke"] = true.into();
        let smoke = sale_item(&serde_json::from_value(document).unwrap(), 3, "token").unwrap();
        assert_eq!(smoke["expires_at"], numeral(30 * 24 * 3600));
        let mut item = sale_item(&sale, 3, "token").unwrap();
        assert_eq!(parse_sale(&item).unwrap(), Versioned { value: sale, version: 3 });
        assert!(!item.contains_key("expires_at"), "a customer's sale never expires");
        assert!(is_own_write(Some(&item), "token") && !is_own_write(Some(&item), "other"));
        item.remove("version");
        assert!(matches!(parse_sale(&item), Err(Unreadable::Incomplete)));
        item.insert("document".to_owned(), string("{"));
        assert!(matches!(parse_sale(&item), Err(Unreadable::Malformed(_))));
        let breaker = Breaker { failures: 2, ..Breaker::default() };
        let mut row = document_item(breaker_key("m"), &breaker, 7, "token", "breaker write").unwrap();
        assert_eq!((parse_breaker(&row).0.value.failures, parse_breaker(&row).1), (2, true));
        row.insert("document".to_owned(), string("{"));
        assert_eq!(parse_breaker(&row), (Versioned { value: Breaker::default(), version: 7 }, false));
    }
}
