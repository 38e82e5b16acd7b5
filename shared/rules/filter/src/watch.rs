//! Finds strings chosen at run time in every disguise that the engine detects: look-alikes, invisible characters,
//! separators, escapes, entities, markup, text that control characters reverse, and backwards spelling.
//!
//! The block list is compiled at build time and has ordinary senses; a watched string has none. Where the two searches
//! differ, this one finds more, because it protects details that a near miss would reveal.

use crate::embedded_characters;
use crate::engine::bidi;
use crate::engine::character_tables::CharacterTables;
use crate::engine::decode::{each_view, shown_after_decoding};
use crate::engine::lists::{Class, Symbols, kind};
use crate::engine::view::{Unit, View};

/// A string with fewer letters and digits is found only as a whole word, and never with digits read as letters, because
/// "7" occurs in nearly every text.
const SHORT: usize = 4;

/// The most letters and digits of a string that are compared. Finding this prefix of a longer string is enough.
const LONGEST: usize = 63;

/// Strings to look for. Immutable; finding is a pure function.
#[derive(Clone, Debug, Default)]
pub struct Watchlist {
    watched: Vec<Watched>,
}

/// One spelling of a watched string.
#[derive(Clone, Debug)]
struct Watched {
    /// The index of the string in the given list.
    index: usize,
    letters: Vec<Letter>,
    is_short: bool,
    /// The string has a digit and is not short. No ordinary words contain it, so it needs no edges.
    is_code: bool,
}

/// One letter or digit to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Letter {
    ch: char,
    class: u8,
    primary: u8,
    symbols: Symbols,
    repeats: bool,
}

/// The progress of the matches of one spelling: bit k means that k letters were seen.
#[derive(Clone, Copy, Default)]
struct Reached {
    /// Matches without white space inside, except for a code; they may begin and end anywhere.
    close: u64,
    /// Matches with any separators inside; they begin and end as a word.
    spread: u64,
}

impl Watchlist {
    /// Makes a watchlist of these strings. One that is not [watchable](Watchlist::is_watchable) is never found.
    pub fn new<'a>(strings: impl IntoIterator<Item = &'a str>) -> Self {
        let tables = embedded_characters();
        let mut watched = Vec::new();
        for (index, string) in strings.into_iter().enumerate() {
            let letters = letters(tables, string);
            if letters.is_empty() {
                continue;
            }
            // One ideograph counts as two letters.
            let weight: usize = letters.iter().map(|letter| if letter.symbols == 0 { 2 } else { 1 }).sum();
            let is_short = weight < SHORT;
            let mut spellings = vec![letters];
            if !is_short {
                for (from, to) in [("m", "rn"), ("w", "vv"), ("rn", "m"), ("vv", "w")] {
                    let lower = string.to_lowercase();
                    if lower.contains(from) {
                        spellings.push(self::letters(tables, &lower.replace(from, to)));
                    }
                }
                if spellings[0].len() > SHORT {
                    spellings.push(spellings[0].iter().rev().copied().collect());
                }
            }
            let is_code = !is_short && string.chars().any(|c| c.is_ascii_digit());
            watched.extend(spellings.into_iter().map(|letters| Watched { index, letters, is_short, is_code }));
        }
        Self { watched }
    }

    /// Whether a string has anything to compare: a letter, a digit or a sign that is not a separator.
    pub fn is_watchable(string: &str) -> bool {
        !letters(embedded_characters(), string).is_empty()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// The index of a watched string that the text contains, as written or disguised.
    pub fn find(&self, text: &str) -> Option<usize> {
        if self.watched.is_empty() {
            return None;
        }
        let tables = embedded_characters();
        let mut found = None;
        let mut look = |text: &str| {
            each_view(tables, text, |view, _| {
                found = found.or_else(|| {
                    self.watched.iter().find(|watched| watched.is_in(tables, &view.units)).map(|watched| watched.index)
                });
            });
        };
        look(text);
        if let Some((shown, _)) = bidi::as_shown(text) {
            look(&shown);
        }
        if let Some((shown, _)) = shown_after_decoding(tables, text) {
            look(&shown);
        }
        found
    }
}

/// The compared characters: letters, digits and signs, without separators.
fn letters(tables: &CharacterTables, string: &str) -> Vec<Letter> {
    let of = |unit: &Unit| {
        let class = unit.class_in(tables);
        let is_letter = class.is(kind::LETTER | kind::DIGIT);
        (is_letter || !class.is(kind::SEPARATOR | kind::SPACE)).then(|| Letter {
            ch: lower(unit.ch),
            class: unit.class,
            primary: class.primary,
            symbols: class.symbols,
            repeats: class.is(kind::LETTER),
        })
    };
    View::of_text(tables, string).units.iter().filter_map(of).take(LONGEST).collect()
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

impl Letter {
    fn is_read_in(&self, unit: &Unit, class: &Class, strictly: bool) -> bool {
        // Ideographs and similar characters share one class, so they are compared by character.
        if self.symbols == 0 {
            return lower(unit.ch) == self.ch;
        }
        if strictly {
            return unit.class == self.class || (self.primary != Class::NONE && class.primary == self.primary);
        }
        class.symbols & self.symbols != 0
    }
}

impl Watched {
    fn is_in(&self, tables: &CharacterTables, units: &[Unit]) -> bool {
        let full = 1_u64 << self.letters.len();
        let mut reached = Reached::default();
        let mut after_edge = true;
        for (index, unit) in units.iter().enumerate() {
            let class = unit.class_in(tables);
            let close = if self.is_short { 0 } else { reached.close | 1 };
            let spread = reached.spread | u64::from(after_edge);
            let (mut moved, mut stayed) = (0_u64, 0_u64);
            let mut open = close | spread;
            while open != 0 {
                let k = open.trailing_zeros() as usize;
                open &= open - 1;
                if self.letters.get(k).is_some_and(|letter| letter.is_read_in(unit, class, self.is_short)) {
                    moved |= 1 << k;
                }
                let before = k.checked_sub(1).and_then(|k| self.letters.get(k));
                if !self.is_short && before.is_some_and(|l| l.repeats && l.is_read_in(unit, class, false)) {
                    stayed |= 1 << k;
                }
            }
            let (separates, is_space) = (class.is(kind::SEPARATOR | kind::SPACE), class.is(kind::SPACE));
            let wait = |mask: u64, waits: bool| if waits { mask & !1 } else { 0 };
            reached.close =
                ((close & moved) << 1) | (close & stayed) | wait(close, separates && (self.is_code || !is_space));
            reached.spread = ((spread & moved) << 1) | (spread & stayed) | wait(spread, separates);
            let ends = units.get(index + 1).is_none_or(|next| next.class_in(tables).is_edge());
            if reached.close & full != 0 || (reached.spread & full != 0 && ends) {
                return true;
            }
            after_edge = class.is_edge();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(string: &str, text: &str) -> bool {
        Watchlist::new([string]).find(text) == Some(0)
    }

    #[test]
    fn disguises_are_seen_through() {
        for text in [
            "the code is 4471-ZX",
            "4471zx",
            "x4471-zxy",
            "4 4 7 1 - Z X",
            "４４７１-ＺＸ",
            "4\u{200b}4\u{200b}71Z\u{200d}X",
            "44&#55;1-ZX",
            "44%371-ZX",
            "44<b>71</b>-Z\\u0058",
            "4.4.7.1.Z.X",
            "\u{202e}XZ-1744",
            "xz-1744",
            "44\n71-zx",
            "code4-4-7-1-z-x-ok",
            "code4 4 7 1 z xok",
        ] {
            assert!(finds("4471-ZX", text), "{text:?}");
        }
        for text in ["\u{202e}1744", "The code is &#8238;1744&#8236;.", "\\u202e1744", "%E2%80%AE1744%E2%80%AC"] {
            assert!(finds("4471", text), "{text:?}");
        }
        assert!(finds("swordfish", "s.w.o.r.d.f.1.s.h") && finds("swordfish", "ѕwоrdfіsh"));
        assert!(finds("swordfish", "SWORRDFISH") && finds("swordfish", "svvordfish") && finds("comet", "cornet"));
        assert!(finds("鍵は月", "それは鍵は月だ"));
    }

    #[test]
    fn other_texts_are_not() {
        for (string, text) in [
            ("4471-ZX", "There is a code for the vault; it has six signs."),
            ("meet", "some eternal light"),
            ("7", "at 17 o'clock"),
            ("7", "t"),
            ("1000", "100 and 10"),
            ("4471", "1744 &#8238;"),
            ("鍵は月", "月は鍵"),
            ("", "anything"),
            ("x", ""),
        ] {
            assert!(!finds(string, text), "{string:?} in {text:?}");
        }
        assert!(finds("7", "gate 7, at noon") && finds("meet", "me et"));
        assert!(Watchlist::new([""; 0]).is_empty());
        assert!(Watchlist::is_watchable("a-1") && !Watchlist::is_watchable("?! ..."));
    }
}
