//! Compares some of the log with its digests again. This finds a record that was overwritten or deleted after its
//! digest even if the bucket's message about it was lost, and it notices when the original is restored.

use crate::{
    Ports,
    alert::alert,
    limits::{AT_ONCE, UNREADABLE},
    state::DigestState,
};
use audit::{Notebook, Noted, hash::sha256};
use audit_verify::{
    recheck::{Compared, names},
    signed_digest::{Document, Entry, document_key},
};
use domain::{
    StepError,
    alert::Severity,
    ports::{StorageError, Versioned},
};
use futures_util::future::join_all;
use serde_json::json;

/// A round ends within this number of hourly runs, which is 25 days, however long the log is: `oracle status` reports a
/// log that no round has found sound for 30 days. A fixed number of objects in each run would fall behind a log that
/// grows faster.
const RUNS_OF_A_ROUND: u64 = 600;

/// Continues where the last run ended. Compares at least about `least` objects, and enough digests for the round to end
/// in time. An object that cannot be read is left out and reported: it must not keep the comparison from all others.
pub(crate) async fn recheck(
    ports: Ports<'_>,
    notebook: Versioned<Notebook<DigestState>>,
    least: usize,
) -> Result<Versioned<Notebook<DigestState>>, StepError> {
    let Some(head) = notebook.value.memory.head.as_ref().map(|head| head.sequence) else { return Ok(notebook) };
    let from = notebook.value.memory.recheck.from(head, ports.journal.clock.now());
    let (mut next, mut read, mut compared) = (from.next, 0, Compared::default());
    // One more for the digest that each run adds.
    let part = from.next + 1 + head.div_ceil(RUNS_OF_A_ROUND);
    while next <= head && (read < least || next < part) {
        match ports.digests.find(&document_key(next)).await {
            Ok(stored) => match stored.and_then(|stored| Document::parse(&stored).ok()) {
                Some(document) => {
                    read += document.entries.len();
                    compare(ports, &document.entries, &mut compared).await?;
                }
                None => drop(compared.bad.insert(document_key(next))),
            },
            Err(error) => leave(document_key(next), error, &mut compared)?,
        }
        next += 1;
    }
    let save_round = |state: &mut DigestState, now| {
        let mut recheck = from.clone();
        // Another run may have announced findings since this one began.
        recheck.remember(&state.recheck.known);
        let changes = recheck.take_in(&compared, next, head);
        let mut facts = json!({
            "digests": [from.next, next - 1], "objects": read, "bad": compared.bad.len(), "sound_at": recheck.sound_at,
        });
        if !compared.unread.is_empty() {
            facts["unread"] = compared.unread.len().into();
        }
        state.recheck = recheck;
        let mut noted = Noted::save(()).recording("log_rechecked", facts);
        if !changes.bad.is_empty() {
            let detail = format!("not as its digest says: {}; oracle audit verify", names(&changes.bad));
            noted = noted.alerting(alert(Severity::Critical, now, "tampered", &detail));
        }
        if !compared.unread.is_empty() {
            let detail = format!("cannot be read to compare them: {}", names(&compared.unread));
            noted = noted.alerting(alert(Severity::Warn, now, "unread", &detail));
        }
        if !changes.good_again.is_empty() {
            let detail = format!("as its digest says again: {}", names(&changes.good_again));
            noted = noted.alerting(alert(Severity::Warn, now, "restored", &detail));
        }
        noted
    };
    let (notebook, ()) = ports.journal.commit(notebook, save_round).await?.settle().await;
    Ok(notebook)
}

async fn compare(ports: Ports<'_>, entries: &[Entry], compared: &mut Compared) -> Result<(), StorageError> {
    for entries in entries.chunks(AT_ONCE) {
        let read = join_all(entries.iter().map(|entry| ports.log.object(&entry.key))).await;
        for (entry, bytes) in entries.iter().zip(read) {
            // The digest has no hash for this object, and an alert reported that at the time: there is nothing to
            // compare.
            let Some(signed) = &entry.sha256 else { continue };
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(error) => {
                    leave(entry.key.clone(), error, compared)?;
                    continue;
                }
            };
            let is_good = bytes.is_some_and(|bytes| sha256(&bytes) == *signed);
            let set = if is_good { &mut compared.good } else { &mut compared.bad };
            set.insert(entry.key.clone());
        }
    }
    Ok(())
}

/// Counts an object that cannot be read. With too many, the store itself is failing.
fn leave(key: String, error: StorageError, compared: &mut Compared) -> Result<(), StorageError> {
    if compared.unread.len() >= UNREADABLE {
        return Err(error);
    }
    compared.unread.insert(key);
    Ok(())
}
