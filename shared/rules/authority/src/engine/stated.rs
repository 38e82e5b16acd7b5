//! The numbers that a reply states, each with what it measures.
//!
//! Stricter than the quantities of a question, because a reply that states a dose or a size is not delivered.

use super::quantity::{
    AGE, DOSE, DURATION, LENGTH, MONEY, PERCENT, POWER, PRESSURE, TEMPERATURE, TIMESTAMP, WEIGHT, quantities_of, value,
};
use crate::tables::ConceptId;
use crate::text::token::Token;

/// A number of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stated {
    pub(crate) value: f64,
    /// The value in one unit of its dimension, so that "20 feet" and "about 6 m" are near.
    pub(crate) measure: f64,
    /// What it measures; `None` without a unit.
    pub(crate) dimension: Option<ConceptId>,
    /// Its bytes in the reading, with the unit.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What a number may measure. The other quantities are kinds of these, or numbers without a unit.
const DIMENSIONS: [ConceptId; 11] =
    [AGE, DOSE, WEIGHT, TEMPERATURE, MONEY, DURATION, LENGTH, PERCENT, POWER, PRESSURE, TIMESTAMP];

/// The numbers of a text. The number of a name, such as "omega-3" or "vitamin D3", is not among them.
pub(crate) fn stated(reading: &str, tokens: &[Token]) -> Vec<Stated> {
    let is_of_a_name = |token: &Token| {
        let before = reading[..token.start].trim_end_matches('-');
        before.chars().next_back().is_some_and(char::is_alphabetic)
    };
    let number = |(index, token): (usize, &Token)| {
        let value = value(reading, token).filter(|_| !is_of_a_name(token))?;
        let (dimension, last) = measured(value, reading, tokens, index);
        let unit = tokens.get(index + 1).filter(|_| last == index + 1).map_or("", |unit| unit.word(reading));
        let end = tokens.get(last).map_or(token.end, |token| token.end);
        Some(Stated { value, measure: value * scale(unit), dimension, start: token.start, end })
    };
    tokens.iter().enumerate().filter_map(number).collect()
}

/// What the number at a token measures, and its last token. A unit that is also a common word measures nothing. Neither
/// does "5m", which may be five million.
fn measured(value: f64, reading: &str, tokens: &[Token], index: usize) -> (Option<ConceptId>, usize) {
    let token = &tokens[index];
    let unit = tokens.get(index + 1).filter(|unit| unit.position.abs_diff(token.position) == 1);
    let word = unit.map_or("", |unit| unit.word(reading));
    let is_joined = unit.is_some_and(|unit| unit.start == token.end);
    let before = index.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |before| before.word(reading));
    if reading[..token.start].trim_end().ends_with(['£', '€', '¥']) {
        return (Some(MONEY), index);
    }
    if let Some(last) = cross_section(value, reading, tokens, index) {
        return (Some(LENGTH), last);
    }
    if matches!(word, "awg" | "gauge") {
        return (Some(LENGTH), index + 1);
    }
    if before == "awg" {
        return (Some(LENGTH), index);
    }
    if let Some(dimension) = unit_of_a_reply(word, is_joined) {
        return (Some(dimension), index + 1);
    }
    if matches!(word, "dose" | "doses" | "units" | "tab" | "tabs" | "caps" | "gummies" | "bar")
        || (word == "m" && is_joined)
    {
        return (None, index);
    }
    let mut found = (None, index);
    quantities_of(value, reading, tokens, index, &mut |concept, end| {
        if DIMENSIONS.contains(&concept) {
            found = (Some(concept), end.saturating_sub(1));
        }
    });
    // "One foot in the door".
    let is_a_phrase = token.word(reading) == "one" && found.0 == Some(LENGTH);
    if is_a_phrase { (None, index) } else { found }
}

/// The factor from a unit to the one in which its dimension is compared.
fn scale(unit: &str) -> f64 {
    match unit {
        "ft" | "feet" | "foot" => 0.3048,
        "inch" | "inches" => 0.0254,
        "cm" => 0.01,
        "mm" => 0.001,
        "psi" => 6.895,
        "bars" => 100.0,
        _ => 1.0,
    }
}

/// Units that only replies are searched for: in a question most of them are mere words.
fn unit_of_a_reply(unit: &str, is_joined: bool) -> Option<ConceptId> {
    Some(match unit {
        "mgs" | "mls" | "tsps" | "tbsp" | "tbsps" | "teaspoonfuls" => DOSE,
        "kilowatt" | "kilowatts" => POWER,
        "a" | "v" if is_joined => POWER,
        "bars" | "psf" | "kilopascal" | "kilopascals" => PRESSURE,
        _ => return None,
    })
}

/// The last token of the section of a beam, such as "2x10", that begins at a token. "24x7" is no section.
fn cross_section(value: f64, reading: &str, tokens: &[Token], index: usize) -> Option<usize> {
    let [first, by, second] = tokens.get(index..index + 3)? else { return None };
    let is_one = first.end == by.start && by.end == second.start && by.word(reading) == "x" && second.number.is_some();
    (is_one && value <= 12.0).then_some(index + 2)
}
