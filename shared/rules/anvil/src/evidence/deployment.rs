//! A deployment: the smoke test, alarms, the template's changes and the canary.

use super::{Evidence, KernelValues, Score, each, not_observed};
use crate::{
    assessment::{Reason, shown_name},
    forge::{ForgeFigures, SmokeScore},
};
use serde::{Deserialize, Serialize};

/// The minimum number of requests for judging a canary.
const FEWEST_CANARY_REQUESTS: u64 = 100;

/// The maximum of failed requests per thousand of a canary.
const CANARY_ERRORS_PER_THOUSAND: u128 = 10;

/// The number of stages of the complete smoke test: fewer stages are an incomplete run.
const SMOKE_STAGES: u64 = 10;

/// A deployment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Deployment {
    /// Stages of the smoke test.
    pub smoke: Option<Score>,
    /// Alarms in the ALARM state that show a fault.
    pub alarms: Option<Vec<String>>,
    /// Alarms in the ALARM state that people outside can raise at no cost. They must not be able to stop a deployment.
    pub alarms_by_outsiders: Vec<String>,
    /// Stateful resources that the change would remove or replace.
    pub removed: Option<Vec<String>>,
    /// The results of the new version with a part of the traffic.
    pub canary: Option<Canary>,
    /// Kernel values, if measured.
    pub kernels: KernelValues,
}

/// A canary's figures.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canary {
    /// The number of requests that it received.
    pub requests: u64,
    /// The number of failed requests.
    pub errors: u64,
}

impl Canary {
    /// Judges the canary: a fault above the permitted share of failures.
    #[must_use]
    pub(crate) fn judge(self) -> Reason {
        let Self { requests, errors } = self;
        let failed = format!("The canary failed {errors} of {requests} requests");
        if errors > requests {
            return Reason::missing(
                format!("{errors} of {requests} canary requests cannot have failed."),
                "the canary's figures",
            );
        }
        if requests < FEWEST_CANARY_REQUESTS {
            let few = format!("{failed}; {FEWEST_CANARY_REQUESTS} would say something.");
            return if errors == 0 { Reason::caution(few) } else { Reason::blocked(few) };
        }
        if u128::from(errors) * 1000 > u128::from(requests) * CANARY_ERRORS_PER_THOUSAND {
            return Reason::fault(format!("{failed}."));
        }
        Reason::sound(format!("{failed}."))
    }
}

impl Evidence for Deployment {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = vec![smoke(self.smoke, "the smoke test's stages")];
        let rings = |alarm: &String| Some(Reason::fault(format!("Alarm: {}.", shown_name(alarm))));
        reasons.extend(each(self.alarms.as_ref(), "the alarms", |_| "No alarm is raised.".to_owned(), rings));
        reasons.extend(
            self.alarms_by_outsiders
                .iter()
                .map(|alarm| Reason::caution(format!("Alarm that people outside can raise: {}.", shown_name(alarm)))),
        );
        let is_removed = |what: &String| Some(Reason::fault(format!("Would remove or replace {}.", shown_name(what))));
        reasons.extend(each(
            self.removed.as_ref(),
            "the template's changes",
            |_| "No resource with data is removed or replaced.".to_owned(),
            is_removed,
        ));
        reasons.push(self.canary.map_or_else(|| not_observed("the canary's figures"), Canary::judge));
        reasons
    }

    fn kernels(&self) -> KernelValues {
        self.kernels.clone()
    }
}

fn smoke(score: Option<Score>, what: &str) -> Reason {
    let whole = score.filter(|score| score.of >= SMOKE_STAGES);
    let Some(score) = whole.and_then(|score| SmokeScore::new(score.passed, score.of)) else {
        return not_observed(what);
    };
    let figures = ForgeFigures { smoke: vec![score], ..ForgeFigures::default() };
    figures.judge(false).pop().unwrap_or_else(|| not_observed(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assessment::Verdict, evidence::verdict_of as verdict};

    #[test]
    fn a_deployment_is_sound_only_with_all_four_observations() {
        let whole =
            r#"{"smoke":{"passed":10,"of":10},"alarms":[],"removed":[],"canary":{"requests":1000,"errors":10}}"#;
        assert_eq!(verdict::<Deployment>(whole).0, Verdict::Green);
        for (was, is, expected) in [
            ("\"passed\":10", "\"passed\":9", Verdict::Red),
            ("\"alarms\":[]", "\"alarms\":[\"verdict failed\"]", Verdict::Red),
            ("\"alarms\":[]", "\"alarms\":[],\"alarms_by_outsiders\":[\"signature refused\"]", Verdict::Amber),
            ("\"removed\":[]", "\"removed\":[\"Table\"]", Verdict::Red),
            ("\"errors\":10", "\"errors\":11", Verdict::Red),
            ("\"passed\":10,\"of\":10", "\"passed\":1,\"of\":1", Verdict::Null),
            (
                "\"requests\":1000,\"errors\":10",
                "\"requests\":18446744073709551615,\"errors\":18446744073709551615",
                Verdict::Red,
            ),
            ("\"requests\":1000", "\"requests\":99", Verdict::Hold),
            ("\"alarms\":[],", "", Verdict::Null),
            (",\"canary\":{\"requests\":1000,\"errors\":10}", "", Verdict::Null),
        ] {
            assert_eq!(verdict::<Deployment>(&whole.replace(was, is)).0, expected, "{is}");
        }
    }
}
