//! The next batch to digest: messages from the log's bucket, and the object versions that they report.

use crate::{
    Ports,
    bucket_messages::{Object, objects},
    limits::{Limits, Summary},
};
use audit_verify::signed_digest::Entry;
use domain::StepError;
use std::collections::{BTreeMap, BTreeSet};

/// Messages, each with the objects that it reports.
#[derive(Default)]
pub(crate) struct Batch {
    messages: Vec<(String, Vec<Object>)>,
    pub(crate) is_full: bool,
}

impl Batch {
    fn objects(&self) -> impl Iterator<Item = &Object> {
        self.messages.iter().flat_map(|(_, objects)| objects)
    }

    /// The keys to read. Objects longer than `longest` are left out, because reading them could exhaust the run.
    pub(crate) fn keys(&self, longest: u64) -> BTreeSet<String> {
        let all = self.objects().map(|object| object.key.clone());
        let long: BTreeSet<&str> = self.long(longest).collect();
        all.filter(|key| !long.contains(key.as_str())).collect()
    }

    pub(crate) fn too_long(&self, longest: u64) -> usize {
        self.long(longest).collect::<BTreeSet<_>>().len()
    }

    fn long(&self, longest: u64) -> impl Iterator<Item = &str> {
        let long = self.objects().filter(move |object| object.size.is_some_and(|size| size > longest));
        long.map(|object| object.key.as_str())
    }

    /// The messages whose keys are all in `digested`.
    pub(crate) fn done(&self, digested: &BTreeSet<&str>) -> Vec<String> {
        let is_done = |objects: &[Object]| objects.iter().all(|object| digested.contains(object.key.as_str()));
        self.messages.iter().filter(|(_, objects)| is_done(objects)).map(|(handle, _)| handle.clone()).collect()
    }
}

/// The version of each object that the bucket has reported in this run. Records are written with If-None-Match, so a
/// second version means that an object was overwritten.
#[derive(Default)]
pub(crate) struct Versions {
    first: BTreeMap<String, String>,
    rewritten: BTreeSet<String>,
}

impl Versions {
    fn add(&mut self, object: &Object) {
        let Some(version) = &object.version_id else { return };
        let first = self.first.entry(object.key.clone()).or_insert_with(|| version.clone());
        if first != version {
            self.rewritten.insert(object.key.clone());
        }
    }

    /// The digest's entry for an object. An overwritten object gets an entry without a hash, because its newest bytes
    /// are not the original ones.
    pub(crate) fn entry(&self, entry: Entry) -> Entry {
        if self.rewritten.contains(&entry.key) { Entry::of(&entry.key, None) } else { entry }
    }
}

/// Receives messages until the queue is empty or a digest is full.
pub(crate) async fn collect(
    ports: Ports<'_>,
    limits: Limits,
    versions: &mut Versions,
    summary: &mut Summary,
) -> Result<Batch, StepError> {
    let mut batch = Batch::default();
    let mut count = 0;
    while count < limits.entries {
        let messages = ports.notices.receive().await?;
        if messages.is_empty() {
            return Ok(batch);
        }
        for message in messages {
            match objects(&message.body, ports.bucket) {
                Ok(objects) => {
                    count += objects.len();
                    objects.iter().for_each(|object| versions.add(object));
                    batch.messages.push((message.handle, objects));
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
