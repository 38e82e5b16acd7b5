//! The specification's rules, the places in the repository that implement them, and the results of their tests.

use super::{Evidence, not_observed};
use crate::assessment::{Reason, shown_name};
use serde::{Deserialize, Serialize};

/// A rule of the specification.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct Rule {
    pub rule: String,
    /// The number of places that implement it.
    pub kept: usize,
    /// Listed places and tests that do not exist.
    pub lost: Vec<String>,
    /// The results of its tests, if known.
    #[serde(default)]
    pub tests: Option<RuleTests>,
}

/// The test results of one rule.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub struct RuleTests {
    pub passed: usize,
    pub failed: Vec<String>,
    pub not_run: Vec<String>,
}

/// The repository's list of rules.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Compliance {
    /// All rules.
    pub rules: Vec<Rule>,
    /// The commit of the repository.
    #[serde(default)]
    pub commit: Option<String>,
    /// The commit that the tests ran on.
    #[serde(default)]
    pub tested: Option<String>,
}

impl Evidence for Compliance {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let kept = self.rules.iter().filter(|rule| rule.kept > 0 && rule.lost.is_empty()).count();
        if kept > 0 {
            reasons.push(Reason::sound(format!("{kept} of {} rules are kept.", self.rules.len())));
        }
        reasons.push(match (&self.tested, &self.commit) {
            (None, _) => not_observed("the results of the tests"),
            (tested, commit) if tested != commit => Reason::missing(
                "The results are of another commit, or of work that is not committed.",
                "the results of this commit's tests",
            ),
            _ => Reason::note("The results are of this commit."),
        });
        reasons.extend(self.rules.iter().flat_map(judge));
        reasons
    }
}

fn judge(rule: &Rule) -> Vec<Reason> {
    let name = shown_name(&rule.rule);
    if let Some(place) = rule.lost.first() {
        return vec![Reason::fault(format!("{name}: {} does not exist.", shown_name(place)))];
    }
    if rule.kept == 0 {
        return vec![Reason::caution(format!("{name}: not built yet."))];
    }
    let Some(RuleTests { passed, failed, not_run }) = &rule.tests else { return Vec::new() };
    let mut reasons = Vec::new();
    if let Some(test) = failed.first() {
        reasons.push(Reason::fault(format!("{name}: {} failed.", shown_name(test))));
    }
    if let Some(test) = not_run.first() {
        let count = not_run.len();
        let text = format!("{name}: {count} of its tests did not run, such as {}.", shown_name(test));
        reasons.push(Reason::missing(text, format!("the tests of {name}")));
    }
    if *passed == 0 && failed.is_empty() && not_run.is_empty() {
        reasons.push(Reason::caution(format!("{name}: no test keeps it.")));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assessment::Verdict;

    fn tests(passed: usize, failed: &[&str], not_run: &[&str]) -> Option<RuleTests> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Some(RuleTests { passed, failed: owned(failed), not_run: owned(not_run) })
    }

    fn verdict(second: Rule) -> Verdict {
        let first = Rule { rule: "A 1".into(), kept: 2, lost: vec![], tests: tests(1, &[], &[]) };
        let commit = Some("c".to_owned());
        Compliance { rules: vec![first, second], tested: commit.clone(), commit }.assess().verdict()
    }

    #[test]
    fn rules_are_kept_not_built_or_lost() {
        let of = |kept: usize, lost: &[&str]| {
            let lost = lost.iter().map(|place| (*place).to_owned()).collect();
            verdict(Rule { rule: "A 2".into(), kept, lost, tests: tests(1, &[], &[]) })
        };
        assert_eq!((of(1, &[]), of(0, &[]), of(1, &["shared/x"])), (Verdict::Green, Verdict::Amber, Verdict::Red));
    }

    #[test]
    fn a_rule_is_kept_only_by_tests_that_ran_and_passed() {
        let of = |tests| verdict(Rule { rule: "A 2".into(), kept: 1, lost: vec![], tests });
        assert_eq!(of(tests(3, &["x"], &[])), Verdict::Red);
        assert_eq!(of(tests(3, &[], &["x"])), Verdict::Null);
        assert_eq!(of(tests(0, &[], &[])), Verdict::Amber);
        assert_eq!(of(tests(3, &[], &[])), Verdict::Green);
    }

    #[test]
    fn results_count_for_the_commit_that_they_are_of() {
        let rule = || vec![Rule { rule: "A 1".into(), kept: 1, lost: vec![], tests: tests(1, &[], &[]) }];
        let of = |commit: Option<&str>, tested: Option<&str>| {
            let owned = |of: Option<&str>| of.map(str::to_owned);
            Compliance { rules: rule(), commit: owned(commit), tested: owned(tested) }.assess().verdict()
        };
        assert_eq!(of(Some("a"), Some("a")), Verdict::Green);
        assert_eq!(of(Some("b"), Some("a")), Verdict::Null);
        assert_eq!(of(None, Some("a")), Verdict::Null);
        assert_eq!(of(Some("a"), None), Verdict::Null);
        assert_eq!(of(None, None), Verdict::Null);
    }
}
