//! A reading of a text: a sequence of units, each of which knows the bytes of the source it stands for.

use std::ops::Range;

use crate::engine::character_tables::CharacterTables;
use crate::engine::lists::{Class, kind};

/// The unit was decoded from an escape, an entity or the like.
pub(crate) const DECODED: u8 = 1;
/// An invisible character, or removed markup, precedes the unit.
pub(crate) const AFTER_HIDDEN: u8 = 2;
/// A further letter of a character that stands for several.
pub(crate) const CONTINUES: u8 = 4;
/// The unit was written as a command of LaTeX.
pub(crate) const COMMAND: u8 = 8;

/// One position of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// First byte of the source that this unit stands for.
    pub(crate) start: u32,
    /// Byte after the last.
    pub(crate) end: u32,
    /// The character, before folding.
    pub(crate) ch: char,
    /// Its class.
    pub(crate) class: u8,
    /// Bits of the constants above.
    pub(crate) flags: u8,
}

/// A whole reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) units: Vec<Unit>,
    hidden: bool,
    any_hidden: bool,
}

impl View {
    /// The text as it is, without invisible characters.
    pub(crate) fn of_text(tables: &CharacterTables, text: &str) -> View {
        View::of_part(tables, text, 0..text.len())
    }

    /// The part of the text in a range of bytes between character boundaries.
    pub(crate) fn of_part(tables: &CharacterTables, text: &str, range: Range<usize>) -> View {
        let mut view = View { units: Vec::with_capacity(range.len()), hidden: false, any_hidden: false };
        let from = range.start;
        for (offset, c) in text[range].char_indices() {
            let start = (from + offset) as u32;
            match tables.ascii.get(c as usize) {
                Some(class) if *class != Class::NONE => view.push_visible(c, *class, start, start + 1, 0),
                _ => view.push(tables, c, start, start + c.len_utf8() as u32, 0),
            }
        }
        view
    }

    /// Whether any invisible text was left out.
    pub(crate) fn hides_anything(&self) -> bool {
        self.any_hidden
    }

    /// Whether invisible text was left out after the last unit.
    pub(crate) fn hides_at_end(&self) -> bool {
        self.hidden
    }

    /// Adds a character that stands for the given bytes of the source.
    pub(crate) fn push(&mut self, tables: &CharacterTables, ch: char, start: u32, end: u32, flags: u8) {
        let fold = tables.fold(ch);
        if fold < 256 {
            self.push_class(tables, ch, fold as u8, start, end, flags);
            return;
        }
        let Some(sequence) = tables.expansion(fold - 256) else {
            return;
        };
        for (i, class) in sequence.iter().enumerate() {
            self.push_class(tables, ch, *class, start, end, flags | if i > 0 { CONTINUES } else { 0 });
        }
    }

    fn push_class(&mut self, tables: &CharacterTables, ch: char, class: u8, start: u32, end: u32, flags: u8) {
        if tables.class(class).is(kind::IGNORABLE) {
            self.hide();
            return;
        }
        self.push_visible(ch, class, start, end, flags);
    }

    fn push_visible(&mut self, ch: char, class: u8, start: u32, end: u32, flags: u8) {
        let hidden = if std::mem::take(&mut self.hidden) { AFTER_HIDDEN } else { 0 };
        self.units.push(Unit { start, end, ch, class, flags: flags | hidden });
    }

    /// Copies units of another view.
    pub(crate) fn copy(&mut self, units: &[Unit]) {
        let first = self.units.len();
        self.units.extend_from_slice(units);
        if let Some(unit) = self.units.get_mut(first)
            && std::mem::take(&mut self.hidden)
        {
            unit.flags |= AFTER_HIDDEN;
        }
    }

    /// Records that text was left out before the next unit.
    pub(crate) fn hide(&mut self) {
        self.hidden = true;
        self.any_hidden = true;
    }
}

impl Unit {
    pub(crate) fn class_in<'t>(&self, tables: &'t CharacterTables) -> &'t Class {
        tables.class(self.class)
    }
}
