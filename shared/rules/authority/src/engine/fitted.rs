//! Scores a text by weights of words that were fitted to labelled texts: what no rule describes, but many words suggest
//! together.
//!
//! Weights are added up in windows of whole sentences (`text::windows`), and the highest sum counts. So other sentences
//! before or after the telling ones do not lower it.

use super::data::{FITTED, FITTED_KINDS, FITTED_PLACES, FITTED_ROWS};
use super::matching::Fired;
use crate::tables::{FITTED_COLUMNS, FITTED_DETECTS, Fitted};
use crate::text::feature::each_feature;
use crate::text::token::Token;
use crate::text::windows::windows;

/// The number of columns of kinds, which follow those that detect.
const KINDS: usize = FITTED_COLUMNS.len() - FITTED_DETECTS;

/// The requests whose weights reach their totals, each with the window of its highest sum, of the rules that `matters` names
/// by their mappings. Every window that reaches a total sets the request of its own kind, so an added sentence adds
/// requests and replaces none.
pub(crate) fn fitted(tokens: &[Token], matters: impl Fn(u16) -> bool) -> Vec<Fired> {
    // All rules that detect the same have the same total.
    let total = |detects: usize| {
        let asked = FITTED.iter().find(|fitted| usize::from(fitted.detects) == detects && matters(fitted.mapping));
        asked.map_or(i32::MAX, |fitted| i32::from(fitted.total))
    };
    let totals: [i32; FITTED_DETECTS] = std::array::from_fn(total);
    if totals == [i32::MAX; FITTED_DETECTS] {
        return Vec::new();
    }
    let features = Features::of(tokens);
    let mut highest = [(0, None); FITTED.len()];
    windows(tokens, |start, ends| {
        // The sums of the kinds up to a word of the windows that begin here; most reach no total and need none.
        let (mut kinds, mut counted) = ([0; KINDS], start);
        features.each_sum(start, ends, |end, sums| {
            for (detects, sum) in sums.into_iter().enumerate().filter(|(detects, sum)| *sum >= totals[*detects]) {
                features.add_kinds(start, (counted, end), &mut kinds);
                counted = end;
                let of_kind = |fitted: &Fitted| kinds[usize::from(fitted.kind) - FITTED_DETECTS];
                let detecting = FITTED.iter().enumerate().filter(|(_, fitted)| usize::from(fitted.detects) == detects);
                let Some((number, _)) = detecting.max_by_key(|(_, fitted)| of_kind(fitted)) else { continue };
                if sum > highest[number].0 {
                    highest[number] = (sum, Some((start, end)));
                }
            }
        });
    });
    let found = FITTED.iter().zip(highest).filter(|(fitted, _)| matters(fitted.mapping));
    let found = found.filter_map(|(fitted, (_, window))| Some((fitted, window?)));
    found.map(|(fitted, (start, end))| Fired { mapping: fitted.mapping, start, end }).collect()
}

/// A feature of a word that has weights.
struct Feature {
    /// Its row in the tables.
    row: u16,
    /// If the text has it before, one more than its number there; otherwise 0.
    after: u32,
    /// Its weights in the columns that detect.
    weights: [i32; FITTED_DETECTS],
}

/// The features of a text that have weights.
struct Features {
    all: Vec<Feature>,
    /// For each word, the number of its first feature; after the last word, the number of features.
    first: Vec<u32>,
}

impl Features {
    fn of(tokens: &[Token]) -> Self {
        // All rows are looked up before one is used, and without a branch: no lookup waits for another.
        let (mut rows, mut count) = (vec![0; tokens.len() * 3], 0);
        let mut first = Vec::with_capacity(tokens.len() + 1);
        each_feature(tokens, |hashes| {
            first.push(count as u32);
            for row in hashes.map(row_of) {
                rows[count] = row.unwrap_or_default();
                count += usize::from(row.is_some());
            }
        });
        first.push(count as u32);
        let mut all: Vec<Feature> = Vec::with_capacity(count);
        // For each row that was seen, one more than its latest feature. At least a quarter of the slots stays empty.
        let mut last = vec![0_u32; (tokens.len() * 4).next_power_of_two()];
        let mask = last.len() - 1;
        for row in rows.into_iter().take(count) {
            let mut slot = usize::from(row).wrapping_mul(0x9e37) & mask;
            while last[slot] != 0 && all[last[slot] as usize - 1].row != row {
                slot = (slot + 1) & mask;
            }
            let after = std::mem::replace(&mut last[slot], all.len() as u32 + 1);
            let [.., crisis, governed] = FITTED_ROWS[usize::from(row)];
            let weights = [crisis, governed].map(|weight| i32::from(weight.cast_signed()));
            all.push(Feature { row, after, weights });
        }
        Self { all, first }
    }

    /// Calls `each` with the ends of windows that begin at a word, and with their sums in the columns that detect. A
    /// repetition of a feature of the window adds nothing.
    fn each_sum(&self, start: usize, ends: &[usize], mut each: impl FnMut(usize, [i32; FITTED_DETECTS])) {
        let (begin, mut from) = (self.first[start], self.first[start]);
        let mut sums = [0; FITTED_DETECTS];
        for end in ends {
            let until = self.first[*end];
            for feature in &self.all[from as usize..until as usize] {
                // Without a branch.
                let is_new = i32::from(feature.after <= begin);
                for (sum, weight) in sums.iter_mut().zip(feature.weights) {
                    *sum += weight * is_new;
                }
            }
            from = until;
            each(*end, sums);
        }
    }

    /// Adds the weights of the kinds of some words of a window, which begins at `start`.
    fn add_kinds(&self, start: usize, (from, to): (usize, usize), kinds: &mut [i32; KINDS]) {
        let begin = self.first[start];
        let [from, to] = [from, to].map(|word| self.first[word] as usize);
        for feature in self.all[from..to].iter().filter(|feature| feature.after <= begin) {
            for (sum, weight) in kinds.iter_mut().zip(FITTED_KINDS[usize::from(feature.row)]) {
                *sum += i32::from(weight.cast_signed());
            }
        }
    }
}

/// The row of a feature, if it has weights. One in a hundred thousand others has the same hash, and gets its weights.
fn row_of(feature: u32) -> Option<u16> {
    let row = FITTED_PLACES.of(feature);
    (FITTED_ROWS[row][..4] == feature.to_le_bytes()).then_some(row as u16)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::data::{MAPPINGS, NAMES};
    use crate::text::feature::hash_of;
    use crate::text::token::tokens;

    const CRISIS: &str = "i have written a letter to each of my children and i do not want to be here on monday";

    fn rules(reading: &str) -> Vec<&'static str> {
        let fired = fitted(&tokens(reading), |_| true);
        fired.iter().map(|one| MAPPINGS[usize::from(one.mapping)].id.of(NAMES)).collect()
    }

    /// The highest sum of a column over the windows of a text.
    fn highest(reading: &str, column: usize) -> i32 {
        let tokens = tokens(reading);
        let features = Features::of(&tokens);
        let mut highest = 0;
        windows(&tokens, |start, ends| {
            features.each_sum(start, ends, |_, sums| highest = highest.max(sums[column]));
        });
        highest
    }

    #[test]
    fn a_text_has_the_most_probable_kind_of_what_it_reaches() {
        assert_eq!(rules(CRISIS), ["words_of_self_harm"]);
        assert_eq!(rules("should we open the bakery on sundays"), [""; 0]);
        assert_eq!(rules(""), [""; 0]);
    }

    #[test]
    fn other_sentences_do_not_lower_a_sum() {
        let alone = highest(CRISIS, 0);
        for other in
            ["we sell candles online. ", "should we open on sundays? ", "thanks! ", "it rains. it rains. it rains. "]
        {
            for count in [1, 5, 50] {
                let around = other.repeat(count);
                let text = format!("{around}{CRISIS}. {around}");
                assert!(highest(&text, 0) >= alone, "{other} {count}: {} instead of {alone}", highest(&text, 0));
                assert!(rules(&text).contains(&"words_of_self_harm"), "{other} {count}");
            }
        }
    }

    #[test]
    fn a_repeated_word_counts_once_in_a_window() {
        for word in ["bruises", "breathing", "swallowed", "unconscious"] {
            let once = highest(&format!("{word} {word}"), 0);
            assert!(once > 0, "{word}");
            assert_eq!(highest(&format!("{word} ").repeat(20), 0), once, "{word}");
        }
    }

    #[test]
    fn a_crisis_within_a_long_sentence_is_found_wherever_it_is() {
        for count in 0..60 {
            let text = format!("{}{CRISIS}", "and so on ".repeat(count));
            assert!(rules(&text).contains(&"words_of_self_harm"), "{count}");
        }
    }

    #[test]
    fn every_row_is_found_by_the_hash_of_its_feature() {
        let table = include_str!("../../data/fitted_weights.tsv");
        let mut rows = BTreeSet::new();
        for line in table.lines().skip(1) {
            let mut cells = line.split('\t');
            let row = row_of(hash_of(cells.next().unwrap())).unwrap();
            let weights: Vec<u8> = cells.map(|cell| cell.parse::<i8>().unwrap().cast_unsigned()).collect();
            let (detects, kinds) = weights.split_at(FITTED_DETECTS);
            let (found, of_kinds) = (&FITTED_ROWS[usize::from(row)][4..], &FITTED_KINDS[usize::from(row)][..]);
            assert_eq!((found, of_kinds), (detects, kinds));
            assert!(rows.insert(row));
        }
        // 0 is the hash of no feature.
        assert_eq!(row_of(0), None);
    }
}
