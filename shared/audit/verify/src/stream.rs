//! Detects changes to the log: recomputes a stream's chain and compares its end with the sale's data.
//!
//! The chain alone reveals an edit, a removal in the middle, a swap and a foreign record. Missing last records, or an
//! edit of the last one, are only revealed by the head that the sale stores; together they cover every byte of the
//! stream.

use crate::link::Link;
use audit::{chain, hash::sha256};

pub use crate::{
    finding::{Damage, Finding, worst},
    stored_head::StoredHead,
};

/// One object of the log: its key, and its bytes including the final line break.
pub type Object = (String, Vec<u8>);

/// The place of a record, from its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The day in its key, `YYYY-MM-DD`: for a session, the day on which its stream was opened.
    pub opened: &'a str,
    /// Its stream: `session/{id}` or `function/{name}`.
    pub stream: &'a str,
    /// Its number, from 1.
    pub seq: u64,
}

impl<'a> Place<'a> {
    /// Reads a key; `None` unless [`chain::key`] makes such a key.
    #[must_use]
    pub fn parse(key: &'a str) -> Option<Self> {
        let (opened, rest) = key.split_once('/')?;
        let (stream, file) = rest.rsplit_once('/')?;
        let (kind, name) = stream.split_once('/')?;
        let seq = file.strip_suffix(".json")?.parse().ok()?;
        let is_ours = matches!(kind, "session" | "function") && !name.is_empty() && !name.contains('/');
        (is_ours && seq > 0 && chain::key(opened, stream, seq) == key).then_some(Self { opened, stream, seq })
    }
}

/// A record that was read.
pub(crate) struct Read<'a> {
    key: &'a str,
    line: &'a [u8],
    link: Link,
}

/// Facts about a stream beside its objects.
#[derive(Clone, Copy, Default)]
pub(crate) struct StreamContext<'a> {
    /// The hash that its first record must name, if known.
    pub(crate) before: Option<&'a str>,
    /// The data in the sale, or in the function's note.
    pub(crate) stored: Option<&'a StoredHead>,
    /// The hash that the first record after its end names.
    pub(crate) after: Option<&'a str>,
}

/// Verifies one session's stream: all objects whose keys begin with `stream` (`{day}/session/{id}`), ordered by key.
/// Without `stored` the end cannot be compared. Only a smoke test's sale is ever removed from the table, so a stream
/// without a sale is a finding unless its records say that it is a smoke test's.
///
/// # Errors
/// The [`Finding`] of the first bad record.
pub fn verify_stream(stream: &str, objects: &[Object], stored: Option<&StoredHead>) -> Result<(), Finding> {
    verify_part(stream, objects, StreamContext { before: Some(&sha256(b"")), stored, after: None })?;
    match objects.first() {
        Some((key, _)) if stored.is_none() && !objects.iter().all(is_of_smoke_test) => {
            Err(Finding { key: key.clone(), damage: Damage::Orphaned })
        }
        _ => Ok(()),
    }
}

fn is_of_smoke_test((_, bytes): &Object) -> bool {
    serde_json::from_slice::<Link>(bytes).is_ok_and(|link| link.smoke)
}

/// Verifies the objects under one prefix. Returns the hash of the last record.
pub(crate) fn verify_part(
    stream: &str,
    objects: &[Object],
    context: StreamContext<'_>,
) -> Result<Option<String>, Finding> {
    let mut intact: Vec<Read<'_>> = Vec::with_capacity(objects.len());
    for (index, (key, bytes)) in objects.iter().enumerate() {
        let found = |damage| Finding { key: key.clone(), damage };
        let place = Place::parse(key).filter(|place| is_in(place, stream)).ok_or_else(|| found(Damage::Foreign))?;
        if context.stored.is_some_and(|stored| stored.head.opened != place.opened) {
            return Err(found(Damage::Foreign));
        }
        let expected = index as u64 + 1;
        if place.seq > expected {
            // An edit before the gap is reported first.
            check_end(&intact, StreamContext { stored: None, after: None, ..context }, stream)?;
            return Err(missing(stream, expected, Damage::Deleted));
        }
        let line = bytes.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n'));
        let link = line.and_then(|line| serde_json::from_slice::<Link>(line).ok());
        let (line, link) = line.zip(link).ok_or_else(|| found(Damage::Unreadable))?;
        if link.v != chain::VERSION {
            return Err(found(Damage::Unreadable));
        }
        let subject = match place.stream.split_once('/') {
            Some(("session", name)) => (link.session_id.as_deref(), None) == (Some(name), link.function.as_deref()),
            Some((_, name)) => (None, link.function.as_deref()) == (link.session_id.as_deref(), Some(name)),
            None => false,
        };
        if !subject || link.stream != place.stream {
            return Err(found(Damage::Moved));
        }
        if link.seq != place.seq {
            return Err(found(Damage::Reordered));
        }
        if place.seq < expected {
            return Err(found(Damage::Forked));
        }
        // The next record shows which of the two before it was changed.
        let read = Read { key, line, link };
        check_link(&intact, context.before, Some(read.link.prev.as_str()))?;
        intact.push(read);
    }
    check_end(&intact, context, stream)?;
    if let Some(stored) = context.stored {
        if (intact.len() as u64) < stored.published() {
            return Err(missing(stream, intact.len() as u64 + 1, Damage::Truncated));
        }
        for read in &intact {
            let seq = read.link.seq;
            let is_other = stored.waiting(seq).is_some_and(|entry| entry.line.as_bytes() != read.line);
            if is_other || seq > stored.head.count {
                return Err(Finding { key: read.key.to_owned(), damage: Damage::Forked });
            }
        }
    }
    Ok(intact.last().map(|read| sha256(read.line)))
}

fn is_in(place: &Place<'_>, stream: &str) -> bool {
    stream.split_once('/') == Some((place.opened, place.stream))
}

pub(crate) fn missing(stream: &str, seq: u64, damage: Damage) -> Finding {
    let (opened, name) = stream.split_once('/').unwrap_or(("", stream));
    Finding { key: chain::key(opened, name, seq), damage }
}

/// Checks the link between the last two records, once the hash that follows them is known.
fn check_link(read: &[Read<'_>], start: Option<&str>, after: Option<&str>) -> Result<(), Finding> {
    let Some((last, before)) = read.split_last() else { return Ok(()) };
    let finding = |read: &Read<'_>, damage| Err(Finding { key: read.key.to_owned(), damage });
    let follows = match before.last() {
        Some(before) => last.link.prev == sha256(before.line),
        None => start.is_none_or(|start| last.link.prev == start),
    };
    let is_confirmed = after.map(|after| sha256(last.line) == after);
    match (follows, is_confirmed, before.last()) {
        // A mismatch with the next record is judged when that record's own successor is known.
        (true, _, _) => Ok(()),
        (false, Some(true), Some(before)) => finding(before, Damage::Edited),
        (false, None, Some(_)) => finding(last, Damage::Unlinked),
        (false, _, _) => finding(last, Damage::Edited),
    }
}

/// Checks the last link, and the end against the stored head.
fn check_end(read: &[Read<'_>], context: StreamContext<'_>, stream: &str) -> Result<(), Finding> {
    let published = context.stored.and_then(|stored| Some((stored.published(), stored.published_hash()?)));
    let named = published.as_ref().filter(|(count, _)| *count == read.len() as u64).map(|(_, hash)| hash.as_str());
    check_link(read, context.before, named.or(context.after))?;
    if let Some(after) = context.after
        && read.last().is_some_and(|last| sha256(last.line) != after)
    {
        // Only the digests can show whether this record was changed or later ones were removed.
        return Err(missing(stream, read.len() as u64 + 1, Damage::Truncated));
    }
    let Some((count, hash)) = published else { return Ok(()) };
    let last = usize::try_from(count).ok().and_then(|count| read.get(count.checked_sub(1)?));
    match last {
        Some(last) if sha256(last.line) != hash => Err(Finding { key: last.key.to_owned(), damage: Damage::Edited }),
        _ => Ok(()),
    }
}

/// The stream of a key: all of it except the last part.
#[must_use]
pub fn stream_of(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |(stream, _)| stream)
}

/// The function of a stream, if it is one of a function.
#[must_use]
pub fn function_of_stream(stream: &str) -> Option<&str> {
    let (_, rest) = stream.split_once('/')?;
    rest.strip_prefix("function/").filter(|name| !name.is_empty() && !name.contains('/'))
}

/// The session of a stream, if it is one of a session.
#[must_use]
pub fn session_of_stream(stream: &str) -> Option<&str> {
    let (_, rest) = stream.split_once('/')?;
    rest.strip_prefix("session/").filter(|session| !session.contains('/'))
}
