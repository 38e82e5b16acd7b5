//! Verifies the streams of scheduled functions: one chain over all days, with numbers that restart each day.

use crate::{
    link::{Link, previous_of},
    stream::{Damage, Finding, Object, Place, StoredHead, StreamContext, missing, stream_of, verify_part},
};
use audit::hash::sha256;
use domain::sale::AuditEntry;
use std::collections::BTreeMap;

/// The days of one function's stream by prefix (`{day}/function/{name}`), in order.
pub type Days = BTreeMap<String, Day>;

/// One day of a function's stream.
#[derive(Clone, Debug)]
pub enum Day {
    /// All its objects, ordered by key.
    Objects(Vec<Object>),
    /// The ends of a day whose objects fit one another, without the objects: a year of all functions has a million.
    Ends(Ends),
}

/// The ends of a day: all that the verification of the other days needs of it.
#[derive(Clone, Debug)]
pub struct Ends {
    count: usize,
    first: Object,
    /// The hash of the last record.
    last: String,
}

impl Day {
    /// Keeps the ends of a day, or all its objects if they do not fit one another.
    #[must_use]
    pub fn of(stream: &str, objects: Vec<Object>) -> Self {
        let last = verify_part(stream, &objects, StreamContext::default()).ok().flatten();
        match last.zip(objects.first().cloned()) {
            Some((last, first)) => Self::Ends(Ends { count: objects.len(), first, last }),
            None => Self::Objects(objects),
        }
    }

    /// The number of its objects.
    #[must_use]
    pub const fn count(&self) -> usize {
        match self {
            Self::Objects(objects) => objects.len(),
            Self::Ends(ends) => ends.count,
        }
    }

    fn first(&self) -> Option<&Object> {
        match self {
            Self::Objects(objects) => objects.first(),
            Self::Ends(ends) => Some(&ends.first),
        }
    }

    /// Verifies it among the other days. Returns the hash of its last record.
    fn verify(&self, stream: &str, context: StreamContext<'_>) -> Result<Option<String>, Finding> {
        match self {
            Self::Objects(objects) => verify_part(stream, objects, context),
            Self::Ends(ends) => ends.verify(stream, context).map(Some),
        }
    }

    /// The hash of its last record, which the next day must name although this day has `damage`. `None` unless the last
    /// record is after the damage, readable and in its place.
    fn end_after(&self, damage: &Finding) -> Option<String> {
        let Self::Objects(objects) = self else { return None };
        let (key, bytes) = objects.last().filter(|(key, _)| *key > damage.key)?;
        let line = bytes.strip_suffix(b"\n")?;
        let link: Link = serde_json::from_slice(line).ok()?;
        let is_in_place = Place::parse(key).is_some_and(|place| (place.stream, place.seq) == (&*link.stream, link.seq));
        is_in_place.then(|| sha256(line))
    }

    /// Adds a record that waits in the note, which counts as published.
    fn add_waiting(&mut self, entry: &AuditEntry) -> Result<(), Finding> {
        let found = |damage| Err(Finding { key: entry.key.clone(), damage });
        let Self::Objects(objects) = self else { return found(Damage::Truncated) };
        let bytes = format!("{}\n", entry.line).into_bytes();
        match objects.binary_search_by(|(key, _)| key.as_str().cmp(&entry.key)) {
            Ok(index) if objects[index].1 == bytes => Ok(()),
            Ok(_) => found(Damage::Forked),
            Err(index) => {
                objects.insert(index, (entry.key.clone(), bytes));
                Ok(())
            }
        }
    }
}

impl Ends {
    fn verify(&self, stream: &str, context: StreamContext<'_>) -> Result<String, Finding> {
        let (key, bytes) = &self.first;
        if context.before.is_some_and(|before| previous_of(bytes).as_deref() != Some(before)) {
            return Err(Finding { key: key.clone(), damage: Damage::Edited });
        }
        let is_counted = |stored: &StoredHead| {
            stored.published() == self.count as u64 && stored.published_hash().as_ref() == Some(&self.last)
        };
        if context.after.is_none_or(|after| after == self.last) && context.stored.is_none_or(is_counted) {
            Ok(self.last.clone())
        } else {
            Err(missing(stream, self.count as u64 + 1, Damage::Truncated))
        }
    }
}

/// Verifies one function's stream. `is_whole` is whether `days` begins with the stream's first day. Without `stored`
/// the end cannot be compared, and the stream is orphaned.
///
/// Returns the first bad record of each bad day, so that the damage of one day hides no other's. A finding of a day
/// without its objects ([`Day::Ends`]) only says that something may be wrong: verify again with the objects.
#[must_use]
pub fn verify_days(name: &str, days: &Days, stored: Option<&StoredHead>, is_whole: bool) -> Vec<Finding> {
    let (mut days, mut findings) = (days.clone(), Vec::new());
    // A waiting record may belong to an earlier day than the last.
    for entry in stored.iter().flat_map(|stored| &stored.waiting) {
        let day = days.entry(stream_of(&entry.key).to_owned()).or_insert_with(|| Day::Objects(Vec::new()));
        findings.extend(day.add_waiting(entry).err());
    }
    let stored = stored.map(|stored| StoredHead { head: stored.head.clone(), waiting: Vec::new() });
    let last = stored.as_ref().map(|stored| format!("{}/function/{name}", stored.head.opened));
    if let Some(last) = &last {
        days.entry(last.clone()).or_insert_with(|| Day::Objects(Vec::new()));
    }
    let mut before = is_whole.then(|| sha256(b""));
    let streams: Vec<(&String, &Day)> = days.iter().collect();
    for (index, (stream, day)) in streams.iter().enumerate() {
        // Only the first record of a day names the hash of the day before.
        let next = streams.get(index + 1).and_then(|(_, next)| next.first());
        let next = next.filter(|(key, _)| Place::parse(key).is_some_and(|place| place.seq == 1));
        let after = next.and_then(|(_, bytes)| previous_of(bytes));
        let stored = stored.as_ref().filter(|_| last.as_ref() == Some(*stream));
        let context = StreamContext { before: before.as_deref(), stored, after: after.as_deref() };
        let verified = match day.first() {
            Some((key, _)) if last.as_ref().is_some_and(|last| *stream > last) => {
                Err(Finding { key: key.clone(), damage: Damage::Forked })
            }
            _ => day.verify(stream, context),
        };
        match verified {
            Ok(hash) => before = hash.or(before),
            Err(finding) => {
                // With it, this day's damage does not hide that the days after it are deleted.
                before = day.end_after(&finding);
                findings.push(finding);
            }
        }
    }
    // A function saves its head before it publishes anything, and its note is never removed.
    if stored.is_none()
        && let Some((key, _)) = days.values().find_map(Day::first)
    {
        findings.push(Finding { key: key.clone(), damage: Damage::Orphaned });
    }
    findings
}
