//! What the compiler makes of the lists and the engine reads: character classes, folds, the automaton and
//! the terms. Plain data; the build script writes it, [`Tables::embedded`](super) reads it.

use serde::{Deserialize, Serialize};

use crate::engine::nfa::Nfa;
use crate::engine::senses::Condition;
use crate::engine::sieve::ascii_columns;

/// A set of symbols, one bit each. A symbol is a letter (0–25), a digit (26–35), one of `.` `-` `%` (36–38),
/// or a listed non-ASCII character (39 and up).
pub(crate) type Symbols = u128;

pub(crate) const POINT: u8 = 36;
pub(crate) const HYPHEN: u8 = 37;
pub(crate) const PERCENT: u8 = 38;
pub(crate) const FIRST_SPECIAL: u8 = 39;

/// Properties of a class, as bits.
pub(crate) mod kind {
    /// A letter of any script: no word ends beside it.
    pub(crate) const LETTER: u8 = 1;
    /// A decimal digit.
    pub(crate) const DIGIT: u8 = 2;
    /// May stand between the letters of a disguised term.
    pub(crate) const SEPARATOR: u8 = 4;
    /// White space (a separator too).
    pub(crate) const SPACE: u8 = 8;
    /// Invisible: seen through as if it were not there.
    pub(crate) const IGNORABLE: u8 = 16;
    /// A Greek letter.
    pub(crate) const GREEK: u8 = 32;
}

/// The symbol of an ASCII letter, digit or numeric sign.
pub(crate) fn ascii_symbol(c: char) -> Option<u8> {
    match c {
        'a'..='z' => Some(c as u8 - b'a'),
        'A'..='Z' => Some(c as u8 - b'A'),
        '0'..='9' => Some(26 + c as u8 - b'0'),
        '.' => Some(POINT),
        '-' => Some(HYPHEN),
        '%' => Some(PERCENT),
        _ => None,
    }
}

/// Characters that the engine treats alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Class {
    /// Everything a character of this class can be read as.
    pub(crate) symbols: Symbols,
    /// What it is before anything is read into it, or [`Class::NONE`].
    pub(crate) primary: u8,
    /// Bits of [`kind`].
    pub(crate) kind: u8,
}

impl Class {
    pub(crate) const NONE: u8 = u8::MAX;

    pub(crate) fn is(&self, bits: u8) -> bool {
        self.kind & bits != 0
    }

    pub(crate) fn reads_as(&self, symbol: u8) -> bool {
        self.symbols & (1 << symbol) != 0
    }

    /// Whether it can be read as a listed non-ASCII character.
    pub(crate) fn is_special(&self) -> bool {
        self.symbols >> FIRST_SPECIAL != 0
    }

    /// Whether it has more readings than the sieve follows.
    pub(crate) fn is_ambiguous(&self) -> bool {
        const LETTERS: Symbols = (1 << 26) - 1;
        const I_AND_L: Symbols = (1 << 8) | (1 << 11);
        let letters = self.symbols & LETTERS;
        let one_reading = letters == I_AND_L || letters.count_ones() <= 1;
        self.is_special() || !one_reading || (letters != 0 && self.is(kind::SEPARATOR))
    }

    /// Whether a word may begin after, or end before, a character of this class.
    pub(crate) fn is_edge(&self) -> bool {
        !self.is(kind::LETTER | kind::DIGIT)
    }
}

/// How a term's occurrences are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Matching {
    /// Letters, perhaps with digits; a whole word in any case and any disguise.
    Word,
    /// Digits with separators of their own, which must be there.
    Number,
    /// Symbols, found anywhere.
    Symbol,
    /// Greek letters, found where no other Greek letter adjoins.
    Greek,
    /// One letter that is none of ASCII, found where it stands as a word of its own.
    Letter,
}

impl Matching {
    /// Whether the term begins with a listed symbol, which makes it easy to find.
    pub(crate) fn is_symbolic(self) -> bool {
        matches!(self, Matching::Symbol | Matching::Greek | Matching::Letter)
    }
}

/// What stands in for a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Substitute {
    pub(crate) full: String,
    pub(crate) noun: String,
    pub(crate) after_a: String,
    #[serde(default)]
    pub(crate) alone: bool,
}

/// A blocked term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Term {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) category: u8,
    pub(crate) reason: String,
    pub(crate) matching: Matching,
    /// Somebody's name: see [`Context::reads_as_name`](super::context::Context).
    pub(crate) name: bool,
    pub(crate) substitute: Option<Substitute>,
    pub(crate) innocent: Vec<String>,
    pub(crate) allow: Vec<Condition>,
    pub(crate) deny: Vec<Condition>,
}

/// One letter of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Element {
    pub(crate) symbol: u8,
    /// The character as the term writes it.
    pub(crate) written: char,
    /// What the term itself writes between the element before and this one.
    pub(crate) gap: String,
}

impl Element {
    pub(crate) fn is_digit(&self) -> bool {
        (26..36).contains(&self.symbol)
    }
}

/// One spelling of a term, as the automaton sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pattern {
    pub(crate) term: u16,
    pub(crate) elements: Vec<Element>,
    /// A spelling with `rn` for `m` or `vv` for `w`: a disguise in itself.
    pub(crate) disguise: bool,
    /// The added plural "s".
    pub(crate) plural: bool,
}

/// The parts of [`Tables`] that are small.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lists {
    pub(crate) version: String,
    pub(crate) hash: String,
    pub(crate) classes: Vec<Class>,
    /// Folds of one character to several classes; a fold of 256 + n means the n-th of these.
    pub(crate) expansions: Vec<Vec<u8>>,
    pub(crate) terms: Vec<Term>,
    pub(crate) patterns: Vec<Pattern>,
    /// The patterns that are complete, per state of the sieve that has any.
    pub(crate) complete: Vec<(u16, Vec<u16>)>,
    /// Column of `transitions` per class.
    pub(crate) column_of: Vec<u8>,
    /// log2 of the length of a row of `transitions`.
    pub(crate) shift: u32,
    /// Named character references, sorted.
    pub(crate) entities: Vec<(String, char)>,
}

/// A transition with this bit set leaves a complete pattern behind at an edge.
pub(crate) const COMPLETE: u16 = 0x8000;

/// Everything the engine works with.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) lists: Lists,
    /// Index into `folds`, in blocks of 256 code points.
    pub(crate) pages: Vec<u16>,
    /// Class or expansion per code point.
    pub(crate) folds: Vec<u16>,
    /// `transitions[(state << shift) | column]`: the next state, with [`COMPLETE`] set or not. State 0 has
    /// just seen an edge and nothing else; state 1 has seen nothing at all.
    pub(crate) transitions: Vec<u16>,
    /// Column per ASCII character; with the marks [`Tables::SIGN`] and [`Tables::ESCAPE`].
    pub(crate) ascii: [u16; 128],
    /// For the latter, the column of that letter.
    pub(crate) sign_columns: [u16; 128],
    /// Class per ASCII character; [`Class::NONE`] for what is invisible or stands for several.
    pub(crate) ascii_classes: [u8; 128],
    pub(crate) nfa: Nfa,
}

impl Tables {
    /// A sign that can be read as a letter.
    pub(crate) const SIGN: u16 = 0x100;
    /// A sign with which an escape or markup may begin.
    pub(crate) const ESCAPE: u16 = 0x200;

    /// Puts the parts together and derives the rest from them.
    pub(crate) fn new(lists: Lists, pages: Vec<u16>, folds: Vec<u16>, transitions: Vec<u16>) -> Tables {
        let nfa = Nfa::new(&lists);
        let none = [0; 128];
        let (ascii_classes, sign_columns) = ([Class::NONE; 128], none);
        let mut tables = Tables { lists, pages, folds, transitions, ascii: none, sign_columns, ascii_classes, nfa };
        (tables.ascii, tables.sign_columns) = ascii_columns(&tables);
        tables.ascii_classes = std::array::from_fn(|byte| match u8::try_from(tables.fold(byte as u8 as char)) {
            Ok(class) if !tables.class(class).is(kind::IGNORABLE) => class,
            _ => Class::NONE,
        });
        tables
    }

    /// Whether the sieve does not follow every reading of a class.
    pub(crate) fn is_ambiguous(&self, class: u8) -> bool {
        self.class(class).is_ambiguous()
    }

    /// Class id, or 256 + index of an expansion.
    pub(crate) fn fold(&self, c: char) -> u16 {
        let code = c as usize;
        let page = self.pages.get(code >> 8).copied().unwrap_or(0);
        self.folds.get(((page as usize) << 8) | (code & 255)).copied().unwrap_or(0)
    }

    pub(crate) fn class(&self, id: u8) -> &Class {
        // The compiler numbers classes densely from 0; an unknown id can only be the catch-all.
        self.lists.classes.get(id as usize).unwrap_or(&self.lists.classes[0])
    }

    /// The patterns that are complete in a state of the sieve.
    pub(crate) fn complete_in(&self, state: u16) -> &[u16] {
        match self.lists.complete.binary_search_by_key(&state, |(known, _)| *known) {
            Ok(index) => &self.lists.complete[index].1,
            Err(_) => &[],
        }
    }

    pub(crate) fn term_of(&self, pattern: &Pattern) -> &Term {
        &self.lists.terms[pattern.term as usize]
    }
}
