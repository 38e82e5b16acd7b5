//! Decides whether a prompt lets more internal vocabulary through than the accepted one (content filter, verification
//! criterion 6 and GAP-H). Pure.

use domain::{Tier, Verdict};
use filter::Outcome;
use serde::{Deserialize, Serialize};

/// The fewest runs whose result may be accepted (content filter, verification criterion 6).
pub(crate) const ACCEPTABLE_RUNS: u32 = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) approved: bool,
    /// The outcome of gate 1.
    pub(crate) outcome: Outcome,
    pub(crate) terms: Vec<String>,
}

/// Runs one reply through the crosscheck and the filter. A reply that is not a verdict is filtered as raw text, because
/// the prompt is responsible for its words too.
pub(crate) fn sample(tier: Tier, reply: &str) -> Sample {
    let approved = crosscheck::crosscheck(reply, tier).approved;
    let checked = match serde_json::from_str::<Verdict>(reply) {
        Ok(verdict) => filter::Filter::embedded().check_payload(verdict.texts()),
        Err(_) => filter::Filter::embedded().check_payload([reply]),
    };
    Sample { approved, outcome: checked.outcome, terms: checked.hits().map(|(_, hit)| hit.id.clone()).collect() }
}

/// The totals of a number of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measured {
    pub(crate) model: String,
    /// Whether the model itself answered or the sandbox's imitation.
    pub(crate) served_by: ServedBy,
    /// The version of the prompts, see [`prompt::all_versions`].
    pub(crate) prompt: String,
    pub(crate) list_version: String,
    /// The day in UTC, such as 2026-11-21.
    pub(crate) date: String,
    pub(crate) runs: u32,
    /// The number of replies with a blocked term, whatever the filter's outcome.
    pub(crate) contaminated: u32,
    /// The number of replies that the crosscheck approved.
    pub(crate) approved: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServedBy {
    Gemini,
    LookAlike,
}

impl Measured {
    pub(crate) fn add(&mut self, sample: &Sample) {
        self.runs += 1;
        self.contaminated += u32::from(sample.outcome != Outcome::Pass);
        self.approved += u32::from(sample.approved);
    }

    /// The share of contaminated replies, 0 to 1.
    pub(crate) fn rate(&self) -> f64 {
        f64::from(self.contaminated) / f64::from(self.runs.max(1))
    }

    /// Whether the two rates are comparable: another block list finds other terms.
    pub(crate) fn is_comparable(&self, other: &Measured) -> bool {
        self.list_version == other.list_version
    }

    /// The reason why it may not replace the accepted measurement, if there is one.
    pub(crate) fn unacceptable(&self, accepted: Option<&Measured>) -> Option<String> {
        if self.runs < ACCEPTABLE_RUNS {
            return Some(format!("{} runs are too few, at least {ACCEPTABLE_RUNS} are needed", self.runs));
        }
        // Compares in integers, as `judge` does.
        let share = |of: &Measured, among: &Measured| u64::from(of.approved) * u64::from(among.runs.max(1));
        let accepted = accepted.filter(|accepted| share(self, accepted) < share(accepted, self))?;
        let Measured { approved, runs, .. } = accepted;
        Some(format!("{} of {} verdicts were approved, before it were {approved} of {runs}", self.approved, self.runs))
    }

    /// Whether the measurement is of this model and this service.
    fn is_of(&self, model: &str, served_by: ServedBy) -> bool {
        self.model == model && self.served_by == served_by
    }
}

/// The accepted measurements, one per model and service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Baseline(Vec<Measured>);

impl Baseline {
    /// The accepted measurement of a model.
    pub(crate) fn of(&self, model: &str, served_by: ServedBy) -> Option<&Measured> {
        self.0.iter().find(|accepted| accepted.is_of(model, served_by))
    }

    /// The models that these prompts are accepted for.
    pub(crate) fn accepted_for(&self, prompt: &str) -> Vec<Accepted<'_>> {
        let with_these = self.0.iter().filter(|accepted| accepted.prompt == prompt);
        with_these.map(|accepted| Accepted { model: &accepted.model, served_by: accepted.served_by }).collect()
    }

    /// The accepted measurements of other prompts, or with another block list.
    pub(crate) fn stale(&self, prompt: &str, list_version: &str) -> Vec<&Measured> {
        let is_current = |accepted: &&Measured| accepted.prompt == prompt && accepted.list_version == list_version;
        self.0.iter().filter(|accepted| !is_current(accepted)).collect()
    }

    /// Accepts a measurement and removes the previous one of the same model and service.
    pub(crate) fn accept(&mut self, measured: Measured) {
        self.0.retain(|accepted| !accepted.is_of(&measured.model, measured.served_by));
        self.0.push(measured);
        self.0.sort_by(|a, b| a.model.cmp(&b.model));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Accepted<'a> {
    pub(crate) model: &'a str,
    pub(crate) served_by: ServedBy,
}

impl Accepted<'_> {
    /// The model's name, marked if only the sandbox's imitation answered.
    pub(crate) fn name(&self) -> String {
        match self.served_by {
            ServedBy::Gemini => self.model.to_owned(),
            ServedBy::LookAlike => format!("{} (look-alike)", self.model),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Judgement {
    /// The rate is no higher than the accepted one.
    Passed,
    /// The rate is higher: the prompt change is rejected.
    Refused,
}

/// Compares a measurement with the accepted one. If none was accepted, or only one with another block list, no reply
/// may be contaminated.
pub(crate) fn judge(accepted: Option<&Measured>, measured: &Measured) -> Judgement {
    let accepted = accepted.filter(|accepted| accepted.is_comparable(measured));
    let (contaminated, runs) = accepted.map_or((0, 1), |accepted| (accepted.contaminated, accepted.runs.max(1)));
    // Compares in integers, so that equal shares are equal.
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
    fn a_rate_with_another_block_list_is_no_measure() {
        let accepted = Measured { list_version: "older".to_owned(), ..measured(50, 5) };
        assert_eq!(judge(Some(&accepted), &measured(50, 1)), Judgement::Refused);
        assert_eq!(judge(Some(&accepted), &measured(50, 0)), Judgement::Passed);
    }

    #[test]
    fn too_few_runs_and_fewer_approved_verdicts_are_not_accepted() {
        let approved = |runs, approved| Measured { approved, ..measured(runs, 0) };
        let refused = |now: Measured, before: Option<Measured>| now.unacceptable(before.as_ref());
        assert_eq!(refused(approved(50, 48), Some(approved(50, 48))), None);
        assert_eq!(refused(approved(100, 96), Some(approved(50, 48))), None);
        assert_eq!(refused(approved(50, 0), None), None);
        let few = refused(approved(49, 49), Some(approved(50, 48))).unwrap();
        assert_eq!(few, "49 runs are too few, at least 50 are needed");
        let lower = refused(approved(50, 47), Some(approved(50, 48))).unwrap();
        assert_eq!(lower, "47 of 50 verdicts were approved, before it were 48 of 50");
    }

    #[test]
    fn prompts_are_accepted_for_those_who_were_asked_with_them() {
        let mut baseline = Baseline::default();
        baseline.accept(measured(50, 0));
        baseline.accept(Measured { served_by: ServedBy::Gemini, prompt: "older".to_owned(), ..measured(50, 0) });
        assert_eq!(baseline.accepted_for("p"), [Accepted { model: "m", served_by: ServedBy::LookAlike }]);
        assert_eq!(baseline.accepted_for("q"), []);
        let stale = |prompt, list| baseline.stale(prompt, list).iter().map(|old| old.served_by).collect::<Vec<_>>();
        assert_eq!(stale("p", "l"), [ServedBy::Gemini]);
        assert_eq!(stale("p", "newer").len(), 2);
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
