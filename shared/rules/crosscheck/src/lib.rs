//! The structural crosscheck: decides whether a verdict is structurally consistent (TMM Crosscheck spec).
//!
//! It scores structure only: missing fields, contradictions, parse failures. It does not judge whether a verdict is
//! right (TMM Crosscheck, invariant 7). The mapping of fields to the variables V_t, V_r and E_D is canonical (TMM
//! Crosscheck, invariant 6) and lives only in [`measure`]; the constants live in [`constants`] and cannot be passed in.

pub mod chat;
pub mod constants;
mod language;
mod measure;
mod substance;

pub use substance::hollow;

use domain::{Colour, Tier};
use serde::Serialize;
use serde_json::Value;

/// The reason for the decision on a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Approved.
    Pass,
    /// The score is below the threshold and no more specific reason applies.
    LowCoherence,
    /// The verdict field, or another required one, is missing or invalid.
    FieldMissing,
    /// The top-level verdict contradicts the majority of its dimensions.
    DimensionConflict,
    /// The score is negative (TMM Crosscheck, failure mode 6). The verdict is rejected without a comparison with the
    /// threshold.
    DegenerateManifold,
}

/// The decision and its grounds (the spec's primary output).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crosscheck {
    /// Whether the verdict passes on to the content filter.
    pub approved: bool,
    /// C = 1 − (E_D + V_r × Φ) / V_t; at most 1.0.
    pub coherence_score: f64,
    /// Ω.
    pub threshold: f64,
    /// The top-level colour, if there is a valid one.
    pub verdict_label: Option<Colour>,
    /// All findings, one flag for each contribution to V_r or E_D.
    pub flags: Vec<String>,
    /// The reason.
    pub crosscheck_reason: Reason,
}

impl Crosscheck {
    /// Whether the reply is not a JSON object.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.flags.iter().any(|flag| flag == measure::MALFORMED)
    }

    /// Whether a verdict passes that each of its five dimensions opposes.
    #[must_use]
    pub fn is_opposed(&self) -> bool {
        self.approved && self.flags.iter().any(|flag| flag == measure::OPPOSED)
    }
}

/// Checks a model's reply.
#[must_use]
pub fn crosscheck(raw: &str, tier: Tier) -> Crosscheck {
    match serde_json::from_str::<Value>(raw) {
        Ok(value) => crosscheck_value(&value, tier),
        Err(_) => decide(&measure::malformed()),
    }
}

/// Checks a parsed reply. A value that is not an object is malformed.
#[must_use]
pub fn crosscheck_value(value: &Value, tier: Tier) -> Crosscheck {
    match value.as_object() {
        Some(object) => decide(&measure::measure(object, tier)),
        None => decide(&measure::malformed()),
    }
}

/// The numbers behind a decision, under the names that customers read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// C, at most 1.0.
    pub coherence: f64,
    /// Ω: a verdict below it is not sold.
    pub threshold: f64,
    /// V_t: the weight of the evidence.
    pub evidence: f64,
    /// V_r: the weight of the contradictions.
    pub inconsistency: f64,
    /// E_D: the weight of missing or malformed parts.
    pub disorder: f64,
}

/// The numbers of a verdict.
#[must_use]
pub fn numbers(verdict: &Value, tier: Tier) -> Numbers {
    let measured = verdict.as_object().map_or_else(measure::malformed, |object| measure::measure(object, tier));
    Numbers {
        coherence: coherence(measured.decoherence, measured.inconsistency, measured.evidence),
        threshold: constants::OMEGA,
        evidence: measured.evidence,
        inconsistency: measured.inconsistency,
        disorder: measured.decoherence,
    }
}

/// C = 1 − (E_D + V_r × Φ) / V_t.
fn coherence(decoherence: f64, inconsistency: f64, evidence: f64) -> f64 {
    1.0 - inconsistency.mul_add(constants::PHI, decoherence) / evidence
}

fn decide(measured: &measure::Measured) -> Crosscheck {
    let score = coherence(measured.decoherence, measured.inconsistency, measured.evidence);
    let approved = score >= constants::OMEGA;
    // A reply without a verdict field is field_missing even when its score is negative (TMM Crosscheck, verification
    // criterion 2), so this check precedes the one for negative scores (TMM Crosscheck, failure mode 6).
    let crosscheck_reason = if approved {
        Reason::Pass
    } else if measured.verdict_missing {
        Reason::FieldMissing
    } else if score < 0.0 {
        Reason::DegenerateManifold
    } else if measured.field_missing {
        Reason::FieldMissing
    } else if measured.conflict {
        Reason::DimensionConflict
    } else {
        Reason::LowCoherence
    };
    Crosscheck {
        approved,
        coherence_score: score,
        threshold: constants::OMEGA,
        verdict_label: measured.label,
        flags: measured.flags.clone(),
        crosscheck_reason,
    }
}

#[cfg(test)]
mod tests;
