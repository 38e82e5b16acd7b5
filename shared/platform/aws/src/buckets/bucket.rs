//! One bucket of S3.

use crate::{
    Connection,
    attempts::{Cause, Failure, Step},
    storage,
};
use aws_sdk_s3::{Client, primitives::ByteStream};
use domain::{
    Timestamp,
    ports::{ListedObject, StorageError},
};
use std::{collections::BTreeMap, sync::OnceLock};

/// A bucket, with a method for each call to S3.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(super) connection: Connection,
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
    pub(super) async fn versions_of(
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
    pub(super) async fn get_version(&self, step: Step<'_>, key: &str, version: &str) -> Result<Vec<u8>, StorageError> {
        let get = || async {
            let get = self.client().get_object().bucket(&self.name).key(key).version_id(version);
            Ok(get.send().await?.body.collect().await.map_err(Failure::other)?.to_vec())
        };
        self.connection.call(step, get).await
    }

    /// The texts of the objects with this prefix, ordered by key.
    pub(super) async fn texts(&self, step: Step<'_>, prefix: &str) -> Result<Vec<String>, StorageError> {
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
