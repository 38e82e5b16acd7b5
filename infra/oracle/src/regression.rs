//! Whether a prompt lets more internal vocabulary through than the one before (content filter, verification
//! criterion 6 and GAP-H): what counts, and what is refused. Pure.

use domain::{Tier, Verdict};
use filter::Outcome;
use serde::{Deserialize, Serialize};

/// What came of one reply of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Whether the crosscheck lets it on.
    pub(crate) approved: bool,
    /// What gate 1 makes of it.
    pub(crate) outcome: Outcome,
    /// The ids of the terms that were found.
    pub(crate) terms: Vec<String>,
}

/// Runs one reply through the crosscheck and the filter. A reply that is no verdict is filtered as it stands: what
/// it holds, the prompt has let through all the same.
pub(crate) fn sample(tier: Tier, reply: &str) -> Sample {
    let approved = crosscheck::crosscheck(reply, tier).approved;
    let checked = match serde_json::from_str::<Verdict>(reply) {
        Ok(verdict) => filter::Filter::embedded().check_payload(verdict.texts()),
        Err(_) => filter::Filter::embedded().check_payload([reply]),
    };
    Sample { approved, outcome: checked.outcome, terms: checked.hits().map(|(_, hit)| hit.id.clone()).collect() }
}

/// What a number of runs came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measured {
    pub(crate) model: String,
    /// Whether it was the model itself or a look-alike.
    pub(crate) served_by: ServedBy,
    /// Names the prompts, see [`prompt::all_versions`].
    pub(crate) prompt: String,
    /// The block list's version.
    pub(crate) list_version: String,
    /// The day, in UTC: 2026-11-21.
    pub(crate) date: String,
    pub(crate) runs: u32,
    /// How many replies held a blocked term, whatever became of it.
    pub(crate) contaminated: u32,
    /// How many the crosscheck let on.
    pub(crate) approved: u32,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServedBy {
    Gemini,
    LookAlike,
}

impl Measured {
    /// Adds one run.
    pub(crate) fn add(&mut self, sample: &Sample) {
        self.runs += 1;
        self.contaminated += u32::from(sample.outcome != Outcome::Pass);
        self.approved += u32::from(sample.approved);
    }

    /// The share of contaminated replies, 0 to 1.
    pub(crate) fn rate(&self) -> f64 {
        f64::from(self.contaminated) / f64::from(self.runs.max(1))
    }

    /// Whether it is about the same model, served by the same.
    fn is_of(&self, model: &str, served_by: ServedBy) -> bool {
        self.model == model && self.served_by == served_by
    }
}

/// The accepted measurements, one for each model and who serves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Baseline(Vec<Measured>);

impl Baseline {
    /// What was accepted for a model.
    pub(crate) fn of(&self, model: &str, served_by: ServedBy) -> Option<&Measured> {
        self.0.iter().find(|accepted| accepted.is_of(model, served_by))
    }

    /// Accepts a measurement in place of the one before.
    pub(crate) fn accept(&mut self, measured: Measured) {
        self.0.retain(|accepted| !accepted.is_of(&measured.model, measured.served_by));
        self.0.push(measured);
        self.0.sort_by(|a, b| a.model.cmp(&b.model));
    }
}

/// What follows from a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Judgement {
    /// The rate is no higher than the accepted one.
    Passed,
    /// It is higher: the change of the prompt is rejected.
    Refused,
}

/// Compares a measurement with the accepted one. Where none was accepted yet, nothing may be contaminated.
pub(crate) fn judge(accepted: Option<&Measured>, measured: &Measured) -> Judgement {
    let (contaminated, runs) = accepted.map_or((0, 1), |accepted| (accepted.contaminated, accepted.runs.max(1)));
    // In whole numbers, so that equal shares are equal.
    let is_higher =
        u64::from(measured.contaminated) * u64::from(runs) > u64::from(contaminated) * u64::from(measured.runs);
    if is_higher { Judgement::Refused } else { Judgement::Passed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(runs: u32, contaminated: u32) -> Measured {
        Measured {
            model: "m".to_owned(),
            served_by: ServedBy::LookAlike,
            prompt: "p".to_owned(),
            list_version: "l".to_owned(),
            date: "2026-11-21".to_owned(),
            runs,
            contaminated,
            approved: runs,
        }
    }

    #[test]
    fn a_rate_that_rises_is_refused() {
        for (accepted, now, judgement) in [
            (Some((50, 2)), (50, 2), Judgement::Passed),
            (Some((50, 2)), (50, 3), Judgement::Refused),
            (Some((50, 2)), (100, 4), Judgement::Passed),
            (Some((50, 2)), (10, 1), Judgement::Refused),
            (Some((50, 2)), (50, 0), Judgement::Passed),
            (None, (50, 0), Judgement::Passed),
            (None, (50, 1), Judgement::Refused),
        ] {
            let accepted = accepted.map(|(runs, contaminated)| measured(runs, contaminated));
            assert_eq!(judge(accepted.as_ref(), &measured(now.0, now.1)), judgement, "{accepted:?} {now:?}");
        }
    }

    #[test]
    fn whatever_holds_a_term_counts_be_it_a_verdict_or_not() {
        let clean = sample(Tier::Quick, r#"{"verdict":"GREEN","summary":"Demand is real: go."}"#);
        assert_eq!((clean.approved, clean.outcome), (true, Outcome::Pass));
        let replaceable = sample(Tier::Quick, r#"{"verdict":"GREEN","summary":"Your coherence score is high."}"#);
        assert_eq!((replaceable.outcome, replaceable.terms), (Outcome::Replace, vec!["coherence-score".to_owned()]));
        let prose = sample(Tier::Quick, "10-4, says MANTIS.");
        assert_eq!((prose.approved, prose.outcome), (false, Outcome::Quarantine));
        let mut sum = measured(0, 0);
        sum.approved = 0;
        for sample in [clean, sample(Tier::Quick, "10-4, says MANTIS.")] {
            sum.add(&sample);
        }
        assert_eq!((sum.runs, sum.contaminated, sum.approved, sum.rate()), (2, 1, 1, 0.5));
    }

    #[test]
    fn each_model_and_server_has_its_own_baseline() {
        let mut baseline = Baseline::default();
        baseline.accept(measured(50, 2));
        baseline.accept(Measured { served_by: ServedBy::Gemini, ..measured(50, 1) });
        baseline.accept(measured(50, 0));
        assert_eq!(baseline.of("m", ServedBy::LookAlike).map(|m| m.contaminated), Some(0));
        assert_eq!(baseline.of("m", ServedBy::Gemini).map(|m| m.contaminated), Some(1));
        assert_eq!(baseline.of("n", ServedBy::Gemini), None);
    }
}
