//! Two envelopes of different types, so that neither can replace the other ("Conflation is a compliance violation"):
//! one grants or denies authority, the other records that an evaluation took place, including explicit absence.

use serde::Serialize;

use crate::evaluation::{Contact, Evaluation};
use crate::state::State;

impl Evaluation {
    /// Grants or denies authority for authoritative output (Authority Governance, RFC-0009).
    #[must_use]
    pub fn authorization(&self) -> AuthorizationEnvelope {
        AuthorizationEnvelope::new(self)
    }

    /// Records that the evaluation took place, with its terminal state (Authority Governance, RFC-0008).
    #[must_use]
    pub fn envelope(&self) -> EvaluationEnvelope {
        EvaluationEnvelope::new(self)
    }
}

/// Grants or denies authority for authoritative outputs (Authority Governance, RFC-0009). Only an [`Evaluation`]
/// creates one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuthorizationEnvelope {
    status: State,
    domain: &'static str,
    missing_axes: Vec<&'static str>,
    override_allowed: bool,
    resources: Vec<Contact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    provenance: Provenance,
}

/// The evaluator, the trigger and the reason of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Provenance {
    evaluator_id: &'static str,
    triggered_by: &'static str,
    block_reason: &'static str,
}

impl AuthorizationEnvelope {
    fn new(evaluation: &Evaluation) -> Self {
        Self {
            status: evaluation.state(),
            domain: evaluation.domain(),
            missing_axes: evaluation.missing_axes(),
            override_allowed: !evaluation.override_prohibited(),
            resources: evaluation.resources(),
            notice: evaluation.notice(),
            provenance: Provenance {
                evaluator_id: evaluation.evaluator(),
                triggered_by: "automated",
                block_reason: evaluation.reason_code(),
            },
        }
    }
}

/// Records that an evaluation took place, with its result (Authority Governance, RFC-0008, explicit absence). Contains
/// no customer text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvaluationEnvelope {
    state: State,
    /// Never empty: "absence must be explicit".
    reason_code: &'static str,
    domain: &'static str,
    evaluator_id: &'static str,
    locked: bool,
    /// Who has to see the text, by the specification's names. A record that has this and is locked alerts operators.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    escalation: Vec<&'static str>,
    rules: Vec<String>,
}

impl EvaluationEnvelope {
    fn new(evaluation: &Evaluation) -> Self {
        Self {
            state: evaluation.state(),
            reason_code: evaluation.reason_code(),
            domain: evaluation.domain(),
            evaluator_id: evaluation.evaluator(),
            locked: evaluation.override_prohibited(),
            escalation: evaluation.escalation_targets(),
            rules: evaluation.deciding_rules().into_iter().map(|rule| rule.rule).collect(),
        }
    }

    /// The terminal state.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }
}
