//! The training pairs of a model, and the lint that finds faults in them.

use super::{
    scorer::{Expectation, spellings},
    suite::{dual_mode, specified},
};
use crate::{
    assess,
    assessment::{Mode, Verdict},
    facts::Facts,
    kernel::Kernel,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A question and the answer that the model must learn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The subject of the pair, such as `identity` or `quick`.
    pub category: String,
    /// The question.
    pub input: String,
    /// The answer.
    pub response: String,
    /// The observed facts that accompany the question.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

/// Limits of a corpus.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum share of one-word answers: at 32 % version 1 learnt that every answer is one word.
    pub one_word_share: f64,
    /// The minimum of analyses of five kernels that end in GREEN: version 3 had 4 and returned RED for sound kernels.
    pub fewest_green_kernel_pairs: usize,
    /// The minimum of identity pairs: version 1 had 8.
    pub fewest_identity_pairs: usize,
    /// Two questions that share this part of their words count as the same question.
    pub same_words: f64,
}

/// The limits that version 4 was queued with.
pub const LIMITS: Limits =
    Limits { one_word_share: 0.28, fewest_green_kernel_pairs: 15, fewest_identity_pairs: 8, same_words: 0.95 };

/// A fault of a corpus.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub enum Finding {
    /// Too many answers are one word.
    OneWordShare { one_word: usize, of: usize },
    /// Too few analyses of sound kernels.
    GreenKernelPairs { found: usize },
    /// Too few identity pairs.
    IdentityPairs { found: usize },
    /// Two pairs, by number, that ask the same question.
    NearDuplicate { first: usize, second: usize },
    /// A pair that repeats a question of the smoke tests: a model that memorised it would pass.
    Leak { pair: usize, case: String },
    /// An answer whose verdict differs from the verdict of the rules.
    WrongVerdict { pair: usize, says: String, rules: Verdict },
    /// An answer without a verdict, or with several.
    NoVerdict { pair: usize },
}

impl std::fmt::Display for Finding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneWordShare { one_word, of } => {
                let share = *one_word as f64 * 100.0 / (*of).max(1) as f64;
                write!(
                    formatter,
                    "{one_word} of {of} answers are one word ({share:.1} %, at most {:.0} %)",
                    LIMITS.one_word_share * 100.0
                )
            }
            Self::GreenKernelPairs { found } => {
                write!(
                    formatter,
                    "{found} analyses of five sound kernels, at least {}",
                    LIMITS.fewest_green_kernel_pairs
                )
            }
            Self::IdentityPairs { found } => {
                write!(formatter, "{found} identity pairs, at least {}", LIMITS.fewest_identity_pairs)
            }
            Self::NearDuplicate { first, second } => write!(formatter, "pairs {first} and {second} ask the same"),
            Self::Leak { pair, case } => write!(formatter, "pair {pair} repeats the smoke test {case}"),
            Self::WrongVerdict { pair, says, rules } => {
                const SHOWN: usize = 60;
                let start = if says.chars().count() > SHOWN { "…" } else { "" };
                let end: String = says.chars().skip(says.chars().count().saturating_sub(SHOWN)).collect();
                write!(formatter, "pair {pair}: the rules give {rules}, its answer ends \"{start}{end}\"")
            }
            Self::NoVerdict { pair } => write!(formatter, "pair {pair} does not answer with one verdict"),
        }
    }
}

/// Whether an answer consists of a verdict alone, ignoring punctuation and the word "verdict".
fn is_one_word(response: &str) -> bool {
    let mut words = response.split(|of: char| !of.is_alphanumeric()).filter(|word| !word.is_empty());
    let says = words.find(|word| !word.eq_ignore_ascii_case("verdict"));
    says.is_some_and(|word| Verdict::is_verdict_word(&word.to_uppercase())) && words.next().is_none()
}

/// Words that do not change the meaning of a question.
const FILLERS: [&str; 18] = [
    "a", "again", "an", "and", "assess", "at", "just", "kindly", "me", "now", "please", "so", "tell", "the", "then",
    "to", "us", "well",
];

/// The significant words of a question: without fillers, regardless of order and case, numbers by value.
fn words(text: &str) -> BTreeSet<String> {
    let visible = text.chars().filter(|of| !matches!(of, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'));
    let text: String = visible.flat_map(char::to_lowercase).collect();
    let words = text.split(|of: char| !(of.is_alphanumeric() || of == '.' || of == '_'));
    let words = words.map(|word| word.trim_matches('.')).filter(|word| !word.is_empty() && !FILLERS.contains(word));
    words.map(|word| word.parse::<f64>().map_or_else(|_| singular(word), |number| number.to_string())).collect()
}

fn singular(word: &str) -> String {
    let stem = word.strip_suffix('s').filter(|stem| stem.chars().count() > 3 && !stem.ends_with('s'));
    stem.unwrap_or(word).to_owned()
}

fn is_same(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let common = one.intersection(other).count();
    let all = one.len() + other.len() - common;
    all == 0 || common as f64 / all as f64 >= LIMITS.same_words
}

/// All faults of a corpus. Pairs are numbered from 1.
#[must_use]
pub fn lint(pairs: &[Pair]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let one_word = pairs.iter().filter(|pair| is_one_word(&pair.response)).count();
    if one_word as f64 > pairs.len() as f64 * LIMITS.one_word_share {
        findings.push(Finding::OneWordShare { one_word, of: pairs.len() });
    }
    let green = Expectation::every_kernel(Verdict::Green);
    let found = pairs
        .iter()
        .filter(|pair| green.judge(&pair.response).is_ok() && names_all_kernels(&pair.input))
        .filter(is_sound)
        .count();
    if found < LIMITS.fewest_green_kernel_pairs {
        findings.push(Finding::GreenKernelPairs { found });
    }
    let found = pairs.iter().filter(|pair| Expectation::Identity.judge(&pair.response).is_ok()).count();
    if found < LIMITS.fewest_identity_pairs {
        findings.push(Finding::IdentityPairs { found });
    }
    let asked: Vec<BTreeSet<String>> = pairs.iter().map(|pair| words(&pair.input)).collect();
    for (second, (other, pair)) in asked.iter().zip(pairs).enumerate() {
        // The same question with different facts has a different answer, so it is no duplicate.
        let mut earlier = asked.iter().zip(pairs).take(second);
        if let Some(first) = earlier.position(|(one, of)| of.facts == pair.facts && is_same(one, other)) {
            findings.push(Finding::NearDuplicate { first: first + 1, second: second + 1 });
        }
    }
    let smoke: Vec<(String, BTreeSet<String>)> =
        specified().into_iter().chain(dual_mode()).map(|case| (case.id, words(&case.prompt))).collect();
    for (index, one) in asked.iter().enumerate() {
        if let Some((case, _)) = smoke.iter().find(|(_, other)| is_same(one, other)) {
            findings.push(Finding::Leak { pair: index + 1, case: case.clone() });
        }
    }
    findings.extend(pairs.iter().enumerate().filter_map(|(index, pair)| label(index + 1, pair)));
    findings
}

/// Whether the rules give GREEN for the question's kernels.
fn is_sound(pair: &&Pair) -> bool {
    assess(&pair.input, &pair.facts).verdict() == Verdict::Green
}

fn names_all_kernels(input: &str) -> bool {
    Kernel::ALL.into_iter().all(|kernel| spellings(kernel).iter().any(|name| input.contains(name)))
}

/// Compares an answer's verdict with the rules. Conversations about the gate itself are exempt unless they give all
/// kernels.
fn label(number: usize, pair: &Pair) -> Option<Finding> {
    if ["identity", "meta", "interaction", "governance"].contains(&pair.category.as_str())
        && !names_all_kernels(&pair.input)
    {
        return None;
    }
    let mut said: Vec<&str> = pair
        .response
        .split(|of: char| !of.is_alphanumeric())
        .filter(|word| Verdict::ALL.iter().any(|of| of.as_str() == *word))
        .collect();
    said.dedup();
    let [says] = said.as_slice() else { return Some(Finding::NoVerdict { pair: number }) };
    let ruled = assess(&pair.input, &pair.facts);
    let is_one_word_rightly = (ruled.mode() == Mode::Quick) == is_one_word(&pair.response);
    (ruled.verdict().as_str() != *says || !is_one_word_rightly).then(|| Finding::WrongVerdict {
        pair: number,
        says: pair.response.clone(),
        rules: ruled.verdict(),
    })
}
