//! Caches the words read from a text. Where there are many hits, they are close together, and their contexts share most
//! words.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

/// The direction in which words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Left,
    Right,
}

/// A word or sign in the text. Its 13 bytes are aligned to the 16 of a vector register, so that one instruction copies
/// it.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// [`pair_of`](super::senses::pair_of) of its bytes.
    pub(crate) pair: u16,
    /// See [`Token::begins`](super::token::Token::begins).
    pub(crate) begins: u8,
    pub(crate) is_ascii: bool,
    pub(crate) line_break: bool,
}

/// An empty cache entry.
pub(crate) const UNREAD: Span = Span { start: 0, end: 0, pair: 0, begins: 0, is_ascii: true, line_break: false };

/// A word and the range from which it was read. The text outside this range does not affect it.
struct Reading {
    from: Cell<u32>,
    to: Cell<u32>,
    span: Cell<Span>,
}

/// The number of cached words per direction. Two words that begin this many bytes apart share an entry. The twelve
/// words of one occurrence ([`WORDS`](super::words::WORDS)), six letters and a space each, take up 84 bytes.
const REMEMBERED: usize = 128;

/// The words of one direction, by the start of their reading.
pub(crate) struct Readings([Reading; REMEMBERED]);

impl Readings {
    fn none() -> Readings {
        Readings(std::array::from_fn(|_| Reading {
            from: Cell::new(u32::MAX),
            to: Cell::new(u32::MAX),
            span: Cell::new(UNREAD),
        }))
    }

    /// The word read from here and its end, if it is cached and its range is within this one.
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

/// The cache of the last words.
#[derive(Default)]
pub(crate) struct Known {
    readings: OnceCell<Box<[Readings; 2]>>,
}

impl Known {
    /// Starts to cache words.
    pub(crate) fn keep(&self) {
        self.readings.get_or_init(|| Box::new([Readings::none(), Readings::none()]));
    }

    pub(crate) fn readings(&self, direction: Direction) -> Option<&Readings> {
        self.readings.get().map(|both| &both[direction as usize])
    }
}
