//! A text as its reader sees it: in lower case, with look-alike characters folded, invisible ones left out, and escapes
//! decoded. Other rules about texts read this form, so that no disguise hides a text from them.

use std::ops::Range;

use crate::engine::bidi;
use crate::engine::character_tables::CharacterTables;
use crate::engine::decode::each_view;
use crate::engine::lists::{Class, ascii_symbol, kind};
use crate::engine::view::{CONTINUES, Unit, View};

/// One reading of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The text as it is read.
    pub text: String,
    /// Per byte of `text`, the bytes of the source that it stands for.
    places: Vec<(u32, u32)>,
}

impl Reading {
    /// The bytes of the source that a range of bytes of the reading stands for.
    pub fn in_source(&self, range: Range<usize>) -> Range<usize> {
        let Some(places) = self.places.get(range).filter(|places| !places.is_empty()) else { return 0..0 };
        let start = places.iter().map(|place| place.0).min().unwrap_or(0);
        let end = places.iter().map(|place| place.1).max().unwrap_or(start);
        start as usize..end as usize
    }
}

/// The text as it is, after every round of decoding that changes it, and as control characters show it.
pub(crate) fn readings(tables: &CharacterTables, text: &str) -> Vec<Reading> {
    let mut all = Vec::new();
    each_view(tables, text, |view, _| all.push(of_view(tables, view)));
    if let Some((shown, turned)) = bidi::as_shown(text) {
        each_view(tables, &shown, |view, _| {
            let mut reading = of_view(tables, view);
            for place in &mut reading.places {
                let range = bidi::in_source(place.0 as usize..place.1 as usize, &turned);
                *place = range.map_or(*place, |range| (range.start as u32, range.end as u32));
            }
            all.push(reading);
        });
    }
    all
}

fn of_view(tables: &CharacterTables, view: &View) -> Reading {
    let mut reading = Reading { text: String::with_capacity(view.units.len()), places: Vec::new() };
    for unit in &view.units {
        let before = reading.text.len();
        match character(tables, unit) {
            Some(c) => reading.text.push(c),
            None => reading.text.extend(unit.ch.to_lowercase()),
        }
        reading.places.resize(reading.places.len() + reading.text.len() - before, (unit.start, unit.end));
    }
    reading
}

/// The ASCII character that a unit is read as; `None` if it is read as itself.
fn character(tables: &CharacterTables, unit: &Unit) -> Option<char> {
    if unit.ch.is_ascii() && unit.flags & CONTINUES == 0 {
        return Some(unit.ch.to_ascii_lowercase());
    }
    let class = unit.class_in(tables);
    if class.is(kind::SPACE) {
        return Some(' ');
    }
    match (unit.ch, class.primary) {
        ('’' | '‘' | 'ʼ', _) => Some('\''),
        ('“' | '”' | '«' | '»', _) => Some('"'),
        (_, Class::NONE) => None,
        (_, symbol) => ('0'..='9').chain('a'..='z').chain(['.', '-', '%']).find(|c| ascii_symbol(*c) == Some(symbol)),
    }
}
