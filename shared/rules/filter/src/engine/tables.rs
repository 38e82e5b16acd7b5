//! The compiled tables that the engine reads: lists, folds and automaton. Plain data; the build script writes it,
//! [`Tables::embedded`](super) reads it.

use std::borrow::Cow;

use crate::engine::lists::{Class, ESCAPES, Lists, Pattern, Term, kind};
use crate::engine::nfa::Nfa;

/// A transition with this bit set ends a complete pattern at an edge.
pub(crate) const COMPLETE: u16 = 0x8000;

/// Numbers of 16 bits as little-endian bytes. The embedded ones are read in place: copying them would slow every cold
/// start.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(pub(crate) Cow<'static, [[u8; 2]]>);

impl Numbers {
    pub(crate) fn embedded(bytes: &'static [u8]) -> Numbers {
        Numbers(Cow::Borrowed(bytes.as_chunks().0))
    }

    pub(crate) fn as_slice(&self) -> NumberSlice<'_> {
        NumberSlice(&self.0)
    }

    pub(crate) fn get(&self, index: usize) -> Option<u16> {
        self.as_slice().get(index)
    }
}

impl From<Vec<u16>> for Numbers {
    fn from(numbers: Vec<u16>) -> Numbers {
        Numbers(numbers.into_iter().map(u16::to_le_bytes).collect())
    }
}

/// Borrowed [`Numbers`], for loops: reading one does not ask who owns them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberSlice<'n>(&'n [[u8; 2]]);

impl NumberSlice<'_> {
    pub(crate) fn get(self, index: usize) -> Option<u16> {
        self.0.get(index).map(|bytes| u16::from_le_bytes(*bytes))
    }
}

/// All tables of the engine.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) lists: Lists,
    /// Index into `folds`, in blocks of 256 code points.
    pub(crate) pages: Numbers,
    /// Class or expansion per code point.
    pub(crate) folds: Numbers,
    /// `transitions[(state << shift) | column]` is the next state, with or without [`COMPLETE`]. In state 0 the
    /// automaton has just seen an edge and nothing else; in state 1 it has seen nothing.
    pub(crate) transitions: Numbers,
    /// Column per ASCII character, with the marks [`Tables::SIGN`] and [`Tables::ESCAPE`].
    pub(crate) ascii: [u16; 128],
    /// For a sign that can be read as a letter, the column of that letter.
    pub(crate) sign_columns: [u16; 128],
    /// Class per ASCII character; [`Class::NONE`] for an invisible character or one that stands for several.
    pub(crate) ascii_classes: [u8; 128],
    pub(crate) nfa: Nfa,
}

impl Tables {
    /// A sign that can be read as a letter.
    pub(crate) const SIGN: u16 = 0x100;
    /// A sign that an escape or markup can begin with.
    pub(crate) const ESCAPE: u16 = 0x200;

    /// Builds the tables from their parts and derives the rest.
    pub(crate) fn new(lists: Lists, pages: Numbers, folds: Numbers, transitions: Numbers) -> Tables {
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

    /// Whether a class has readings that the sieve does not follow.
    pub(crate) fn is_ambiguous(&self, class: u8) -> bool {
        self.class(class).is_ambiguous()
    }

    /// Class id, or 256 + index of an expansion.
    pub(crate) fn fold(&self, c: char) -> u16 {
        let code = c as usize;
        let page = self.pages.get(code >> 8).unwrap_or(0);
        self.folds.get(((page as usize) << 8) | (code & 255)).unwrap_or(0)
    }

    pub(crate) fn class(&self, id: u8) -> &Class {
        // The compiler numbers classes densely from 0; an unknown id can only be the catch-all.
        self.lists.classes.get(id as usize).unwrap_or(&self.lists.classes[0])
    }

    /// The complete patterns of a state of the sieve.
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

/// The columns of the ASCII characters with their marks, and the columns of the letters that signs can be read as.
fn ascii_columns(tables: &Tables) -> ([u16; 128], [u16; 128]) {
    let (mut ascii, mut letters) = ([0; 128], [0; 128]);
    for byte in 0..128_u8 {
        let id = tables.fold(byte as char) as u8;
        let class = tables.class(id);
        let column = |id: u8| tables.lists.column_of.get(id as usize).copied().unwrap_or(0);
        ascii[byte as usize] = u16::from(column(id)) | if ESCAPES.contains(&byte) { Tables::ESCAPE } else { 0 };
        if tables.is_ambiguous(id) && class.is(kind::SEPARATOR) {
            // Read as a separator, the sign counts as a space; read as a letter, it counts as the first letter that it
            // can be.
            ascii[byte as usize] = u16::from(column(tables.fold(' ') as u8)) | Tables::SIGN;
            let letter = (b'a' + class.symbols.trailing_zeros() as u8) as char;
            letters[byte as usize] = u16::from(column(tables.fold(letter) as u8));
        }
    }
    (ascii, letters)
}
