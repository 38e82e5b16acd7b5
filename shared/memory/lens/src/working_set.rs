//! The working set (Memory Contract, section 4.5): the model's input from the memory, as canonical bytes.

use crate::{
    Digest, Domain,
    canonical::{self, CanonicalError, Value},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The current mode of the table (EV-030 ModeChanged).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Mode {
    /// The table plays.
    #[default]
    Play,
    /// The table talks beside the play.
    Companion,
    /// The table looks something up.
    Reference,
    /// The table uses the notebook.
    Notebook,
}

/// The policies that built a working set. A changed policy gets a new id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyIds {
    /// The policy that says which facts are visible in which mode.
    pub mask_matrix_id: String,
    /// The policy that orders the selected items.
    pub ordering_policy_id: String,
    /// The policy that says which items are cut when not all fit.
    pub truncation_policy_id: String,
    /// The policy that measures size.
    pub budget_policy_id: String,
    /// The policy that makes compactions, if the working set includes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_policy_id: Option<String>,
}

/// How much of a fact the working set shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// The fact has no locked detail: the payload is shown.
    Plain,
    /// The detail is unlocked: the payload is shown.
    Exact,
    /// The detail is locked: only the gist is shown.
    Gist,
}

/// A fact as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactItem {
    /// Its content address.
    pub fact_id: String,
    /// The kind of fact, such as `CLUE`.
    pub kind: String,
    /// The author's key. Facts about the same thing have the same key.
    pub stable_key: String,
    /// How much of it is shown.
    pub precision: Precision,
    /// The handle that a recall request names, if the fact has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_handle: Option<String>,
    /// The payload of a plain or exact fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// The gist of a locked fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gist: Option<String>,
}

/// A pointer of the story's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateItem {
    /// `thread`, `clock`, `region`, `cap`, `reading_spot` or `rule_ref`.
    pub kind: String,
    /// The name of the thread, clock or other target.
    pub handle: String,
    /// The current value.
    pub value: Value,
}

/// A summary of facts that are themselves visible. A summary is never canon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionItem {
    /// The hash of its inputs and policy.
    pub compaction_id: String,
    /// The purpose, such as a recap.
    pub purpose: String,
    /// The facts it summarises.
    pub input_handles: Vec<String>,
    /// The summary.
    pub output: String,
}

/// The three slices, each in the order of the ordering policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// Facts.
    pub facts_slice: Vec<FactItem>,
    /// Pointers.
    pub state_slice: Vec<StateItem>,
    /// Summaries.
    pub compactions_slice: Vec<CompactionItem>,
}

/// The renderer's constraints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directives {
    /// Constraints on the kinds of output.
    pub output_class: Vec<String>,
    /// Constraints on the content of each channel.
    pub channel_separation: Vec<String>,
    /// The rule for answers to "why".
    pub why: String,
}

/// The truncator's result. Only operators see the receipts themselves; models do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// The number of items that did not fit.
    pub cut: u64,
    /// The hash of all receipts.
    pub receipts_hash: Digest,
}

/// The content of a working set without its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkingSetContent {
    /// The version of this format: `working-set/1`.
    pub schema: String,
    /// The world, once one is committed.
    pub world_id: Option<String>,
    /// The campaign.
    pub campaign_id: String,
    /// The scene, if one is open.
    pub scene_id: Option<String>,
    /// The current mode of the table.
    pub mode: Mode,
    /// The policies that built it.
    pub policy_ids: PolicyIds,
    /// The pins in the ledger.
    pub pins: BTreeMap<String, BTreeMap<String, String>>,
    /// The handles that may be mentioned precisely: facts, pointers and rule references (Memory Contract, PC-006).
    pub allowmention_handles: Vec<String>,
    /// The locked details, of which only the gist is shown.
    pub locked_precision_handles: Vec<String>,
    /// The selected items.
    pub slices: Slices,
    /// The renderer's constraints.
    pub directives: Directives,
    /// The truncator's result.
    pub truncation: Truncation,
}

/// The version of this format.
pub const SCHEMA: &str = "working-set/1";

/// The reason why bytes are not a working set.
#[derive(Debug, thiserror::Error)]
pub enum WorkingSetError {
    /// The bytes are not canonical.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// A field is missing, unknown or of another type.
    #[error("not a working set: {0}")]
    Schema(String),
    /// The id is not the hash of the content.
    #[error("the working set's id is not the hash of its content")]
    Id,
}

/// A model's input from the memory. Immutable: a renderer wraps these bytes and neither reorders nor cuts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingSet {
    content: WorkingSetContent,
    id: Digest,
    text: String,
}

impl WorkingSet {
    /// Adds the id to a content and writes both as canonical bytes.
    ///
    /// # Errors
    /// [`CanonicalError`] when the content holds a value that the profile refuses.
    pub fn seal(content: WorkingSetContent) -> Result<Self, CanonicalError> {
        let mut value = canonical::value_of(&content)?;
        let id = Digest::of(Domain::WorkingSetId, &value.to_bytes());
        if let Value::Object(members) = &mut value {
            members.insert("working_set_id".to_owned(), Value::Text(id.to_string()));
        }
        Ok(Self { content, id, text: value.to_text() })
    }

    /// Parses the canonical bytes of a working set.
    ///
    /// # Errors
    /// [`WorkingSetError`]
    pub fn parse(bytes: &[u8]) -> Result<Self, WorkingSetError> {
        let mut value = canonical::parse_exact(bytes)?;
        let id = match &mut value {
            Value::Object(members) => members.remove("working_set_id"),
            _ => None,
        };
        let id = id.as_ref().and_then(Value::as_text).and_then(Digest::parse).ok_or(WorkingSetError::Id)?;
        let content: WorkingSetContent =
            serde_json::from_slice(&value.to_bytes()).map_err(|error| WorkingSetError::Schema(error.to_string()))?;
        if content.schema != SCHEMA {
            return Err(WorkingSetError::Schema(format!("the schema is {:?}, not {SCHEMA}", content.schema)));
        }
        let sealed = Self::seal(content)?;
        if sealed.id == id { Ok(sealed) } else { Err(WorkingSetError::Id) }
    }

    /// The canonical bytes, including the id.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The canonical bytes as text, for a prompt that embeds them unchanged.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The hash of the bytes (`bytes_hash` of Memory Contract, section 4.5).
    #[must_use]
    pub fn bytes_hash(&self) -> Digest {
        Digest::of(Domain::WorkingSet, self.bytes())
    }

    /// The hash of the content (`working_set_id` of Memory Contract, section 4.5).
    #[must_use]
    pub const fn id(&self) -> Digest {
        self.id
    }

    /// The content without the id.
    #[must_use]
    pub const fn content(&self) -> &WorkingSetContent {
        &self.content
    }

    /// Whether a handle may be mentioned precisely (Memory Contract, PC-006).
    #[must_use]
    pub fn allows(&self, handle: &str) -> bool {
        self.content.allowmention_handles.iter().any(|allowed| allowed == handle)
    }

    /// The instructions followed by the bytes as text: "Oracle truncates, Lens wraps".
    #[must_use]
    pub fn wrap(&self, instructions: &str) -> String {
        format!("{instructions}\n\n{}\n", self.text)
    }
}
