//! The working set (spec 002, section 4.5): what a model sees, as canonical bytes.

use crate::{
    Digest, Domain,
    canonical::{self, CanonicalError, Value},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the table does now (EV-030 ModeChanged).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Mode {
    /// At play.
    #[default]
    Play,
    /// Company, beside the play.
    Companion,
    /// Looking things up.
    Reference,
    /// In the notebook.
    Notebook,
}

/// The rules by which a working set was built. Another rule has another id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyIds {
    /// In which mode which fact may be seen.
    pub mask_matrix_id: String,
    /// The order of what is selected.
    pub ordering_policy_id: String,
    /// What is cut when not everything fits.
    pub truncation_policy_id: String,
    /// How size is measured.
    pub budget_policy_id: String,
    /// How compactions are made, when any is included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_policy_id: Option<String>,
}

/// How much of a fact is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// The fact has no locked detail: its payload.
    Plain,
    /// The detail is unlocked: its payload.
    Exact,
    /// The detail is locked: its gist.
    Gist,
}

/// A fact as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactItem {
    /// Its content address.
    pub fact_id: String,
    /// What kind of fact it is, such as `CLUE`.
    pub kind: String,
    /// The author's key, by which facts of the same thing are recognised.
    pub stable_key: String,
    /// How much of it is shown.
    pub precision: Precision,
    /// The handle by which its detail is asked for, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_handle: Option<String>,
    /// What is shown of a plain or exact fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// What is shown of a locked one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gist: Option<String>,
}

/// A pointer of the story's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateItem {
    /// `thread`, `clock`, `region`, `cap`, `reading_spot` or `rule_ref`.
    pub kind: String,
    /// What it points to.
    pub handle: String,
    /// Where it stands.
    pub value: Value,
}

/// A summary of facts that are visible themselves; never canon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionItem {
    /// The hash of its inputs and policy.
    pub compaction_id: String,
    /// What it is for.
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
    /// Constraints on what kind of output may be made.
    pub output_class: Vec<String>,
    /// Constraints on which channel says what.
    pub channel_separation: Vec<String>,
    /// How "why" is answered.
    pub why: String,
}

/// What the truncator did. The receipts themselves are for operators, not for models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// How many items did not fit.
    pub cut: u64,
    /// The hash of all receipts.
    pub receipts_hash: Digest,
}

/// Everything in a working set but its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkingSetContent {
    /// The version of this format: `working-set/1`.
    pub schema: String,
    /// The world, once one is committed.
    pub world_id: Option<String>,
    /// The campaign.
    pub campaign_id: String,
    /// The scene, if there is one.
    pub scene_id: Option<String>,
    /// What the table does now.
    pub mode: Mode,
    /// The rules it was built by.
    pub policy_ids: PolicyIds,
    /// The pins, as the ledger has them.
    pub pins: BTreeMap<String, BTreeMap<String, String>>,
    /// What may be mentioned precisely: facts, pointers and rule references (PC-006).
    pub allowmention_handles: Vec<String>,
    /// The details that are shown as gist because they are locked.
    pub locked_precision_handles: Vec<String>,
    /// What was selected.
    pub slices: Slices,
    /// What a renderer must keep to.
    pub directives: Directives,
    /// What was cut.
    pub truncation: Truncation,
}

/// The version of this format.
pub const SCHEMA: &str = "working-set/1";

/// Why bytes are not a working set.
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

/// What a model sees. Immutable: a renderer wraps these bytes and neither reorders nor cuts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingSet {
    content: WorkingSetContent,
    id: Digest,
    bytes: Vec<u8>,
}

impl WorkingSet {
    /// Puts the id to a content and writes both as canonical bytes.
    ///
    /// # Errors
    /// [`CanonicalError`] when the content holds what the profile refuses.
    pub fn seal(content: WorkingSetContent) -> Result<Self, CanonicalError> {
        let mut value = canonical::value_of(&content)?;
        let id = Digest::of(Domain::WorkingSetId, &value.to_bytes());
        if let Value::Object(members) = &mut value {
            members.insert("working_set_id".to_owned(), Value::Text(id.to_string()));
        }
        Ok(Self { content, id, bytes: value.to_bytes() })
    }

    /// Reads the canonical bytes of a working set.
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

    /// The canonical bytes, the id included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The hash of the bytes (`bytes_hash` of section 4.5).
    #[must_use]
    pub fn bytes_hash(&self) -> Digest {
        Digest::of(Domain::WorkingSet, &self.bytes)
    }

    /// The hash of the content (`working_set_id` of section 4.5).
    #[must_use]
    pub const fn id(&self) -> Digest {
        self.id
    }

    /// Everything in it but its id.
    #[must_use]
    pub const fn content(&self) -> &WorkingSetContent {
        &self.content
    }

    /// Whether a handle may be mentioned precisely (PC-006).
    #[must_use]
    pub fn allows(&self, handle: &str) -> bool {
        self.content.allowmention_handles.iter().any(|allowed| allowed == handle)
    }

    /// The bytes as text, after instructions: "Oracle truncates, Lens wraps".
    #[must_use]
    pub fn wrap(&self, instructions: &str) -> String {
        format!("{instructions}\n\n{}\n", String::from_utf8_lossy(&self.bytes))
    }
}
