//! Chooses which entries are read whole, and defines what a valid entry is (Cache Health, inputs 3 and failure mode 5).

use domain::{
    CachedVerdict, SessionId, Timestamp,
    cache_entries::{ListedEntry, place_at},
    ports::{CacheEntries, Randomness, StorageError},
};
use std::{collections::BTreeSet, time::Duration};

/// The usual size of a sample (Cache Health, inputs 3: min(10, n)).
const USUAL: u64 = 10;

/// The largest sample at any number of entries: it bounds the cost of a check.
const MOST: u64 = 50;

/// The number of points in time to draw; each costs one read of the index.
const POINTS: u64 = 10;

/// The number of entries that the index returns at each point; one or more of them are drawn.
const NEIGHBOURS: u32 = 20;

/// Up to this many entries are listed in one read and drawn from directly.
const FEW: u64 = 100;

/// The size of the sample: 10, or all entries if there are fewer. Above the warn threshold it is one in a thousand, at
/// most 50: at a check a minute, each of a million entries is then read about every two weeks, in addition to the scan
/// on Sundays.
pub(crate) fn size(entries: u64, count_warn: u64) -> u64 {
    let wanted = if entries > count_warn { entries.div_ceil(1000).clamp(USUAL, MOST) } else { USUAL };
    wanted.min(entries)
}

/// Draws a sample from the index of ages at random points in time. A point that falls into a gap shows where the gap
/// is, and the next points are drawn outside it. This finds entries that all arrived within one hour of a month. If the
/// sample is still too small, the rest is drawn from the entries listed at the points, and finally from the oldest
/// entries.
pub(crate) async fn draw(
    cache: &dyn CacheEntries,
    randomness: &dyn Randomness,
    size: u64,
    entries: u64,
    (oldest, newest): (Timestamp, Timestamp),
) -> Result<BTreeSet<SessionId>, StorageError> {
    let mut drawn = BTreeSet::new();
    let few = u32::try_from(FEW).unwrap_or(u32::MAX);
    // One more than few, because a page of the most entries does not show that it is the last.
    let page = if entries > FEW { None } else { Some(cache.listed("", few + 1).await?) };
    // The counters may have drifted: the index decides whether these are all entries.
    if page.as_ref().is_none_or(|page| page.next.is_some()) {
        let each = size.div_ceil(POINTS);
        let mut spans = Spans::of(oldest, newest);
        let mut listed = Vec::new();
        for _ in 0..POINTS {
            let Some(moment) = spans.draw(randomness.fraction()) else { break };
            let near = cache.listed(&place_at(moment), NEIGHBOURS).await?.entries;
            spans.exclude(moment, near.first().map_or(newest.plus(MILLISECOND), |first| first.stored_at));
            listed.extend_from_slice(&near);
            let most = size.min(drawn.len() as u64 + each);
            pick(&mut drawn, near, most, randomness);
        }
        pick(&mut drawn, listed, size, randomness);
    }
    if (drawn.len() as u64) < size {
        let oldest = match page {
            Some(page) => page,
            None => cache.listed("", few).await?,
        };
        pick(&mut drawn, oldest.entries, size, randomness);
    }
    Ok(drawn)
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// Time spans that may contain entries, in milliseconds; each includes its start and excludes its end.
struct Spans(Vec<(i64, i64)>);

impl Spans {
    fn of(oldest: Timestamp, newest: Timestamp) -> Self {
        Self(vec![(oldest.as_millis(), newest.plus(MILLISECOND).as_millis())])
    }

    /// A random moment in the spans; every moment is equally likely.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn draw(&self, fraction: f64) -> Option<Timestamp> {
        let all: i64 = self.0.iter().map(|(from, to)| to - from).sum();
        let mut left = ((fraction * all as f64) as i64).min(all - 1);
        for (from, to) in &self.0 {
            if left < to - from {
                return Some(Timestamp::from_millis(from + left.max(0)));
            }
            left -= to - from;
        }
        None
    }

    /// Excludes the time between two moments, because it contains no entry.
    fn exclude(&mut self, from: Timestamp, to: Timestamp) {
        let (from, to) = (from.as_millis(), to.as_millis());
        let around = |(begin, end): (i64, i64)| [(begin, end.min(from)), (begin.max(to), end)];
        self.0 = self.0.drain(..).flat_map(around).filter(|(begin, end)| begin < end).collect();
    }
}

/// Adds random entries of `from` that are not drawn yet, until there are `most`.
fn pick(drawn: &mut BTreeSet<SessionId>, from: Vec<ListedEntry>, most: u64, randomness: &dyn Randomness) {
    let left: BTreeSet<SessionId> = from.into_iter().map(|entry| entry.session).collect();
    let mut left: Vec<SessionId> = left.difference(drawn).cloned().collect();
    while (drawn.len() as u64) < most && !left.is_empty() {
        drawn.insert(left.swap_remove(index(randomness.fraction(), left.len())));
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn index(fraction: f64, length: usize) -> usize {
    ((fraction * length as f64) as usize).min(length.saturating_sub(1))
}

/// Whether a document is a cached verdict: JSON with the four keys (Cache Health, inputs 3), which the page can open.
pub(crate) fn is_entry(document: &str) -> bool {
    serde_json::from_str::<CachedVerdict>(document).is_ok()
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
    fn what_is_known_to_be_empty_is_not_drawn_from_again() {
        let at = Timestamp::from_millis;
        let mut spans = Spans::of(at(0), at(99));
        assert_eq!([0.0, 0.5, 0.999].map(|fraction| spans.draw(fraction)), [0, 50, 99].map(|moment| Some(at(moment))));
        spans.exclude(at(10), at(99));
        assert_eq!(spans.0, [(0, 10), (99, 100)]);
        assert_eq!([0.0, 0.5, 0.999].map(|fraction| spans.draw(fraction)), [0, 5, 99].map(|moment| Some(at(moment))));
        spans.exclude(at(5), at(5));
        spans.exclude(at(0), at(100));
        assert_eq!(spans.draw(0.5), None);
    }

    #[test]
    fn an_entry_has_four_keys_and_a_verdict_that_can_be_opened() {
        let with =
            |verdict: &str| format!(r#"{{"tier":"quick","query":"q","verdict":{verdict},"cached_at":"t","more":1}}"#);
        assert!(is_entry(&with(r#"{"verdict":"GREEN","summary":"Yes."}"#)));
        for verdict in ["{}", "null", r#""GREEN""#, r#"{"verdict":"BLUE","summary":"Yes."}"#] {
            assert!(!is_entry(&with(verdict)), "no customer can open {verdict}");
        }
        for broken in ["", "not JSON", "[]", "{}", r#"{"tier":"quick","query":"q","verdict":{}}"#] {
            assert!(!is_entry(broken), "{broken}");
        }
    }
}
