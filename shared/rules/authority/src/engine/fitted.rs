//! Scores a text by weights of words that were fitted to labelled texts: what no rule describes, but many words suggest
//! together.
//!
//! Weights are added up in windows of whole sentences (`text::windows`), and the highest sum counts. So other sentences
//! before or after the telling ones do not lower it.

use std::ops::Deref;

use super::data::{FITTED, FITTED_KINDS_PLACES, FITTED_KINDS_ROWS, FITTED_PLACES, FITTED_ROWS, MAPPINGS, TREATMENTS};
use super::matching::Fired;
use crate::state::State;
use crate::tables::{FITTED_COLUMNS, FITTED_DETECTS, Fitted, Places, recognised_by};
use crate::text::feature::each_feature;
use crate::text::token::Token;
use crate::text::windows::{MAX_WORDS, begins_sentence, windows};

/// The number of columns of kinds, which follow those that detect.
const KINDS: usize = FITTED_COLUMNS.len() - FITTED_DETECTS;

/// The requests whose weights reach their totals, each with the window of its highest sum, of the rules that `matters` names
/// by their mappings. Every window that reaches a total sets the request of its own kind, so an added sentence adds
/// requests and replaces none.
pub(crate) fn fitted(
    tokens: &[Token],
    features: &impl Deref<Target = Features>,
    matters: impl Fn(u16) -> bool,
) -> Vec<Fired> {
    // All rules that detect the same have the same total.
    let total = |detects: usize| {
        let asked = FITTED.iter().find(|fitted| usize::from(fitted.detects) == detects && matters(fitted.mapping));
        asked.map_or(i32::MAX, |fitted| i32::from(fitted.total))
    };
    let totals: [i32; FITTED_DETECTS] = std::array::from_fn(total);
    if totals == [i32::MAX; FITTED_DETECTS] {
        return Vec::new();
    }
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
    found.map(|(fitted, (start, end))| Fired { mapping: fitted.mapping, start, end, doubtful: None }).collect()
}

/// The lowest sum that confirms a match, for each column that detects.
const CONFIRMS: [i32; FITTED_DETECTS] = [40, 20];

/// The number of words on each side of a match of which half must have weights for the weights to be asked.
const AROUND: usize = 5;

/// Drops the doubtful matches that the weights do not confirm, and repetitions of those that they confirm. The highest sum
/// of a run of words that contains the match's most specific element counts: so no other word, before it or after it, takes
/// a match back. A match among words without weights counts: they are of a language that was not fitted, or made up.
pub(crate) fn confirm(features: &impl Deref<Target = Features>, fired: &mut Vec<Fired>) {
    fired.retain(|one| {
        one.doubtful.is_none_or(|anchor| {
            let column = column(one.mapping);
            !features.are_known(anchor) || features.highest_run(anchor, column) >= CONFIRMS[column]
        })
    });
    fired.dedup_by(|one, before| one.mapping == before.mapping && one.doubtful.is_some());
}

/// The column that detects what a request is about: a crisis, or a governed question.
fn column(mapping: u16) -> usize {
    let treatment = &TREATMENTS[usize::from(MAPPINGS[usize::from(mapping)].treatment)];
    usize::from(!treatment.locked && treatment.state != State::Blocked)
}

/// A feature of a word that has weights.
struct Feature {
    hash: u32,
    /// If the text has it before, one more than its number there; otherwise 0.
    after: u32,
    /// Whether it is a pair of two words of a sentence, and so not of its word alone.
    is_pair: bool,
    /// Its weights in the columns that detect.
    weights: [i32; FITTED_DETECTS],
}

/// The features of a text that have weights.
pub(crate) struct Features {
    all: Vec<Feature>,
    /// For each word, the number of its first feature; after the last word, the number of features.
    first: Vec<u32>,
}

impl Features {
    pub(crate) fn of(tokens: &[Token]) -> Self {
        // All rows are looked up before one is used, and without a branch: no lookup waits for another.
        let (mut found, mut count) = (vec![(0, 0, false); tokens.len() * 3], 0);
        let mut first = Vec::with_capacity(tokens.len() + 1);
        each_feature(tokens, |hashes| {
            let begins = begins_sentence(tokens, first.len());
            first.push(count as u32);
            for (hash, is_pair) in hashes.into_iter().zip([false, !begins, false]) {
                let row = FITTED_PLACES.of(hash);
                found[count] = (hash, row, is_pair);
                // The hash 0 is no feature.
                count += usize::from(hash != 0 && FITTED_ROWS[row][0] == recognised_by(hash));
            }
        });
        first.push(count as u32);
        let mut all: Vec<Feature> = Vec::with_capacity(count);
        // For each feature that was seen, one more than its latest number. At least a quarter of the slots stays empty.
        let mut last = vec![0_u32; (tokens.len() * 4).next_power_of_two()];
        let mask = last.len() - 1;
        for (hash, row, is_pair) in found.into_iter().take(count) {
            let mut slot = hash as usize & mask;
            while last[slot] != 0 && all[last[slot] as usize - 1].hash != hash {
                slot = (slot + 1) & mask;
            }
            let after = std::mem::replace(&mut last[slot], all.len() as u32 + 1);
            let [_, crisis, governed] = FITTED_ROWS[row];
            let weights = [crisis, governed].map(|weight| i32::from(weight.cast_signed()));
            all.push(Feature { hash, after, is_pair, weights });
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

    fn of_word(&self, word: usize) -> &[Feature] {
        &self.all[self.first[word] as usize..self.first[word + 1] as usize]
    }

    /// Whether at least half of the words around these have weights of their own.
    fn are_known(&self, (start, end): (usize, usize)) -> bool {
        let around = start.saturating_sub(AROUND)..(self.first.len() - 1).min(end + AROUND);
        let known = around.clone().filter(|word| self.of_word(*word).iter().any(|feature| !feature.is_pair));
        known.count() * 2 >= around.len()
    }

    /// The highest sum of a run of words that contains these, with at most [`MAX_WORDS`] more on each side. A feature counts
    /// once among these words, and otherwise once on each side: if one side's counted on the other, a word could lower
    /// the sum.
    fn highest_run(&self, (start, end): (usize, usize), column: usize) -> i32 {
        let inner = |word: usize| self.of_word(word).iter().filter(|feature| !feature.is_pair);
        let pair = |word: usize| self.of_word(word).iter().filter(|feature| feature.is_pair);
        let mut seen: Vec<u32> = Vec::new();
        let add = |feature: &Feature, seen: &mut Vec<u32>| {
            let is_new = !seen.contains(&feature.hash);
            seen.push(feature.hash);
            if is_new { feature.weights[column] } else { 0 }
        };
        let own = inner(start).chain((start + 1..end).flat_map(|word| self.of_word(word)));
        let own: i32 = own.map(|feature| add(feature, &mut seen)).sum();
        let mut seen_before = seen.clone();
        let after = (end..self.first.len() - 1).take(MAX_WORDS);
        let after = after.map(|word| self.of_word(word).iter().map(|feature| add(feature, &mut seen)).sum());
        let before = (0..start).rev().take(MAX_WORDS);
        let before = before.map(|word| inner(word).chain(pair(word + 1)).map(|one| add(one, &mut seen_before)).sum());
        own + highest_total(after) + highest_total(before)
    }

    /// Adds the weights of the kinds of some words of a window, which begins at `start`.
    fn add_kinds(&self, start: usize, (from, to): (usize, usize), kinds: &mut [i32; KINDS]) {
        let begin = self.first[start];
        let [from, to] = [from, to].map(|word| self.first[word] as usize);
        for feature in self.all[from..to].iter().filter(|feature| feature.after <= begin) {
            let Some(weights) = row_of(feature.hash, &FITTED_KINDS_PLACES, FITTED_KINDS_ROWS) else { continue };
            for (sum, weight) in kinds.iter_mut().zip(&weights[1..]) {
                *sum += i32::from(weight.cast_signed());
            }
        }
    }
}

/// The highest sum of the first weights, of any number of them.
fn highest_total(weights: impl Iterator<Item = i32>) -> i32 {
    let totals = weights.scan(0, |total, weight| {
        *total += weight;
        Some(*total)
    });
    totals.fold(0, i32::max)
}

/// The row of a feature, if the table has it.
fn row_of<const SIZE: usize>(hash: u32, places: &Places, rows: &'static [[u8; SIZE]]) -> Option<&'static [u8; SIZE]> {
    rows.get(places.of(hash)).filter(|row| row[0] == recognised_by(hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::data::NAMES;
    use crate::engine::hits::Hits;
    use crate::engine::matching::fired;
    use crate::text::feature::hash_of;
    use crate::text::token::tokens;

    const CRISIS: &str = "i have written a letter to each of my children and i do not want to be here on monday";

    fn rules(reading: &str) -> Vec<&'static str> {
        let tokens = tokens(reading);
        let fired = fitted(&tokens, &Box::new(Features::of(&tokens)), |_| true);
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

    /// The ids of the mappings that count in a reading.
    fn counting(reading: &str) -> Vec<&'static str> {
        let hits = Hits::of(reading, reading.len());
        let mut fired = fired(&hits, reading.len());
        confirm(&Box::new(Features::of(&hits.tokens)), &mut fired);
        fired.iter().map(|one| MAPPINGS[usize::from(one.mapping)].id.of(NAMES)).collect()
    }

    const HARMLESS: &str = "i can't do it alone";
    const MEANT: &str = "everybody would be better without me and i want to sleep for ever";

    #[test]
    fn a_doubtful_construction_counts_only_where_the_words_around_it_agree() {
        let number = |id: &str| MAPPINGS.iter().position(|mapping| mapping.id.of(NAMES) == id).unwrap();
        assert!(MAPPINGS[number("crisis_indirect")].needs_weights && !MAPPINGS[number("crisis")].needs_weights);
        let hits = Hits::of(HARMLESS, HARMLESS.len());
        let matched = fired(&hits, HARMLESS.len());
        assert!(matched.iter().any(|one| usize::from(one.mapping) == number("crisis_indirect")), "it matches");
        assert!(!counting(HARMLESS).contains(&"crisis_indirect"));
        assert!(counting(MEANT).contains(&"crisis_indirect"));
    }

    #[test]
    fn no_other_word_takes_a_doubtful_construction_back() {
        let clause = "we run a bakery in halifax and sell bread online";
        for text in [
            format!("{HARMLESS}. {MEANT}."),
            format!("{MEANT}. {HARMLESS}"),
            format!("{clause}, and {MEANT}"),
            format!("{MEANT}, and {clause}"),
            format!("{clause}. {clause}. {MEANT}. {clause}"),
        ] {
            let all = counting(&text);
            assert_eq!(all.iter().filter(|id| **id == "crisis_indirect").count(), 1, "{text}: {all:?}");
        }
        let married = "my cousin, 12, is being married off. attend or refuse?";
        let before = format!("should our restaurant offer half portions for kids? {married}");
        for text in [married, &before] {
            assert!(counting(text).contains(&"signs_of_cruelty"), "{text}");
        }
    }

    #[test]
    fn a_doubtful_construction_counts_among_unknown_words_and_behind_more_than_are_examined() {
        assert!(counting(&format!("xqzt vrrk plomf {HARMLESS} grnf qwrt zzkp")).contains(&"crisis_indirect"));
        let quiet = format!("{HARMLESS}. we run a bakery in halifax and sell bread. ");
        assert!(!counting(&quiet.repeat(31)).contains(&"crisis_indirect"));
        assert!(counting(&quiet.repeat(32)).contains(&"crisis_indirect"));
    }

    #[test]
    fn every_row_is_found_by_the_hash_of_its_feature() {
        let table = include_str!("../../data/fitted_weights.tsv");
        for line in table.lines().skip(1) {
            let mut cells = line.split('\t');
            let hash = hash_of(cells.next().unwrap());
            let weights: Vec<u8> = cells.map(|cell| cell.parse::<i8>().unwrap().cast_unsigned()).collect();
            let (detects, kinds) = weights.split_at(FITTED_DETECTS);
            assert_eq!(row_of(hash, &FITTED_PLACES, FITTED_ROWS).unwrap()[1..], *detects, "{line}");
            if kinds.iter().any(|weight| *weight != 0) {
                assert_eq!(row_of(hash, &FITTED_KINDS_PLACES, FITTED_KINDS_ROWS).unwrap()[1..], *kinds, "{line}");
            }
        }
    }
}
