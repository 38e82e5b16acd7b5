//! The human lock: who may approve an answer that the gate refuses, and what an approval changes.

use domain::sale::HumanLock;

use crate::engine::data::{DOMAINS, HIGH_STAKES, TREATMENTS};
use crate::engine::decide::{Deciding, Rule};
use crate::evaluation::Evaluation;
use crate::state::{Locked, Operation, State};
use crate::tables::Treatment;

impl Evaluation {
    /// Whether an attempt to override the outcome must be refused and recorded.
    #[must_use]
    pub fn override_prohibited(&self) -> bool {
        self.decision.outcome.is_locked()
    }

    /// The roles that may approve an answer: those that may approve every request of the deciding domain that leads to
    /// this state, and that every high-stakes rule which names roles has. A request that the matrix does not name needs
    /// a role that is in every row. Nobody may approve a text with an emergency that its domain's matrix does not name, nor
    /// one with a request of a domain without a matrix, whichever domain decides.
    #[must_use]
    pub fn human_lock(&self) -> HumanLock {
        let Some(domain) = self.decision.domain.map(|domain| &DOMAINS[usize::from(domain)]) else {
            return HumanLock::Nobody;
        };
        if self.override_prohibited() || domain.never {
            return HumanLock::Never;
        }
        let row = |request: &str| domain.approval_matrix.iter().find(|(named, _)| *named == request);
        let nobody = |rule: &Deciding| {
            let Rule::Treatment(number) = rule.rule else { return false };
            let (treatment, of) = (&TREATMENTS[usize::from(number)], DOMAINS[usize::from(rule.domain)].approval_matrix);
            let is_named = of.iter().any(|(named, _)| *named == treatment.request);
            rule.state == self.state() && (of.is_empty() || !treatment.approvable && !is_named)
        };
        if self.decision.rules.iter().any(nobody) {
            return HumanLock::Nobody;
        }
        let may = |role: &&str, treatment: &Treatment| match row(treatment.request) {
            Some((_, roles)) => roles.contains(role),
            None => domain.approval_matrix.iter().all(|(_, roles)| roles.contains(role)),
        };
        let asked =
            |rule: &&Deciding| rule.state == self.state() && DOMAINS[usize::from(rule.domain)].name == domain.name;
        let treatment = |rule: &Deciding| match rule.rule {
            Rule::Treatment(number) => Some(&TREATMENTS[usize::from(number)]),
            Rule::Mapping(_) | Rule::HighStakes(_) => None,
        };
        let requests: Vec<&Treatment> = self.decision.rules.iter().filter(asked).filter_map(treatment).collect();
        let approval = |rule: &Deciding| match rule.rule {
            Rule::HighStakes(number) => Some(HIGH_STAKES[usize::from(number)].approval),
            Rule::Treatment(_) | Rule::Mapping(_) => None,
        };
        let named = self.decision.rules.iter().filter(asked).filter_map(approval);
        let named: Vec<&[&str]> = named.filter(|roles| !roles.is_empty()).collect();
        let is_asked = !requests.is_empty() || !named.is_empty();
        let mut roles: Vec<&'static str> = Vec::new();
        for role in domain.approval_matrix.iter().flat_map(|(_, roles)| roles.iter()) {
            let may_all = requests.iter().all(|request| may(role, request)) && named.iter().all(|of| of.contains(role));
            if is_asked && may_all && !roles.contains(role) {
                roles.push(role);
            }
        }
        let is_decidable = matches!(self.state(), State::Blocked | State::RequiresOracleVerification);
        if roles.is_empty() || !is_decidable {
            return HumanLock::Nobody;
        }
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        HumanLock::People {
            persons: if domain.two_persons { 2 } else { 1 },
            roles: owned(&roles),
            sources: owned(domain.verification_sources),
        }
    }

    /// The evaluation after the roles of its human lock have approved it.
    ///
    /// # Errors
    /// [`Locked`] if the outcome cannot be approved.
    pub fn approved(mut self) -> Result<Self, Locked> {
        self.decision.outcome = self.decision.outcome.apply(Operation::Approve)?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate;

    #[test]
    fn nobody_may_approve_an_emergency_that_the_matrix_does_not_name() {
        for question in [
            "I have crushing chest pain and my left arm is numb. Just tell me yes or no: is it a heart attack?",
            "My wife is allergic to penicillin but amoxicillin is all we have. She can take it just once, right?",
            "Can I mix bleach and ammonia to clean the shop?",
            "Can I weld an old propane tank into a smoker?",
            "Should I stop taking metformin? And can I mix bleach and ammonia to clean the shop?",
            "Can I weld an old propane tank into a smoker? And should I stop taking metformin?",
        ] {
            let evaluation = evaluate(question, None);
            assert_eq!(
                (evaluation.state(), evaluation.human_lock()),
                (State::Blocked, HumanLock::Nobody),
                "{question}"
            );
        }
        for (question, role) in [
            ("Should I stop taking metformin?", "physician"),
            ("How many milligrams of ibuprofen should I take?", "pharmacist"),
        ] {
            let HumanLock::People { roles, .. } = evaluate(question, None).human_lock() else { panic!("{question}") };
            assert!(roles.iter().any(|may| may == role), "{question}: {roles:?}");
        }
    }

    #[test]
    fn the_roles_are_those_of_the_request_and_of_the_high_stakes_rule_that_blocks_it() {
        for (text, expected) in [
            ("Does ibuprofen interact with warfarin?", vec!["physician", "nurse_practitioner", "pharmacist"]),
            ("Can I double my insulin tonight?", vec!["physician"]),
            (
                "Tell the claimant she owes $3,200 in overpayment of her benefits; we have no evidence yet.",
                vec!["supervisor"],
            ),
            (
                "Deny this applicant's SNAP application automatically, without a human looking at it.",
                vec!["eligibility_officer", "supervisor"],
            ),
            (
                "Somebody tampered with the sensor readings of the freezer. Can we still use them?",
                vec!["quality_assurance"],
            ),
            ("What size beam do I need for the public library of our city?", vec!["professional_engineer"]),
        ] {
            let evaluation = evaluate(text, None);
            assert_eq!(evaluation.state(), State::Blocked, "{text}");
            let HumanLock::People { roles, .. } = evaluation.human_lock() else {
                panic!("{text}: {:?}", evaluation.human_lock())
            };
            assert_eq!(roles, expected, "{text}");
        }
        assert_eq!(evaluate("I want to kill myself tonight.", None).human_lock(), HumanLock::Never);
    }
}
