//! The buckets of the audit log, of the archive of first verdicts and of the quarantine.
//! The file has more than 300 lines because the three stores share one client of a bucket, which has a method for each
//! call to S3.

use crate::{
    Connection,
    attempts::{Cause, Failure, Step},
    storage,
};
use async_trait::async_trait;
use aws_sdk_s3::{Client, primitives::ByteStream};
use domain::{
    CachedVerdict, Measurement, Metric, SessionId, Timestamp,
    alert::Severity,
    ports::{AuditLog, AuditObjects, AuditRecords, ListedObject, Published, Quarantine, StorageError, VerdictArchive},
    sale::AuditEntry,
};
use futures_util::future::try_join_all;
use std::{collections::BTreeMap, sync::OnceLock};

#[derive(Debug)]
pub(crate) struct Bucket {
    connection: Connection,
    name: String,
    client: OnceLock<Client>,
}

/// The version of an object in a bucket that never had versioning.
const UNVERSIONED: &str = "null";

/// The marker after which a list begins with this key: no record's key is between the two.
fn before(key: &str) -> String {
    let mut before = key.to_owned();
    before.pop();
    before
}

/// The result of writing an object that must not exist.
pub(crate) enum Put {
    Written,
    Exists,
}

impl Bucket {
    pub(crate) const fn new(connection: Connection, name: String) -> Self {
        Self { connection, name, client: OnceLock::new() }
    }

    fn client(&self) -> &Client {
        self.client.get_or_init(|| self.connection.s3())
    }

    /// Writes an object on condition that its key is free. 412 means that the key is taken. 409 means that a write or a
    /// deletion of the key is in progress, whose result S3 does not know yet: it is a failure like any other, and the
    /// next attempt learns the result. A retry after a lost reply also gets 412 for its own write, so `Exists` does not
    /// show who wrote the object: the caller compares.
    pub(crate) async fn put_new(&self, step: Step<'_>, key: &str, body: &str) -> Result<Put, StorageError> {
        let put = || async {
            let put = self.client().put_object().bucket(&self.name).key(key).if_none_match("*");
            let put = put.content_type("application/json").body(ByteStream::from(body.as_bytes().to_vec()));
            match put.send().await {
                Ok(_) => Ok(Put::Written),
                Err(error) => match Failure::from(error) {
                    Failure { cause: Cause::Refused(Some(412)), .. } => Ok(Put::Exists),
                    failure => Err(failure),
                },
            }
        };
        self.connection.call(step, put).await
    }

    /// The keys with this prefix, in order.
    async fn keys(&self, step: Step<'_>, prefix: &str) -> Result<Vec<String>, StorageError> {
        let mut keys = Vec::new();
        let mut from: Option<String> = None;
        loop {
            let list = || async {
                let list = self.client().list_objects_v2().bucket(&self.name).prefix(prefix);
                Ok(list.set_continuation_token(from.clone()).send().await?)
            };
            let page = self.connection.call(step, list).await?;
            keys.extend(page.contents.unwrap_or_default().into_iter().filter_map(|object| object.key));
            from = page.next_continuation_token;
            if from.is_none() {
                return Ok(keys);
            }
        }
    }

    /// Deletes every version of the objects with this prefix. Returns their number. In a bucket with versioning, each
    /// object gets a delete marker first, and keeps it: S3 copies a delete marker to another region, but not the removal
    /// of a version.
    pub(crate) async fn remove_versions(&self, step: Step<'_>, prefix: &str) -> Result<u64, StorageError> {
        let versions = self.versions(step, prefix).await?;
        for (key, version) in &versions {
            if version != UNVERSIONED {
                Bucket::mark_deleted(self, step, key).await?;
            }
            let delete = || async {
                self.client().delete_object().bucket(&self.name).key(key).version_id(version).send().await?;
                Ok(())
            };
            self.connection.call(step, delete).await?;
        }
        Ok(versions.len() as u64)
    }

    async fn mark_deleted(&self, step: Step<'_>, key: &str) -> Result<(), StorageError> {
        let delete = || async {
            self.client().delete_object().bucket(&self.name).key(key).send().await?;
            Ok(())
        };
        self.connection.call(step, delete).await
    }

    /// One page of the objects with this prefix after `after`, in order.
    pub(crate) async fn page(
        &self,
        step: Step<'_>,
        prefix: &str,
        after: &str,
    ) -> Result<Vec<ListedObject>, StorageError> {
        let list = || async {
            let list = self.client().list_objects_v2().bucket(&self.name).prefix(prefix);
            Ok(list.start_after(after).send().await?)
        };
        let page = self.connection.call(step, list).await?;
        let listed = |object: aws_sdk_s3::types::Object| {
            let written_at = object.last_modified.and_then(|moment| moment.to_millis().ok()).unwrap_or_default();
            Some(ListedObject { key: object.key?, written_at: Timestamp::from_millis(written_at) })
        };
        Ok(page.contents.unwrap_or_default().into_iter().filter_map(listed).collect())
    }

    /// The versions of the objects with this prefix, newest first, as key and id, without delete markers.
    pub(crate) async fn versions(&self, step: Step<'_>, prefix: &str) -> Result<Vec<(String, String)>, StorageError> {
        let mut versions = Vec::new();
        let mut from: Option<(Option<String>, Option<String>)> = None;
        loop {
            let list = || async {
                let list = self.client().list_object_versions().bucket(&self.name).prefix(prefix);
                let (key, version) = from.clone().unwrap_or_default();
                Ok(list.set_key_marker(key).set_version_id_marker(version).send().await?)
            };
            let page = self.connection.call(step, list).await?;
            let found = page.versions.unwrap_or_default().into_iter();
            let id = |id: Option<String>| id.unwrap_or_else(|| UNVERSIONED.to_owned());
            versions.extend(found.filter_map(|version| Some((version.key?, id(version.version_id)))));
            if page.is_truncated != Some(true) {
                return Ok(versions);
            }
            from = Some((page.next_key_marker, page.next_version_id_marker));
        }
    }

    /// The versions of these objects, newest first, without delete markers. The keys are in order. Each list begins at the
    /// next of these keys, so that the work depends on them and not on the number of objects between them.
    async fn versions_of(
        &self,
        step: Step<'_>,
        keys: &[String],
    ) -> Result<BTreeMap<String, Vec<String>>, StorageError> {
        let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(versions) };
        let start = before(first);
        let prefix: String = start.chars().zip(last.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
        let mut from = (start, None);
        let mut wanted = keys;
        loop {
            let list = || async {
                let list = self.client().list_object_versions().bucket(&self.name).prefix(&prefix);
                let (key, version) = from.clone();
                Ok(list.key_marker(key).set_version_id_marker(version).send().await?)
            };
            let page = self.connection.call(step, list).await?;
            for version in page.versions.unwrap_or_default() {
                let id = version.version_id.unwrap_or_else(|| UNVERSIONED.to_owned());
                if let Some(key) = version.key.filter(|key| wanted.binary_search(key).is_ok()) {
                    versions.entry(key).or_default().push(id);
                }
            }
            let end = page.next_key_marker.filter(|_| page.is_truncated == Some(true));
            let Some(end) = end else { return Ok(versions) };
            wanted = &wanted[wanted.partition_point(|key| *key < end)..];
            let Some(next) = wanted.first() else { return Ok(versions) };
            // The page may have ended between two versions of an object.
            from = if *next == end { (end, page.next_version_id_marker) } else { (before(next).max(end), None) };
        }
    }

    /// The bytes of one version of an object.
    async fn get_version(&self, step: Step<'_>, key: &str, version: &str) -> Result<Vec<u8>, StorageError> {
        let get = || async {
            let get = self.client().get_object().bucket(&self.name).key(key).version_id(version);
            Ok(get.send().await?.body.collect().await.map_err(Failure::other)?.to_vec())
        };
        self.connection.call(step, get).await
    }

    /// The texts of the objects with this prefix, ordered by key.
    async fn texts(&self, step: Step<'_>, prefix: &str) -> Result<Vec<String>, StorageError> {
        let mut texts = Vec::new();
        for key in self.keys(step, prefix).await? {
            let Some(body) = self.get(step, &key).await? else { continue };
            texts.push(String::from_utf8(body).map_err(|error| storage(step.name, error))?);
        }
        Ok(texts)
    }

    /// The whole object: an attempt's time-out covers its last byte too.
    pub(crate) async fn get(&self, step: Step<'_>, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let get = || async {
            match self.client().get_object().bucket(&self.name).key(key).send().await {
                Ok(object) => Ok(Some(object.body.collect().await.map_err(Failure::other)?.to_vec())),
                Err(error) if error.as_service_error().is_some_and(|e| e.is_no_such_key()) => Ok(None),
                Err(error) => Err(Failure::from(error)),
            }
        };
        self.connection.call(step, get).await
    }
}

/// The alert in place of `AuthorityEscalatedAlarm`.
const ESCALATED: &str =
    "the authority gate blocked a text about harm to a child: oracle authority escalations --since 1d";

const READ: Step<'static> = Step { name: "audit read", operation: "AUDIT_READ", subject: "-" };

/// The append-only log: one immutable object per record.
#[derive(Debug)]
pub struct S3AuditLog(Bucket);

impl S3AuditLog {
    /// The log in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }

    async fn write(&self, step: Step<'_>, key: &str, line: &str) -> Result<Published, StorageError> {
        match self.0.put_new(step, key, line).await? {
            Put::Written => Ok(Published::Written),
            Put::Exists => match self.0.get(Step { name: "audit read", ..step }, key).await? {
                Some(found) if found == line.as_bytes() => Ok(Published::AlreadyThere),
                Some(_) => Ok(Published::Forked),
                None => Err(storage("audit write", std::io::Error::other("the key is taken, but has no object"))),
            },
        }
    }

    /// Counts a record that is in the log. Nobody knows whether the process that wrote it lived to count it, so a record
    /// that was there already counts too: an alarm must not miss one. Only a function's output becomes metrics;
    /// elsewhere an alert takes the place of the alarm that operators must see at once.
    async fn count(&self, step: Step<'_>, measurements: &[Measurement]) {
        let connection = &self.0.connection;
        connection.measure(measurements);
        if !connection.is_function && measurements.iter().any(|it| it.metric == Metric::AuthorityEscalated) {
            let step = Step { operation: "AUTHORITY", ..step };
            connection.raise_alert(step, Severity::Critical, ESCALATED).await;
        }
    }
}

#[async_trait]
impl AuditLog for S3AuditLog {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let line = format!("{}\n", entry.line);
        // `{day}/{kind}/{subject}/{number}.json`: for a session, the alert contains its prefix.
        let subject = entry.key.split('/').nth(2).unwrap_or("-");
        let step = Step { name: "audit write", operation: "AUDIT_WRITE", subject };
        let published = self.write(step, &entry.key, &line).await;
        match &published {
            Ok(Published::Written | Published::AlreadyThere) => self.count(step, &entry.measurements).await,
            Ok(Published::Forked) | Err(_) => self.0.connection.measure(&[Metric::AuditWriteFailed.once()]),
        }
        published
    }
}

#[async_trait]
impl AuditRecords for S3AuditLog {
    async fn lines(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        self.0.texts(READ, prefix).await
    }
}

/// The number of a stream's objects that are read concurrently, because the time is spent waiting; most streams have
/// fewer.
const AT_ONCE: usize = 16;

#[async_trait]
impl AuditObjects for S3AuditLog {
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
        self.0.page(READ, prefix, after).await
    }

    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        self.0.get(READ, key).await
    }

    async fn originals(&self, keys: &[String]) -> Result<BTreeMap<String, Vec<u8>>, StorageError> {
        let mut originals = BTreeMap::new();
        for (key, versions) in self.0.versions_of(READ, keys).await? {
            let [_, .., first] = versions.as_slice() else { continue };
            originals.insert(key.clone(), Bucket::get_version(&self.0, READ, &key, first).await?);
        }
        Ok(originals)
    }

    async fn objects(&self, keys: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, StorageError> {
        let mut found = Vec::with_capacity(keys.len());
        for some in keys.chunks(AT_ONCE) {
            let read = try_join_all(some.iter().map(|key| self.object(key))).await?;
            found.extend(some.iter().cloned().zip(read).filter_map(|(key, bytes)| Some((key, bytes?))));
        }
        Ok(found)
    }
}

/// The archive's bucket: first verdicts, dead letters and the indexes of corpora.
#[derive(Debug)]
pub struct S3Archive(pub(crate) Bucket);

impl S3Archive {
    /// The archive in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }

    fn key(session: &SessionId) -> String {
        format!("verdicts/{}.json", session.as_str())
    }
}

#[async_trait]
impl VerdictArchive for S3Archive {
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError> {
        let body = serde_json::to_string(verdict).map_err(|error| storage("archive write", error))?;
        let step = Step { name: "archive write", operation: "ARCHIVE_WRITE", subject: session.reference() };
        self.0.put_new(step, &Self::key(session), &body).await.map(drop)
    }

    /// An archived verdict that cannot be read counts as missing, so that the customer is served by other means. It
    /// stays in place: an archived object is never replaced.
    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError> {
        let step = Step { name: "archive read", operation: "ARCHIVE_READ", subject: session.reference() };
        let Some(body) = self.0.get(step, &Self::key(session)).await? else { return Ok(None) };
        let verdict = serde_json::from_slice(&body).ok();
        if verdict.is_none() {
            self.0
                .connection
                .raise_alert(step, Severity::Critical, "corrupt archived verdict: it counts as none")
                .await;
        }
        Ok(verdict)
    }

    async fn listed(&self, after: Option<&SessionId>, most: usize) -> Result<Vec<SessionId>, StorageError> {
        let step = Step { name: "archive list", operation: "ARCHIVE_READ", subject: "-" };
        let session = |key: &str| SessionId::parse(key.strip_prefix("verdicts/")?.strip_suffix(".json")?).ok();
        let mut after = after.map(Self::key).unwrap_or_default();
        loop {
            let page = self.0.page(step, "verdicts/", &after).await?;
            let sessions: Vec<SessionId> = page.iter().filter_map(|object| session(&object.key)).take(most).collect();
            // A page of other objects alone is not the archive's end.
            match page.last() {
                Some(last) if sessions.is_empty() => after.clone_from(&last.key),
                _ => return Ok(sessions),
            }
        }
    }
}

/// Held payloads.
#[derive(Debug)]
pub struct S3Quarantine(Bucket);

impl S3Quarantine {
    /// The quarantine in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }
}

#[async_trait]
impl Quarantine for S3Quarantine {
    async fn hold(&self, session: &SessionId, held_at: Timestamp, payload: &str) -> Result<(), StorageError> {
        // A second hold of one sale in the same millisecond can only be a repetition of the first.
        let key = format!("held/{}/{}.json", session.as_str(), held_at.as_millis());
        let step = Step { name: "quarantine write", operation: "QUARANTINE_WRITE", subject: session.reference() };
        self.0.put_new(step, &key, payload).await.map(drop)
    }

    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError> {
        let step = Step { name: "quarantine read", operation: "QUARANTINE_READ", subject: session.reference() };
        self.0.texts(step, &format!("held/{}/", session.as_str())).await
    }
}

#[cfg(test)]
mod tests;
