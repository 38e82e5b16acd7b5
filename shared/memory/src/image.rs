//! The path of a picture (Memory Contract, section 9.2): request_spec → engine → quality director → asset store → pool
//! → binding → weighted delivery. Its events select no fact and unlock nothing. Pictures have no previews, no choice of
//! versions and no progress display.

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

/// A request to an image engine, as canonical bytes. Their hash is the id of the request.
#[derive(Clone, Debug, Serialize)]
pub struct RequestSpec {
    /// The engine and its version.
    pub engine: Handle,
    /// The pinned hash of the workflow.
    pub workflow_hash: Option<Digest>,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// The brief's hash.
    pub pvib_hash: Digest,
    /// The content of the picture.
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

/// Makes a picture's bytes from a request's canonical bytes.
pub trait Engine {
    /// The bytes; `None` when the engine makes no picture.
    fn render(&self, request_spec: &[u8]) -> Option<Vec<u8>>;
}

/// Stores pictures by the hash of their bytes.
pub trait AssetStore {
    /// Stores bytes. The same bytes are stored once.
    fn keep(&mut self, bytes_hash: Digest, bytes: Vec<u8>);
}

impl AssetStore for BTreeMap<Digest, Vec<u8>> {
    fn keep(&mut self, bytes_hash: Digest, bytes: Vec<u8>) {
        self.entry(bytes_hash).or_insert(bytes);
    }
}

/// Passes or fails a picture. The score decides only about the picture.
#[derive(Clone, Copy, Debug)]
pub struct QualityDirector {
    /// The lowest score that passes, 0 to 100.
    pub threshold: u8,
}

impl QualityDirector {
    /// The score of a picture, 0 to 100: the number of distinct byte values that occur, in per cent of 256. An empty or
    /// uniform picture scores near 0.
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

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Produced {
    /// The picture passed; these events add it to the pool and bind the pool.
    Pooled(Vec<Payload>),
    /// No picture passed: the events record only the request, and nothing is delivered.
    Failed(Vec<Payload>),
}

/// The pool and surface of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The pool.
    pub pool_id: &'a Handle,
    /// The surface that the pool is bound to.
    pub surface: &'a Handle,
    /// The picture's weight in the draw, at least 1.
    pub weight: u32,
}

/// Makes one picture with the engine, the quality director and the asset store. Returns the events that record it.
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

/// The picture that a surface shows at its n-th delivery. Drawn by weight from the pool bound to the surface; the same
/// arguments always give the same picture.
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
