//! Scores a text by weights of words that were fitted to labelled texts: what no rule describes, but many words suggest
//! together.
//!
//! Weights are added up in windows of whole sentences (`text::windows`), and the highest sum counts. So other sentences
//! before or after the telling ones do not lower it.

use super::data::{FITTED, FITTED_SLOTS, FITTED_WEIGHTS};
use super::matching::Fired;
use crate::tables::{FITTED_COLUMNS, FITTED_DETECTS, Fitted};
use crate::text::feature::each_feature;
use crate::text::token::Token;
use crate::text::windows::windows;

type Weights = [i8; FITTED_COLUMNS.len()];

/// The numbers of a word's features in the table, from 1; 0 for a feature without weights.
type Rows = [u16; 3];

/// The requests whose weights reach their totals, each with the window of its highest sum, of the rules that `matters` names
/// by their mappings. Every window that reaches a total sets the request of its own kind, so an added sentence adds
/// requests and replaces none.
pub(crate) fn fitted(reading: &str, tokens: &[Token], matters: impl Fn(u16) -> bool) -> Vec<Fired> {
    let is_asked =
        |detects: usize| FITTED.iter().any(|fitted| usize::from(fitted.detects) == detects && matters(fitted.mapping));
    let asked: [bool; FITTED_DETECTS] = std::array::from_fn(is_asked);
    if asked == [false; FITTED_DETECTS] {
        return Vec::new();
    }
    let words = words(reading, tokens);
    let mut highest = [(0, None); FITTED.len()];
    windows(tokens, |start, ends| {
        each_sum(&words, start, ends, |end, sums| {
            for (detects, sum) in sums.into_iter().enumerate() {
                let is_reached =
                    |fitted: &Fitted| usize::from(fitted.detects) == detects && sum >= i32::from(fitted.total);
                if !asked[detects] || !FITTED.iter().any(is_reached) {
                    continue;
                }
                let kinds = FITTED.iter().enumerate().filter(|(_, fitted)| is_reached(fitted));
                let of_kind = |fitted: &Fitted| sum_of(&words, (start, end), usize::from(fitted.kind));
                let Some((number, _)) = kinds.max_by_key(|(_, fitted)| of_kind(fitted)) else { continue };
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

/// Calls `each` with the ends of windows that begin at a word, and with their sums in the columns that detect.
fn each_sum(words: &[Word], start: usize, ends: &[usize], mut each: impl FnMut(usize, [i32; FITTED_DETECTS])) {
    let mut sums = [0; FITTED_DETECTS];
    let mut from = start;
    for end in ends {
        for weights in words[from..*end].iter().flat_map(|word| word.new_from(start)) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += i32::from(*weight);
            }
        }
        each(*end, sums);
        from = *end;
    }
}

/// The sum of a column's weights in a window.
fn sum_of(words: &[Word], (start, end): (usize, usize), column: usize) -> i32 {
    words[start..end].iter().flat_map(|word| word.new_from(start)).map(|weights| i32::from(weights[column])).sum()
}

/// A word's features.
struct Word {
    rows: Rows,
    /// For each feature: if an earlier word has it too, one more than that word's index; otherwise 0.
    after: [u32; 3],
}

impl Word {
    /// The weights of this word's features, without those of earlier words of a window that begins at `start`: a
    /// repetition adds nothing.
    fn new_from(&self, start: usize) -> impl Iterator<Item = &'static Weights> {
        let is_new = move |(row, after): (u16, u32)| if after as usize <= start { weights_of(row) } else { None };
        self.rows.into_iter().zip(self.after).filter_map(is_new)
    }
}

fn words(reading: &str, tokens: &[Token]) -> Vec<Word> {
    let mut words = Vec::with_capacity(tokens.len());
    // For each row that was seen, one more than the index of its last word. At least half of the slots stay empty.
    let mut last = vec![(0_u16, 0_u32); (tokens.len() * 6 + 1).next_power_of_two()];
    let mask = last.len() - 1;
    each_feature(reading, tokens, |features| {
        let rows = features.map(row_of);
        let next = words.len() as u32 + 1;
        let after = rows.map(|row| {
            if row == 0 {
                return 0;
            }
            let mut slot = usize::from(row).wrapping_mul(0x9e37) & mask;
            while last[slot].0 != 0 && last[slot].0 != row {
                slot = (slot + 1) & mask;
            }
            std::mem::replace(&mut last[slot], (row, next)).1
        });
        words.push(Word { rows, after });
    });
    words
}

fn weights_of(row: u16) -> Option<&'static Weights> {
    Some(&FITTED_WEIGHTS.get(usize::from(row.checked_sub(1)?))?.1)
}

/// A slot has the upper half of a row's hash, so most features without weights are recognised without reading a row. One
/// in a hundred thousand of them has the hash of a feature with weights, and gets its weights.
fn row_of(feature: u32) -> u16 {
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
    use crate::engine::data::{MAPPINGS, NAMES};
    use crate::text::token::tokens;

    const CRISIS: &str = "i have written a letter to each of my children and i do not want to be here on monday";

    fn rules(reading: &str) -> Vec<&'static str> {
        let fired = fitted(reading, &tokens(reading), |_| true);
        fired.iter().map(|one| MAPPINGS[usize::from(one.mapping)].id.of(NAMES)).collect()
    }

    /// The highest sum of a column over the windows of a text.
    fn highest(reading: &str, column: usize) -> i32 {
        let tokens = tokens(reading);
        let words = words(reading, &tokens);
        let mut highest = 0;
        windows(&tokens, |start, ends| {
            each_sum(&words, start, ends, |_, sums| highest = highest.max(sums[column]));
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
        for word in ["bruises", "goodbye", "breathing", "scared"] {
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
    fn weights_are_found_by_hash_alone() {
        for (hash, expected) in FITTED_WEIGHTS {
            assert_eq!(weights_of(row_of(*hash)), Some(expected));
        }
        assert_eq!(weights_of(row_of(0)), None);
    }
}
