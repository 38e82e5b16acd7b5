//! Evidence binding (RFC-0006/0007): no proposal without the evidence that its operation requires. "Reasoning without
//! evidence is fiction, regardless of fluency."
//!
//! A binding holds fingerprints over canonical bytes and summaries of at most 500 characters, never raw data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::quote::fingerprint;

/// Characters that a summary may have.
const MAX_SUMMARY: usize = 500;

/// What kind of thing was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Table and column identities, types and constraint expressions.
    Schema,
    /// Row counts, nullability distribution, bounded samples.
    DataSample,
    /// Response of an outside source, with its time and version.
    ExternalSource,
    /// Foreign key targets, check expressions, unique constraints, row policies.
    Constraint,
    /// Runtime values, cache state, connection status.
    StateSnapshot,
}

impl Category {
    /// Fields that an observation of this category must have ("Minimum Binding Depth"): each group needs one.
    const fn depth(self) -> &'static [&'static [&'static str]] {
        match self {
            Category::Schema => &[&["table", "tables"], &["columns"], &["types", "column_types"], &["constraints"]],
            Category::Constraint => &[&["foreign_keys"], &["checks"], &["unique"], &["policies", "rls_policies"]],
            Category::DataSample => &[&["row_count", "row_counts"], &["nullability"]],
            Category::StateSnapshot => &[&["values", "runtime_values"], &["cache"], &["connection"]],
            Category::ExternalSource => &[&["response", "response_hash"], &["timestamp"], &["version"]],
        }
    }
}

/// What is about to be proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A change of structure.
    Migrate,
    /// A change of data.
    Correct,
    /// A note on data.
    Annotate,
    /// A figure from data.
    Calculate,
    /// Limits for later values.
    BoundsEngine,
}

impl Operation {
    /// Categories that must be bound before a proposal ("Required Evidence by Operation", EB-021).
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

/// Why a category is not bound.
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

/// Why a binding is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// EB-012: "Bound evidence MUST include fingerprint".
    #[error("EB-012: {0:?} is bound without a fingerprint")]
    Fingerprint(Category),
    /// EB-013: "Non-bound evidence MUST include reason".
    #[error("EB-013: {0:?} is not bound and has no reason")]
    Reason(Category),
    /// EB-021: "Operation-specific categories MUST be bound before proposal".
    #[error("EB-021: {operation:?} needs {category:?} ({pattern:?}, {code:?})")]
    NotBound {
        /// What is proposed.
        operation: Operation,
        /// What was not observed.
        category: Category,
        /// The pattern that it falls under.
        pattern: ForbiddenPattern,
        /// The code that records it.
        code: ReasonCode,
    },
    /// An observation that stays on the surface.
    #[error("{category:?} lacks {field}: its minimum depth is not reached")]
    Depth {
        /// The category.
        category: Category,
        /// What the observation lacks.
        field: &'static str,
    },
    /// Summaries are bounded.
    #[error("a summary has {0} characters; it may have 500")]
    Summary(usize),
    /// An annotation binds the instruction and the source data.
    #[error("annotate needs the fingerprints of the instruction and of the source data")]
    Annotation,
}

/// Evidence that was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bound {
    fingerprint: String,
    summary: String,
}

/// Evidence that was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unbound {
    reason: ReasonCode,
}

/// One category of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// With its proof.
    Bound(Bound),
    /// With its reason.
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

/// An item as something else hands it in, a command line or a model: not yet evidence.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Whether it claims to have been observed.
    pub bound: bool,
    /// Proof of the observation.
    pub fingerprint: Option<String>,
    /// What was seen, in words.
    #[serde(default)]
    pub summary: String,
    /// Why it was not observed.
    pub reason: Option<ReasonCode>,
}

impl Evidence {
    /// Binds an observation: its fingerprint is over its canonical bytes, its depth that of the category.
    ///
    /// # Errors
    /// [`BindingError::Depth`] for what stays on the surface, [`BindingError::Summary`] for too many words.
    pub fn observe(category: Category, observed: &Value, summary: &str) -> Result<Self, BindingError> {
        for group in category.depth() {
            let is_there = group.iter().any(|field| observed.get(*field).is_some_and(|value| !value.is_null()));
            if !is_there {
                return Err(BindingError::Depth { category, field: group[0] });
            }
        }
        let summary = checked_summary(summary)?;
        Ok(Self::Bound(Bound { fingerprint: fingerprint(&canonical(observed)), summary }))
    }

    /// Says why a category was not observed.
    #[must_use]
    pub const fn absent(reason: ReasonCode) -> Self {
        Self::Unbound(Unbound { reason })
    }

    /// Takes an item that was handed in.
    ///
    /// # Errors
    /// EB-012 and EB-013, and a summary that is too long.
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

/// Compact JSON with sorted keys: equal observations have equal bytes.
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

/// Proves that evidence was observed before a proposal. Made only where the operation's evidence is bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvidenceBinding {
    operation: Operation,
    evidence: BTreeMap<Category, Evidence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotation: Option<Annotation>,
}

/// What an annotation must not be stale against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Annotation {
    instruction_fingerprint: String,
    source_fingerprint: String,
}

impl EvidenceBinding {
    /// Binds the evidence of an operation.
    ///
    /// # Errors
    /// EB-021 for a required category that is not bound; an annotation needs [`Self::for_annotation`].
    pub fn new(operation: Operation, evidence: BTreeMap<Category, Evidence>) -> Result<Self, BindingError> {
        if operation == Operation::Annotate {
            return Err(BindingError::Annotation);
        }
        Self::checked(operation, evidence, None)
    }

    /// Binds an annotation to the instruction and to the source data that it was made from.
    ///
    /// # Errors
    /// EB-021, and [`BindingError::Annotation`] where one of the two is empty.
    pub fn for_annotation(
        evidence: BTreeMap<Category, Evidence>,
        instruction: &str,
        source: &Value,
    ) -> Result<Self, BindingError> {
        if instruction.trim().is_empty() || source.is_null() {
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
                let (pattern, code) = broken(operation, *category);
                return Err(BindingError::NotBound { operation, category: *category, pattern, code });
            }
        }
        Ok(Self { operation, evidence, annotation })
    }

    /// What was proposed on it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.operation
    }
}

/// The forbidden pattern and the code of a required category that is not bound.
fn broken(operation: Operation, category: Category) -> (ForbiddenPattern, ReasonCode) {
    match (operation, category) {
        (_, Category::Schema) => (ForbiddenPattern::ProposalWithoutSchemaCheck, ReasonCode::SchemaNotInspected),
        (Operation::Correct | Operation::Migrate, Category::Constraint) => {
            (ForbiddenPattern::CorrectionWithoutConstraintCheck, ReasonCode::ConstraintNotChecked)
        }
        (_, Category::DataSample) => (ForbiddenPattern::MigrationWithoutRowCounts, ReasonCode::DataSampleMissing),
        _ => (ForbiddenPattern::ProposalWithoutSchemaCheck, ReasonCode::EvidenceNotBound),
    }
}
