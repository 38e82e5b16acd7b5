//! Evidence binding (Authority Governance, RFC-0006 and RFC-0007): a proposal requires the evidence of its operation.
//! "Reasoning without evidence is fiction, regardless of fluency."
//!
//! A binding contains fingerprints of canonical bytes and summaries of at most 500 characters, never raw data.
//!
//! The file has more than 300 lines because the specification's categories, operations, reasons and errors are types
//! here, beside the checks that use them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::quote::fingerprint;

/// The maximum number of characters in a summary.
const MAX_SUMMARY: usize = 500;

/// The category of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Table and column identities, types and constraint expressions.
    Schema,
    /// Row counts, nullability distribution, bounded samples.
    DataSample,
    /// Response of an external source, with its time and version.
    ExternalSource,
    /// Foreign key targets, check expressions, unique constraints, row policies.
    Constraint,
    /// Runtime values, cache state, connection status.
    StateSnapshot,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 5] =
        [Self::Schema, Self::DataSample, Self::ExternalSource, Self::Constraint, Self::StateSnapshot];

    /// Required fields of an observation of this category ("Minimum Binding Depth"): one field of each group, with the
    /// content that it needs.
    const fn depth(self) -> &'static [(&'static [&'static str], Content)] {
        match self {
            Category::Schema => &[
                (&["table", "tables"], Content::Something),
                (&["columns"], Content::Something),
                (&["types", "column_types"], Content::Something),
                (&["constraints"], Content::List),
            ],
            Category::Constraint => &[
                (&["foreign_keys"], Content::List),
                (&["checks"], Content::List),
                (&["unique"], Content::List),
                (&["policies", "rls_policies"], Content::List),
            ],
            Category::DataSample => {
                &[(&["row_count", "row_counts"], Content::Counts), (&["nullability"], Content::List)]
            }
            Category::StateSnapshot => &[
                (&["values", "runtime_values"], Content::Something),
                (&["cache"], Content::Something),
                (&["connection"], Content::Something),
            ],
            Category::ExternalSource => &[
                (&["response", "response_hash"], Content::Something),
                (&["timestamp"], Content::Something),
                (&["version"], Content::Something),
            ],
        }
    }
}

/// What a field of an observation needs to have been observed: its presence alone is a surface-level check.
#[derive(Clone, Copy)]
enum Content {
    /// Anything but null and emptiness.
    Something,
    /// A list or an object. It may be empty: that nothing exists is an observation too.
    List,
    /// A number of rows, or one for each table.
    Counts,
}

impl Content {
    fn is_in(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Something, _) => is_filled(value),
            (Self::List, _) => value.is_array() || value.is_object(),
            (Self::Counts, Value::Array(counts)) => !counts.is_empty() && counts.iter().all(Value::is_u64),
            (Self::Counts, Value::Object(counts)) => !counts.is_empty() && counts.values().all(Value::is_u64),
            (Self::Counts, _) => value.is_u64(),
        }
    }
}

/// Whether a value holds anything.
fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(is_filled),
        Value::Object(fields) => fields.values().any(is_filled),
    }
}

/// The proposed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Changes structure.
    Migrate,
    /// Changes data.
    Correct,
    /// Annotates data.
    Annotate,
    /// Calculates a figure from data.
    Calculate,
    /// Sets limits for later values.
    BoundsEngine,
}

impl Operation {
    /// Categories that must be bound before a proposal ("Required Evidence by Operation", Authority Governance,
    /// EB-021).
    #[must_use]
    pub const fn required(self) -> &'static [Category] {
        match self {
            Operation::Migrate | Operation::Correct => &[Category::Schema, Category::Constraint, Category::DataSample],
            Operation::Annotate | Operation::Calculate | Operation::BoundsEngine => {
                &[Category::Schema, Category::DataSample]
            }
        }
    }
}

/// The reason why a category is not bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the codes are the specification's words")]
pub enum ReasonCode {
    UpToDate,
    NotApplicable,
    NotNeeded,
    DependencyUnavailable,
    CircuitOpen,
    Timeout,
    ParseFail,
    SchemaFail,
    AuthFail,
    UnknownError,
    EvidenceNotBound,
    FingerprintMissing,
    SchemaNotInspected,
    ConstraintNotChecked,
    DataSampleMissing,
}

/// The type of a JSON value, for the types of an observed schema.
#[must_use]
pub const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A pattern that makes a proposal invalid ("Forbidden Patterns").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the patterns are the specification's words")]
pub enum ForbiddenPattern {
    ProposalWithoutSchemaCheck,
    MigrationWithoutRowCounts,
    CorrectionWithoutConstraintCheck,
    BoundWithoutFingerprint,
    DeferredWithoutReason,
}

/// The reason why a binding is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// Authority Governance, EB-012: "Bound evidence MUST include fingerprint".
    #[error("EB-012: {0:?} is bound without a fingerprint")]
    Fingerprint(Category),
    /// Authority Governance, EB-013: "Non-bound evidence MUST include reason".
    #[error("EB-013: {0:?} is not bound and has no reason")]
    Reason(Category),
    /// Authority Governance, EB-021: "Operation-specific categories MUST be bound before proposal".
    #[error("EB-021: {operation:?} needs {category:?}")]
    NotBound {
        /// The proposed operation.
        operation: Operation,
        /// The category that was not observed.
        category: Category,
    },
    /// An observation below the minimum depth.
    #[error("{category:?} lacks {field}: its minimum depth is not reached")]
    Depth {
        /// The category.
        category: Category,
        /// The field that is missing or empty.
        field: &'static str,
    },
    /// The summary is too long.
    #[error("a summary has {0} characters; it may have 500")]
    Summary(usize),
    /// An annotation without the fingerprints of its instruction and source data.
    #[error("annotate needs the fingerprints of the instruction and of the source data")]
    Annotation,
}

impl BindingError {
    /// The forbidden pattern that the binding matches ("Forbidden Patterns"); `None` if the specification names none.
    #[must_use]
    pub const fn pattern(&self) -> Option<ForbiddenPattern> {
        Some(match self {
            Self::Fingerprint(_) => ForbiddenPattern::BoundWithoutFingerprint,
            Self::Reason(_) => ForbiddenPattern::DeferredWithoutReason,
            Self::NotBound { category: Category::Schema, .. } => ForbiddenPattern::ProposalWithoutSchemaCheck,
            Self::NotBound { operation: Operation::Migrate, category: Category::DataSample } => {
                ForbiddenPattern::MigrationWithoutRowCounts
            }
            Self::NotBound { operation: Operation::Correct, category: Category::Constraint } => {
                ForbiddenPattern::CorrectionWithoutConstraintCheck
            }
            Self::NotBound { .. } | Self::Depth { .. } | Self::Summary(_) | Self::Annotation => return None,
        })
    }

    /// The code that records why the evidence is not bound.
    #[must_use]
    pub const fn code(&self) -> ReasonCode {
        match self {
            Self::Fingerprint(_) | Self::Annotation => ReasonCode::FingerprintMissing,
            Self::NotBound { category, .. } | Self::Depth { category, .. } => match category {
                Category::Schema => ReasonCode::SchemaNotInspected,
                Category::Constraint => ReasonCode::ConstraintNotChecked,
                Category::DataSample => ReasonCode::DataSampleMissing,
                Category::ExternalSource | Category::StateSnapshot => ReasonCode::EvidenceNotBound,
            },
            Self::Reason(_) | Self::Summary(_) => ReasonCode::EvidenceNotBound,
        }
    }
}

/// Observed evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bound {
    fingerprint: String,
    summary: String,
}

/// Evidence that was not observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unbound {
    reason: ReasonCode,
}

/// One category of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Observed, with proof.
    Bound(Bound),
    /// Not observed, with the reason.
    Unbound(Unbound),
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Evidence::Bound(bound) => bound.serialize(serializer),
            Evidence::Unbound(unbound) => unbound.serialize(serializer),
        }
    }
}

/// An item from a command line or a model: not evidence until it is parsed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Whether the item claims to be observed.
    pub bound: bool,
    /// The proof of the observation.
    pub fingerprint: Option<String>,
    /// A summary of the observation.
    #[serde(default)]
    pub summary: String,
    /// The reason why it was not observed.
    pub reason: Option<ReasonCode>,
}

impl Evidence {
    /// Binds an observation: computes the fingerprint of its canonical bytes and checks the category's minimum depth.
    ///
    /// # Errors
    /// [`BindingError::Depth`] below the minimum depth, [`BindingError::Summary`] for a summary that is too long.
    pub fn observe(category: Category, observed: &Value, summary: &str) -> Result<Self, BindingError> {
        for (group, content) in category.depth() {
            let is_there = group.iter().any(|field| observed.get(*field).is_some_and(|value| content.is_in(value)));
            if !is_there {
                return Err(BindingError::Depth { category, field: group[0] });
            }
        }
        let summary = checked_summary(summary)?;
        Ok(Self::Bound(Bound { fingerprint: fingerprint(&canonical(observed)), summary }))
    }

    /// Records why a category was not observed.
    #[must_use]
    pub const fn absent(reason: ReasonCode) -> Self {
        Self::Unbound(Unbound { reason })
    }

    /// Parses an item from outside.
    ///
    /// # Errors
    /// Violations of Authority Governance, EB-012 and EB-013, and a summary that is too long.
    pub fn parse(category: Category, item: &Item) -> Result<Self, BindingError> {
        if !item.bound {
            return item.reason.map(Self::absent).ok_or(BindingError::Reason(category));
        }
        let proof = item.fingerprint.as_deref().unwrap_or_default();
        if proof.len() != 64 || !proof.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(BindingError::Fingerprint(category));
        }
        Ok(Self::Bound(Bound { fingerprint: proof.to_owned(), summary: checked_summary(&item.summary)? }))
    }
}

fn checked_summary(summary: &str) -> Result<String, BindingError> {
    match summary.chars().count() {
        count if count > MAX_SUMMARY => Err(BindingError::Summary(count)),
        _ => Ok(summary.to_owned()),
    }
}

/// Serialises to compact JSON with sorted keys, so that equal observations have equal bytes.
fn canonical(value: &Value) -> Vec<u8> {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let ordered: BTreeMap<&String, Value> =
                    fields.iter().map(|(key, value)| (key, sorted(value))).collect();
                Value::Object(ordered.into_iter().map(|(key, value)| (key.clone(), value)).collect::<Map<_, _>>())
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(value).to_string().into_bytes()
}

/// Proves that evidence was observed before a proposal. Exists only if the operation's required evidence is bound, and
/// every other category is bound or has a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvidenceBinding {
    operation: Operation,
    evidence: BTreeMap<Category, Evidence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotation: Option<Annotation>,
}

/// The fingerprints that show whether an annotation is stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Annotation {
    instruction_fingerprint: String,
    source_fingerprint: String,
}

impl EvidenceBinding {
    /// Binds the evidence of an operation.
    ///
    /// # Errors
    /// Authority Governance, EB-021 for an unbound required category, and Authority Governance, EB-013 for another one
    /// that is left out. An annotation needs [`Self::for_annotation`].
    pub fn new(operation: Operation, evidence: BTreeMap<Category, Evidence>) -> Result<Self, BindingError> {
        if operation == Operation::Annotate {
            return Err(BindingError::Annotation);
        }
        Self::checked(operation, evidence, None)
    }

    /// Binds an annotation to its instruction and its source data.
    ///
    /// # Errors
    /// As [`Self::new`], and [`BindingError::Annotation`] if the instruction or the source is empty.
    pub fn for_annotation(
        evidence: BTreeMap<Category, Evidence>,
        instruction: &str,
        source: &Value,
    ) -> Result<Self, BindingError> {
        if instruction.trim().is_empty() || !is_filled(source) {
            return Err(BindingError::Annotation);
        }
        let annotation = Annotation {
            instruction_fingerprint: fingerprint(instruction.as_bytes()),
            source_fingerprint: fingerprint(&canonical(source)),
        };
        Self::checked(Operation::Annotate, evidence, Some(annotation))
    }

    fn checked(
        operation: Operation,
        evidence: BTreeMap<Category, Evidence>,
        annotation: Option<Annotation>,
    ) -> Result<Self, BindingError> {
        for category in operation.required() {
            if !matches!(evidence.get(category), Some(Evidence::Bound(_))) {
                return Err(BindingError::NotBound { operation, category: *category });
            }
        }
        if let Some(left_out) = Category::ALL.into_iter().find(|category| !evidence.contains_key(category)) {
            return Err(BindingError::Reason(left_out));
        }
        Ok(Self { operation, evidence, annotation })
    }

    /// The proposed operation.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.operation
    }
}
