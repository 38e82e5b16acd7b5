//! The stand-in for the model: a plausible verdict that depends only on the question.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::phrases::{ByColour, Colour, Phrases};
use super::request::TierSchema;

/// The five dimensions of a breakdown (Verdict Pipeline, output 1).
const DIMENSIONS: [&str; 5] = ["Stability", "Turbulence", "Change Rate", "Completion", "Curvature"];
const TESTS: usize = 3;
const QUOTED_WORDS: usize = 6;

/// A repeatable choice for a question: byte `index` of its hash.
struct Dice([u8; 32]);

impl Dice {
    fn of(question: &str) -> Self {
        let normalised: Vec<&str> = question.split_whitespace().collect();
        let text = normalised.join(" ").to_lowercase();
        Self(Sha256::digest(text.as_bytes()).into())
    }

    fn roll(&self, index: usize) -> usize {
        usize::from(self.0[index % self.0.len()])
    }

    fn pick<'a>(&self, index: usize, choices: &'a [String]) -> &'a str {
        match choices.len() {
            0 => "",
            count => &choices[self.roll(index) % count],
        }
    }
}

/// The verdict on a question in the shape of the tier's schema. Its summary has the words that `system` requires.
pub(crate) fn write(phrases: &Phrases, question: &str, system: &str, tier: &TierSchema) -> Value {
    let dice = Dice::of(question);
    let colour = colour_of(phrases, question, &dice);
    let topic = if colour == Colour::Null { None } else { quotation(phrases, question) };
    let say = |sentence: &str| with_topic(sentence, topic.as_deref());
    let pick = |index: usize, by_colour: Option<&ByColour>, colour: Colour| {
        let choices = by_colour.and_then(|by_colour| by_colour.get(&colour));
        say(dice.pick(index, choices.map_or(&[], Vec::as_slice)))
    };
    let mut verdict = Map::new();
    verdict.insert("verdict".to_owned(), json!(colour.name()));
    let summary = pick(1, Some(&phrases.summary), colour) + &referral(phrases, system);
    verdict.insert("summary".to_owned(), json!(summary));
    if tier.breakdown || tier.strategy {
        let colours = dimension_colours(colour, &dice, tier.dimension_null);
        let breakdown: Map<String, Value> = DIMENSIONS
            .into_iter()
            .zip(colours)
            .enumerate()
            .map(|(index, (name, seen))| {
                // If a dimension cannot be NULL, its sentence still names the missing information.
                let spoken = if colour == Colour::Null { colour } else { seen };
                let analysis = pick(10 + index, phrases.dimension.get(name), spoken);
                let value = json!({"verdict": seen.name(), "analysis": analysis});
                (name.to_owned(), value)
            })
            .collect();
        verdict.insert("breakdown".to_owned(), Value::Object(breakdown));
    }
    if tier.strategy {
        let strategy = &phrases.strategy;
        let count = strategy.tests.len().max(1);
        // Three different tests: neighbours in the list from a random start.
        let tests: Vec<String> =
            strategy.tests.iter().cycle().skip(dice.roll(22) % count).take(TESTS).map(|test| say(test)).collect();
        let strategy = json!({
            "next_step": say(dice.pick(20, &strategy.next_step)),
            "alternative": say(dice.pick(21, &strategy.alternative)),
            "tests": tests,
        });
        verdict.insert("strategy".to_owned(), strategy);
    }
    Value::Object(verdict)
}

/// A reply in a conversation to the current `message` in the content. `system` decides which of two views it takes.
pub(crate) fn reply(phrases: &Phrases, content: &str, system: &str) -> Value {
    let content: Value = serde_json::from_str(content).unwrap_or_default();
    let message = content["message"].as_str().unwrap_or_default();
    let dice = Dice::of(message);
    let of_strategy =
        |choices: &[String], index| with_topic(dice.pick(index, choices), quotation(phrases, message).as_deref());
    let first = phrases.summary.get(&colour_of(phrases, message, &dice));
    let text = match system.contains("second view") {
        true => of_strategy(&phrases.strategy.alternative, 21),
        false => format!(
            "{} {}",
            of_strategy(first.map_or(&[], Vec::as_slice), 1),
            of_strategy(&phrases.strategy.next_step, 20)
        ),
    };
    json!({ "reply": text + &referral(phrases, system) })
}

/// A sentence with the first word of each list of which the prompt requires one; empty if it requires none.
fn referral(phrases: &Phrases, system: &str) -> String {
    let lists = system.split("with one of these words: ").skip(1);
    let words: Vec<&str> = lists.filter_map(|list| list.split('"').nth(1)).collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" {}", phrases.referral.replace("{words}", &words.join(", ")))
    }
}

fn words(question: &str) -> Vec<String> {
    question
        .split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn colour_of(phrases: &Phrases, question: &str, dice: &Dice) -> Colour {
    let words = words(question);
    if says_nothing(phrases, &words) {
        return Colour::Null;
    }
    let count = |list: &[String]| words.iter().filter(|word| list.contains(word)).count();
    let green = count(&phrases.words.green);
    let red = count(&phrases.words.red);
    match green.cmp(&red) {
        std::cmp::Ordering::Greater => Colour::Green,
        std::cmp::Ordering::Less => Colour::Red,
        std::cmp::Ordering::Equal if green > 0 => Colour::Amber,
        std::cmp::Ordering::Equal => match dice.roll(0) {
            0..=99 => Colour::Green,
            100..=194 => Colour::Amber,
            _ => Colour::Red,
        },
    }
}

/// Whether the words have no meaning: fewer than two different meaningful words, or mostly meaningless ones.
fn says_nothing(phrases: &Phrases, words: &[String]) -> bool {
    let letters_beyond_ascii = words
        .iter()
        .flat_map(|word| word.chars())
        .filter(|letter| letter.is_alphabetic() && !letter.is_ascii())
        .count();
    // In scripts without spaces, four letters can have a meaning.
    if letters_beyond_ascii >= 4 {
        return false;
    }
    let mut substance: Vec<&String> = words
        .iter()
        .filter(|word| word.chars().any(char::is_alphabetic))
        .filter(|word| !phrases.words.filler.contains(word))
        .collect();
    let nonsense = substance.iter().filter(|word| is_nonsense(word)).count();
    let mostly_nonsense = nonsense * 2 >= substance.len();
    substance.sort();
    substance.dedup();
    substance.len() < 2 || mostly_nonsense
}

/// Whether a word is random typing: no vowel, a run along the keyboard, one repeated letter, or too long.
fn is_nonsense(word: &str) -> bool {
    const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
    let letters: Vec<char> = word.chars().collect();
    let vowels = letters.iter().filter(|letter| "aeiouy".contains(**letter));
    let repeated = letters.windows(4).any(|window| window.iter().all(|letter| *letter == window[0]));
    letters.len() > 24
        || repeated
        || (letters.len() > 4 && vowels.count() == 0)
        || (letters.len() >= 4 && ROWS.iter().any(|row| row.contains(word)))
}

/// Some of the customer's words, if they can be repeated safely.
fn quotation(phrases: &Phrases, question: &str) -> Option<String> {
    let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'\'' || byte == b'-');
    let is_filler = |word: &str| {
        let lower = word.to_ascii_lowercase();
        phrases.words.filler.contains(&lower)
    };
    let mut quoted: Vec<&str> = Vec::new();
    for word in question.split_whitespace().skip_while(|word| is_filler(word)) {
        let bare = word.trim_end_matches(['?', '!', '.', ',', ';', ':']);
        if bare.is_empty() || bare.len() > 24 || !is_plain(bare) || quoted.len() == QUOTED_WORDS {
            break;
        }
        quoted.push(bare);
        if bare.len() < word.len() {
            break;
        }
    }
    while quoted.len() > 2 && quoted.last().is_some_and(|word| is_filler(word)) {
        quoted.pop();
    }
    if quoted.len() < 2 {
        return None;
    }
    let text = quoted.join(" ");
    let squeezed: String =
        text.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect();
    let mut unquotable = phrases.words.unquotable.iter();
    (!unquotable.any(|word| squeezed.contains(word.as_str()))).then_some(text)
}

fn with_topic(sentence: &str, topic: Option<&str>) -> String {
    let quoted = topic.map_or_else(|| "this plan".to_owned(), |topic| format!("\"{topic}\""));
    let text = sentence.replace("{topic}", &quoted);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The colours of the dimensions: three or four agree with the verdict, the others are neighbours of it.
fn dimension_colours(colour: Colour, dice: &Dice, null_allowed: bool) -> [Colour; 5] {
    if colour == Colour::Null {
        // RED, not GREEN or AMBER: a NULL over favourable dimensions would contradict itself.
        return [if null_allowed { colour } else { Colour::Red }; 5];
    }
    let mut colours = [colour; 5];
    let first = dice.roll(2) % 5;
    let second = (first + 1 + dice.roll(3) % 4) % 5;
    colours[first] = colour.beside(dice.roll(4).is_multiple_of(2));
    if dice.roll(5).is_multiple_of(2) {
        colours[second] = colour.beside(dice.roll(6).is_multiple_of(2));
    }
    colours
}

#[cfg(test)]
mod tests;
