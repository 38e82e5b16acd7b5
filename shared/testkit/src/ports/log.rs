//! The audit log, its digests and the quarantine, in a [`World`].

use super::{PAGE, storage};
use crate::world::World;
use async_trait::async_trait;
use domain::{
    SessionId, Timestamp,
    ports::{
        AuditLog, AuditObjects, AuditRecords, DigestSigner, DigestStore, ListedObject, LogNotice, LogNotices,
        Published, Quarantine, StorageError,
    },
    sale::AuditEntry,
};
use std::collections::BTreeMap;

#[async_trait]
impl AuditLog for World {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let write = self.boundary("log.publish", |state| match state.log.get(&entry.key) {
            Some(line) if *line == entry.line => Published::AlreadyThere,
            Some(_) => Published::Forked,
            None => {
                state.log.insert(entry.key.clone(), entry.line.clone());
                state.log_written_at.insert(entry.key.clone(), state.now);
                Published::Written
            }
        });
        let published = write.await.map_err(|_| storage("log.publish"))?;
        // Only a process that gets the reply counts the record.
        if published != Published::Forked {
            self.state().log_measurements.insert(entry.key.clone(), entry.measurements.clone());
        }
        Ok(published)
    }
}

#[async_trait]
impl AuditRecords for World {
    async fn lines(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        self.stored("log.lines", |state| {
            let found = state.log.iter().filter(|(key, _)| key.starts_with(prefix));
            found.map(|(_, line)| line.clone()).collect()
        })
        .await
    }
}

/// An object ends with a line break, as in the bucket.
#[async_trait]
impl AuditObjects for World {
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
        self.stored("log.keys", |state| {
            let keys = state.log.keys().filter(|key| key.starts_with(prefix) && key.as_str() > after);
            let written_at = |key| Timestamp::from_millis(state.log_written_at.get(key).copied().unwrap_or(0));
            keys.take(PAGE).map(|key| ListedObject { key: key.clone(), written_at: written_at(key) }).collect()
        })
        .await
    }

    async fn originals(&self, keys: &[String]) -> Result<BTreeMap<String, Vec<u8>>, StorageError> {
        self.stored("log.originals", |state| {
            let found = keys.iter().filter_map(|key| state.log_originals.get_key_value(key));
            found.map(|(key, line)| (key.clone(), format!("{line}\n").into_bytes())).collect()
        })
        .await
    }

    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let line = |line: &String| format!("{line}\n").into_bytes();
        let read = self.boundary("log.object", |state| {
            let is_readable = !state.log_unreadable.contains(key);
            is_readable.then(|| state.log.get(key).map(line)).ok_or_else(|| storage("log.object"))
        });
        read.await.unwrap_or_else(|_| Err(storage("log.object")))
    }
}

#[async_trait]
impl LogNotices for World {
    async fn receive(&self) -> Result<Vec<LogNotice>, StorageError> {
        self.stored("log_notices.receive", |state| {
            let visible = state.log_notices.iter().filter(|(handle, _)| !state.hidden_log_notices.contains(*handle));
            let notice = |(handle, body): (&String, &String)| LogNotice { handle: handle.clone(), body: body.clone() };
            let notices: Vec<LogNotice> = visible.take(PAGE).map(notice).collect();
            state.hidden_log_notices.extend(notices.iter().map(|notice| notice.handle.clone()));
            notices
        })
        .await
    }

    async fn remove(&self, handle: &str) -> Result<(), StorageError> {
        self.stored("log_notices.remove", |state| drop(state.log_notices.remove(handle))).await
    }
}

#[async_trait]
impl DigestStore for World {
    async fn keep(&self, key: &str, document: &str) -> Result<Vec<u8>, StorageError> {
        self.stored("digests.keep", |state| {
            state.digests.entry(key.to_owned()).or_insert_with(|| document.to_owned()).clone().into_bytes()
        })
        .await
    }

    async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        self.stored("digests.find", |state| state.digests.get(key).map(|text| text.clone().into_bytes())).await
    }

    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        self.stored("digests.keys", |state| {
            let keys = state.digests.keys().filter(|key| key.starts_with(prefix) && key.as_str() > after);
            keys.take(PAGE).cloned().collect()
        })
        .await
    }
}

/// Never makes the same signature twice, like ECDSA: the number of the signing, then the signed bytes.
#[async_trait]
impl DigestSigner for World {
    fn key(&self) -> &str {
        "the world's key"
    }

    async fn sign(&self, sha256: &[u8; 32]) -> Result<Vec<u8>, StorageError> {
        self.stored("digests.sign", |state| {
            state.signed.push(*sha256);
            let number = u8::try_from(state.signed.len()).unwrap_or(u8::MAX);
            [[number].as_slice(), sha256.as_slice()].concat()
        })
        .await
    }
}

#[async_trait]
impl Quarantine for World {
    async fn hold(&self, session: &SessionId, _held_at: Timestamp, payload: &str) -> Result<(), StorageError> {
        self.stored("quarantine.hold", |state| state.quarantine.push((session.clone(), payload.to_owned()))).await
    }

    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError> {
        self.stored("quarantine.held", |state| {
            let of_sale = state.quarantine.iter().filter(|(held, _)| held == session);
            of_sale.map(|(_, payload)| payload.clone()).collect()
        })
        .await
    }
}
