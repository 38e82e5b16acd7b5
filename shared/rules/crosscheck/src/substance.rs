//! Does a verdict that holds together say anything? The formula scores structure (invariant 7): an empty `next_step`
//! costs it nothing. What a tier sells must be there all the same (infra/decisions/crosscheck.md).

use crate::language::{self, Language};
use domain::{Colour, Tier, Verdict};

/// The fewest letters and digits of a text.
const MIN_CHARACTERS: usize = 2;

/// What models and forms write where a text belongs, in small letters without punctuation.
const PLACEHOLDERS: [&str; 36] = [
    "alternative",
    "analysis",
    "as above",
    "blank",
    "coming soon",
    "content",
    "description",
    "empty",
    "example text",
    "fill in",
    "goes here",
    "insert text here",
    "lorem ipsum",
    "missing",
    "na",
    "next step",
    "nil",
    "no analysis",
    "no data",
    "none",
    "not applicable",
    "not available",
    "not provided",
    "null",
    "placeholder",
    "same as above",
    "see above",
    "string",
    "summary",
    "tba",
    "tbc",
    "tbd",
    "test",
    "to be determined",
    "todo",
    "undefined",
];

/// The beginnings of texts that stand for another.
const PLACEHOLDER_STARTS: [&str; 5] = ["lorem ipsum", "insert ", "your text ", "placeholder ", "todo "];

/// What a verdict lacks, one code for each finding; nothing when it can be sold. `question` is what was asked.
#[must_use]
pub fn hollow(verdict: &Verdict, tier: Tier, question: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut text = |path: String, text: &str| {
        if !has_substance(text) {
            found.push(format!("empty:{path}"));
        }
    };
    text("summary".to_owned(), &verdict.summary);
    if let Some(breakdown) = verdict.breakdown.as_ref().filter(|_| tier.has_breakdown()) {
        for (name, dimension) in breakdown.named() {
            text(format!("breakdown.{name}.analysis"), &dimension.analysis);
        }
    }
    if let Some(strategy) = verdict.strategy.as_ref().filter(|_| tier.has_strategy()) {
        text("strategy.next_step".to_owned(), &strategy.next_step);
        text("strategy.alternative".to_owned(), &strategy.alternative);
        for (number, test) in (1..).zip(&strategy.tests) {
            text(format!("strategy.tests.{number}"), test);
        }
        if strategy.tests.is_empty() {
            found.push("empty:strategy.tests".to_owned());
        }
    }
    // The prompt allows NULL for the whole only: each dimension is GREEN, AMBER or RED.
    if let Some(breakdown) = verdict.breakdown.as_ref().filter(|_| tier.has_breakdown()) {
        let null = breakdown.named().into_iter().filter(|(_, dimension)| dimension.verdict == Colour::Null);
        found.extend(null.map(|(name, _)| format!("colour:breakdown.{name}")));
    }
    if let Some(foreign) = foreign_language(verdict, tier, question) {
        found.push(format!("language:{}", foreign.code()));
    }
    found
}

/// The prompt asks for English; a customer who wrote in another language may as well be answered in it. `None` where
/// the texts are too short to tell.
fn foreign_language(verdict: &Verdict, tier: Tier, question: &str) -> Option<Language> {
    let sold = verdict.clone().for_tier(tier);
    let written = language::of(&sold.texts().join("\n"))?;
    (written != Language::English && language::of(question) != Some(written)).then_some(written)
}

/// Whether a text is more than a mark that something belongs here.
fn has_substance(text: &str) -> bool {
    let trimmed = text.trim();
    let is_template = [('<', '>'), ('[', ']'), ('{', '}')]
        .iter()
        .any(|(open, close)| trimmed.starts_with(*open) && trimmed.ends_with(*close));
    let plain: String = trimmed
        .chars()
        .filter(|c| c.is_alphanumeric() || c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let characters = plain.chars().filter(|c| !c.is_whitespace());
    let mut different: Vec<char> = characters.clone().collect();
    different.sort_unstable();
    different.dedup();
    characters.count() >= MIN_CHARACTERS
        && different.len() > 1
        && !is_template
        && !PLACEHOLDERS.contains(&plain.as_str())
        && !PLACEHOLDER_STARTS.iter().any(|start| plain.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn strategy() -> Value {
        let dimension = || json!({"verdict": "GREEN", "analysis": "Demand is firm and paid for in advance."});
        let names = domain::verdict::DIMENSIONS;
        let breakdown: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), dimension())).collect();
        json!({"verdict": "GREEN", "summary": "You have buyers before you have costs.", "breakdown": breakdown,
            "strategy": {"next_step": "Sign one buyer.", "alternative": "License it.", "tests": ["Ask ten.", "Sell one.", "Wait a week."]}})
    }

    fn found(value: Value, tier: Tier) -> Vec<String> {
        hollow(&serde_json::from_value(value).unwrap(), tier, "Open a second shop?")
    }

    #[test]
    fn every_field_that_a_tier_sells_must_say_something() {
        assert_eq!(found(strategy(), Tier::Strategy), Vec::<String>::new());
        let fields = [
            ("/summary", "empty:summary"),
            ("/breakdown/Change Rate/analysis", "empty:breakdown.Change Rate.analysis"),
            ("/strategy/next_step", "empty:strategy.next_step"),
            ("/strategy/alternative", "empty:strategy.alternative"),
            ("/strategy/tests/1", "empty:strategy.tests.2"),
        ];
        let hollow_texts = [
            "",
            "  ",
            "\n",
            "...",
            "…",
            "—",
            "N/A",
            "n/a.",
            "None",
            "TBD",
            "null",
            "Lorem ipsum dolor sit amet.",
            "<next step>",
            "[insert analysis here]",
            "{{text}}",
            "xxxx",
            "string",
            "See above.",
            "TODO: write this",
        ];
        for (path, code) in fields {
            for text in hollow_texts {
                let mut reply = strategy();
                *reply.pointer_mut(path).unwrap() = json!(text);
                assert_eq!(found(reply, Tier::Strategy), [code], "{path} {text:?}");
            }
            for text in ["No.", "Go now", "Ask 10", "None of the three buyers would sign.", "Test it."] {
                let mut reply = strategy();
                *reply.pointer_mut(path).unwrap() = json!(text);
                assert_eq!(found(reply, Tier::Strategy), Vec::<String>::new(), "{path} {text:?}");
            }
        }
        let mut none = strategy();
        none["strategy"]["tests"] = json!([]);
        assert_eq!(found(none.clone(), Tier::Strategy), ["empty:strategy.tests"]);
        assert_eq!(found(none, Tier::Full), Vec::<String>::new(), "a Full Breakdown does not sell the block");
    }

    #[test]
    fn a_dimension_has_one_of_three_colours() {
        let mut reply = strategy();
        reply["breakdown"]["Curvature"]["verdict"] = json!("NULL");
        assert_eq!(found(reply.clone(), Tier::Full), ["colour:breakdown.Curvature"]);
        assert_eq!(found(reply, Tier::Quick), Vec::<String>::new());
    }

    #[test]
    fn a_verdict_is_in_english_or_in_the_language_of_the_question() {
        let mut reply = strategy();
        reply["summary"] =
            json!("Sie haben keine Kunden, und das Geld reicht nicht für die ersten zwölf Monate der neuen Firma.");
        assert_eq!(found(reply.clone(), Tier::Quick), ["language:de"]);
        let verdict: Verdict = serde_json::from_value(reply).unwrap();
        let question = "Soll ich meine Stelle kündigen und mit dem Geld, das ich habe, eine Firma gründen?";
        assert_eq!(hollow(&verdict, Tier::Quick, question), Vec::<String>::new());
    }
}
