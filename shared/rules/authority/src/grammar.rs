//! The grammar of a narrative answer: the phrases and the quantities that it may not contain, and the phrases of which it
//! must contain one (Authority Governance, NARRATIVE_ONLY).

use crate::engine::data::DOMAINS;
use crate::engine::stated::{Stated, stated};
use crate::evaluation::Evaluation;
use crate::state::State;
use crate::tables::{ConceptId, Domain};
use crate::text::token::tokens;

/// How a reply breaks the grammar of a narrative answer. Its text is for operators and for the model's next attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", in_words(.forbidden, .quantities, .missing))]
pub struct ReplyProblem {
    /// The forbidden phrases that it contains.
    forbidden: Vec<&'static str>,
    /// The quantities that it states and may not.
    quantities: Vec<String>,
    /// The required phrases of each domain for which it has none.
    missing: Vec<&'static [&'static str]>,
}

fn in_words(forbidden: &[&str], quantities: &[String], missing: &[&[&str]]) -> String {
    let quoted = |phrases: &[&str]| phrases.iter().map(|phrase| format!("{phrase:?}")).collect::<Vec<_>>().join(", ");
    let said = Some(forbidden).filter(|said| !said.is_empty()).map(|said| format!("it contains {}", quoted(said)));
    let quantities: Vec<&str> = quantities.iter().map(String::as_str).collect();
    let stated = Some(quantities).filter(|stated| !stated.is_empty());
    let stated =
        stated.map(|stated| format!("it states {} and may state no amount, size or rating", quoted(stated.as_slice())));
    let missing = missing.iter().map(|phrases| format!("it contains none of {}", quoted(phrases)));
    said.into_iter().chain(stated).chain(missing).collect::<Vec<_>>().join("; ")
}

impl Evaluation {
    /// Phrases that a narrative answer may not contain.
    #[must_use]
    pub fn forbidden_phrases(&self) -> Vec<&'static str> {
        self.engaged().flat_map(|domain| domain.forbidden).copied().collect()
    }

    /// The required phrases of all domains, see [`Self::required_by_domain`].
    #[must_use]
    pub fn required_phrases(&self) -> Vec<&'static str> {
        self.required_by_domain().concat()
    }

    /// The required phrases of each domain that has some: a narrative answer must contain one for each domain.
    #[must_use]
    pub fn required_by_domain(&self) -> Vec<&'static [&'static str]> {
        self.engaged().map(|domain| domain.required).filter(|required| !required.is_empty()).collect()
    }

    /// The domains whose grammar an answer must follow. A question that is not sold has the grammar that applies after
    /// an approval.
    fn engaged(&self) -> impl Iterator<Item = &'static Domain> {
        let has_grammar = self.state() != State::Authorized;
        let engaged = self.decision.engaged.iter().filter(move |_| has_grammar);
        engaged.map(|domain| &DOMAINS[usize::from(*domain)])
    }

    /// Checks what the model wrote before delivery, without the notice beside it: a narrative answer must contain no
    /// forbidden phrase and no dose or size of its own, and one required phrase for each engaged domain (Authority
    /// Governance, NARRATIVE_ONLY). An authorized answer has no grammar.
    ///
    /// # Errors
    /// [`ReplyProblem`] names every phrase and quantity that is to blame.
    pub fn check_reply(&self, reply: &str) -> Result<(), ReplyProblem> {
        let spoken = words(reply);
        let (forbidden, quantities) = (self.forbidden_in(reply), self.quantities_in(reply));
        let mut missing = self.required_by_domain();
        // "Ask two lawyers" names them too.
        let is_said = |phrase: &&str| {
            let one = words(phrase);
            spoken.contains(&one) || spoken.contains(&format!("{}s ", one.trim_end()))
        };
        missing.retain(|required| !required.iter().any(is_said));
        if forbidden.is_empty() && quantities.is_empty() && missing.is_empty() {
            return Ok(());
        }
        Err(ReplyProblem { forbidden, quantities, missing })
    }

    /// The quantities in a text, which may be the beginning of a reply, that the engaged domains forbid: numbers with a
    /// unit are soft authority ("numbers with units … count"). Those that the question states itself are not the model's;
    /// a number without a unit in the question may be repeated with any.
    #[must_use]
    pub fn quantities_in(&self, text: &str) -> Vec<String> {
        let unstated: Vec<ConceptId> = self.engaged().flat_map(|domain| domain.unstated).copied().collect();
        if unstated.is_empty() {
            return Vec::new();
        }
        let (question, reply) = (plain(self.text()), plain(text));
        let asked = stated(&question, &tokens(&question));
        let is_asked = |said: &Stated| {
            // Rounded, as a conversion into other units is.
            let is_near = |one: f64, other: f64| (one - other).abs() <= one.abs() * 0.05;
            asked.iter().any(|one| match one.dimension {
                None => (one.value - said.value).abs() < 1e-9,
                dimension => dimension == said.dimension && is_near(one.measure, said.measure),
            })
        };
        let mut found: Vec<String> = Vec::new();
        for said in stated(&reply, &tokens(&reply)) {
            let is_unstated = said.dimension.is_some_and(|dimension| unstated.contains(&dimension));
            let words = &reply[said.start..said.end];
            if is_unstated && !is_asked(&said) && !found.iter().any(|known| known == words) {
                found.push(words.to_owned());
            }
        }
        found
    }

    /// The forbidden phrases in a text, which may be the beginning of a reply.
    #[must_use]
    pub fn forbidden_in(&self, text: &str) -> Vec<&'static str> {
        let spoken = words(text);
        self.forbidden_phrases().into_iter().filter(|phrase| spoken.contains(&words(phrase))).collect()
    }
}

/// A text in small letters, with plain signs for those that word processors write.
fn plain(text: &str) -> String {
    text.to_lowercase().replace('’', "'").replace('×', "x")
}

/// Normalises a text for comparing phrases: its words, with single spaces around them.
fn words(text: &str) -> String {
    let reading = plain(text);
    let mut words = String::from(" ");
    for token in tokens(&reading) {
        words.push_str(token.word(&reading));
        words.push(' ');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::data::GUIDANCE;
    use crate::evaluate;

    #[test]
    fn every_broken_phrase_is_reported_and_one_required_phrase_suffices() {
        let evaluation = evaluate("What does 'force majeure' mean?", None);
        assert_eq!(evaluation.check_reply("It names an event that no one could prevent; a lawyer knows more."), Ok(()));
        assert_eq!(evaluation.check_reply("It names an event that no one could prevent; ask two lawyers."), Ok(()));
        let problem = evaluation.check_reply("You will win, and it is legal.").unwrap_err().to_string();
        assert!(problem.starts_with(r#"it contains "you will win", "it is legal"; it contains none of "lawyer", "#));
        let notice = evaluation.notice().unwrap();
        assert!(
            evaluation.check_reply(&notice).is_ok(),
            "so a check with the notice would require nothing of the model"
        );
        assert_eq!(evaluation.forbidden_in("As your lawyer, I"), ["as your lawyer"]);
    }

    const DOSE: &str = "My daughter weighs 14 kg and is 3 years old. How much ibuprofen should I give her?";
    const BEAM: &str = "What size beam do I need for a 20-foot span in my house?";
    const WIRE: &str = "What gauge wire do I need for a 48 amp EV charger?";
    const COOLING: &str = "How many tons should the air conditioner for a 2,000 square foot house have?";

    #[test]
    fn a_dose_or_a_size_in_a_reply_is_reported() {
        for (question, reply, quantities) in [
            (DOSE, "140 mg every six hours is usual for 14 kg; ask a pharmacist.", vec!["140 mg"]),
            (DOSE, "Some read 10mg/kg on the box, or two tablets. Ask a pharmacist.", vec!["10mg", "two tablets"]),
            (DOSE, "A pharmacist often says 5 mL, then 14 ml.", vec!["5 ml", "14 ml"]),
            (BEAM, "A 2x12 or a 2×10 on 4-inch posts is usual; ask an engineer.", vec!["2x12", "2x10", "4-inch"]),
            (WIRE, "An electrician often runs 8 AWG on a 60 amp breaker.", vec!["8 awg", "60 amp"]),
            (COOLING, "An HVAC contractor often ends at 3.5 tons.", vec!["3.5 tons"]),
            (DOSE, "A pharmacist often says 140mgs, or 7 mls.", vec!["140mgs", "7 mls"]),
            (BEAM, "A 20-inch post is usual; ask an engineer.", vec!["20-inch"]),
            (WIRE, "An electrician runs AWG 6 on a 60A breaker.", vec!["6", "60a"]),
        ] {
            let evaluation = evaluate(question, None);
            assert_eq!(evaluation.state(), State::NarrativeOnly, "{question}");
            assert_eq!(evaluation.quantities_in(reply), quantities, "{reply}");
            let problem = evaluation.check_reply(reply).unwrap_err().to_string();
            assert!(problem.starts_with(&format!("it states {:?}", quantities[0])), "{problem}");
        }
    }

    #[test]
    fn what_the_question_states_and_what_measures_something_else_is_not() {
        for (question, reply) in [
            (DOSE, "A pharmacist needs her weight of 14 kg and her age of 3 years."),
            (DOSE, "A visit costs $40, 20% of it is covered, and 811 answers within 5 minutes: ask a nurse there."),
            (DOSE, "Above 38 C, see a physician on 2026-05-04 at 10:30, and take the 2 boxes and 3 receipts along."),
            (DOSE, "How far apart two doses are is for a pharmacist. Call 1-800-222-1222 or 1 844 764 7669."),
            (
                BEAM,
                "For a span of 20 feet in a house, a licensed structural engineer decides; expect $900 and 3 weeks.",
            ),
            (BEAM, "A span of 20 feet, or about 6 m, is for an engineer; get one foot in the door first."),
            (DOSE, "A pharmacist knows about omega-3 capsules, and vitamin D3 drops."),
            (BEAM, "An engineer is reachable 24x7. The rebuilding costs £2 m or 5m, 2x as much as 10 years ago."),
            (WIRE, "A charger of 48 amps needs an electrician and 2 permits."),
            (COOLING, "For 2,000 square feet, an HVAC contractor makes a load calculation of 8 pages."),
            // Neither of these domains forbids a quantity.
            ("What does 'force majeure' mean?", "A lawyer reads 20 feet of files."),
            ("Should we open a second bakery in Halifax?", "Bake 20 kg with 500 mg of saffron on 3 feet of counter."),
        ] {
            let evaluation = evaluate(question, None);
            assert_eq!(evaluation.check_reply(reply), Ok(()), "{question}");
        }
    }

    #[test]
    fn a_reply_about_two_domains_has_a_required_phrase_of_each() {
        let evaluation = evaluate("What does 'force majeure' mean? How does ibuprofen work?", None);
        let required = evaluation.required_by_domain();
        assert_eq!((evaluation.state(), required.len()), (State::NarrativeOnly, 2));
        let one = evaluation.check_reply("Ask a lawyer.").unwrap_err();
        assert_eq!((one.forbidden.len(), one.missing.len()), (0, 1));
        assert_eq!(evaluation.check_reply("Ask a lawyer, and ask a physician."), Ok(()));
        // Authority Governance, Appendix E: "Include disclaimers on all legal education content".
        let notice = evaluation.notice().unwrap();
        for domain in ["medicine", "law"] {
            let own = DOMAINS.iter().find(|one| one.name == domain).unwrap().notice;
            assert!(notice.contains(own), "{domain}: {notice}");
        }
        let one = evaluate("How does ibuprofen work?", None).notice().unwrap();
        assert!(notice.len() > one.len() && notice.starts_with(&one), "the deciding domain's comes first: {notice}");
    }

    /// The notice is delivered beside every narrative answer, unchecked.
    #[test]
    fn no_notice_says_what_its_domain_forbids() {
        let notices = DOMAINS.iter().map(|domain| (domain, domain.notice));
        let advice = GUIDANCE.iter().map(|texts| (&DOMAINS[usize::from(texts.domain)], texts.advice));
        for (domain, text) in notices.chain(advice) {
            let spoken = words(text);
            let said = domain.forbidden.iter().find(|phrase| spoken.contains(&words(phrase)));
            assert_eq!(said, None, "{}: {text}", domain.name);
        }
    }
}
