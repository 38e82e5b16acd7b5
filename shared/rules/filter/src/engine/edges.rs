//! Decides where an occurrence may begin and end.

use crate::engine::alignment::Alignment;
use crate::engine::lists::{Matching, Pattern, kind};
use crate::engine::tables::Tables;
use crate::engine::view::Unit;

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
            letters >= 4 && count <= 3 && beyond.is_none_or(|u| u.class_in(&tables.characters).is_edge())
        }
        Matching::Word | Matching::Letter => class.is_edge(),
    }
}
