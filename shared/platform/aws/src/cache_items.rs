//! The items of the cache in the table: the attributes that list a verdict's item in the index of ages, and the
//! counters.
//!
//! A verdict's item that is counted has `bytes` (the length of its document), and `cached` and `place`, the partition
//! and sort key of the index of ages. An item that was set aside or removed has none of them. The counters are sixteen
//! items at `CACHE`, `TOTALS#{0..f}`, so that sales that end at the same moment rarely write to the same one; one Query
//! reads them all.

use crate::attributes::{Item, VERDICT, item, key, number, numeral, string, text};
use domain::{
    SessionId, Timestamp,
    cache_entries::{CacheTotals, ListedEntry, parse_place, place},
};

/// The index of ages.
pub(crate) const AGES: &str = "ages";

/// The partition key of the index, with a single value.
pub(crate) const CACHED: &str = "cached";

/// The sort key of the index.
pub(crate) const PLACE: &str = "place";

/// The length of the document, which the index also contains.
pub(crate) const BYTES: &str = "bytes";

/// The partition of the counters.
pub(crate) const TOTALS: &str = "CACHE";

/// Lists an item in the index, with the length of its document. An item without a document is not listed.
pub(crate) fn list(verdict: &mut Item, session: &SessionId, stored_at: Timestamp) -> u64 {
    let bytes = text(verdict, "document").map_or(0, |document| u64::try_from(document.len()).unwrap_or(u64::MAX));
    verdict.extend(item([
        (CACHED, string(VERDICT)),
        (PLACE, string(place(stored_at, session))),
        (BYTES, numeral(bytes)),
    ]));
    bytes
}

/// Removes an item from the index.
pub(crate) fn unlist(verdict: &mut Item) {
    for name in [CACHED, PLACE, BYTES] {
        verdict.remove(name);
    }
}

/// The bytes with which an item is counted; `None` if it is not counted.
pub(crate) fn counted(verdict: Option<&Item>) -> Option<u64> {
    verdict?.get(BYTES)?.as_n().ok()?.parse().ok()
}

/// The item that replaces a removed verdict.
pub(crate) fn removed(session: &SessionId, now: Timestamp) -> Item {
    let mut empty = key(session, VERDICT);
    empty.insert("removed_at".to_owned(), string(now.to_iso()));
    empty
}

/// The key of the counter that a random token selects.
pub(crate) fn totals_key(token: &str) -> Item {
    item([("pk", string(TOTALS)), ("sk", string(format!("TOTALS#{}", token.get(..1).unwrap_or("0"))))])
}

/// The sum of the counters.
pub(crate) fn sum(counters: &[Item]) -> CacheTotals {
    let total = |name: &str| counters.iter().filter_map(|item| number(item, name)).sum::<i64>();
    CacheTotals {
        entries: total("entries"),
        bytes: total("bytes"),
        changes: u64::try_from(total("changes")).unwrap_or(0),
    }
}

/// An entry in the index. A row whose key is not ours is skipped.
pub(crate) fn parse_listed(found: &Item) -> Option<ListedEntry> {
    let (stored_at, session) = parse_place(text(found, PLACE)?)?;
    Some(ListedEntry { stored_at, session, bytes: counted(Some(found))? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::AttributeValue;

    #[test]
    fn an_item_is_listed_by_its_age_and_bytes_and_taken_out_again() {
        let session = SessionId::parse("cs_test_1").unwrap();
        let mut verdict = key(&session, VERDICT);
        verdict.insert("document".to_owned(), string("é{}"));
        let plain = verdict.clone();
        assert_eq!((counted(Some(&verdict)), counted(None), parse_listed(&verdict)), (None, None, None));
        assert_eq!(list(&mut verdict, &session, Timestamp::from_millis(7)), 4);
        let listed = ListedEntry { stored_at: Timestamp::from_millis(7), session, bytes: 4 };
        assert_eq!((counted(Some(&verdict)), parse_listed(&verdict)), (Some(4), Some(listed)));
        unlist(&mut verdict);
        assert_eq!(verdict, plain);
    }

    #[test]
    fn the_counters_are_one_sum_and_those_that_are_not_there_are_nothing() {
        let counter = |entries: &str, bytes: &str, changes: &str| {
            let number = |text: &str| AttributeValue::N(text.to_owned());
            item([("entries", number(entries)), ("bytes", number(bytes)), ("changes", number(changes))])
        };
        let sum = sum(&[counter("3", "100", "3"), counter("-1", "-40", "1"), Item::new()]);
        assert_eq!(sum, CacheTotals { entries: 2, bytes: 60, changes: 4 });
        assert_eq!(super::sum(&[]), CacheTotals::default());
        assert_eq!(text(&totals_key("c0ffee"), "sk"), Some("TOTALS#c"));
    }
}
