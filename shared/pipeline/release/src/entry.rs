//! A stored verdict: in the ledger of `oracle anvil assess … --ledger` and in the gate's state.

use crate::build::Build;
use anvil_rules::{Assessment, Effect, Story, Verdict, evidence::KernelValues};
use domain::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A verdict with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When it was made, in ISO 8601.
    pub at: String,
    /// The subject of the assessment.
    pub subject: String,
    /// The build that was judged, if the subject is a deployment that the gate saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// The verdict.
    pub verdict: Verdict,
    /// The whole answer, which ends with the verdict.
    pub text: String,
    /// Its reasons.
    #[serde(default)]
    pub reasons: Vec<ListedReason>,
    /// The measured kernels.
    #[serde(default)]
    pub kernels: KernelValues,
    /// The narrative of the same facts.
    #[serde(default)]
    pub narrative: String,
    /// Fingerprints of the observations.
    #[serde(default)]
    pub evidence: Value,
}

/// A stored reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedReason {
    /// Its effect on the verdict.
    pub effect: Effect,
    /// The sentence.
    pub text: String,
}

impl Entry {
    /// The entry of an assessment, with the fixed narrative and with the binding of its evidence.
    #[must_use]
    pub fn of(now: Timestamp, subject: &str, assessment: &Assessment, kernels: KernelValues, evidence: Value) -> Self {
        let reasons = assessment.reasons().iter();
        Self {
            at: now.to_iso(),
            subject: subject.to_owned(),
            build: None,
            verdict: assessment.verdict(),
            text: assessment.text(),
            reasons: reasons
                .map(|reason| ListedReason { effect: reason.effect(), text: reason.text().to_owned() })
                .collect(),
            kernels,
            narrative: Story::of(subject, assessment).narrative(None, |_| false).text().to_owned(),
            evidence,
        }
    }
}
