//! One run: end what an earlier run began, then digest what is new.

use crate::keys;
use audit::{
    CommitError, FunctionJournal, Notebook, Noted,
    digest::sha256,
    signed_digest::{Document, Entry, Head, Signature, document_key, next, signature_key},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use domain::{
    Alert,
    alert::Severity,
    ports::{AuditObjects, DigestSigner, DigestStore, LogNotices, StorageError, Versioned},
};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;

/// Objects that are read, and messages that are removed, at once.
const AT_ONCE: usize = 32;

/// How much one run does.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Objects that one digest names; more go into the next one.
    pub entries: usize,
    /// Digests that one run makes; what is left waits for the next run.
    pub documents: usize,
}

/// What the function remembers, away from the log and from the digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The last digest.
    pub head: Option<Head>,
    /// The day (UTC) on which operators were last told of a head.
    pub announced: Option<String>,
}

/// What a run needs.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: FunctionJournal<'a>,
    /// The log's bucket.
    pub bucket: &'a str,
    pub log: &'a dyn AuditObjects,
    pub notices: &'a dyn LogNotices,
    pub digests: &'a dyn DigestStore,
    pub signer: &'a dyn DigestSigner,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Digests that were ended.
    pub documents: u64,
    /// Objects that they name.
    pub entries: u64,
    /// Messages that are none of S3's: they end in the dead-letter queue.
    pub unreadable: u64,
    /// Whether another run is at work, which goes on.
    pub overtaken: bool,
}

/// Why a run ended early. What it stored is ended by the next one.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A store, the queue or the key service failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The head could not be noted.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The place of the next digest is taken by something that this function did not put there.
    #[error("digest {0} is stored and is not ours to sign")]
    Foreign(u64),
}

/// Digests what is new. Every run makes a digest, an empty one too: so a silence is told from an hour without sales.
///
/// # Errors
/// [`RunError`].
pub async fn run(ports: Ports<'_>, limits: Limits) -> Result<Summary, RunError> {
    let mut memory = ports.journal.load::<Memory>().await?;
    let mut summary = Summary::default();
    for _ in 0..limits.documents {
        memory = end_what_was_begun(ports, memory, &mut summary).await?;
        let batch = collect(ports, limits.entries, &mut summary).await?;
        let head = memory.value.memory.head.clone();
        let entries = entries(ports, batch.keys()).await?;
        let ours = Document::following(head.as_ref(), ports.bucket, ports.journal.clock.now(), entries);
        let stored = ports.digests.keep(&document_key(ours.sequence), &ours.bytes()).await?;
        summary.overtaken = stored != ours.bytes().as_bytes();
        let document = if summary.overtaken { checked(ports, head.as_ref(), &stored).await? } else { ours };
        memory = end(ports, memory, &stored, &document, &mut summary).await?;
        // Not what was collected but what is signed may be forgotten: the two differ where another run was quicker.
        let done = batch.done(&document.keys());
        for handles in done.chunks(AT_ONCE) {
            let removals = handles.iter().map(|handle| ports.notices.remove(handle));
            join_all(removals).await.into_iter().collect::<Result<(), _>>()?;
        }
        if !batch.is_full || summary.overtaken {
            break;
        }
    }
    Ok(summary)
}

/// Ends digests that were stored and not noted. Whoever stored them may not have been this function, so each is
/// compared with the log before it is signed.
async fn end_what_was_begun(
    ports: Ports<'_>,
    mut memory: Versioned<Notebook<Memory>>,
    summary: &mut Summary,
) -> Result<Versioned<Notebook<Memory>>, RunError> {
    while let Some(stored) = ports.digests.find(&document_key(next(memory.value.memory.head.as_ref()))).await? {
        let document = checked(ports, memory.value.memory.head.as_ref(), &stored).await?;
        memory = end(ports, memory, &stored, &document, summary).await?;
    }
    Ok(memory)
}

/// A stored digest that this run did not make: it must follow the head, and say what the log says.
async fn checked(ports: Ports<'_>, head: Option<&Head>, stored: &[u8]) -> Result<Document, RunError> {
    let foreign = || RunError::Foreign(next(head));
    let document = Document::parse(stored).map_err(|_| foreign())?;
    let keys = document.keys().into_iter().map(str::to_owned).collect();
    let is_ours = document.follows(head, ports.bucket) && entries(ports, keys).await? == document.entries;
    if is_ours { Ok(document) } else { Err(foreign()) }
}

/// Messages, and the keys they speak of.
#[derive(Default)]
struct Batch {
    messages: Vec<(String, Vec<String>)>,
    is_full: bool,
}

impl Batch {
    fn keys(&self) -> BTreeSet<String> {
        self.messages.iter().flat_map(|(_, keys)| keys.iter().cloned()).collect()
    }

    /// The messages all of whose keys are among these.
    fn done(&self, digested: &BTreeSet<&str>) -> Vec<String> {
        let is_done = |keys: &[String]| keys.iter().all(|key| digested.contains(key.as_str()));
        self.messages.iter().filter(|(_, keys)| is_done(keys)).map(|(handle, _)| handle.clone()).collect()
    }
}

/// Takes messages until none wait or a digest is full.
async fn collect(ports: Ports<'_>, limit: usize, summary: &mut Summary) -> Result<Batch, RunError> {
    let mut batch = Batch::default();
    let mut count = 0;
    while count < limit {
        let notices = ports.notices.receive().await?;
        if notices.is_empty() {
            return Ok(batch);
        }
        for notice in notices {
            match keys(&notice.body, ports.bucket) {
                Ok(keys) => {
                    count += keys.len();
                    batch.messages.push((notice.handle, keys));
                }
                Err(error) => {
                    summary.unreadable += 1;
                    tracing::error!(%error, "a message that says nothing of the log is left to the dead letters");
                }
            }
        }
    }
    batch.is_full = true;
    Ok(batch)
}

async fn entries(ports: Ports<'_>, keys: BTreeSet<String>) -> Result<Vec<Entry>, StorageError> {
    let keys: Vec<String> = keys.into_iter().collect();
    let mut entries = Vec::with_capacity(keys.len());
    for keys in keys.chunks(AT_ONCE) {
        let read = join_all(keys.iter().map(|key| ports.log.object(key))).await;
        for (key, bytes) in keys.iter().zip(read) {
            entries.push(Entry::of(key, bytes?.as_deref()));
        }
    }
    Ok(entries)
}

/// Signs a stored digest, unless it is signed already, and notes it as the head.
async fn end(
    ports: Ports<'_>,
    memory: Versioned<Notebook<Memory>>,
    stored: &[u8],
    document: &Document,
    summary: &mut Summary,
) -> Result<Versioned<Notebook<Memory>>, RunError> {
    let sequence = document.sequence;
    let hash = sha256(stored);
    let signature = match ports.digests.find(&signature_key(sequence)).await? {
        Some(found) => found,
        None => {
            let signature = STANDARD.encode(ports.signer.sign(&sha256_bytes(stored)).await?);
            let signature = Signature::of(sequence, &hash, ports.signer.key(), &signature).bytes();
            // Two runs may both sign: the signature that was stored first is the digest's.
            ports.digests.keep(&signature_key(sequence), &signature).await?
        }
    };
    let signature = Signature::parse(&signature).ok().filter(|signature| signature.document == hash);
    let signature = signature.ok_or(RunError::Foreign(sequence))?.signature;
    let head = Head { sequence, hash, signature, made_at: document.made_at.clone() };
    let gone = document.entries.iter().filter(|entry| entry.sha256.is_none()).count();
    let now = ports.journal.clock.now();
    let note = |memory: &mut Memory| note(memory, &head, document.entries.len(), gone, now);
    let (memory, ()) = ports.journal.commit(memory, note).await?;
    summary.documents += 1;
    summary.entries += document.entries.len() as u64;
    Ok(memory)
}

fn sha256_bytes(bytes: &[u8]) -> [u8; 32] {
    let mut raw = [0; 32];
    // The text is the hash's own.
    let _ = hex::decode_to_slice(sha256(bytes), &mut raw);
    raw
}

/// Notes the head, tells the log of it, and once a day the operators: their mailbox is out of everybody's reach who
/// could set back table, log and digests together.
fn note(memory: &mut Memory, head: &Head, entries: usize, gone: usize, now: domain::Timestamp) -> Noted<()> {
    if memory.head.as_ref().is_some_and(|known| known.sequence >= head.sequence) {
        return Noted::nothing(());
    }
    memory.head = Some(head.clone());
    let mut alerts = Vec::new();
    // Two subjects: what is critical must not hold back the line that operators keep.
    let alert =
        |severity, subject: &str, detail: &str| Alert::about("ORACLE-AUDIT", severity, now, "DIGEST", subject, detail);
    if gone > 0 {
        let detail =
            format!("{gone} record(s) were gone from the log before they could be digested (digest {})", head.sequence);
        alerts.push(alert(Severity::Critical, "-", &detail));
    }
    if memory.announced.as_ref() != Some(&now.to_date()) {
        memory.announced = Some(now.to_date());
        let detail = format!("head of the log's digests, keep it: {}:{}", head.sequence, head.hash);
        alerts.push(alert(Severity::Warn, "head", &detail));
    }
    let facts = json!({
        "sequence": head.sequence, "hash": head.hash, "signature": head.signature, "entries": entries, "gone": gone,
    });
    alerts.into_iter().fold(Noted::save(()).recording("log_digested", facts), Noted::alerting)
}

#[cfg(test)]
mod tests;
