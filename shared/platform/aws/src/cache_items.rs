//! How the cache as a whole lies in the table: the attributes that list a verdict's item in the index of ages, and the
//! counters.
//!
//! A verdict's item that counts has `bytes`, the length of its document, and `cached` and `place`, which the index of
//! ages is divided by and ordered by. What is set aside or taken out has none of them. The counters are sixteen items
//! at `CACHE`, `TOTALS#{0..f}`, so that sales which end at the same moment rarely meet at one of them; one Query reads
//! them all.

use crate::attributes::{Item, VERDICT, item, key, string, text};
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    SessionId, Timestamp,
    cache_entries::{CacheTotals, ListedEntry, parse_place, place},
};

/// The index of ages.
pub(crate) const AGES: &str = "ages";

/// It is divided by this attribute, which has one value,
pub(crate) const CACHED: &str = "cached";

/// and ordered by this one.
pub(crate) const PLACE: &str = "place";

/// The length of the document, which the index tells too.
pub(crate) const BYTES: &str = "bytes";

/// The partition of the counters.
pub(crate) const TOTALS: &str = "CACHE";

/// Lists an item in the index, with the length of its document. Without a document there is nothing to list.
pub(crate) fn list(verdict: &mut Item, session: &SessionId, stored_at: Timestamp) -> u64 {
    let bytes = text(verdict, "document").map_or(0, |document| u64::try_from(document.len()).unwrap_or(u64::MAX));
    verdict.extend(item([
        (CACHED, string(VERDICT)),
        (PLACE, string(place(stored_at, session))),
        (BYTES, AttributeValue::N(bytes.to_string())),
    ]));
    bytes
}

/// Takes an item out of the index.
pub(crate) fn unlist(verdict: &mut Item) {
    for name in [CACHED, PLACE, BYTES] {
        verdict.remove(name);
    }
}

/// The bytes that the counters know an item by; nothing where it does not count.
pub(crate) fn counted(verdict: Option<&Item>) -> Option<u64> {
    verdict?.get(BYTES)?.as_n().ok()?.parse().ok()
}

/// What stands where a verdict was taken out.
pub(crate) fn removed(session: &SessionId, now: Timestamp) -> Item {
    let mut empty = key(session, VERDICT);
    empty.insert("removed_at".to_owned(), string(now.to_iso()));
    empty
}

/// The key of one of the counters, chosen by a random token.
pub(crate) fn totals_key(token: &str) -> Item {
    item([("pk", string(TOTALS)), ("sk", string(format!("TOTALS#{}", token.get(..1).unwrap_or("0"))))])
}

/// The sum of the counters.
pub(crate) fn sum(counters: &[Item]) -> CacheTotals {
    let number = |item: &Item, name: &str| -> i64 {
        item.get(name).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let total = |name: &str| counters.iter().map(|item| number(item, name)).sum::<i64>();
    CacheTotals {
        entries: total("entries"),
        bytes: total("bytes"),
        changes: u64::try_from(total("changes")).unwrap_or(0),
    }
}

/// An entry as the index has it. One without a place of ours is not listed by us.
pub(crate) fn parse_listed(found: &Item) -> Option<ListedEntry> {
    let (stored_at, session) = parse_place(text(found, PLACE)?)?;
    Some(ListedEntry { stored_at, session, bytes: counted(Some(found))? })
}

#[cfg(test)]
mod tests {
    use super::*;

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
