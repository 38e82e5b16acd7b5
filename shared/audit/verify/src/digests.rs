//! Verifies the chain of digests, and compares the log with it.

use crate::{
    finding::{Damage, Finding, worst},
    signed_digest::{Document, Entry, Head, Signature, document_key},
    stream::{Object, stream_of},
};
use audit::hash::sha256;
use domain::Timestamp;
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

/// An object that has been in the log for longer must be in a digest, because digests are made hourly. A digest that is
/// stored but not yet signed, or signed but not yet saved as the head, is in work for no longer than this: after a
/// crash the next run completes it.
pub const DIGESTED_WITHIN: Duration = Duration::from_secs(2 * 3600);

/// Whether a signature (base64) of the document's bytes is valid for a trusted key.
pub type IsSigned<'a> = dyn Fn(&[u8], &str) -> bool + Send + Sync + 'a;

/// The hash of a key in the digests.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DigestHash {
    One(Option<String>),
    /// Two different hashes: a second object was written under the key.
    Conflicting,
}

/// Every object that signed digests name, by stream.
#[derive(Clone, Debug, Default)]
pub struct Digested(HashMap<String, DigestedStream>);

/// The digests' entries for one stream's objects, by key.
#[derive(Clone, Debug, Default)]
pub struct DigestedStream(BTreeMap<String, DigestHash>);

impl Digested {
    fn take_in(&mut self, entries: Vec<Entry>) {
        for Entry { key, sha256, .. } in entries {
            let hash = DigestHash::One(sha256);
            if !self.0.contains_key(stream_of(&key)) {
                self.0.insert(stream_of(&key).to_owned(), DigestedStream::default());
            }
            let Some(stream) = self.0.get_mut(stream_of(&key)) else { continue };
            let before = stream.0.entry(key).or_insert_with(|| hash.clone());
            if *before != hash {
                *before = DigestHash::Conflicting;
            }
        }
    }

    /// Removes and returns the entries of a stream.
    pub fn take(&mut self, stream: &str) -> DigestedStream {
        self.0.remove(stream).unwrap_or_default()
    }

    /// The streams that have not been taken.
    #[must_use]
    pub fn streams(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

impl DigestedStream {
    /// The first object of a stream that differs from the digests, or else the first that is in no digest. `objects`
    /// are all objects of the stream, ordered by key; `is_late` is whether a key's object has been in the log for
    /// longer than [`DIGESTED_WITHIN`].
    #[must_use]
    pub fn compare(&self, objects: &[Object], is_late: impl Fn(&str) -> bool) -> Option<Finding> {
        let there: BTreeMap<&str, &[u8]> =
            objects.iter().map(|(key, bytes)| (key.as_str(), bytes.as_slice())).collect();
        let last = there.keys().next_back().copied();
        let keys: BTreeSet<&str> = self.0.keys().map(String::as_str).chain(there.keys().copied()).collect();
        worst(keys.into_iter().filter_map(|key| {
            let damage = match (self.0.get(key), there.get(key)) {
                (Some(_), None) if last.is_some_and(|last| last > key) => Damage::Deleted,
                (Some(_), None) => Damage::Truncated,
                (Some(DigestHash::One(Some(hash))), Some(bytes)) if *hash == sha256(bytes) => return None,
                (Some(DigestHash::One(_)), Some(_)) => Damage::Edited,
                (Some(DigestHash::Conflicting), Some(_)) => Damage::Forked,
                (None, Some(_)) if is_late(key) => Damage::Undigested,
                (None, _) => return None,
            };
            Some(Finding { key: key.to_owned(), damage })
        }))
    }

    /// The keys of a stream's objects that are in no digest and, by `is_late`, should be.
    #[must_use]
    pub fn undigested(&self, objects: &[Object], is_late: impl Fn(&str) -> bool) -> Vec<String> {
        let keys = objects.iter().map(|(key, _)| key);
        keys.filter(|key| !self.0.contains_key(*key) && is_late(key)).cloned().collect()
    }
}

/// The result of verifying the digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DigestReport {
    /// Digests that were read.
    pub documents: u64,
    /// Objects in these digests.
    pub entries: u64,
    /// The number of the last one.
    pub last: Option<u64>,
    /// When the last one was made.
    pub made_at: Option<String>,
    /// The first bad digest.
    pub findings: Vec<Finding>,
}

/// Verifies digests one by one, ordered by number.
pub struct DigestChain<'a> {
    is_signed: &'a IsSigned<'a>,
    log: String,
    since: String,
    now: Timestamp,
    /// The next number, and the hash that it must name, which is unknown if the verification does not begin with the
    /// first digest.
    next: u64,
    previous: Option<String>,
    head: Option<Head>,
    /// The numbers and hashes of digests that alerts have announced.
    announced: Vec<(u64, String)>,
    /// The number of the last digest, and whether it is signed.
    last: Option<(u64, bool)>,
    digested: Digested,
    report: DigestReport,
}

impl<'a> DigestChain<'a> {
    /// Begins with the first digest. `log` is the bucket that the digests must be about; `head` is the last digest, as
    /// saved in the table.
    #[must_use]
    pub fn new(log: &str, head: Option<Head>, now: Timestamp, is_signed: &'a IsSigned<'a>) -> Self {
        Self {
            is_signed,
            log: log.to_owned(),
            since: String::new(),
            now,
            next: 1,
            previous: Some(sha256(b"")),
            head,
            announced: Vec::new(),
            last: None,
            digested: Digested::default(),
            report: DigestReport::default(),
        }
    }

    /// Begins with a later digest, whose predecessors are trusted, and reads only keys after `since`.
    #[must_use]
    pub fn since(mut self, first: u64, since: &str) -> Self {
        self.next = first;
        self.previous = self.previous.filter(|_| first == 1);
        self.since = since.to_owned();
        self
    }

    /// Compares with the digests that alerts have announced: the number and the hash of each.
    #[must_use]
    pub fn announced(mut self, announced: Vec<(u64, String)>) -> Self {
        self.announced = announced;
        self
    }

    /// The number of the next digest.
    #[must_use]
    pub const fn wanted(&self) -> u64 {
        self.next
    }

    /// Adds the next digest; `false` after a bad one, because the digests after it prove nothing.
    pub fn add(&mut self, document: &[u8], signature: Option<&[u8]>) -> bool {
        if !self.report.findings.is_empty() {
            return false;
        }
        // An unsigned digest proves nothing yet, and no digest can follow it.
        if let Some((sequence, false)) = self.last {
            self.found(document_key(sequence), Damage::Unsigned);
            return false;
        }
        if let Err(damage) = self.examine(document, signature) {
            self.found(document_key(self.next), damage);
            return false;
        }
        true
    }

    fn examine(&mut self, bytes: &[u8], signature: Option<&[u8]>) -> Result<(), Damage> {
        let document = Document::parse(bytes).map_err(|_| Damage::Unreadable)?;
        let hash = sha256(bytes);
        let is_fresh = is_within(&document.made_at, self.now, DIGESTED_WITHIN);
        let is_signed = match signature {
            Some(signature) => {
                let signature = Signature::parse(signature).map_err(|_| Damage::Unreadable)?;
                if signature.document != hash || !(self.is_signed)(bytes, &signature.signature) {
                    return Err(Damage::Edited);
                }
                true
            }
            None if is_fresh => false,
            None => return Err(Damage::Unsigned),
        };
        if document.sequence != self.next {
            return Err(Damage::Reordered);
        }
        if document.log != self.log {
            return Err(Damage::Moved);
        }
        if self.previous.as_ref().is_some_and(|previous| *previous != document.previous) {
            return Err(Damage::Forked);
        }
        let head = self.head.iter().map(|head| (head.sequence, head.hash.as_str()));
        let mut announced = head.chain(self.announced.iter().map(|(sequence, hash)| (*sequence, hash.as_str())));
        if announced.any(|(sequence, known)| sequence == self.next && known != hash) {
            return Err(Damage::Forked);
        }
        self.report.documents += 1;
        self.report.last = Some(self.next);
        self.report.made_at = Some(document.made_at);
        self.report.entries += document.entries.len() as u64;
        self.last = Some((self.next, is_signed));
        if is_signed {
            let mut entries = document.entries;
            entries.retain(|entry| entry.key >= self.since);
            self.digested.take_in(entries);
        }
        self.previous = Some(hash);
        self.next += 1;
        Ok(())
    }

    fn found(&mut self, key: String, damage: Damage) {
        self.report.findings.push(Finding { key, damage });
    }

    /// Ends the verification. `later` is the number of a digest after a gap, if there is one.
    #[must_use]
    pub fn end(mut self, later: Option<u64>) -> (DigestReport, Digested) {
        if self.report.findings.is_empty() {
            let last = self.next - 1;
            let head = self.head.as_ref().map_or(0, |head| head.sequence);
            if later.is_some_and(|later| later > last) {
                self.found(document_key(self.next), Damage::Deleted);
            } else if head > last || self.announced.iter().any(|(announced, _)| *announced > last) {
                self.found(document_key(self.next), Damage::Truncated);
            } else if last > head && !self.is_at_work(last, head) {
                // Signed, but not the saved head: the saved head was reset.
                self.found(document_key(head + 1), Damage::Unnoted);
            } else if !self.is_recent() {
                self.found(document_key(self.next), Damage::Overdue);
            }
        }
        (self.report, self.digested)
    }

    fn is_at_work(&self, last: u64, head: u64) -> bool {
        last == head + 1
            && self.report.made_at.as_deref().is_some_and(|made_at| is_within(made_at, self.now, DIGESTED_WITHIN))
    }

    /// Whether the last digest is recent: digests are made hourly, even empty ones. A digest that was never made also
    /// shows as objects that are in no digest.
    fn is_recent(&self) -> bool {
        self.report.made_at.as_deref().is_none_or(|made_at| is_within(made_at, self.now, DIGESTED_WITHIN))
    }
}

/// Whether a moment is within this time before `now`. Times in the form of [`Timestamp::to_iso`] compare as texts.
fn is_within(moment: &str, now: Timestamp, longest: Duration) -> bool {
    let millis = i64::try_from(longest.as_millis()).unwrap_or(i64::MAX);
    moment >= Timestamp::from_millis(now.as_millis().saturating_sub(millis)).to_iso().as_str()
}
