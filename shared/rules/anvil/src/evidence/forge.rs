//! A forge's report: loss, smoke score and corpus.

use super::{Evidence, KernelValues, Score, each, not_observed};
use crate::{
    assessment::{Reason, shown_name},
    forge::{ForgeFigures, SmokeScore},
    measure::Measure,
};
use serde::{Deserialize, Serialize};

/// A forge's report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Forge {
    /// Final loss.
    pub loss: Option<f64>,
    /// Smoke score.
    pub smoke: Option<Score>,
    /// The number of pairs in the corpus.
    pub pairs: Option<u64>,
    /// SHA-256 of the frozen corpus.
    pub corpus: Option<String>,
    /// Findings of the corpus lint.
    pub corpus_findings: Option<Vec<String>>,
    /// Kernels of the forged model.
    pub kernels: KernelValues,
}

impl Evidence for Forge {
    fn reasons(&self) -> Vec<Reason> {
        let figures = ForgeFigures {
            loss: self.loss.and_then(Measure::from_f64).into_iter().collect(),
            smoke: self.smoke.and_then(|score| SmokeScore::new(score.passed, score.of)).into_iter().collect(),
            pairs: self.pairs.into_iter().collect(),
        };
        let mut reasons = figures.judge(true);
        if self.pairs.is_none() {
            reasons.push(not_observed("the size of the corpus"));
        }
        reasons.push(match &self.corpus {
            Some(hash) if hash.len() == 64 && hash.bytes().all(|of| of.is_ascii_hexdigit()) => {
                Reason::sound("The corpus is frozen under its hash.")
            }
            _ => not_observed("the hash of the frozen corpus"),
        });
        let found = |finding: &String| Some(Reason::fault(format!("Corpus: {}.", shown_name(finding))));
        reasons.extend(each(
            self.corpus_findings.as_ref(),
            "the corpus lint's findings",
            |_| "The corpus lint found nothing.".to_owned(),
            found,
        ));
        reasons
    }

    fn kernels(&self) -> KernelValues {
        self.kernels.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assessment::Verdict, evidence::verdict_of as verdict};

    #[test]
    fn a_forge_needs_its_figures_and_its_frozen_corpus() {
        let hash = "a".repeat(64);
        let whole = format!(
            "{{\"loss\":0.378,\"smoke\":{{\"passed\":5,\"of\":5}},\"pairs\":141,\"corpus\":\"{hash}\",\"corpus_findings\":[]}}"
        );
        assert_eq!(verdict::<Forge>(&whole).0, Verdict::Green);
        assert_eq!(verdict::<Forge>(&whole.replace("0.378", "0.89")).0, Verdict::Red);
        assert_eq!(verdict::<Forge>(&whole.replace(&hash, "x")).0, Verdict::Null);
        assert_eq!(verdict::<Forge>(&whole.replace("[]", "[\"too many single words\"]")).0, Verdict::Red);
        let (null, text) = verdict::<Forge>("{}");
        assert!(null == Verdict::Null && text.contains("the loss") && text.contains("smoke"), "{text}");
        let with_kernels = whole.replace("\"pairs\"", "\"kernels\":{\"phi_zeta\":0.5},\"pairs\"");
        assert_eq!(verdict::<Forge>(&with_kernels).0, Verdict::Red);
    }
}
