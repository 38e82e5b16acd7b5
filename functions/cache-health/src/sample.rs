//! Which entries are read whole, and what counts as an entry (Cache Health, inputs 3 and failure mode 5).

use domain::{
    SessionId, Timestamp,
    cache_entries::{ListedEntry, place_at},
    ports::{CacheEntries, Randomness, StorageError},
};
use serde_json::Value;
use std::collections::BTreeSet;

/// Entries in a sample (inputs 3: min(10, n)).
const USUAL: u64 = 10;

/// The most that a sample has, however many entries there are: the cost of a look is bounded.
const MOST: u64 = 50;

/// Points in time that are drawn; each is one read of the index.
const POINTS: u64 = 10;

/// Entries that the index tells of at each point; one or more of them are drawn.
const NEIGHBOURS: u32 = 20;

/// Up to so many entries are listed in one read and drawn from directly.
const FEW: u64 = 100;

/// How many entries are looked at: 10, or all where there are fewer; above the warn threshold one in a thousand, up to
/// 50 (at a look a minute, each of a million entries is then seen about every two weeks, beside the scan on Sundays).
pub(crate) fn size(entries: u64, count_warn: u64) -> u64 {
    let wanted = if entries > count_warn { entries.div_ceil(1000).clamp(USUAL, MOST) } else { USUAL };
    wanted.min(entries)
}

/// Draws a sample from the index of ages.
pub(crate) async fn draw(
    cache: &dyn CacheEntries,
    randomness: &dyn Randomness,
    size: u64,
    entries: u64,
    (oldest, newest): (Timestamp, Timestamp),
) -> Result<BTreeSet<SessionId>, StorageError> {
    let mut drawn = BTreeSet::new();
    if entries <= FEW {
        let all = cache.listed("", u32::try_from(FEW).unwrap_or(u32::MAX)).await?;
        pick(&mut drawn, all, size, randomness);
        return Ok(drawn);
    }
    let each = size.div_ceil(POINTS);
    for _ in 0..POINTS {
        let moment = between(oldest, newest, randomness.fraction());
        let near = cache.listed(&place_at(moment), NEIGHBOURS).await?;
        let most = each.min(size.saturating_sub(drawn.len() as u64));
        pick(&mut drawn, near, most, randomness);
    }
    Ok(drawn)
}

/// Adds up to `most` entries that have not been drawn yet.
fn pick(drawn: &mut BTreeSet<SessionId>, from: Vec<ListedEntry>, most: u64, randomness: &dyn Randomness) {
    let mut left: Vec<SessionId> = from.into_iter().map(|entry| entry.session).collect();
    left.retain(|session| !drawn.contains(session));
    for _ in 0..most {
        if left.is_empty() {
            return;
        }
        drawn.insert(left.swap_remove(index(randomness.fraction(), left.len())));
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn index(fraction: f64, length: usize) -> usize {
    ((fraction * length as f64) as usize).min(length.saturating_sub(1))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn between(oldest: Timestamp, newest: Timestamp, fraction: f64) -> Timestamp {
    let span = newest.millis_since(oldest) as f64;
    Timestamp::from_millis(oldest.as_millis() + (span * fraction) as i64)
}

/// Whether a document is that of a cached verdict: JSON with the four keys (inputs 3).
pub(crate) fn is_entry(document: &str) -> bool {
    match serde_json::from_str::<Value>(document) {
        Ok(Value::Object(entry)) => {
            ["tier", "query", "verdict", "cached_at"].iter().all(|key| entry.get(*key).is_some_and(|it| !it.is_null()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_ten_and_grows_above_the_warn_threshold_up_to_fifty() {
        let sizes = [(0, 0), (3, 3), (10, 10), (10_000, 10), (10_001, 11), (25_000, 25), (50_001, 50), (1_000_000, 50)];
        for (entries, expected) in sizes {
            assert_eq!(size(entries, 10_000), expected, "{entries}");
        }
        assert_eq!(size(2, 1), 2, "never more than there are");
    }

    #[test]
    fn an_entry_has_four_keys() {
        assert!(is_entry(r#"{"tier":"quick","query":"q","verdict":{},"cached_at":"t","more":1}"#));
        for broken in ["", "not JSON", "[]", "{}", r#"{"tier":"quick","query":"q","verdict":null,"cached_at":"t"}"#] {
            assert!(!is_entry(broken), "{broken}");
        }
    }
}
