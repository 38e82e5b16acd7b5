//! The facts ledger (spec 002, section 4.1): append-only canon with provenance.

use crate::{
    event::{FactCommitted, PrecisionTag},
    handle::Handle,
};
use lens::{
    Digest, Domain,
    canonical::{self, CanonicalError},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A fact of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What was committed.
    pub content: FactCommitted,
    /// The event that committed it.
    pub created_event_id: u64,
    /// The event that withdrew it.
    pub withdrawn_by: Option<u64>,
}

/// All facts, by their content address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FactsLedger {
    facts: BTreeMap<Digest, Fact>,
    #[serde(skip)]
    by_detail: BTreeMap<Handle, Digest>,
}

impl FactsLedger {
    /// A fact, withdrawn ones included.
    #[must_use]
    pub fn get(&self, fact_id: &Digest) -> Option<&Fact> {
        self.facts.get(fact_id)
    }

    /// The fact whose detail has this handle, unless it was withdrawn. A fact without a handle of its own has its id.
    #[must_use]
    pub fn by_detail(&self, handle: &str) -> Option<(&Digest, &Fact)> {
        let id = self.by_detail.get(handle).copied().or_else(|| Digest::parse(handle))?;
        self.facts.get_key_value(&id).filter(|(_, fact)| fact.withdrawn_by.is_none())
    }

    /// The facts that are canon, by id.
    pub fn canon(&self) -> impl Iterator<Item = (&Digest, &Fact)> {
        self.facts.iter().filter(|(_, fact)| fact.withdrawn_by.is_none())
    }

    /// How many facts there are, withdrawn ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether there is no fact.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    pub(super) fn commit(&mut self, content: FactCommitted, seq: u64) {
        // The log fills the id in before it appends.
        let Some(fact_id) = content.fact_id else { return };
        if let Some(handle) = &content.detail_handle {
            self.by_detail.insert(handle.clone(), fact_id);
        }
        self.facts.insert(fact_id, Fact { content, created_event_id: seq, withdrawn_by: None });
    }

    pub(super) fn withdraw(&mut self, fact_id: &Digest, seq: u64) {
        if let Some(fact) = self.facts.get_mut(fact_id) {
            fact.withdrawn_by = Some(seq);
            if let Some(handle) = &fact.content.detail_handle {
                self.by_detail.remove(handle);
            }
        }
    }
}

impl FactCommitted {
    /// The content address: the hash of the canonical bytes of everything but the address itself.
    ///
    /// # Errors
    /// [`CanonicalError`] when the payload holds what the profile refuses.
    pub fn content_address(&self) -> Result<Digest, CanonicalError> {
        let content = Self { fact_id: None, ..self.clone() };
        Ok(Digest::of(Domain::Fact, &canonical::encode(&content)?))
    }

    /// Whether its payload is locked until something unlocks it.
    #[must_use]
    pub fn is_locked_by_default(&self) -> bool {
        self.precision_tag == PrecisionTag::Locked
    }
}
