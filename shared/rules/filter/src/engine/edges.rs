//! Decides where an occurrence may begin and end.

use crate::engine::alignment::Alignment;
use crate::engine::lists::{Matching, Pattern, kind};
use crate::engine::nfa::may_be_compound;
use crate::engine::tables::Tables;
use crate::engine::view::Unit;
use crate::engine::word_lists::COMPOUNDS;

/// The fewest letters of a term that a number may follow: "TMM2". "LX570" is a car.
const SHORTEST_NUMBERED: usize = 3;

/// Whether a pattern may begin with the unit at `first`.
pub(crate) fn begins(tables: &Tables, units: &[Unit], pattern: &Pattern, first: usize) -> bool {
    let Some(before) = first.checked_sub(1).and_then(|i| units.get(i)) else {
        return true;
    };
    match tables.term_of(pattern).matching {
        Matching::Symbol => true,
        Matching::Greek => !before.class_in(&tables.characters).is(kind::GREEK) && !is_cyrillic(before.ch),
        Matching::Word | Matching::Letter => before.class_in(&tables.characters).is_edge(),
        Matching::Number => {
            let digit_before = first.checked_sub(2).and_then(|i| units.get(i)).is_some_and(|u| is_digit(u.ch));
            before.class_in(&tables.characters).is_edge()
                && !(digit_before && matches!(before.ch, '.' | ',' | '-' | '/' | ':'))
        }
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

/// Whether an alignment may end where it does.
pub(crate) fn ends(tables: &Tables, units: &[Unit], alignment: &Alignment) -> bool {
    let pattern = &tables.lists.patterns[alignment.pattern as usize];
    let Some(after) = units.get(alignment.last + 1) else {
        return true;
    };
    let class = after.class_in(&tables.characters);
    match tables.term_of(pattern).matching {
        Matching::Symbol => true,
        Matching::Greek => {
            let ends_in_letter = pattern.elements.last().is_some_and(|e| e.written.is_ascii_alphanumeric());
            if ends_in_letter { class.is_edge() } else { !class.is(kind::GREEK) && !is_cyrillic(after.ch) }
        }
        Matching::Number => {
            let digit_after = units.get(alignment.last + 2).is_some_and(|u| is_digit(u.ch));
            let ends_in_digit = pattern.elements.last().is_some_and(|e| e.written.is_ascii_digit());
            let goes_on = digit_after && matches!(after.ch, '.' | ',' | '-' | '/' | ':');
            !ends_in_digit || (class.is_edge() && !goes_on)
        }
        Matching::Word if class.is(kind::DIGIT) => {
            // "NOUS2" is NOUS with a number; "lx8f3c" is a random token.
            let digits = units[alignment.last + 1..]
                .iter()
                .take(4)
                .take_while(|u| u.class_in(&tables.characters).is(kind::DIGIT));
            let count = digits.count();
            let letters = pattern.elements.iter().filter(|e| e.written.is_ascii_alphabetic()).count();
            let beyond = units.get(alignment.last + 1 + count);
            letters >= SHORTEST_NUMBERED
                && count <= 3
                && beyond.is_none_or(|u| u.class_in(&tables.characters).is_edge())
        }
        Matching::Word => class.is_edge() || is_compound(tables, pattern, &units[alignment.last + 1..]),
        Matching::Letter => class.is_edge(),
    }
}

/// Whether the units after a word make it a longer name of the same thing: a version ("CSDMv2") or a part of ours in
/// capitals and small letters ("TMMScore"). Others are other products ("GammaRay", "ChromaDB").
fn is_compound(tables: &Tables, pattern: &Pattern, after: &[Unit]) -> bool {
    if !may_be_compound(pattern) {
        return false;
    }
    let ends_at = |index: usize| after.get(index).is_none_or(|u| u.class_in(&tables.characters).is_edge());
    let digits = after.iter().skip(1).take_while(|u| is_digit(u.ch)).count();
    let is_version = after.first().is_some_and(|u| matches!(u.ch, 'v' | 'V'));
    (is_version && (1..=3).contains(&digits) && ends_at(1 + digits))
        || COMPOUNDS.iter().any(|part| {
            let is_written = part.chars().zip(after).filter(|(c, unit)| *c == unit.ch).count() == part.len();
            is_written && (ends_at(part.len()) || (after[part.len()].ch == 's' && ends_at(part.len() + 1)))
        })
}
