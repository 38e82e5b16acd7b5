//! How each character is read: its fold, its class, and the named characters that an escape can stand for. Apart from
//! the [`Tables`](super::tables::Tables) of the terms, so that a program that only reads texts embeds no automaton.

use serde::{Deserialize, Serialize};

use crate::engine::lists::{Class, kind};
use crate::engine::numbers::Numbers;

/// The small parts of [`CharacterTables`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CharacterLists {
    pub(crate) classes: Vec<Class>,
    /// Folds of one character to several classes; a fold of 256 + n means the n-th of these.
    pub(crate) expansions: Vec<Vec<u8>>,
    /// Named character references, sorted.
    pub(crate) entities: Vec<(String, char)>,
}

/// The tables that turn a text into a [`View`](super::view::View).
#[derive(Clone, Debug)]
pub(crate) struct CharacterTables {
    pub(crate) lists: CharacterLists,
    /// Index into `folds`, in blocks of 256 code points.
    pub(crate) pages: Numbers,
    /// Class or expansion per code point.
    pub(crate) folds: Numbers,
    /// Class per ASCII character; [`Class::NONE`] for an invisible character or one that stands for several.
    pub(crate) ascii: [u8; 128],
}

impl CharacterTables {
    /// Builds the tables from their parts and derives the rest.
    pub(crate) fn new(lists: CharacterLists, pages: Numbers, folds: Numbers) -> CharacterTables {
        let mut tables = CharacterTables { lists, pages, folds, ascii: [Class::NONE; 128] };
        tables.ascii = std::array::from_fn(|byte| match u8::try_from(tables.fold(byte as u8 as char)) {
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

    /// The classes of a fold of 256 + `index`.
    pub(crate) fn expansion(&self, index: u16) -> Option<&[u8]> {
        self.lists.expansions.get(index as usize).map(Vec::as_slice)
    }

    pub(crate) fn class(&self, id: u8) -> &Class {
        let classes = &self.lists.classes;
        // The compiler numbers classes densely from 0; an unknown id can only be the catch-all.
        classes.get(id as usize).unwrap_or(&classes[0])
    }

    /// The character that HTML gives this name.
    pub(crate) fn named(&self, name: &str) -> Option<char> {
        let entities = &self.lists.entities;
        entities.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok().map(|index| entities[index].1)
    }
}
