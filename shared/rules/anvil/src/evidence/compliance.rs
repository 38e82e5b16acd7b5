//! The specification's rules, and the places of the repository that keep them.

use super::Evidence;
use crate::assessment::{Reason, shown_name};
use serde::{Deserialize, Serialize};

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
