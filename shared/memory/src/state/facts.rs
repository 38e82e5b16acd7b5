//! The facts ledger (Memory Contract, section 4.1): append-only canon with provenance.

use crate::{
    event::{FactCommitted, PrecisionTag},
    handle::Handle,
};
use lens::{
    Digest, Domain,
    canonical::{self, CanonicalError},
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use std::collections::BTreeMap;

/// A fact of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The committed content.
    pub content: Box<FactCommitted>,
    /// The event that committed it.
    pub created_event_id: u64,
    /// The event that withdrew it.
    pub withdrawn_by: Option<u64>,
}

/// All facts in the order of their commits; the indexes hold positions in that list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactsLedger {
    facts: Vec<Fact>,
    by_id: BTreeMap<Digest, usize>,
    by_detail: BTreeMap<Handle, usize>,
}

/// Serialises the facts as an object by content address, without the indexes that are derived from them.
impl Serialize for FactsLedger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct ById<'a>(&'a FactsLedger);
        impl Serialize for ById<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.all())
            }
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("facts", &ById(self))?;
        map.end()
    }
}

impl FactsLedger {
    /// All facts by id, including withdrawn ones.
    fn all(&self) -> impl Iterator<Item = (&Digest, &Fact)> {
        self.by_id.iter().filter_map(|(id, place)| Some((id, self.facts.get(*place)?)))
    }

    /// The fact with this id, even if withdrawn.
    #[must_use]
    pub fn get(&self, fact_id: &Digest) -> Option<&Fact> {
        self.facts.get(*self.by_id.get(fact_id)?)
    }

    /// The fact whose detail has this handle, unless it was withdrawn. A fact without a handle of its own has its id as
    /// handle.
    #[must_use]
    pub fn by_detail(&self, handle: &str) -> Option<(&Digest, &Fact)> {
        let place = self.by_detail.get(handle).copied();
        let place = place.or_else(|| self.by_id.get(&Digest::parse(handle)?).copied())?;
        let fact = self.facts.get(place).filter(|fact| fact.withdrawn_by.is_none())?;
        Some((fact.content.fact_id.as_ref()?, fact))
    }

    /// The facts that are canon, by id.
    pub fn canon(&self) -> impl Iterator<Item = (&Digest, &Fact)> {
        self.all().filter(|(_, fact)| fact.withdrawn_by.is_none())
    }

    /// The number of facts, including withdrawn ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether the ledger is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    pub(super) fn commit(&mut self, content: Box<FactCommitted>, seq: u64) {
        // The log computes the id before it appends.
        let Some(fact_id) = content.fact_id else { return };
        let place = self.facts.len();
        if let Some(handle) = &content.detail_handle {
            self.by_detail.insert(handle.clone(), place);
        }
        self.by_id.insert(fact_id, place);
        self.facts.push(Fact { content, created_event_id: seq, withdrawn_by: None });
    }

    pub(super) fn withdraw(&mut self, fact_id: &Digest, seq: u64) {
        let Some(fact) = self.by_id.get(fact_id).and_then(|place| self.facts.get_mut(*place)) else { return };
        fact.withdrawn_by = Some(seq);
        if let Some(handle) = &fact.content.detail_handle {
            self.by_detail.remove(handle);
        }
    }
}

impl FactCommitted {
    /// The content address: the hash of the canonical bytes of all fields but the address itself.
    ///
    /// # Errors
    /// [`CanonicalError`] when the payload holds a value that the profile refuses.
    pub fn content_address(&self) -> Result<Digest, CanonicalError> {
        let content = Self { fact_id: None, ..self.clone() };
        Ok(Digest::of(Domain::Fact, &canonical::encode(&content)?))
    }

    /// Whether the payload is locked by default.
    #[must_use]
    pub fn is_locked_by_default(&self) -> bool {
        self.precision_tag == PrecisionTag::Locked
    }
}
