//! The grammar of a narrative answer: the phrases that it may not contain, and those of which it must contain one
//! (Authority Governance, NARRATIVE_ONLY).

use crate::engine::data::DOMAINS;
use crate::evaluation::Evaluation;
use crate::state::State;
use crate::tables::Domain;
use crate::text::token::tokens;

/// How a reply breaks the grammar of a narrative answer. Its text is for operators and for the model's next attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", in_words(.forbidden, .missing))]
pub struct ReplyProblem {
    /// The forbidden phrases that it contains.
    forbidden: Vec<&'static str>,
    /// The required phrases of each domain for which it has none.
    missing: Vec<&'static [&'static str]>,
}

fn in_words(forbidden: &[&str], missing: &[&[&str]]) -> String {
    let quoted = |phrases: &[&str]| phrases.iter().map(|phrase| format!("{phrase:?}")).collect::<Vec<_>>().join(", ");
    let said = Some(forbidden).filter(|said| !said.is_empty()).map(|said| format!("it contains {}", quoted(said)));
    let missing = missing.iter().map(|phrases| format!("it contains none of {}", quoted(phrases)));
    said.into_iter().chain(missing).collect::<Vec<_>>().join("; ")
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
    /// forbidden phrase, and one required phrase for each engaged domain (Authority Governance, NARRATIVE_ONLY). An
    /// authorized answer has no grammar.
    ///
    /// # Errors
    /// [`ReplyProblem`] names every phrase that is to blame.
    pub fn check_reply(&self, reply: &str) -> Result<(), ReplyProblem> {
        let spoken = words(reply);
        let forbidden = self.forbidden_in(reply);
        let mut missing = self.required_by_domain();
        // "Ask two lawyers" names them too.
        let is_said = |phrase: &&str| {
            let one = words(phrase);
            spoken.contains(&one) || spoken.contains(&format!("{}s ", one.trim_end()))
        };
        missing.retain(|required| !required.iter().any(is_said));
        if forbidden.is_empty() && missing.is_empty() { Ok(()) } else { Err(ReplyProblem { forbidden, missing }) }
    }

    /// The forbidden phrases in a text, which may be the beginning of a reply.
    #[must_use]
    pub fn forbidden_in(&self, text: &str) -> Vec<&'static str> {
        let spoken = words(text);
        self.forbidden_phrases().into_iter().filter(|phrase| spoken.contains(&words(phrase))).collect()
    }
}

/// Normalises a text for comparing phrases: its words, with single spaces around them.
fn words(text: &str) -> String {
    let reading = text.to_lowercase().replace('’', "'");
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
