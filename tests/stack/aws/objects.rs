//! The buckets' objects.

use super::Aws;
use aws_sdk_s3::primitives::ByteStream;

/// An object's version from before it was damaged.
#[must_use]
pub(crate) struct Undamaged {
    bucket: &'static str,
    key: String,
    version: String,
}

impl Aws {
    /// The keys of a bucket that contain `part`, in order.
    pub(crate) async fn keys(&self, bucket: &str, part: &str) -> Vec<String> {
        let mut pages = self.s3.list_objects_v2().bucket(self.output(bucket)).into_paginator().send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            let objects = page.expect("the bucket can be read").contents.unwrap_or_default();
            keys.extend(objects.into_iter().filter_map(|object| object.key).filter(|key| key.contains(part)));
        }
        keys
    }

    /// Overwrites an object.
    pub(crate) async fn put_over(&self, bucket: &'static str, key: &str, text: &str) -> Undamaged {
        let before = self.undamaged(bucket, key).await;
        let put = self.s3.put_object().bucket(self.output(bucket)).key(key).body(text.as_bytes().to_vec().into());
        put.send().await.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        before
    }

    /// Hides an object behind a delete marker.
    pub(crate) async fn hide(&self, bucket: &'static str, key: &str) -> Undamaged {
        let before = self.undamaged(bucket, key).await;
        let deleted = self.s3.delete_object().bucket(self.output(bucket)).key(key).send().await;
        deleted.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        before
    }

    async fn undamaged(&self, bucket: &'static str, key: &str) -> Undamaged {
        let head = self.s3.head_object().bucket(self.output(bucket)).key(key).send().await;
        let version = head.unwrap_or_else(|error| panic!("{key}: {error:?}")).version_id.expect("a version");
        Undamaged { bucket, key: key.to_owned(), version }
    }

    /// Removes, in spite of the locks, whatever was written over an object, however often it was sent.
    pub(crate) async fn undo(&self, Undamaged { bucket, key, version }: Undamaged) {
        let bucket = self.output(bucket);
        let listed = self.s3.list_object_versions().bucket(bucket).prefix(&key).send().await;
        let listed = listed.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        let versions = listed.versions().iter().filter_map(|version| version.version_id());
        let markers = listed.delete_markers().iter().filter_map(|marker| marker.version_id());
        for other in versions.chain(markers).filter(|other| *other != version) {
            let delete = self.s3.delete_object().bucket(bucket).key(&key).version_id(other);
            let deleted = delete.bypass_governance_retention(true).send().await;
            deleted.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        }
    }

    /// Removes an object.
    pub(crate) async fn delete(&self, bucket: &str, key: &str) {
        let deleted = self.s3.delete_object().bucket(self.output(bucket)).key(key).send().await;
        deleted.unwrap_or_else(|error| panic!("{key}: {error:?}"));
    }

    /// An object's text.
    pub(crate) async fn text(&self, bucket: &str, key: &str) -> String {
        let got = self.s3.get_object().bucket(self.output(bucket)).key(key).send().await;
        let body: ByteStream = got.unwrap_or_else(|error| panic!("{key}: {error:?}")).body;
        let bytes = body.collect().await.unwrap_or_else(|error| panic!("{key}: {error}")).to_vec();
        String::from_utf8(bytes).expect("UTF-8")
    }
}
