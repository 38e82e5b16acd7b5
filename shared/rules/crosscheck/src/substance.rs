//! Checks that a consistent verdict has content. The formula scores structure (TMM Crosscheck, invariant 7), so an
//! empty `next_step` does not lower the score. A verdict must still contain everything that its tier sells
//! (infra/decisions/crosscheck.md).

use crate::language::{self, Language};
use domain::{Colour, Tier, Verdict};

/// The fewest letters and digits of a text.
const MIN_CHARACTERS: usize = 2;

/// The tests that a Strategy Session sells (Verdict Pipeline, output 1).
const TESTS: usize = 3;

/// Placeholders of which some word also has a meaning, in lower case without punctuation.
const PLACEHOLDERS: [&str; 23] = [
    "change rate",
    "coming soon",
    "completion",
    "curvature",
    "ditto",
    "example text",
    "fill in",
    "goes here",
    "i do not know",
    "i dont know",
    "idem",
    "insert text",
    "nothing",
    "nothing to add",
    "placeholder text",
    "stability",
    "text goes here",
    "turbulence",
    "your analysis here",
    "your answer here",
    "your text",
    "your text goes here",
    "your text here",
];

/// Answers of nothing but [`EMPTY_WORDS`].
const ANSWERS: [&str; 5] = ["no", "no not at this time", "no not this time", "not at this time", "not this time"];

/// Words that say nothing about a question: a text of nothing but these is a placeholder ("Not applicable.", "None at
/// this time", "See summary above", "No alternative provided"), unless it is one of [`ANSWERS`].
const EMPTY_WORDS: [&str; 63] = [
    "a",
    "above",
    "alternative",
    "analysis",
    "any",
    "applicable",
    "as",
    "at",
    "available",
    "be",
    "below",
    "blank",
    "breakdown",
    "content",
    "data",
    "description",
    "determined",
    "empty",
    "field",
    "further",
    "given",
    "here",
    "is",
    "missing",
    "moment",
    "n",
    "na",
    "needed",
    "next",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "path",
    "pending",
    "placeholder",
    "previous",
    "provided",
    "recommendation",
    "recommendations",
    "required",
    "same",
    "section",
    "see",
    "specified",
    "step",
    "steps",
    "strategy",
    "string",
    "summary",
    "tba",
    "tbc",
    "tbd",
    "test",
    "tests",
    "there",
    "this",
    "time",
    "to",
    "todo",
    "undefined",
    "unknown",
];

/// The beginnings of placeholder texts. No sentence of a verdict begins like this, unlike "Insert a clause" or, in
/// Spanish, "Todo depende".
const PLACEHOLDER_STARTS: [&str; 2] = ["lorem ipsum", "placeholder for "];

/// The most words of a placeholder such as "insert your recommended next step here".
const MAX_INSERT_WORDS: usize = 6;

/// The defects of a verdict, one code per finding; empty when the verdict can be sold. `question` is the customer's
/// question.
#[must_use]
pub fn hollow(verdict: &Verdict, tier: Tier, question: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut said = Vec::new();
    let mut text = |path: String, text: &str| {
        let plain = plain(text);
        if !has_substance(text, &plain) {
            found.push(format!("empty:{path}"));
        } else if said.contains(&plain) {
            found.push(format!("copy:{path}"));
        } else {
            said.push(plain);
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
        if strategy.tests.len() < TESTS {
            found.push("missing:strategy.tests".to_owned());
        }
    }
    // The prompt allows NULL only for the top-level verdict: each dimension is GREEN, AMBER or RED.
    if let Some(breakdown) = verdict.breakdown.as_ref().filter(|_| tier.has_breakdown()) {
        let null = breakdown.named().into_iter().filter(|(_, dimension)| dimension.verdict == Colour::Null);
        found.extend(null.map(|(name, _)| format!("colour:breakdown.{name}")));
    }
    if let Some(foreign) = foreign_language(verdict, tier, question) {
        found.push(format!("language:{}", foreign.code()));
    }
    found
}

/// The language of a verdict that is neither English, which the prompt asks for, nor the language of the customer's
/// question. `None` also when the language of either is unclear.
fn foreign_language(verdict: &Verdict, tier: Tier, question: &str) -> Option<Language> {
    let sold = verdict.clone().for_tier(tier);
    let written = language::of(&sold.texts().join("\n")).filter(|written| *written != Language::English)?;
    let asked = language::of_question(question)?;
    (asked != written).then_some(written)
}

/// The words of a text in lower case, without punctuation.
fn plain(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace());
    kept.flat_map(char::to_lowercase).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text, whose words are `plain`, is more than a placeholder.
fn has_substance(text: &str, plain: &str) -> bool {
    let trimmed = text.trim();
    let is_template = [('<', '>'), ('[', ']'), ('{', '}')]
        .iter()
        .any(|(open, close)| trimmed.starts_with(*open) && trimmed.ends_with(*close));
    let is_todo = trimmed.strip_prefix("TODO").is_some_and(|rest| rest.starts_with([':', ' ']));
    let is_insert =
        plain.starts_with("insert ") && plain.ends_with(" here") && plain.split(' ').count() <= MAX_INSERT_WORDS;
    let characters = plain.chars().filter(|c| !c.is_whitespace());
    let mut different: Vec<char> = characters.clone().collect();
    different.sort_unstable();
    different.dedup();
    characters.count() >= MIN_CHARACTERS
        && different.len() > 1
        && !(is_template || is_todo || is_insert)
        && (ANSWERS.contains(&plain) || !plain.split(' ').all(|word| EMPTY_WORDS.contains(&word)))
        && !PLACEHOLDERS.contains(&plain)
        && !PLACEHOLDER_STARTS.iter().any(|start| plain.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn strategy() -> Value {
        let dimension =
            |name: &str| json!({"verdict": "GREEN", "analysis": format!("{name}: demand is paid in advance.")});
        let names = domain::verdict::DIMENSIONS;
        let breakdown: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), dimension(name))).collect();
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
            "TODO",
            "TODO: write this",
            "TODO write the analysis",
            "undefined",
            "Not applicable to this section.",
            "None at this time.",
            "No alternative is needed.",
            "See summary above",
            "Stability",
            "Nothing to add.",
            "Not applicable.",
            "Not available at this time.",
            "Lorem ipsum",
            "Insert text here.",
            "Insert the analysis here",
            "Insert your recommended next step here.",
            "Your text here",
            "Your text goes here.",
            "Placeholder text",
            "Placeholder.",
            "Placeholder for the analysis",
        ];
        let texts = [
            "No.",
            "Go now",
            "Ask 10",
            "None of the three buyers would sign.",
            "Test it.",
            "No change.",
            "Not at this time.",
            "Not this time.",
            "No, not at this time.",
            "Insert a break clause after month 12 before you sign the lease.",
            "Insert a pre-order button; 20 clicks in a week count.",
            "Insert the price you quote here into ten offers, and count the replies.",
            "Your text messages cost more than the customers they bring.",
            "Your text here sells; your price does not.",
            "Placeholder pages cost you buyers.",
            "Todo depende de que firmes dos clientes antes de abril.",
            "Todo: el local, el equipo y la marca.",
            "TODOS pagan antes de abril.",
            "To do this, sign one buyer first.",
            "Text ten customers.",
        ];
        for (path, code) in fields {
            for text in hollow_texts {
                let mut reply = strategy();
                *reply.pointer_mut(path).unwrap() = json!(text);
                assert_eq!(found(reply, Tier::Strategy), [code], "{path} {text:?}");
            }
            for text in texts {
                let mut reply = strategy();
                *reply.pointer_mut(path).unwrap() = json!(text);
                assert_eq!(found(reply, Tier::Strategy), Vec::<String>::new(), "{path} {text:?}");
            }
        }
    }

    /// The formula approves a reply with one test, and with two.
    #[test]
    fn a_strategy_session_has_three_tests() {
        let all = ["Ask ten.", "Sell one.", "Wait a week.", "Read the lease."];
        for count in 0..=all.len() {
            let mut reply = strategy();
            reply["strategy"]["tests"] = json!(all[..count]);
            let missing = if count < 3 { vec!["missing:strategy.tests".to_owned()] } else { Vec::new() };
            assert_eq!(found(reply.clone(), Tier::Strategy), missing, "{count}");
            assert_eq!(found(reply, Tier::Full), Vec::<String>::new(), "a Full Breakdown does not sell the block");
        }
    }

    /// Five analyses are sold as five, and an alternative as another way than the next step.
    #[test]
    fn a_text_that_repeats_another_one_sells_nothing() {
        for (path, of, code) in [
            ("/breakdown/Curvature/analysis", "/breakdown/Stability/analysis", "copy:breakdown.Curvature.analysis"),
            ("/breakdown/Stability/analysis", "/summary", "copy:breakdown.Stability.analysis"),
            ("/strategy/alternative", "/strategy/next_step", "copy:strategy.alternative"),
            ("/strategy/tests/2", "/strategy/tests/0", "copy:strategy.tests.3"),
        ] {
            let mut reply = strategy();
            let copied = reply.pointer(of).and_then(Value::as_str).unwrap().to_uppercase();
            *reply.pointer_mut(path).unwrap() = json!(format!("  {copied}!"));
            assert_eq!(found(reply.clone(), Tier::Strategy), [code]);
            assert_eq!(found(reply, Tier::Quick), Vec::<String>::new(), "a Quick Take sells the summary only");
        }
    }

    #[test]
    fn a_dimension_has_one_of_three_colours() {
        let mut reply = strategy();
        reply["breakdown"]["Curvature"]["verdict"] = json!("NULL");
        assert_eq!(found(reply.clone(), Tier::Full), ["colour:breakdown.Curvature"]);
        assert_eq!(found(reply, Tier::Quick), Vec::<String>::new());
    }

    const FRENCH: &str = "Vous n'avez pas encore de clients, et le bail vous engage pour cinq ans avec une pénalité.";
    const GERMAN: &str =
        "Sie haben keine Kunden, und das Geld reicht nicht für die ersten zwölf Monate der neuen Firma.";
    const SPANISH: &str =
        "Usted no tiene clientes y el contrato lo ata por cinco años, pero el riesgo es más alto para los socios.";
    const DUTCH: &str =
        "Je hebt nog geen klanten en het contract bindt je voor vijf jaar, maar de markt is niet van jou.";

    fn language_found(question: &str, summary: &str) -> Vec<String> {
        let verdict = serde_json::from_value(json!({"verdict": "RED", "summary": summary})).unwrap();
        hollow(&verdict, Tier::Quick, question)
    }

    #[test]
    fn a_verdict_is_in_english_or_in_the_language_of_the_question() {
        for (question, summary, found) in [
            ("Should I take the loan?", GERMAN, "language:de"),
            ("Is it worth it?", GERMAN, "language:de"),
            ("Is this the right time to sell?", FRENCH, "language:fr"),
            ("Should we renew the lease on the shop?", SPANISH, "language:es"),
            (
                "Soll ich meine Stelle kündigen und mit dem Geld, das ich habe, eine Firma gründen?",
                FRENCH,
                "language:fr",
            ),
            ("我应该在这个城市开第二家面包店吗？还是再等一年？", FRENCH, "language:fr"),
        ] {
            assert_eq!(language_found(question, summary), [found], "{question}");
        }
    }

    #[test]
    fn a_verdict_passes_where_the_language_of_the_question_is_unclear_or_its_own() {
        for (question, summary) in [
            ("Soll ich meine Stelle kündigen und mit dem Geld, das ich habe, eine Firma gründen?", GERMAN),
            ("Ich will das Café kaufen.", GERMAN),
            ("Devrais-je vendre mon commerce ?", FRENCH),
            ("Devrais-je fermer ma boulangerie de Gatineau cet hiver ?", FRENCH),
            ("Peut-on ouvrir un autre magasin bientôt ?", FRENCH),
            ("Racheter The Body Shop ?", FRENCH),
            ("¿Abro una segunda tienda?", SPANISH),
            ("¿Has visto el local?", SPANISH),
            ("Koop of huur?", DUTCH),
            ("Open a second shop?", GERMAN),
            ("", FRENCH),
            ("Devrais-je vendre mon commerce ?", "You have no buyers yet, and the lease binds you for five years."),
            ("我应该在这个城市开第二家面包店吗？还是再等一年？", "你还没有客户，而租约会约束你五年的时间。"),
        ] {
            assert_eq!(language_found(question, summary), Vec::<String>::new(), "{question}");
        }
    }
}
