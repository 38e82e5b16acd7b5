//! The pin ledger (Memory Contract, section 7): the versions that a rebuild must find unchanged.

use crate::handle::Handle;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kinds of pins. Values are names, versions or `sha256:` hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinKind {
    /// The ruleset's hash and the rule system's id.
    Ruleset,
    /// The ids of the policies for masks, order, truncation, budget and compaction.
    PolicyIds,
    /// Prompt templates, and their versions.
    PromptTemplates,
    /// Models: language, embedding, scorers.
    ModelHashes,
    /// Adapters.
    AdapterHashes,
    /// Image workflows.
    WorkflowHashes,
    /// Node packs.
    NodepackVersions,
    /// Thresholds.
    Thresholds,
    /// Seed policies.
    SeedPolicies,
}

impl PinKind {
    /// The kind as it is written in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            PinKind::Ruleset => "ruleset",
            PinKind::PolicyIds => "policy_ids",
            PinKind::PromptTemplates => "prompt_templates",
            PinKind::ModelHashes => "model_hashes",
            PinKind::AdapterHashes => "adapter_hashes",
            PinKind::WorkflowHashes => "workflow_hashes",
            PinKind::NodepackVersions => "nodepack_versions",
            PinKind::Thresholds => "thresholds",
            PinKind::SeedPolicies => "seed_policies",
        }
    }
}

/// Pins by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pins(pub BTreeMap<PinKind, BTreeMap<Handle, Handle>>);

/// A pin whose value differs from the running system's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PinMismatch {
    /// Its kind.
    pub kind: PinKind,
    /// Its name.
    pub name: Handle,
    /// The value in the ledger.
    pub pinned: Option<Handle>,
    /// The value in the running system.
    pub found: Option<Handle>,
}

impl Pins {
    /// All differences between the ledger and the running system, in order: pins that the system lacks or has with
    /// another value, and values of a pinned kind that the ledger lacks. A kind without any pin is not compared.
    #[must_use]
    pub fn mismatches(&self, running: &Pins) -> Vec<PinMismatch> {
        let mut found = Vec::new();
        for (kind, pinned) in &self.0 {
            let none = BTreeMap::new();
            let running = running.0.get(kind).unwrap_or(&none);
            for name in pinned.keys().chain(running.keys().filter(|name| !pinned.contains_key(*name))) {
                let (is, ought) = (running.get(name), pinned.get(name));
                if is != ought {
                    let (pinned, found_now) = (ought.cloned(), is.cloned());
                    found.push(PinMismatch { kind: *kind, name: name.clone(), pinned, found: found_now });
                }
            }
        }
        found
    }

    /// The pins in the form of a working set.
    #[must_use]
    pub fn snapshot(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let named = |pins: &BTreeMap<Handle, Handle>| {
            pins.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        self.0.iter().map(|(kind, pins)| (kind.as_str().to_owned(), named(pins))).collect()
    }
}
