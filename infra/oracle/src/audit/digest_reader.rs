//! Reads the signed digests in parallel and verifies them.

use std::{num::NonZeroU64, str::FromStr, sync::Arc};

use audit_verify::{
    digests::{DigestChain, DigestReport, Digested},
    signed_digest::{Document, FUNCTION, Head, document_key, sequence_of, signature_key},
    stream::Damage,
};
use domain::{
    Timestamp,
    ports::{DigestStore, Notes, StorageError},
};
use tokio::task::JoinSet;

use super::public_key::PublicKey;
use crate::command_error::{CommandError, OrFailed};

/// The number of digests that are fetched in parallel.
const AT_ONCE: u64 = 16;

/// The most times that the digests are read if they look damaged, because the function may add one meanwhile.
const ROUNDS: u32 = 3;

/// The stored digests and the trusted keys and heads.
pub(crate) struct Digests {
    pub(crate) store: Arc<dyn DigestStore>,
    pub(crate) notes: Arc<dyn Notes>,
    /// The log's bucket.
    pub(crate) bucket: String,
    pub(crate) keys: Vec<PublicKey>,
    /// Digests that alerts have named.
    pub(crate) announced: Vec<Announced>,
}

/// A digest that an alert has named, in the alert's form: `{number}:{hash}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    sequence: NonZeroU64,
    hash: String,
}

impl FromStr for Announced {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = "not a head in the form of the announcements: 123:9f86d081… (64 hexadecimal digits)";
        let (sequence, hash) = text.split_once(':').ok_or(form)?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_hash {
            return Err(form);
        }
        Ok(Self { sequence: sequence.parse().map_err(|_| form)?, hash: hash.to_owned() })
    }
}

pub(crate) struct Stored {
    pub(crate) sequence: u64,
    pub(crate) document: Vec<u8>,
    pub(crate) signature: Option<Vec<u8>>,
}

impl Digests {
    /// Whether one of the trusted keys made the signature.
    pub(crate) fn is_signed(&self, document: &[u8], signature: &str) -> bool {
        self.keys.iter().any(|key| key.verifies(document, signature))
    }

    /// The head in the function's note.
    pub(crate) async fn head(&self) -> Result<Option<Head>, CommandError> {
        let note = self.notes.load(FUNCTION).await.map_err(CommandError::unreadable_log)?;
        let Some(document) = note.value else { return Ok(None) };
        Head::of_note(&document).or_failed("the digest function's note cannot be read")
    }

    /// Passes the digests from `first` on to `take`, in order, until one is missing or `take` returns `false`.
    pub(crate) async fn each(&self, first: u64, mut take: impl FnMut(Stored) -> bool) -> Result<(), CommandError> {
        let mut from = first;
        loop {
            let mut running = JoinSet::new();
            for sequence in from..from + AT_ONCE {
                let store = self.store.clone();
                running.spawn(async move { stored(store.as_ref(), sequence).await.map(|found| (sequence, found)) });
            }
            let mut found = Vec::new();
            for read in running.join_all().await {
                found.push(read.map_err(CommandError::unreadable_log)?);
            }
            found.sort_by_key(|(sequence, _)| *sequence);
            for (_, stored) in found {
                let Some(stored) = stored else { return Ok(()) };
                if !take(stored) {
                    return Ok(());
                }
            }
            from += AT_ONCE;
        }
    }
}

async fn stored(store: &dyn DigestStore, sequence: u64) -> Result<Option<Stored>, StorageError> {
    let Some(document) = store.find(&document_key(sequence)).await? else { return Ok(None) };
    let signature = store.find(&signature_key(sequence)).await?;
    Ok(Some(Stored { sequence, document, signature }))
}

/// Verifies the digests: all of them, or those that were made on the day `since` or later. Returns their entries of
/// objects whose keys are of that day or later.
pub(crate) async fn read(
    digests: &Digests,
    since: &str,
    now: Timestamp,
) -> Result<(DigestReport, Digested), CommandError> {
    let mut rounds = 0;
    loop {
        let read = read_once(digests, since, now).await?;
        // The function may store, sign and note the next digest during the reading. One that is stored between the last
        // reading and the listing looks as if it followed a gap.
        let may_go_on =
            |damage| matches!(damage, Damage::Truncated | Damage::Unnoted | Damage::Unsigned | Damage::Deleted);
        let again = read.0.findings.iter().any(|finding| may_go_on(finding.damage));
        rounds += 1;
        if !again || rounds == ROUNDS {
            return Ok(read);
        }
    }
}

async fn read_once(digests: &Digests, since: &str, now: Timestamp) -> Result<(DigestReport, Digested), CommandError> {
    let head = digests.head().await?;
    let first = first_since(digests, head.as_ref(), since).await?;
    let is_signed = |document: &[u8], signature: &str| digests.is_signed(document, signature);
    let announced = digests.announced.iter().map(|head| (head.sequence.get(), head.hash.clone())).collect();
    let mut chain = DigestChain::new(&digests.bucket, head, now, &is_signed).since(first, since).announced(announced);
    let mut last = first - 1;
    let take = |stored: Stored| {
        last = stored.sequence;
        chain.add(&stored.document, stored.signature.as_deref())
    };
    digests.each(first, take).await?;
    let later = digests.store.keys("digests/", &document_key(last)).await.map_err(CommandError::unreadable_log)?;
    Ok(chain.end(later.iter().find_map(|key| sequence_of(key))))
}

/// The number of the first digest to verify. A binary search over the times in the digests finds it, because digests
/// are made one after the other. It is the last digest before that day, so that the boundary is verified too, or an
/// earlier one that an alert has named.
async fn first_since(digests: &Digests, head: Option<&Head>, since: &str) -> Result<u64, CommandError> {
    let (mut first, mut beyond) = (1, head.map_or(0, |head| head.sequence) + 1);
    if since.is_empty() {
        return Ok(1);
    }
    while first < beyond {
        let middle = first + (beyond - first) / 2;
        // The verification of all digests reports a missing or unreadable one.
        let Some(made_at) = made_at(digests, middle).await? else { return Ok(1) };
        if made_at.as_str() < since {
            first = middle + 1;
        } else {
            beyond = middle;
        }
    }
    let before = (first - 1).max(1);
    // A tampered digest may have led the search too far. This digest is verified; those before it are trusted.
    if before > 1 && made_at(digests, before).await?.is_none_or(|made_at| made_at.as_str() >= since) {
        return Ok(1);
    }
    let announced = digests.announced.iter().map(|head| head.sequence.get());
    Ok(announced.chain([before]).min().unwrap_or(1))
}

/// The time at which a digest was made, by its own statement.
async fn made_at(digests: &Digests, sequence: u64) -> Result<Option<String>, CommandError> {
    let document = digests.store.find(&document_key(sequence)).await.map_err(CommandError::unreadable_log)?;
    Ok(document.and_then(|document| Document::parse(&document).ok()).map(|document| document.made_at))
}

#[cfg(test)]
mod tests;
