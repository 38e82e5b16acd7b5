//! The compiled tables that the engine reads: lists, folds and automaton. Plain data; the build script writes it,
//! [`Tables::embedded`](super) reads it.

use std::sync::Arc;

use crate::engine::character_tables::CharacterTables;
use crate::engine::lists::{ESCAPES, Lists, Pattern, Term, kind};
use crate::engine::nfa::Nfa;
use crate::engine::numbers::Numbers;

/// A transition with this bit set ends a complete pattern at an edge.
pub(crate) const COMPLETE: u16 = 0x8000;

/// All tables of the engine.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) lists: Lists,
    pub(crate) characters: Arc<CharacterTables>,
    /// `transitions[(state << shift) | column]` is the next state, with or without [`COMPLETE`]. In state 0 the
    /// automaton has just seen an edge and nothing else; in state 1 it has seen nothing.
    pub(crate) transitions: Numbers,
    /// Column per ASCII character, with the marks [`Tables::SIGN`] and [`Tables::ESCAPE`].
    pub(crate) ascii: [u16; 128],
    /// For a sign that can be read as a letter, the column of that letter.
    pub(crate) sign_columns: [u16; 128],
    pub(crate) nfa: Nfa,
}

impl Tables {
    /// A sign that can be read as a letter.
    pub(crate) const SIGN: u16 = 0x100;
    /// A sign that an escape or markup can begin with.
    pub(crate) const ESCAPE: u16 = 0x200;

    /// Builds the tables from their parts and derives the rest.
    pub(crate) fn new(lists: Lists, characters: Arc<CharacterTables>, transitions: Numbers) -> Tables {
        let nfa = Nfa::new(&lists, &characters.lists.classes);
        let (ascii, sign_columns) = ascii_columns(&lists, &characters);
        Tables { lists, characters, transitions, ascii, sign_columns, nfa }
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
fn ascii_columns(lists: &Lists, characters: &CharacterTables) -> ([u16; 128], [u16; 128]) {
    let (mut ascii, mut letters) = ([0; 128], [0; 128]);
    for byte in 0..128_u8 {
        let id = characters.fold(byte as char) as u8;
        let class = characters.class(id);
        let column = |id: u8| lists.column_of.get(id as usize).copied().unwrap_or(0);
        ascii[byte as usize] = u16::from(column(id)) | if ESCAPES.contains(&byte) { Tables::ESCAPE } else { 0 };
        if characters.is_ambiguous(id) && class.is(kind::SEPARATOR) {
            // Read as a separator, the sign counts as a space; read as a letter, it counts as the first letter that it
            // can be.
            ascii[byte as usize] = u16::from(column(characters.fold(' ') as u8)) | Tables::SIGN;
            let letter = (b'a' + class.symbols.trailing_zeros() as u8) as char;
            letters[byte as usize] = u16::from(column(characters.fold(letter) as u8));
        }
    }
    (ascii, letters)
}
