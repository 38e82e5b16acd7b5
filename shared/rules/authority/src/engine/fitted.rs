//! Scores a text by weights of words that were fitted to labelled texts: what no rule describes, but many words suggest
//! together.
//!
//! The sentences of a text are scored in runs of up to [`windows::MOST`] words, and the highest sum counts. So other
//! sentences before or after the telling ones do not lower it.

use super::data::{FITTED, FITTED_SLOTS, FITTED_WEIGHTS, MAPPINGS, TREATMENTS};
use super::matching::Fired;
use crate::tables::{FITTED_COLUMNS, FITTED_DETECTS, Fitted};
use crate::text::feature::each_feature;
use crate::text::token::Token;
use crate::text::windows::windows;

type Weights = [i8; FITTED_COLUMNS.len()];

/// Adds the requests whose weights reach their totals, with the sentences that do.
pub(crate) fn score(reading: &str, tokens: &[Token], fired: &mut Vec<Fired>) {
    let rows = rows(reading, tokens);
    let best = best(tokens, &rows);
    let is_reached = |fitted: &&Fitted| best[usize::from(fitted.detects)].0 >= i32::from(fitted.total);
    for fitted in FITTED.iter().filter(is_reached) {
        let (_, (start, end)) = best[usize::from(fitted.detects)];
        let of_kind = |fitted: &Fitted| sum(&rows[start..end], usize::from(fitted.kind));
        let is_likelier = |other: &Fitted| other.detects == fitted.detects && of_kind(other) > of_kind(fitted);
        if !FITTED.iter().any(is_likelier) && !is_decided(fired, fitted.mapping) {
            fired.push(Fired { mapping: fitted.mapping, start, end });
        }
    }
}

/// Whether a rule already asks for as much: what it found is more specific.
fn is_decided(fired: &[Fired], mapping: u16) -> bool {
    let severity = |mapping: u16| {
        let treatment = TREATMENTS.get(usize::from(MAPPINGS[usize::from(mapping)].treatment));
        treatment.map(|treatment| (treatment.locked, treatment.state))
    };
    fired.iter().any(|one| severity(one.mapping) >= severity(mapping))
}

/// For each column that detects, the highest sum of a run of sentences, and its tokens.
fn best(tokens: &[Token], rows: &[[u16; 3]]) -> [(i32, (usize, usize)); FITTED_DETECTS] {
    // Before each token and after the last, the sums of the weights of all features before it.
    let mut before = Vec::with_capacity(rows.len() + 1);
    let mut sums = [0_i32; FITTED_DETECTS];
    before.push(sums);
    for rows in rows {
        for weights in rows.iter().filter_map(|row| weights(*row)) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += i32::from(*weight);
            }
        }
        before.push(sums);
    }
    let mut best = [(0, (0, 0)); FITTED_DETECTS];
    windows(tokens, |(start, end)| {
        for (column, best) in best.iter_mut().enumerate() {
            let sum = before[end][column] - before[start][column];
            if sum > best.0 {
                *best = (sum, (start, end));
            }
        }
    });
    best
}

/// The sum of a column's weights over some tokens.
fn sum(rows: &[[u16; 3]], column: usize) -> i32 {
    rows.iter().flatten().filter_map(|row| weights(*row)).map(|weights| i32::from(weights[column])).sum()
}

/// For each token the rows of its features in the table, from 1; 0 for a feature without weights.
fn rows(reading: &str, tokens: &[Token]) -> Vec<[u16; 3]> {
    let mut rows = Vec::with_capacity(tokens.len());
    each_feature(reading, tokens, |features| rows.push(features.map(row)));
    rows
}

fn weights(row: u16) -> Option<&'static Weights> {
    Some(&FITTED_WEIGHTS.get(usize::from(row.checked_sub(1)?))?.1)
}

/// A slot has a row and the upper half of its hash, so that most features without weights need no look at the rows.
fn row(feature: u32) -> u16 {
    let mask = FITTED_SLOTS.len() - 1;
    let mut slot = feature as usize & mask;
    loop {
        let (upper, row) = FITTED_SLOTS[slot];
        if row == 0 {
            return 0;
        }
        if u32::from(upper) == feature >> 16 && FITTED_WEIGHTS[usize::from(row) - 1].0 == feature {
            return row;
        }
        slot = (slot + 1) & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::data::NAMES;
    use crate::text::token::tokens;

    fn rules(reading: &str) -> Vec<&'static str> {
        let mut fired = Vec::new();
        score(reading, &tokens(reading), &mut fired);
        fired.iter().map(|one| MAPPINGS[usize::from(one.mapping)].id.of(NAMES)).collect()
    }

    #[test]
    fn a_text_has_the_most_probable_kind_of_what_it_reaches() {
        let crisis = "i have written a letter to each of my children and i do not want to be here on monday";
        assert_eq!(rules(crisis), ["words_of_self_harm"]);
        assert_eq!(rules("should we open the bakery on sundays"), [""; 0]);
        assert_eq!(rules(""), [""; 0]);
    }

    #[test]
    fn other_sentences_do_not_lower_a_sum() {
        let crisis = "i have written a letter to each of my children and i do not want to be here on monday";
        let harmless = "should we open the bakery on sundays and hire a second baker for the market? ";
        for count in [1, 5, 50] {
            let around = harmless.repeat(count);
            assert_eq!(rules(&format!("{around}{crisis}. {around}")), ["words_of_self_harm"], "{count}");
        }
    }

    #[test]
    fn weights_are_found_by_hash_alone() {
        for (hash, expected) in FITTED_WEIGHTS {
            assert_eq!(weights(row(*hash)), Some(expected));
        }
        assert_eq!(weights(row(0)), None);
    }
}
