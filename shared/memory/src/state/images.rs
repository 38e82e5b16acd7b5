//! Pictures (Memory Contract, section 9.2): request specs, pools and bindings. The code that selects facts does not
//! read this.

use crate::{
    event::{AssetPooled, PoolBound},
    handle::Handle,
};
use lens::{Digest, canonical::Value};
use serde::Serialize;
use std::collections::BTreeMap;

/// A picture in a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PooledAsset {
    /// The hash of its metadata.
    pub asset_id: Digest,
    /// The hash of its bytes.
    pub bytes_hash: Digest,
    /// The request that it was made for.
    pub request_hash: Digest,
    /// Its weight in the draw.
    pub weight: i64,
}

/// Requests, pools and bindings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImageLedger {
    requests: BTreeMap<Digest, Value>,
    pools: BTreeMap<Handle, Vec<PooledAsset>>,
    bindings: BTreeMap<Handle, Handle>,
}

impl ImageLedger {
    /// The content of a request.
    #[must_use]
    pub fn requested(&self, request_hash: &Digest) -> Option<&Value> {
        self.requests.get(request_hash)
    }

    /// The pictures of a pool, oldest first.
    #[must_use]
    pub fn pool_of(&self, pool_id: &str) -> &[PooledAsset] {
        self.pools.get(pool_id).map_or(&[], Vec::as_slice)
    }

    /// The pool that is bound to a surface.
    #[must_use]
    pub fn bound_to(&self, surface: &str) -> Option<&Handle> {
        self.bindings.get(surface)
    }

    pub(super) fn request(&mut self, hash: Digest, spec: Value) {
        self.requests.insert(hash, spec);
    }

    pub(super) fn pool(&mut self, it: AssetPooled) {
        let AssetPooled { asset_id, bytes_hash, request_hash, pool_id, weight } = it;
        self.pools.entry(pool_id).or_default().push(PooledAsset { asset_id, bytes_hash, request_hash, weight });
    }

    pub(super) fn bind(&mut self, it: PoolBound) {
        self.bindings.insert(it.surface, it.pool_id);
    }
}
