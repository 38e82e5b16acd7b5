//! The texts for the reason of an evaluation, which are more specific than those of its domain. Words of the text take
//! the place of their placeholders.

use crate::engine::data::{DOMAINS, GUIDANCE};
use crate::engine::decide::Decision;
use crate::quote::AxisValue;
use crate::tables::Guidance;
use crate::text::token::tokens;

/// Relatives after "my", with the possessive pronoun that stands for them.
const RELATIVES: &[(&str, &str)] = &[
    ("mother", "her"),
    ("mom", "her"),
    ("mum", "her"),
    ("grandmother", "her"),
    ("grandma", "her"),
    ("wife", "her"),
    ("girlfriend", "her"),
    ("sister", "her"),
    ("daughter", "her"),
    ("aunt", "her"),
    ("father", "his"),
    ("dad", "his"),
    ("grandfather", "his"),
    ("grandpa", "his"),
    ("husband", "his"),
    ("boyfriend", "his"),
    ("brother", "his"),
    ("son", "his"),
    ("uncle", "his"),
];

/// The most words between "my" and the relative: "my 80 year old mother".
const BETWEEN: usize = 4;

/// The guidance for one text.
#[derive(Clone, Debug)]
pub(crate) struct Guided {
    pub(crate) texts: &'static Guidance,
    /// The text's word for the value of `with`.
    quote: String,
    /// The relative that the text speaks of, with the pronoun.
    relative: Option<(&'static str, &'static str)>,
}

impl Guided {
    /// The guidance for the reason of a decision, if there is any for what the text states.
    pub(crate) fn find(decision: &Decision, values: &[AxisValue], text: &str) -> Option<Self> {
        let domain = decision.domain?;
        GUIDANCE.iter().filter(|texts| texts.domain == domain && texts.reason == decision.reason).find_map(|texts| {
            let quote = stated(texts, values)?;
            Some(Self { texts, quote, relative: relative(text) })
        })
    }

    /// A text with the words of the question in place of its placeholders.
    pub(crate) fn fill(&self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let whose = self.relative.map_or_else(|| "your".to_owned(), |(relative, _)| format!("your {relative}'s"));
        let their = self.relative.map_or("your", |(_, pronoun)| pronoun);
        text.replace("{quote}", &self.quote)
            .replace("{Quote}", &capitalised(&self.quote))
            .replace("{whose}", &whose)
            .replace("{their}", their)
    }

    /// The same for a list.
    pub(crate) fn fill_all(&self, texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| self.fill(text)).collect()
    }
}

/// Who has to see a text: the targets of the decision's reason, then those of every other rule that locks it; empty if
/// the data names nobody.
pub(crate) fn escalation_targets(decision: &Decision) -> Vec<&'static str> {
    let decided = decision.domain.map(|domain| (domain, decision.reason));
    let locking = decision.rules.iter().filter_map(|rule| Some((rule.domain, rule.locks_for()?)));
    let mut targets = Vec::new();
    for reason in decided.into_iter().chain(locking) {
        for target in GUIDANCE
            .iter()
            .filter(|texts| (texts.domain, texts.reason) == reason)
            .flat_map(|texts| texts.escalation_targets)
        {
            if !targets.contains(target) {
                targets.push(*target);
            }
        }
    }
    targets
}

/// What the customer of a text reads for the reasons of all its rules: a high-stakes rule may apply beside one that decides.
pub(crate) fn advice(decision: &Decision) -> Vec<&'static str> {
    let reasons: Vec<(u8, &str)> =
        decision.rules.iter().filter_map(|rule| Some((rule.domain, rule.reason()?))).collect();
    let is_of_rule = |texts: &&Guidance| !texts.advice.is_empty() && reasons.contains(&(texts.domain, texts.reason));
    GUIDANCE.iter().filter(is_of_rule).map(|texts| texts.advice).collect()
}

/// The word with which the text states what the guidance is for; empty if it is for any text.
fn stated(texts: &Guidance, values: &[AxisValue]) -> Option<String> {
    let (axis, wanted) = texts.with;
    if axis.is_empty() {
        return Some(String::new());
    }
    let domain = DOMAINS[usize::from(texts.domain)].name;
    let is_stated = |value: &&AxisValue| {
        let is_of_axis = value.domain == domain && value.axis == axis && (wanted == "#" || value.value == wanted);
        let word = value.quote.text();
        is_of_axis && (texts.quotes.is_empty() || texts.quotes.iter().any(|known| known.eq_ignore_ascii_case(word)))
    };
    values.iter().find(is_stated).map(|value| value.quote.text().to_lowercase())
}

/// The first relative of the speaker in a text.
fn relative(text: &str) -> Option<(&'static str, &'static str)> {
    let reading = text.to_lowercase();
    let tokens = tokens(&reading);
    let words: Vec<&str> = tokens.iter().map(|token| token.word(&reading)).collect();
    let owned = words.iter().enumerate().filter(|(_, word)| **word == "my").map(|(at, _)| at);
    owned.into_iter().find_map(|at| {
        let near = words.iter().skip(at + 1).take(BETWEEN + 1);
        near.into_iter().find_map(|word| RELATIVES.iter().find(|(relative, _)| relative == word).copied())
    })
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use filter::{Filter, Outcome};

    #[test]
    fn the_texts_pass_the_filter_and_their_placeholders_are_known() {
        for texts in GUIDANCE {
            let guided = Guided { texts, quote: "warfarin".to_owned(), relative: None };
            let single = [texts.content, texts.user_prompt, texts.reformulation, texts.block_reason, texts.rationale];
            let lists = [texts.suggested_actions, texts.immediate_actions, texts.follow_up_actions, texts.required];
            let display = texts.display.iter().map(|(_, text)| *text);
            for text in single.into_iter().chain(lists.into_iter().flatten().copied()).chain(display) {
                let filled = guided.fill(text);
                assert!(!filled.contains(['{', '}']), "{filled}");
                assert_eq!(Filter::embedded().check(&filled).outcome, Outcome::Pass, "{filled}");
            }
            // It is for every text with the reason, so no word of the text takes the place of a placeholder.
            assert!(texts.advice.is_empty() || texts.with.0.is_empty(), "{}", texts.reason);
            assert!(!texts.advice.contains(['{', '}']), "{}", texts.advice);
            assert_eq!(Filter::embedded().check(texts.advice).outcome, Outcome::Pass, "{}", texts.advice);
        }
    }
}
