//! Finds what somebody did to the log: recomputes a stream's chain and compares its end with what the sale names.
//!
//! The chain alone shows an edit, a removal in the middle, a swap and a record from elsewhere. That the last
//! records are gone, or that the last one was edited, shows only against the head that the sale's own record names;
//! with it, every byte of the stream is covered.

use crate::{chain, digest::sha256};
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
    /// The day on which its stream was opened, `YYYY-MM-DD`.
    pub opened: &'a str,
    /// The session.
    pub session: &'a str,
    /// Its number, from 1.
    pub seq: u64,
}

impl<'a> Place<'a> {
    /// Reads a key; nothing where it is none that [`chain::key`] makes.
    #[must_use]
    pub fn parse(key: &'a str) -> Option<Self> {
        let mut parts = key.split('/');
        let (opened, kind, session) = (parts.next()?, parts.next()?, parts.next()?);
        let seq = parts.next()?.strip_suffix(".json")?.parse().ok()?;
        let is_ours = kind == "session" && seq > 0 && chain::key(opened, &format!("session/{session}"), seq) == key;
        is_ours.then_some(Self { opened, session, seq })
    }
}

/// What the sale's record says about its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    head: AuditHead,
    /// Records of the stream's end that may not be in the log yet.
    waiting: Vec<AuditEntry>,
}

impl Known {
    /// What this sale says. A sale that names no stream has no records.
    #[must_use]
    pub fn of(sale: &Sale) -> Self {
        let none = || AuditHead { opened: String::new(), count: 0, hash: sha256(b"") };
        Self { head: sale.audit.clone().unwrap_or_else(none), waiting: sale.outbox.clone() }
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
    session_id: String,
    v: u8,
    stream: String,
    seq: u64,
    prev: String,
}

/// A record as read.
struct Read<'a> {
    key: &'a str,
    line: &'a [u8],
    link: Link,
}

/// Verifies one stream: all objects whose keys begin with `stream` (`{day}/session/{id}`), in the order of their
/// keys. Without `known`, the end of the stream is not compared with anything.
///
/// # Errors
/// The [`Finding`] of the first bad record.
pub fn verify_stream(stream: &str, objects: &[Object], known: Option<&Known>) -> Result<(), Finding> {
    let mut intact: Vec<Read<'_>> = Vec::with_capacity(objects.len());
    for (index, (key, bytes)) in objects.iter().enumerate() {
        let found = |damage| Finding { key: key.clone(), damage };
        let place = Place::parse(key).filter(|place| is_in(place, stream)).ok_or_else(|| found(Damage::Foreign))?;
        if known.is_some_and(|known| known.head.opened != place.opened) {
            return Err(found(Damage::Foreign));
        }
        let expected = index as u64 + 1;
        if place.seq > expected {
            // An edit before the gap comes first.
            check_end(&intact, None)?;
            return Err(missing(&place, expected, Damage::Deleted));
        }
        let line = bytes.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n'));
        let link = line.and_then(|line| serde_json::from_slice::<Link>(line).ok());
        let (line, link) = line.zip(link).ok_or_else(|| found(Damage::Unreadable))?;
        if link.v != chain::VERSION {
            return Err(found(Damage::Unreadable));
        }
        let in_stream = link.stream.strip_prefix("session/") == Some(place.session);
        if !in_stream || link.session_id != place.session {
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
        check_link(&intact, Some(read.link.prev.as_str()))?;
        intact.push(read);
    }
    check_end(&intact, known)?;
    let Some(known) = known else { return Ok(()) };
    if (intact.len() as u64) < known.published() {
        let place = Place { opened: &known.head.opened, session: session_of(stream), seq: 0 };
        return Err(missing(&place, intact.len() as u64 + 1, Damage::Truncated));
    }
    for read in &intact {
        let seq = read.link.seq;
        let is_other = known.waiting(seq).is_some_and(|entry| entry.line.as_bytes() != read.line);
        if is_other || seq > known.head.count {
            return Err(Finding { key: read.key.to_owned(), damage: Damage::Forked });
        }
    }
    Ok(())
}

fn is_in(place: &Place<'_>, stream: &str) -> bool {
    stream.strip_prefix(place.opened).and_then(|rest| rest.strip_prefix("/session/")) == Some(place.session)
}

fn session_of(stream: &str) -> &str {
    stream.rsplit('/').next().unwrap_or(stream)
}

fn missing(place: &Place<'_>, seq: u64, damage: Damage) -> Finding {
    Finding { key: chain::key(place.opened, &format!("session/{}", place.session), seq), damage }
}

/// The link between the last two records, once it is known what comes after them.
fn check_link(read: &[Read<'_>], after: Option<&str>) -> Result<(), Finding> {
    let Some((last, before)) = read.split_last() else { return Ok(()) };
    let finding = |read: &Read<'_>, damage| Err(Finding { key: read.key.to_owned(), damage });
    let expected = before.last().map_or_else(|| sha256(b""), |before| sha256(before.line));
    let follows = last.link.prev == expected;
    let is_confirmed = after.map(|after| sha256(last.line) == after);
    match (follows, is_confirmed, before.last()) {
        // A mismatch with what follows is judged when that has its own follower.
        (true, _, _) => Ok(()),
        (false, Some(true), Some(before)) => finding(before, Damage::Edited),
        (false, None, Some(_)) => finding(last, Damage::Unlinked),
        (false, _, _) => finding(last, Damage::Edited),
    }
}

/// The last link, and the head that the sale names.
fn check_end(read: &[Read<'_>], known: Option<&Known>) -> Result<(), Finding> {
    let published = known.and_then(|known| Some((known.published(), known.published_hash()?)));
    let after = published.as_ref().filter(|(count, _)| *count == read.len() as u64);
    check_link(read, after.map(|(_, hash)| hash.as_str()))?;
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
    /// The first bad record of each bad stream.
    pub findings: Vec<Finding>,
}

impl Verification {
    /// Verifies one stream and notes what came of it.
    pub fn add(&mut self, stream: &str, objects: &[Object], known: Option<&Known>) {
        self.streams += 1;
        self.records += objects.len() as u64;
        self.without_sale += u64::from(known.is_none());
        self.findings.extend(verify_stream(stream, objects, known).err());
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

/// The session of a stream, if it is one of a session.
#[must_use]
pub fn session_of_stream(stream: &str) -> Option<&str> {
    let (_, rest) = stream.split_once('/')?;
    rest.strip_prefix("session/").filter(|session| !session.contains('/'))
}
