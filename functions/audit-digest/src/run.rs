//! One run: completes a digest that an earlier run began, then digests new objects.

use crate::{
    Ports,
    alert::alert,
    batch::{Versions, collect},
    limits::{AT_ONCE, Limits, Summary, UNREADABLE},
    recheck::recheck,
    state::DigestState,
};
use audit::{
    Notebook, Noted,
    hash::{sha256, sha256_raw},
};
use audit_verify::{
    copies,
    recheck::names,
    signed_digest::{Document, Entry, Head, Signature, document_key, next, signature_key},
    stream::stream_of,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use domain::{
    ErrorCode, Metric, StepError,
    alert::Severity,
    ports::{StorageError, Versioned},
};
use futures_util::future::join_all;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Digests new objects. Every run makes a digest, even an empty one, so that a missing digest differs from an hour
/// without sales.
///
/// # Errors
/// [`StepError`]: the next run completes what was stored.
pub(crate) async fn run(ports: Ports<'_>, limits: Limits) -> Result<Summary, StepError> {
    let mut notebook = ports.journal.load::<DigestState>().await?;
    let mut summary = Summary::default();
    let mut versions = Versions::default();
    for _ in 0..limits.documents {
        notebook = complete_stored_digests(ports, notebook, &mut summary).await?;
        let batch = collect(ports, limits, &mut versions, &mut summary).await?;
        let head = notebook.value.memory.head.clone();
        let Read { entries, unread, overwritten, lines, .. } =
            read(ports, batch.keys(limits.bytes), UNREADABLE).await?;
        // Where the bucket still has the first version of an overwritten object, that version is digested.
        let entry = |entry: Entry| if overwritten.contains(&entry.key) { entry } else { versions.entry(entry) };
        let entries = entries.into_iter().map(entry).collect();
        let left = batch.too_long(limits.bytes) + unread;
        summary.left += left as u64;
        let ours = Document::following(head.as_ref(), ports.bucket, ports.journal.clock.now(), entries);
        let stored = ports.digests.keep(&document_key(ours.sequence), &ours.bytes()).await?;
        summary.overtaken = stored != ours.bytes().as_bytes();
        let (document, overwritten, lines) = if summary.overtaken {
            let (document, read) = checked(ports, head.as_ref(), &stored).await?;
            (document, read.overwritten, read.lines)
        } else {
            (ours, overwritten, lines)
        };
        let copy = copies::copy(&document, &lines);
        let ending = Ending { stored: &stored, document: &document, copy, missed: Missed { left, overwritten } };
        notebook = end(ports, notebook, ending, &mut summary).await?;
        // Removes the messages of the objects that were signed, not of those that were collected: the two differ when
        // another run stored its digest first.
        let done = batch.done(&document.keys());
        for handles in done.chunks(AT_ONCE) {
            let removals = handles.iter().map(|handle| ports.notices.remove(handle));
            join_all(removals).await.into_iter().collect::<Result<(), _>>()?;
        }
        if !batch.is_full || summary.overtaken {
            break;
        }
    }
    // Counted before the comparison: its failure does not undo the digest.
    ports.meter.record(&[Metric::Digested.once()], ports.journal.clock.now());
    recheck(ports, notebook, limits.rechecked).await?;
    Ok(summary)
}

/// Completes digests that were stored but not saved as the head. Another program may have stored them, so each is
/// compared with the log before it is signed.
async fn complete_stored_digests(
    ports: Ports<'_>,
    mut notebook: Versioned<Notebook<DigestState>>,
    summary: &mut Summary,
) -> Result<Versioned<Notebook<DigestState>>, StepError> {
    while let Some(stored) = ports.digests.find(&document_key(next(notebook.value.memory.head.as_ref()))).await? {
        let (document, read) = checked(ports, notebook.value.memory.head.as_ref(), &stored).await?;
        let copy = copies::copy(&document, &read.lines);
        let missed = Missed { left: 0, overwritten: read.overwritten };
        notebook = end(ports, notebook, Ending { stored: &stored, document: &document, copy, missed }, summary).await?;
    }
    Ok(notebook)
}

/// The error of a run that finds a document in the place of the next digest that this function did not store there.
fn foreign(sequence: u64) -> StepError {
    ErrorCode::Malformed.because(format!("digest {sequence} is stored and is not ours to sign"))
}

/// Checks a stored digest that this run did not make: it must follow the head and agree with the log. An entry without
/// a hash always agrees, because an object that was missing then may have been restored since.
async fn checked(ports: Ports<'_>, head: Option<&Head>, stored: &[u8]) -> Result<(Document, Read), StepError> {
    let foreign = || foreign(next(head));
    let document = Document::parse(stored).map_err(|_| foreign())?;
    let keys = document.keys().into_iter().map(str::to_owned).collect();
    let read = read(ports, keys, 0).await?;
    let agree = |(said, found): (&Entry, &Entry)| said == found || *said == Entry::of(&found.key, None);
    let is_true = read.entries.len() == document.entries.len() && document.entries.iter().zip(&read.entries).all(agree);
    let is_ours = document.follows(head, ports.bucket) && is_true;
    if is_ours { Ok((document, read)) } else { Err(foreign()) }
}

/// The result of reading some objects.
#[derive(Default)]
struct Read {
    /// The entries, ordered by key.
    entries: Vec<Entry>,
    /// The number of objects that could not be read.
    unread: usize,
    /// The keys of objects that were overwritten. Their entries hash the original bytes, so that no digest ever signs
    /// the replacement.
    overwritten: BTreeSet<String>,
    /// The bytes that the entries hash, as far as a copy holds them, and their total length.
    lines: BTreeMap<String, Vec<u8>>,
    held: usize,
}

impl Read {
    /// Adds an object's entry, and its bytes unless the copy is full.
    fn add(&mut self, key: &str, bytes: Option<&[u8]>) {
        self.entries.push(Entry::of(key, bytes));
        if let Some(bytes) = bytes.filter(|bytes| self.held + bytes.len() <= copies::MOST_BYTES) {
            self.held += bytes.len();
            self.lines.insert(key.to_owned(), bytes.to_vec());
        }
    }
}

/// Reads these objects; fails when more than `tolerated` are unreadable.
async fn read(ports: Ports<'_>, keys: BTreeSet<String>, tolerated: usize) -> Result<Read, StorageError> {
    let keys: Vec<String> = keys.into_iter().collect();
    // The keys of one stream are neighbours, so that their versions are found in few lists. Nothing else of a stream is
    // asked for: strangers can make it grow.
    let streams: Vec<&[String]> = keys.chunk_by(|one, next| stream_of(one) == stream_of(next)).collect();
    let mut originals = BTreeMap::new();
    for streams in streams.chunks(AT_ONCE) {
        for found in join_all(streams.iter().map(|keys| ports.log.originals(keys))).await {
            originals.extend(found?);
        }
    }
    let mut all = Read::default();
    for keys in keys.chunks(AT_ONCE) {
        let read = join_all(keys.iter().map(|key| ports.log.object(key))).await;
        for (key, bytes) in keys.iter().zip(read) {
            match (bytes, originals.get(key)) {
                (Ok(bytes), Some(original)) => {
                    if bytes.as_ref() != Some(original) {
                        all.overwritten.insert(key.clone());
                    }
                    all.add(key, Some(original));
                }
                (Ok(bytes), None) => all.add(key, bytes.as_deref()),
                (Err(_), _) if all.unread < tolerated => all.unread += 1,
                (Err(error), _) => return Err(error),
            }
        }
    }
    Ok(all)
}

/// A stored digest that is to be completed.
struct Ending<'a> {
    stored: &'a [u8],
    document: &'a Document,
    /// The lines of its records.
    copy: String,
    missed: Missed,
}

/// Signs a stored digest, unless it is signed already, stores the copy of its records, and saves it as the head.
async fn end(
    ports: Ports<'_>,
    notebook: Versioned<Notebook<DigestState>>,
    Ending { stored, document, copy, missed }: Ending<'_>,
    summary: &mut Summary,
) -> Result<Versioned<Notebook<DigestState>>, StepError> {
    let sequence = document.sequence;
    let hash = sha256(stored);
    let signature = match ports.digests.find(&signature_key(sequence)).await? {
        Some(found) => found,
        None => {
            let signature = STANDARD.encode(ports.signer.sign(&sha256_raw(stored)).await?);
            let signature = Signature::of(sequence, &hash, ports.signer.key(), &signature).bytes();
            // Two runs may both sign. The signature that was stored first counts.
            ports.digests.keep(&signature_key(sequence), &signature).await?
        }
    };
    let signature = Signature::parse(&signature).ok().filter(|signature| signature.document == hash);
    let signature = signature.ok_or_else(|| foreign(sequence))?.signature;
    if !copy.is_empty() {
        ports.digests.keep(&copies::copy_key(document), &copy).await?;
    }
    let head = Head { sequence, hash, signature, made_at: document.made_at.clone() };
    let gone = document.entries.iter().filter(|entry| entry.sha256.is_none()).count();
    let counts = Counts { entries: document.entries.len(), gone, missed };
    let committed =
        ports.journal.commit(notebook, |state: &mut DigestState, now| save_head(state, &head, &counts, now)).await?;
    let (notebook, ()) = committed.settle().await;
    summary.documents += 1;
    summary.entries += document.entries.len() as u64;
    Ok(notebook)
}

/// The number of objects left for a later digest, and the keys of the overwritten ones.
struct Missed {
    left: usize,
    overwritten: BTreeSet<String>,
}

/// Counts over one digest: its entries, and those whose object was missing or overwritten.
struct Counts {
    entries: usize,
    gone: usize,
    missed: Missed,
}

/// Saves the head and records it in the log. Once a day an alert also sends it to operators: an attacker who could
/// reset the table, the log and the digests together cannot reach their mailbox.
fn save_head(state: &mut DigestState, head: &Head, counts: &Counts, now: domain::Timestamp) -> Noted<()> {
    let Counts { entries, gone, missed: Missed { left, overwritten } } = counts;
    let sequence = head.sequence;
    let mut alerts = Vec::new();
    let alert = |severity, subject: &str, detail: &str| alert(severity, now, subject, detail);
    if !overwritten.is_empty() {
        let what = format!("written over: {} (digest {sequence}); oracle audit verify", names(overwritten));
        alerts.push(alert(Severity::Critical, "overwritten", &what));
        state.recheck.remember(overwritten);
    }
    if *gone > 0 {
        let what = "gone from the log or written over before they could be digested";
        alerts.push(alert(Severity::Critical, "gone", &format!("{gone} record(s) were {what} (digest {sequence})")));
    }
    if *left > 0 {
        let what = "too long to be records, or cannot be read: they are in no digest";
        alerts.push(alert(
            Severity::Critical,
            "left",
            &format!("{left} object(s) of the log are {what} (digest {sequence})"),
        ));
    }
    if state.head.as_ref().is_some_and(|known| known.sequence >= sequence) {
        // Another run has saved this head already, perhaps without seeing these problems.
        return Noted::nothing(()).alerting_all(alerts);
    }
    state.head = Some(head.clone());
    if state.announced.as_ref() != Some(&now.to_date()) {
        state.announced = Some(now.to_date());
        let detail = format!("head of the log's digests, keep it: {sequence}:{}", head.hash);
        alerts.push(alert(Severity::Warn, "head", &detail));
    }
    let facts = json!({
        "sequence": sequence, "hash": head.hash, "signature": head.signature, "entries": entries, "gone": gone,
        "left": left, "overwritten": overwritten.len(),
    });
    Noted::save(()).recording("log_digested", facts).alerting_all(alerts)
}

#[cfg(test)]
mod tests;
