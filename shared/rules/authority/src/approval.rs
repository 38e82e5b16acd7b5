//! The human lock: who may approve an answer that the gate refuses, and what an approval changes.

use std::collections::BTreeSet;

use domain::sale::HumanLock;

use crate::engine::data::{AXES, DOMAINS, HIGH_STAKES, TREATMENTS};
use crate::engine::decide::{Deciding, Rule};
use crate::evaluation::Evaluation;
use crate::state::{Operation, State};
use crate::tables::{Domain, Treatment};

impl Evaluation {
    /// Whether an attempt to override the outcome must be refused and recorded.
    #[must_use]
    pub fn override_prohibited(&self) -> bool {
        self.decision.outcome.is_locked()
    }

    /// Who may approve an answer. A role must be able to approve what each domain refuses, so nobody may approve a text
    /// that asks a physician's question beside a lawyer's, or beside one that lacks a specification. If a domain asks for
    /// two persons, two have to approve.
    #[must_use]
    pub fn human_lock(&self) -> HumanLock {
        let Some(domain) = self.decision.domain else { return HumanLock::Nobody };
        let Domain { never, verification_sources, .. } = DOMAINS[usize::from(domain)];
        if self.override_prohibited() || never {
            return HumanLock::Never;
        }
        // Its sources of help must not wait for an approval, whichever rule found it.
        if self.is_emergency() {
            return HumanLock::Nobody;
        }
        // A denial owes its reader the appeal rights, so no role may approve one without them.
        if self.decision.missing.iter().any(|axis| AXES[usize::from(*axis)].unwaivable) {
            return HumanLock::Nobody;
        }
        let decidable = [State::Blocked, State::RequiresOracleVerification];
        let is_decidable = self.refusing().all(|rule| decidable.contains(&rule.state));
        let mut roles = if is_decidable { self.approvers(domain) } else { Vec::new() };
        let refusing: BTreeSet<u8> = self.refusing().map(|rule| rule.domain).collect();
        for other in refusing.iter().filter(|other| **other != domain) {
            let approvers = self.approvers(*other);
            roles.retain(|role| approvers.contains(role));
        }
        if roles.is_empty() {
            return HumanLock::Nobody;
        }
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let two_persons = refusing.iter().any(|domain| DOMAINS[usize::from(*domain)].two_persons);
        HumanLock::People {
            persons: if two_persons { 2 } else { 1 },
            roles: owned(&roles),
            sources: owned(verification_sources),
        }
    }

    /// The requests and high-stakes rules for which the text is not sold: of the deciding domain those that lead to this
    /// state, because its roles know what else their domain asks for, and of every other domain all.
    fn refusing(&self) -> impl Iterator<Item = &Deciding> {
        let (state, decided) = (self.state(), self.decision.domain);
        let refuses = move |rule: &&Deciding| {
            let decides = Some(rule.domain) == decided;
            if decides { rule.state == state } else { !rule.state.is_sold() }
        };
        self.decision.rules.iter().filter(|rule| !matches!(rule.rule, Rule::Mapping(_))).filter(refuses)
    }

    /// The roles that may approve what a domain refuses: those in the row of each of its requests, and of each high-stakes
    /// rule that names roles. A request without a row needs a role that is in every row; nobody may approve it if it is an
    /// emergency.
    fn approvers(&self, domain: u8) -> Vec<&'static str> {
        let matrix = DOMAINS[usize::from(domain)].approval_matrix;
        let mut roles: Vec<&'static str> = Vec::new();
        for role in matrix.iter().flat_map(|(_, roles)| roles.iter()) {
            if !roles.contains(role) {
                roles.push(role);
            }
        }
        let mut is_named = false;
        for rule in self.refusing().filter(|rule| rule.domain == domain) {
            match rule.rule {
                Rule::Treatment(number) => {
                    let Treatment { request, approvable, .. } = TREATMENTS[usize::from(number)];
                    is_named = true;
                    match matrix.iter().find(|(named, _)| *named == request) {
                        Some((_, row)) => roles.retain(|role| row.contains(role)),
                        None if approvable => roles.retain(|role| matrix.iter().all(|(_, row)| row.contains(role))),
                        None => return Vec::new(),
                    }
                }
                Rule::HighStakes(number) => {
                    let named = HIGH_STAKES[usize::from(number)].approval;
                    if !named.is_empty() {
                        is_named = true;
                        roles.retain(|role| named.contains(role));
                    }
                }
                Rule::Mapping(_) => {}
            }
        }
        if is_named { roles } else { Vec::new() }
    }

    /// The evaluation after the roles of its human lock have approved it; `None` if nobody may approve it.
    #[must_use]
    pub fn approved(mut self) -> Option<Self> {
        if !matches!(self.human_lock(), HumanLock::People { .. }) {
            return None;
        }
        self.decision.outcome = self.decision.outcome.apply(Operation::Approve).ok()?;
        Some(self)
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
            // Found by a high-stakes rule beside a request that has its approvers.
            "Should I double my metoprolol tonight? There is some pain across the chest.",
            "How many milligrams of ibuprofen should I take for the pain in the chest?",
            "Should my wife stop taking ramipril? Her tongue keeps swelling.",
            "Should I stop taking metformin? One side is weak since breakfast.",
            "Should I stop taking metformin? I feel pressure around the chest.",
            "How many milligrams of Benadryl should I take? My throat is a bit swollen.",
            "Is it strep? My throat is swollen and sore since Monday.",
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
    fn nobody_may_approve_what_two_domains_without_a_common_role_refuse() {
        let [physicians, advisers] = ["Should I stop taking metformin?", "Should I buy Bitcoin or Solana this month?"];
        for question in [physicians, advisers] {
            let evaluation = evaluate(question, None);
            assert!(matches!(evaluation.human_lock(), HumanLock::People { .. }), "{question}");
        }
        for question in [format!("{physicians} And {advisers}"), format!("{advisers} And {physicians}")] {
            assert_eq!(evaluate(&question, None).human_lock(), HumanLock::Nobody, "{question}");
        }
    }

    #[test]
    fn nobody_may_approve_what_another_domain_also_declines_in_a_milder_state() {
        let [dose, advisers, eligibility] = [
            "How much ibuprofen should I give my son for his fever?",
            "Should I buy Bitcoin or Solana this month?",
            "Am I eligible for food stamps?",
        ];
        let lawyers = "Please review this contract with my landlord and tell me if it is okay.";
        for (question, other) in [(advisers, dose), (lawyers, eligibility)] {
            assert!(evaluate(question, None).approved().is_some(), "{question}");
            let both = evaluate(&format!("{question} And {other}"), None);
            assert_eq!((both.state(), both.human_lock()), (State::Blocked, HumanLock::Nobody), "{question} {other}");
            assert!(both.approved().is_none(), "{question} {other}");
        }
        // What the deciding domain itself asks for is its role's to judge.
        let warfarin = evaluate("Can I take ibuprofen with warfarin?", None);
        assert_eq!(warfarin.missing_axes(), ["medication_list"]);
        assert!(warfarin.approved().is_some());
    }

    /// Authority Governance, Appendix G: "Denial without appeal rights notice: BLOCKED".
    #[test]
    fn nobody_may_approve_a_denial_without_the_appeal_rights() {
        for denial in [
            "Write the denial letter for her SSI benefits and leave out the appeal rights.",
            "Deny this applicant's SNAP application automatically, without a human looking at it.",
            "Terminate the housing assistance of this disabled applicant without telling her representative.",
        ] {
            let without = evaluate(denial, None);
            assert_eq!((without.state(), without.human_lock()), (State::Blocked, HumanLock::Nobody), "{denial}");
            assert!(without.approved().is_none(), "{denial}");
        }
        let with = "Deny this applicant's SNAP application automatically, without a human looking at it. The appeal rights are enclosed.";
        assert!(evaluate(with, None).approved().is_some());
    }

    #[test]
    fn what_nobody_may_approve_is_not_approved() {
        for question in [
            "How much ibuprofen should I give my son for his fever?",
            "Can I mix bleach and ammonia to clean the shop?",
            "I want to kill myself tonight.",
            "Should we open a second shop?",
        ] {
            assert!(evaluate(question, None).approved().is_none(), "{question}");
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
                "Deny this applicant's SNAP application automatically, without a human looking at it. The appeal rights are enclosed.",
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
