//! The path of a picture (spec 002, section 9.2): request_spec → engine → quality director → asset store → pool →
//! binding → weighted delivery. Its events select no fact and unlock nothing; no previews, no choice, no progress.

use crate::{
    event::{AssetPooled, ImageRequested, Payload, PoolBound},
    handle::Handle,
    state::{PooledAsset, State},
};
use lens::{
    Digest, Domain, Pvib,
    canonical::{self, CanonicalError, Value},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// What an engine is asked for. Canonical bytes; their hash names the request.
#[derive(Clone, Debug, Serialize)]
pub struct RequestSpec {
    /// The engine and its version.
    pub engine: Handle,
    /// The workflow's hash, as pinned.
    pub workflow_hash: Option<Digest>,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// The brief's hash.
    pub pvib_hash: Digest,
    /// What is to be seen.
    pub lines: Vec<String>,
}

impl RequestSpec {
    /// The request for a brief.
    ///
    /// # Errors
    /// [`CanonicalError`]
    pub fn of(brief: &Pvib, engine: Handle, size: (u32, u32)) -> Result<Self, CanonicalError> {
        let lines = brief.lines().iter().map(|line| line.text.clone()).collect();
        let (width, height) = size;
        Ok(Self { engine, workflow_hash: None, width, height, pvib_hash: brief.hash()?, lines })
    }
}

/// Makes a picture's bytes of a request's canonical bytes.
pub trait Engine {
    /// The bytes; `None` when it made none.
    fn render(&self, request_spec: &[u8]) -> Option<Vec<u8>>;
}

/// Keeps pictures' bytes by their hash.
pub trait AssetStore {
    /// Keeps bytes. The same bytes twice are kept once.
    fn keep(&mut self, bytes_hash: Digest, bytes: Vec<u8>);
}

impl AssetStore for BTreeMap<Digest, Vec<u8>> {
    fn keep(&mut self, bytes_hash: Digest, bytes: Vec<u8>) {
        self.entry(bytes_hash).or_insert(bytes);
    }
}

/// Passes or fails a picture. Its score decides about the picture and about nothing else.
#[derive(Clone, Copy, Debug)]
pub struct QualityDirector {
    /// The least score that passes, 0 to 100.
    pub threshold: u8,
}

impl QualityDirector {
    /// The score of a picture, 0 to 100: how many of its bytes' values occur, in per cent of all there are. An empty
    /// or uniform picture scores near 0.
    #[must_use]
    pub fn score(self, bytes: &[u8]) -> u8 {
        let mut seen = [false; 256];
        bytes.iter().for_each(|byte| seen[usize::from(*byte)] = true);
        let count = seen.iter().filter(|seen| **seen).count();
        u8::try_from(count * 100 / 256).unwrap_or(100)
    }

    fn passes(self, bytes: &[u8]) -> bool {
        self.score(bytes) >= self.threshold
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Produced {
    /// The picture passed; these events put it into the pool and bind the pool.
    Pooled(Vec<Payload>),
    /// It was requested, and no picture passed: only the request is recorded, and nothing is delivered.
    Failed(Vec<Payload>),
}

/// Where a picture goes.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The pool.
    pub pool_id: &'a Handle,
    /// The surface that the pool is bound to.
    pub surface: &'a Handle,
    /// The picture's weight in the draw, at least 1.
    pub weight: u32,
}

/// Makes one picture: engine, quality director, asset store; and says which events record it.
///
/// # Errors
/// [`CanonicalError`]
pub fn produce(
    spec: &RequestSpec,
    engine: &dyn Engine,
    director: QualityDirector,
    store: &mut dyn AssetStore,
    destination: Destination<'_>,
) -> Result<Produced, CanonicalError> {
    let request_spec = canonical::value_of(spec)?;
    let spec_bytes = request_spec.to_bytes();
    let request_hash = Digest::of(Domain::RequestSpec, &spec_bytes);
    let mut events = vec![ImageRequested { request_spec, request_hash }.into()];
    let Some(bytes) = engine.render(&spec_bytes).filter(|bytes| director.passes(bytes)) else {
        return Ok(Produced::Failed(events));
    };
    let bytes_hash = Digest::of(Domain::AssetBytes, &bytes);
    store.keep(bytes_hash, bytes);
    let metadata = [("bytes_hash", bytes_hash), ("request_hash", request_hash)];
    let metadata = metadata.map(|(name, hash)| (name.to_owned(), Value::Text(hash.to_string())));
    let asset_id = Digest::of(Domain::Asset, &Value::Object(metadata.into()).to_bytes());
    let Destination { pool_id, surface, weight } = destination;
    let weight = i64::from(weight.max(1));
    events.push(AssetPooled { asset_id, bytes_hash, request_hash, pool_id: pool_id.clone(), weight }.into());
    events.push(PoolBound { pool_id: pool_id.clone(), surface: surface.clone() }.into());
    Ok(Produced::Pooled(events))
}

/// The picture that a surface shows at its n-th delivery: drawn by weight from the pool that is bound to it, the same
/// one whenever the same is asked.
#[must_use]
pub fn deliver<'a>(state: &'a State, surface: &Handle, delivery: u64) -> Option<&'a PooledAsset> {
    let pool = state.images().pool_of(state.images().bound_to(surface.as_str())?.as_str());
    let total: u64 = pool.iter().map(|asset| asset.weight.unsigned_abs()).sum();
    let draw = Digest::of_parts(Domain::Draw, &[surface.as_str().as_bytes(), &[0], &delivery.to_be_bytes()]);
    let first: [u8; 8] = draw.as_bytes().first_chunk().copied()?;
    let mut left = u64::from_be_bytes(first).checked_rem(total)?;
    pool.iter().find(|asset| {
        let weight = asset.weight.unsigned_abs();
        let is_drawn = left < weight;
        left = left.saturating_sub(weight);
        is_drawn
    })
}

/// An engine without a network: the same request gives the same bytes on every machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SandboxEngine;

impl Engine for SandboxEngine {
    fn render(&self, request_spec: &[u8]) -> Option<Vec<u8>> {
        let block =
            |number: u32| *Digest::of_parts(Domain::AssetBytes, &[&number.to_be_bytes(), request_spec]).as_bytes();
        Some((0..64).flat_map(block).collect())
    }
}
