//! Finds what somebody did to the log: recomputes a stream's chain and compares its end with what the sale names.
//!
//! The chain alone shows an edit, a removal in the middle, a swap and a record from elsewhere. That the last
//! records are gone, or that the last one was edited, shows only against the head that the sale's own record names;
//! with it, every byte of the stream is covered.

use crate::{chain, digest::sha256, verify_digests::DigestReport};
use domain::{
    Sale,
    sale::{AuditEntry, AuditHead},
};
use serde::{Deserialize, Serialize};

/// One object of the log: its key, and its bytes, the line break at the end included.
pub type Object = (String, Vec<u8>);

/// Where a record stands, as its key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The day that its key begins with, `YYYY-MM-DD`: of a session, that on which its stream was opened.
    pub opened: &'a str,
    /// Its stream: `session/{id}` or `function/{name}`.
    pub stream: &'a str,
    /// Its number, from 1.
    pub seq: u64,
}

impl<'a> Place<'a> {
    /// Reads a key; nothing where it is none that [`chain::key`] makes.
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

/// What the sale's record, or a function's note, says about its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub(crate) head: AuditHead,
    /// Records of the stream's end that may not be in the log yet.
    pub(crate) waiting: Vec<AuditEntry>,
}

/// As much of a function's note as its stream needs.
#[derive(Deserialize)]
struct NoteOfFunction {
    head: Option<AuditHead>,
    #[serde(default)]
    outbox: Vec<AuditEntry>,
}

impl Known {
    /// What a scheduled function's note says; nothing where it names no stream.
    #[must_use]
    pub fn of_note(document: &str) -> Option<Self> {
        let NoteOfFunction { head, outbox } = serde_json::from_str(document).ok()?;
        Some(Self { head: head?, waiting: outbox })
    }

    /// What this sale says. A sale that names no stream has no records.
    #[must_use]
    pub fn of(sale: &Sale) -> Self {
        let none = || AuditHead { opened: String::new(), count: 0, hash: sha256(b"") };
        Self { head: sale.audit.clone().unwrap_or_else(none), waiting: sale.outbox.clone() }
    }

    /// The day that the keys of its records begin with.
    #[must_use]
    pub fn opened(&self) -> &str {
        &self.head.opened
    }

    /// How many records must be in the log.
    #[must_use]
    pub const fn published(&self) -> u64 {
        self.head.count.saturating_sub(self.waiting.len() as u64)
    }

    /// The hash of the last record that must be in the log; nothing where a waiting record cannot be read.
    fn published_hash(&self) -> Option<String> {
        match self.waiting.first() {
            None => Some(self.head.hash.clone()),
            Some(entry) => Some(serde_json::from_str::<Link>(&entry.line).ok()?.prev),
        }
    }

    /// The waiting record with this number.
    fn waiting(&self, seq: u64) -> Option<&AuditEntry> {
        let index = seq.checked_sub(self.published() + 1)?;
        self.waiting.get(usize::try_from(index).ok()?)
    }
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// It is no line of the log's format.
    Unreadable,
    /// Its key is not one that the log makes, or the sale's stream was opened on another day.
    Foreign,
    /// It says that it belongs to another stream.
    Moved,
    /// It has another number than its key.
    Reordered,
    /// It is not there, though later ones are.
    Deleted,
    /// It is not there, nor is any after it, though the sale counts it.
    Truncated,
    /// It is not what the next record, or the sale, says that it was.
    Edited,
    /// It and the record before it do not fit, and nothing is left to tell which of them was changed.
    Unlinked,
    /// It has the place of another record: its number comes twice, the sale holds another one for this place, or
    /// counts none.
    Forked,
    /// It is in no digest, though it is old enough to be in one.
    Undigested,
    /// It is a digest without a signature.
    Unsigned,
    /// It is a digest that was signed and that the head, which is kept elsewhere, does not know: that was set back.
    Unnoted,
    /// It is a digest that ought to have been made by now.
    Overdue,
}

impl Damage {
    /// What is wrong, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unreadable => "is no line of the log's format",
            Self::Foreign => "is no file of this stream",
            Self::Moved => "belongs to another stream",
            Self::Reordered => "has the number of another record",
            Self::Deleted => "is gone, later ones are there",
            Self::Truncated => "is gone with all after it",
            Self::Edited => "was edited",
            Self::Unlinked => "or the one before it was edited",
            Self::Forked => "stands in another record's place",
            Self::Undigested => "is in no signed digest",
            Self::Unsigned => "is not signed",
            Self::Unnoted => "is signed, and the head kept elsewhere is older",
            Self::Overdue => "ought to have been made by now",
        }
    }
}

/// The first bad record of a stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The record's key; of a missing one, the key that it would have.
    pub key: String,
    /// What is wrong.
    pub damage: Damage,
}

/// The fields of a line that hold the chain together.
#[derive(Deserialize)]
struct Link {
    session_id: Option<String>,
    function: Option<String>,
    v: u8,
    stream: String,
    seq: u64,
    prev: String,
}

/// A record as read.
pub(crate) struct Read<'a> {
    key: &'a str,
    line: &'a [u8],
    link: Link,
}

/// What is known of a stream besides its objects.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    /// The hash that its first record must name; nothing where that is not known.
    pub(crate) before: Option<&'a str>,
    /// What the sale, or the function's note, says.
    pub(crate) known: Option<&'a Known>,
    /// The hash that the first record after its end names.
    pub(crate) after: Option<&'a str>,
}

/// Verifies one session's stream: all objects whose keys begin with `stream` (`{day}/session/{id}`), in the order of
/// their keys. Without `known`, the end of the stream is not compared with anything.
///
/// # Errors
/// The [`Finding`] of the first bad record.
pub fn verify_stream(stream: &str, objects: &[Object], known: Option<&Known>) -> Result<(), Finding> {
    verify_part(stream, objects, Around { before: Some(&sha256(b"")), known, after: None }).map(drop)
}

/// Verifies what lies under one prefix. Answers the hash of its last record.
pub(crate) fn verify_part(stream: &str, objects: &[Object], around: Around<'_>) -> Result<Option<String>, Finding> {
    let mut intact: Vec<Read<'_>> = Vec::with_capacity(objects.len());
    for (index, (key, bytes)) in objects.iter().enumerate() {
        let found = |damage| Finding { key: key.clone(), damage };
        let place = Place::parse(key).filter(|place| is_in(place, stream)).ok_or_else(|| found(Damage::Foreign))?;
        if around.known.is_some_and(|known| known.head.opened != place.opened) {
            return Err(found(Damage::Foreign));
        }
        let expected = index as u64 + 1;
        if place.seq > expected {
            // An edit before the gap comes first.
            check_end(&intact, Around { known: None, after: None, ..around }, stream)?;
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
        // With the next record at hand it can be told which of the two before it was changed.
        let read = Read { key, line, link };
        check_link(&intact, around.before, Some(read.link.prev.as_str()))?;
        intact.push(read);
    }
    check_end(&intact, around, stream)?;
    if let Some(known) = around.known {
        if (intact.len() as u64) < known.published() {
            return Err(missing(stream, intact.len() as u64 + 1, Damage::Truncated));
        }
        for read in &intact {
            let seq = read.link.seq;
            let is_other = known.waiting(seq).is_some_and(|entry| entry.line.as_bytes() != read.line);
            if is_other || seq > known.head.count {
                return Err(Finding { key: read.key.to_owned(), damage: Damage::Forked });
            }
        }
    }
    Ok(intact.last().map(|read| sha256(read.line)))
}

fn is_in(place: &Place<'_>, stream: &str) -> bool {
    stream.split_once('/') == Some((place.opened, place.stream))
}

fn session_of(stream: &str) -> &str {
    stream.rsplit('/').next().unwrap_or(stream)
}

fn missing(stream: &str, seq: u64, damage: Damage) -> Finding {
    let (opened, name) = stream.split_once('/').unwrap_or(("", stream));
    Finding { key: chain::key(opened, name, seq), damage }
}

/// The hash that a record names as that of the one before it.
pub(crate) fn previous_of((_, bytes): &Object) -> Option<String> {
    Some(serde_json::from_slice::<Link>(bytes).ok()?.prev)
}

/// The link between the last two records, once it is known what comes after them.
fn check_link(read: &[Read<'_>], start: Option<&str>, after: Option<&str>) -> Result<(), Finding> {
    let Some((last, before)) = read.split_last() else { return Ok(()) };
    let finding = |read: &Read<'_>, damage| Err(Finding { key: read.key.to_owned(), damage });
    let follows = match before.last() {
        Some(before) => last.link.prev == sha256(before.line),
        None => start.is_none_or(|start| last.link.prev == start),
    };
    let is_confirmed = after.map(|after| sha256(last.line) == after);
    match (follows, is_confirmed, before.last()) {
        // A mismatch with what follows is judged when that has its own follower.
        (true, _, _) => Ok(()),
        (false, Some(true), Some(before)) => finding(before, Damage::Edited),
        (false, None, Some(_)) => finding(last, Damage::Unlinked),
        (false, _, _) => finding(last, Damage::Edited),
    }
}

/// The last link, and what is known of the end.
fn check_end(read: &[Read<'_>], around: Around<'_>, stream: &str) -> Result<(), Finding> {
    let published = around.known.and_then(|known| Some((known.published(), known.published_hash()?)));
    let named = published.as_ref().filter(|(count, _)| *count == read.len() as u64).map(|(_, hash)| hash.as_str());
    check_link(read, around.before, named.or(around.after))?;
    if let Some(after) = around.after
        && read.last().is_some_and(|last| sha256(last.line) != after)
    {
        // Whether this one was changed or others came after it is for the digests to tell.
        return Err(missing(stream, read.len() as u64 + 1, Damage::Truncated));
    }
    let Some((count, hash)) = published else { return Ok(()) };
    let last = usize::try_from(count).ok().and_then(|count| read.get(count.checked_sub(1)?));
    match last {
        Some(last) if sha256(last.line) != hash => Err(Finding { key: last.key.to_owned(), damage: Damage::Edited }),
        _ => Ok(()),
    }
}

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Streams that were read.
    pub streams: u64,
    /// Objects that were read.
    pub records: u64,
    /// Streams whose end was compared with nothing, because the table does not know their sale.
    pub without_sale: u64,
    /// The first bad record of each bad stream, and the first bad digest.
    pub findings: Vec<Finding>,
    /// The digests, where there are any.
    pub digests: Option<DigestReport>,
}

impl Verification {
    /// Verifies one stream and notes what came of it.
    pub fn add(&mut self, stream: &str, objects: &[Object], known: Option<&Known>) {
        self.note(objects.len(), known.is_some(), verify_stream(stream, objects, known).err());
    }

    /// Notes what came of a stream of so many objects.
    pub fn note(&mut self, objects: usize, is_known: bool, finding: Option<Finding>) {
        self.streams += 1;
        self.records += objects as u64;
        self.without_sale += u64::from(!is_known);
        self.findings.extend(finding);
    }

    /// Takes in what was found elsewhere in the log.
    pub fn merge(&mut self, other: Self) {
        self.streams += other.streams;
        self.records += other.records;
        self.without_sale += other.without_sale;
        self.findings.extend(other.findings);
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Verifies a log, given in the order of its keys. `known` answers what the sale of a session says.
pub fn verify(objects: impl IntoIterator<Item = Object>, known: impl Fn(&str) -> Option<Known>) -> Verification {
    let mut verification = Verification::default();
    let mut stream = String::new();
    let mut held: Vec<Object> = Vec::new();
    for (key, bytes) in objects {
        let its_stream = stream_of(&key).to_owned();
        if its_stream != stream && !held.is_empty() {
            verification.add(&stream, &held, known(session_of(&stream)).as_ref());
            held.clear();
        }
        stream = its_stream;
        held.push((key, bytes));
    }
    if !held.is_empty() {
        verification.add(&stream, &held, known(session_of(&stream)).as_ref());
    }
    verification
}

/// The stream that a key belongs to: all of it but its last part.
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
