//! Verifies the streams of scheduled functions: one chain over all days, with numbers that restart each day.

use crate::{
    link::previous_of,
    stream::{Around, Damage, Finding, Known, Object, Place, verify_part},
};
use audit::digest::sha256;
use std::collections::BTreeMap;

/// The objects of one function's stream by day prefix (`{day}/function/{name}`), in order.
pub type Days = BTreeMap<String, Vec<Object>>;

/// Verifies one function's stream. `is_whole` is whether `days` begins with the stream's first day. Without `known` the
/// end cannot be compared, and a stream without damage counts as orphaned.
///
/// # Errors
/// The [`Finding`] of the first bad record.
pub fn verify_days(name: &str, days: &Days, known: Option<&Known>, is_whole: bool) -> Result<(), Finding> {
    let mut days = days.clone();
    // A record that waits in the note counts as published; it may belong to an earlier day than the last.
    for entry in known.iter().flat_map(|known| &known.waiting) {
        let bytes = format!("{}\n", entry.line).into_bytes();
        let stream = crate::stream::stream_of(&entry.key);
        let objects = days.entry(stream.to_owned()).or_default();
        match objects.binary_search_by(|(key, _)| key.as_str().cmp(&entry.key)) {
            Ok(index) if objects[index].1 == bytes => {}
            Ok(_) => return Err(Finding { key: entry.key.clone(), damage: Damage::Forked }),
            Err(index) => objects.insert(index, (entry.key.clone(), bytes)),
        }
    }
    let known = known.map(|known| Known { head: known.head.clone(), waiting: Vec::new() });
    let last = known.as_ref().map(|known| format!("{}/function/{name}", known.head.opened));
    if let Some(last) = &last {
        days.entry(last.clone()).or_default();
    }
    let mut before = is_whole.then(|| sha256(b""));
    let streams: Vec<(&String, &Vec<Object>)> = days.iter().collect();
    for (index, (stream, objects)) in streams.iter().enumerate() {
        if let Some((key, _)) = objects.first()
            && last.as_ref().is_some_and(|last| *stream > last)
        {
            return Err(Finding { key: key.clone(), damage: Damage::Forked });
        }
        // Only the first record of a day names the hash of the day before.
        let first = streams.get(index + 1).and_then(|(_, objects)| objects.first());
        let first = first.filter(|(key, _)| Place::parse(key).is_some_and(|place| place.seq == 1));
        let after = first.and_then(|(_, bytes)| previous_of(bytes));
        let known = known.as_ref().filter(|_| last.as_ref() == Some(*stream));
        let around = Around { before: before.as_deref(), known, after: after.as_deref() };
        before = verify_part(stream, objects, around)?.or(before);
    }
    match days.values().flatten().next() {
        // A function saves its head before it publishes anything, and its note is never removed.
        Some((key, _)) if known.is_none() => Err(Finding { key: key.clone(), damage: Damage::Orphaned }),
        _ => Ok(()),
    }
}
