//! What has been read of a text's words. Hits stand close together where there are many, and their surroundings
//! have most words in common.

use std::cell::{Cell, OnceCell};

/// In which direction words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Left,
    Right,
}

/// A word or sign in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// [`pair_of`](super::senses::pair_of) its bytes.
    pub(crate) pair: u16,
    /// See [`Token::begins`](super::token::Token::begins).
    pub(crate) begins: u8,
    pub(crate) is_ascii: bool,
    pub(crate) line_break: bool,
}

/// A word and the places between which it was read. What stands beyond had no say in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) span: Span,
}

/// How many words of each direction are remembered.
const REMEMBERED: usize = 128;

/// The words of one direction, by where their reading began.
pub(crate) struct Readings([Cell<Reading>; REMEMBERED]);

impl Readings {
    const NONE: Reading = Reading {
        from: u32::MAX,
        to: u32::MAX,
        span: Span { start: 0, end: 0, pair: 0, begins: 0, is_ascii: true, line_break: false },
    };

    /// What is read from here, if it is remembered.
    pub(crate) fn get(&self, from: usize) -> Option<Reading> {
        Some(self.0[from % REMEMBERED].get()).filter(|reading| reading.from as usize == from)
    }

    pub(crate) fn put(&self, reading: Reading) {
        self.0[reading.from as usize % REMEMBERED].set(reading);
    }
}

/// The words that were read last.
#[derive(Default)]
pub(crate) struct Known {
    readings: OnceCell<Box<[Readings; 2]>>,
}

impl Known {
    /// Remembers words from now on.
    pub(crate) fn keep(&self) {
        let none = || Readings([const { Cell::new(Readings::NONE) }; REMEMBERED]);
        self.readings.get_or_init(|| Box::new([none(), none()]));
    }

    pub(crate) fn readings(&self, direction: Direction) -> Option<&Readings> {
        self.readings.get().map(|both| &both[direction as usize])
    }
}
