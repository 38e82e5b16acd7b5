//! What has been read of a text's words. Hits stand close together where there are many, and their surroundings
//! have most words in common.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

/// In which direction words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Left,
    Right,
}

/// A word or sign in the text. Its 13 bytes are aligned as the 16 of a vector register, so that it is copied in one
/// piece.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
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

/// What has not been read.
pub(crate) const UNREAD: Span = Span { start: 0, end: 0, pair: 0, begins: 0, is_ascii: true, line_break: false };

/// A word and the places between which it was read. What stands beyond had no say in it.
struct Reading {
    from: Cell<u32>,
    to: Cell<u32>,
    span: Cell<Span>,
}

/// How many words of each direction are remembered. Two that begin so many bytes apart take each other's place; the
/// twelve of one occurrence ([`WORDS`](super::words::WORDS)), six letters and a space each, take up 84.
const REMEMBERED: usize = 128;

/// The words of one direction, by where their reading began.
pub(crate) struct Readings([Reading; REMEMBERED]);

impl Readings {
    fn none() -> Readings {
        Readings(std::array::from_fn(|_| Reading {
            from: Cell::new(u32::MAX),
            to: Cell::new(u32::MAX),
            span: Cell::new(UNREAD),
        }))
    }

    /// What is read from here and up to where, if it is remembered and ends in this range.
    #[inline]
    pub(crate) fn get(&self, from: usize, within: &Range<usize>) -> Option<(Span, usize)> {
        let reading = &self.0[from % REMEMBERED];
        let to = reading.to.get() as usize;
        (reading.from.get() as usize == from && within.start <= to && to <= within.end)
            .then(|| (reading.span.get(), to))
    }

    pub(crate) fn put(&self, from: usize, to: usize, span: Span) {
        let reading = &self.0[from % REMEMBERED];
        reading.from.set(from as u32);
        reading.to.set(to as u32);
        reading.span.set(span);
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
        self.readings.get_or_init(|| Box::new([Readings::none(), Readings::none()]));
    }

    pub(crate) fn readings(&self, direction: Direction) -> Option<&Readings> {
        self.readings.get().map(|both| &both[direction as usize])
    }
}
