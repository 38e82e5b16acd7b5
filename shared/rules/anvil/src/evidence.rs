//! What machines observe of a forge, a deployment, a configuration, the specification's rules and a running stack. What
//! was not observed is missing, never sound.

use crate::{
    assessment::{Assessment, Mode, Reason, shown_name},
    forge::{ForgeFigures, SmokeScore},
    kernel::Kernel,
    load::{Readings, judge_readings},
    measure::Measure,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many passed, of how many.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Passed.
    pub passed: u64,
    /// Tried.
    pub of: u64,
}

/// Values of the kernels, as far as they were measured.
pub type KernelValues = BTreeMap<Kernel, f64>;

/// A forge's report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Forge {
    /// Final loss.
    pub loss: Option<f64>,
    /// Smoke score.
    pub smoke: Option<Score>,
    /// Pairs of the corpus.
    pub pairs: Option<u64>,
    /// SHA-256 of the corpus that was frozen.
    pub corpus: Option<String>,
    /// Findings of the corpus lint.
    pub corpus_findings: Option<Vec<String>>,
    /// Kernels of the forged model.
    pub kernels: KernelValues,
}

/// A deployment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Deployment {
    /// Stages of the smoke test.
    pub smoke: Option<Score>,
    /// Alarms that are ringing.
    pub alarms: Option<Vec<String>>,
    /// Resources that hold data and would be removed or replaced.
    pub removed: Option<Vec<String>>,
    /// What the new version does with a part of the traffic.
    pub canary: Option<Canary>,
    /// Kernels, where they are measured.
    pub kernels: KernelValues,
}

/// A canary's figures.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canary {
    /// Requests that it served.
    pub requests: u64,
    /// Requests that failed.
    pub errors: u64,
}

/// A configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Configuration {
    /// Ports that listen.
    pub ports: Option<Vec<Port>>,
    /// What is permitted.
    pub permissions: Option<Vec<Permission>>,
    /// What the public can reach.
    pub public: Option<Vec<Exposure>>,
    /// Secrets and their age.
    pub secrets: Option<Vec<SecretAge>>,
}

/// A port that listens.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Port {
    pub port: u16,
    pub address: String,
    #[serde(default)]
    pub process: String,
    #[serde(default)]
    pub whitelisted: bool,
}

/// A permission: a file's mode, or a role's action and resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Permission {
    pub what: String,
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub action: Option<String>,
    #[serde(default)]
    pub resource: Option<String>,
}

/// Something that the public can reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Exposure {
    pub what: String,
    pub intended: bool,
}

/// A secret and the days since it was last changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct SecretAge {
    pub name: String,
    pub age_days: u64,
}

/// Limits for what is no kernel.
pub struct Limits {
    /// A secret should be changed after so many days.
    pub stale_secret_days: u64,
    /// It must be after so many.
    pub expired_secret_days: u64,
    /// Fewer requests say nothing about a canary.
    pub fewest_canary_requests: u64,
    /// Failed requests per thousand that a canary may have.
    pub canary_errors_per_thousand: u64,
}

/// The limits in force.
pub const LIMITS: Limits = Limits {
    stale_secret_days: 90,
    expired_secret_days: 365,
    fewest_canary_requests: 100,
    canary_errors_per_thousand: 10,
};

/// How one thing of a running stack stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// In order.
    Ok,
    /// Nobody has measured it.
    Unmeasured,
    /// A human has something to do, and time for it.
    Waiting,
    /// It could not be asked.
    Unknown,
    /// Somebody must look now.
    Wrong,
}

/// One thing of a running stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Check {
    pub what: String,
    pub state: Standing,
}

/// A running stack.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stack {
    /// Everything that was looked at.
    pub checks: Vec<Check>,
}

/// A rule of the specification.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Rule {
    pub rule: String,
    /// Places that keep it.
    pub kept: usize,
    /// Places that are named and do not exist.
    pub lost: Vec<String>,
}

/// The repository's list of rules.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Compliance {
    /// Every rule.
    pub rules: Vec<Rule>,
}

/// Something that can be assessed.
pub trait Evidence: Serialize {
    /// One reason for everything that it observes, or should have.
    fn reasons(&self) -> Vec<Reason>;

    /// Kernels that were measured.
    fn kernels(&self) -> KernelValues {
        KernelValues::new()
    }

    /// The assessment.
    fn assess(&self) -> Assessment {
        let measured = self.kernels();
        let mut reasons = if measured.is_empty() {
            vec![Reason::note(format!("No values are given for {}.", Kernel::symbols()))]
        } else {
            judge_readings(&readings(&measured))
        };
        reasons.extend(self.reasons());
        Assessment::of(Mode::Analysis, reasons)
    }
}

fn readings(values: &KernelValues) -> Readings {
    let mut readings = Readings::default();
    for (kernel, value) in values {
        match Measure::from_f64(*value) {
            Some(value) => readings.add(*kernel, value),
            None => readings.add_unusable(*kernel),
        }
    }
    readings
}

fn not_observed(what: &str) -> Reason {
    Reason::missing(format!("Not observed: {what}."), what)
}

fn smoke(score: Option<Score>, what: &str) -> Reason {
    let Some(score) = score.and_then(|score| SmokeScore::new(score.passed, score.of)) else {
        return not_observed(what);
    };
    let figures = ForgeFigures { smoke: vec![score], ..ForgeFigures::default() };
    figures.judge(false).pop().unwrap_or_else(|| not_observed(what))
}

/// One reason for a list: a fault for every entry that is one, or what is said of a list without any.
fn each<T>(list: Option<&Vec<T>>, what: &str, fault: impl Fn(&T) -> Option<Reason>) -> Vec<Reason> {
    let Some(list) = list else { return vec![not_observed(what)] };
    let faults: Vec<Reason> = list.iter().filter_map(fault).collect();
    if faults.is_empty() {
        vec![Reason::sound(format!("Of {what}, {} were looked at: in order.", list.len()))]
    } else {
        faults
    }
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
        reasons.extend(each(self.corpus_findings.as_ref(), "the corpus lint's findings", found));
        reasons
    }

    fn kernels(&self) -> KernelValues {
        self.kernels.clone()
    }
}

impl Evidence for Deployment {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = vec![smoke(self.smoke, "the smoke test's stages")];
        let rings = |alarm: &String| Some(Reason::fault(format!("Alarm: {}.", shown_name(alarm))));
        reasons.extend(each(self.alarms.as_ref(), "the alarms", rings));
        let is_removed = |what: &String| Some(Reason::fault(format!("Would remove or replace {}.", shown_name(what))));
        reasons.extend(each(self.removed.as_ref(), "the template's changes", is_removed));
        reasons.push(match self.canary {
            None => not_observed("the canary's figures"),
            Some(Canary { requests, errors }) if errors > requests => Reason::missing(
                format!("{errors} of {requests} canary requests cannot have failed."),
                "the canary's figures",
            ),
            Some(Canary { requests, errors }) if requests < LIMITS.fewest_canary_requests => {
                let few = format!(
                    "The canary failed {errors} of {requests} requests; {} would say something.",
                    LIMITS.fewest_canary_requests
                );
                if errors == 0 { Reason::caution(few) } else { Reason::blocked(few) }
            }
            Some(Canary { requests, errors }) if errors * 1000 > requests * LIMITS.canary_errors_per_thousand => {
                Reason::fault(format!("The canary failed {errors} of {requests} requests."))
            }
            Some(Canary { requests, errors }) => {
                Reason::sound(format!("The canary failed {errors} of {requests} requests."))
            }
        });
        reasons
    }

    fn kernels(&self) -> KernelValues {
        self.kernels.clone()
    }
}

impl Evidence for Configuration {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = each(self.ports.as_ref(), "the ports", |port| {
            let is_local = ["127.", "::1", "localhost"].iter().any(|local| port.address.starts_with(local));
            let process = if port.process.is_empty() { "unknown".to_owned() } else { shown_name(&port.process) };
            (!is_local && !port.whitelisted).then(|| {
                Reason::fault(format!(
                    "Port {} is listening on {}. Process: {process}. Not in the whitelist. Unauthorized external exposure.",
                    port.port,
                    shown_name(&port.address)
                ))
            })
        });
        reasons.extend(each(self.permissions.as_ref(), "the permissions", |permission| {
            let is_open = permission.mode.as_deref().is_some_and(|mode| mode.ends_with(['2', '3', '6', '7']));
            let is_all = |of: &Option<String>| of.as_deref().is_some_and(|of| of == "*" || of.ends_with(":*"));
            let what = shown_name(&permission.what);
            if is_open {
                return Some(Reason::fault(format!("Everybody may write {what}.")));
            }
            (is_all(&permission.action) || permission.resource.as_deref() == Some("*"))
                .then(|| Reason::fault(format!("The permission of {what} names no action or no resource.")))
        }));
        reasons.extend(each(self.public.as_ref(), "what the public can reach", |exposure| {
            (!exposure.intended).then(|| Reason::fault(format!("The public can reach {}.", shown_name(&exposure.what))))
        }));
        reasons.extend(each(self.secrets.as_ref(), "the secrets' age", |secret| {
            let (name, days) = (shown_name(&secret.name), secret.age_days);
            if days > LIMITS.expired_secret_days {
                return Some(Reason::fault(format!("The secret {name} is {days} days old.")));
            }
            (days > LIMITS.stale_secret_days).then(|| Reason::caution(format!("The secret {name} is {days} days old.")))
        }));
        reasons
    }
}

impl Evidence for Stack {
    fn reasons(&self) -> Vec<Reason> {
        let reason = |check: &Check| {
            let what = shown_name(&check.what);
            match check.state {
                Standing::Ok => Reason::sound(format!("{what}: in order.")),
                Standing::Waiting => Reason::caution(format!("{what}: waits for a human.")),
                Standing::Unmeasured => Reason::missing(format!("{what}: not measured."), what),
                Standing::Unknown => Reason::blocked(format!("{what}: could not be asked.")),
                Standing::Wrong => Reason::fault(format!("{what}: wrong.")),
            }
        };
        self.checks.iter().map(reason).collect()
    }
}

impl Evidence for Compliance {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let kept = self.rules.iter().filter(|rule| rule.kept > 0 && rule.lost.is_empty()).count();
        if kept > 0 {
            reasons.push(Reason::sound(format!("{kept} of {} rules are kept.", self.rules.len())));
        }
        for rule in &self.rules {
            if let Some(place) = rule.lost.first() {
                reasons.push(Reason::fault(format!(
                    "{}: {} does not exist.",
                    shown_name(&rule.rule),
                    shown_name(place)
                )));
            } else if rule.kept == 0 {
                reasons.push(Reason::caution(format!("{}: not built yet.", shown_name(&rule.rule))));
            }
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assessment::Verdict;

    fn verdict<T: Evidence + for<'a> Deserialize<'a>>(document: &str) -> (Verdict, String) {
        let assessment = serde_json::from_str::<T>(document).unwrap().assess();
        (assessment.verdict(), assessment.text())
    }

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

    #[test]
    fn a_deployment_is_sound_only_with_all_four_observations() {
        let whole =
            r#"{"smoke":{"passed":10,"of":10},"alarms":[],"removed":[],"canary":{"requests":1000,"errors":10}}"#;
        assert_eq!(verdict::<Deployment>(whole).0, Verdict::Green);
        for (was, is, expected) in [
            ("\"passed\":10", "\"passed\":9", Verdict::Red),
            ("\"alarms\":[]", "\"alarms\":[\"verdict failed\"]", Verdict::Red),
            ("\"removed\":[]", "\"removed\":[\"Table\"]", Verdict::Red),
            ("\"errors\":10", "\"errors\":11", Verdict::Red),
            ("\"requests\":1000", "\"requests\":99", Verdict::Hold),
            ("\"alarms\":[],", "", Verdict::Null),
            (",\"canary\":{\"requests\":1000,\"errors\":10}", "", Verdict::Null),
        ] {
            assert_eq!(verdict::<Deployment>(&whole.replace(was, is)).0, expected, "{is}");
        }
    }

    #[test]
    fn a_configuration_is_judged_by_ports_permissions_exposure_and_secrets() {
        let whole = r#"{"ports":[{"port":8891,"address":"127.0.0.1"},{"port":443,"address":"0.0.0.0","whitelisted":true}],
            "permissions":[{"what":"key","mode":"600"}],"public":[{"what":"site","intended":true}],
            "secrets":[{"name":"stripe","age_days":90}]}"#;
        assert_eq!(verdict::<Configuration>(whole).0, Verdict::Green);
        for (was, is, expected) in [
            ("127.0.0.1", "0.0.0.0", Verdict::Red),
            ("\"600\"", "\"777\"", Verdict::Red),
            ("true}],\n            \"secrets\"", "false}],\n            \"secrets\"", Verdict::Red),
            (":90", ":91", Verdict::Amber),
            (":90", ":366", Verdict::Red),
            ("\"permissions\":[{\"what\":\"key\",\"mode\":\"600\"}],", "", Verdict::Null),
        ] {
            assert!(whole.contains(was), "{was}");
            assert_eq!(verdict::<Configuration>(&whole.replace(was, is)).0, expected, "{is}");
        }
        let (_, text) = verdict::<Configuration>(&whole.replace("127.0.0.1", "0.0.0.0"));
        assert!(text.contains("Port 8891 is listening on 0.0.0.0. Process: unknown. Not in the whitelist."), "{text}");
    }

    #[test]
    fn a_stack_stands_as_its_worst_check_does() {
        for (state, expected) in [
            ("ok", Verdict::Green),
            ("waiting", Verdict::Amber),
            ("unmeasured", Verdict::Null),
            ("unknown", Verdict::Hold),
            ("wrong", Verdict::Red),
        ] {
            let document =
                format!(r#"{{"checks":[{{"what":"alarms","state":"ok"}},{{"what":"RED queue","state":"{state}"}}]}}"#);
            assert_eq!(verdict::<Stack>(&document).0, expected);
        }
        assert_eq!(verdict::<Stack>(r#"{"checks":[]}"#).0, Verdict::Null);
    }

    #[test]
    fn rules_are_kept_not_built_or_lost() {
        let of = |kept: usize, lost: &[&str]| {
            let lost = lost.iter().map(|place| (*place).to_owned()).collect();
            let rules =
                vec![Rule { rule: "A 1".into(), kept: 2, lost: vec![] }, Rule { rule: "A 2".into(), kept, lost }];
            Compliance { rules }.assess().verdict()
        };
        assert_eq!((of(1, &[]), of(0, &[]), of(1, &["shared/x"])), (Verdict::Green, Verdict::Amber, Verdict::Red));
    }
}
