//! The structural crosscheck: does a verdict hold together? (TMM Cross-Validation spec.)
//!
//! It scores structure only: missing fields, contradictions, parse failures. It says nothing about whether a
//! verdict is right (invariant 7). The mapping of fields to the variables V_t, V_r and E_D is canonical
//! (invariant 6) and lives in [`measure`] alone; the constants live in [`constants`] and cannot be passed in.

pub mod chat;
pub mod constants;
mod language;
mod measure;
mod substance;

pub use substance::hollow;

use domain::{Colour, Tier};
use serde::Serialize;
use serde_json::Value;

/// Why a verdict was approved or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Approved.
    Pass,
    /// The score is under the threshold and nothing below explains it better.
    LowCoherence,
    /// The verdict field, or another required one, is missing or invalid.
    FieldMissing,
    /// The top-level verdict contradicts the majority of its dimensions.
    DimensionConflict,
    /// The score is negative (failure mode 6): a hard fail, never compared with the threshold.
    DegenerateManifold,
}

/// The decision and what led to it (the spec's primary output).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crosscheck {
    /// Whether the verdict may go on to the content filter.
    pub approved: bool,
    /// C = 1 − (E_D + V_r × Φ) / V_t; at most 1.0.
    pub coherence_score: f64,
    /// Ω.
    pub threshold: f64,
    /// The top-level colour, if there is a valid one.
    pub verdict_label: Option<Colour>,
    /// Everything that was found, one flag for each contribution to V_r or E_D.
    pub flags: Vec<String>,
    /// The reason.
    pub crosscheck_reason: Reason,
}

/// Checks a model's reply.
#[must_use]
pub fn crosscheck(raw: &str, tier: Tier) -> Crosscheck {
    match serde_json::from_str::<Value>(raw) {
        Ok(value) => crosscheck_value(&value, tier),
        Err(_) => decide(&measure::malformed()),
    }
}

/// Checks a reply that is already JSON. Anything but an object is malformed.
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
    /// Ω: what is below is not sold.
    pub threshold: f64,
    /// V_t: how much there is that can be weighed.
    pub evidence: f64,
    /// V_r: how much of it contradicts the rest.
    pub inconsistency: f64,
    /// E_D: how much is missing or malformed.
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
    // Verification criterion 2 wants field_missing for a reply without a verdict field even where its score is
    // negative, so that question comes before failure mode 6.
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
