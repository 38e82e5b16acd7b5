//! Reads the words and signs beside an occurrence, one after the other and only on demand.

use std::cell::Cell;
use std::ops::Range;

use crate::engine::characters::{
    ASCII, Kind, breaks_paragraph, ends_in_line_break, kind, tag_at_end, tag_at_start, word_at_end, word_at_start,
};
use crate::engine::known::{Direction, Known, Readings, Span, UNREAD};
use crate::engine::senses::{Condition, bit_of, pair_of};
use crate::engine::token::{Token, begins_with};

/// The most words on each side that are read.
pub(crate) const WORDS: usize = 12;

/// The words on one side of an occurrence, nearest first, up to the end of its paragraph or list item. A single line
/// break ends nothing, because mails wrap their lines.
#[derive(Clone)]
pub(crate) struct Words<'t> {
    text: &'t str,
    /// The bytes of the text that are read.
    range: Range<usize>,
    direction: Direction,
    known: Option<&'t Readings>,
    read: [Cell<Span>; WORDS],
    count: Cell<usize>,
    /// The end of the text read so far: the start of the rest, or, when reading to the left, its end.
    at: Cell<usize>,
    /// Whether the text continues after the end of the paragraph, as far as it has been read.
    goes_on: Cell<bool>,
}

impl<'t> Words<'t> {
    #[inline]
    pub(crate) fn before(text: &'t str, range: Range<usize>, known: Option<&'t Known>) -> Words<'t> {
        let at = range.end;
        Words::new(text, range, known, Direction::Left, at)
    }

    #[inline]
    pub(crate) fn after(text: &'t str, range: Range<usize>, known: Option<&'t Known>) -> Words<'t> {
        let at = range.start;
        Words::new(text, range, known, Direction::Right, at)
    }

    #[inline]
    fn new(text: &'t str, range: Range<usize>, known: Option<&'t Known>, direction: Direction, at: usize) -> Words<'t> {
        let read = [const { Cell::new(UNREAD) }; WORDS];
        let known = known.and_then(|known| known.readings(direction));
        let (count, at, goes_on) = (Cell::new(0), Cell::new(at), Cell::new(false));
        Words { text, range, direction, known, read, count, at, goes_on }
    }

    /// The text that is read.
    pub(crate) fn text(&self) -> &'t str {
        &self.text[self.range.clone()]
    }

    /// The word or sign with this index, from 0 to below [`WORDS`].
    pub(crate) fn get(&self, index: usize) -> Option<Token<'t>> {
        self.token(&self.span_at(index)?)
    }

    fn token(&self, span: &Span) -> Option<Token<'t>> {
        let Span { start, end, begins, is_ascii, line_break, .. } = *span;
        Some(Token { text: self.text.get(start as usize..end as usize)?, is_ascii, begins, line_break })
    }

    /// [`Token::begins`] of the word or sign with this index.
    pub(crate) fn begins(&self, index: usize) -> Option<u8> {
        self.span_at(index).map(|span| span.begins)
    }

    #[inline]
    fn span_at(&self, index: usize) -> Option<Span> {
        while self.count.get() <= index {
            self.read_one().then_some(())?;
        }
        self.read.get(index).map(Cell::get)
    }

    /// The first word of the sentence that `is_wanted`, among those that a condition may want near.
    pub(crate) fn find_in_sentence(
        &self,
        condition: &Condition,
        is_wanted: impl Fn(&Token<'t>) -> bool,
    ) -> Option<Token<'t>> {
        let prefilter = &condition.near_prefilter;
        let has_others = condition.near_initials & bit_of(u8::MAX) != 0;
        for index in 0..WORDS {
            let span = self.span_at(index)?;
            if matches!(span.begins, b'.' | b'!' | b'?') {
                return None;
            }
            let may_be = match span.is_ascii {
                true => prefilter.may_have(span.pair, (span.end - span.start) as usize),
                false => span.begins < u8::MAX || has_others,
            };
            if may_be {
                let token = self.token(&span).filter(&is_wanted);
                if token.is_some() {
                    return token;
                }
            }
        }
        None
    }

    /// Reads one more word or sign; false at the end.
    #[inline]
    fn read_one(&self) -> bool {
        let (count, at) = (self.count.get(), self.at.get());
        let known = self.known.and_then(|known| known.get(at, &self.range));
        let (Some(place), Some((span, to))) = (self.read.get(count), known.or_else(|| self.read_next(at))) else {
            self.at.set(if self.direction == Direction::Left { self.range.start } else { self.range.end });
            return false;
        };
        place.set(span);
        self.count.set(count + 1);
        self.at.set(to);
        true
    }

    /// Reads the word or sign beside `at`. Returns it with the end of the reading.
    #[inline(never)]
    fn read_next(&self, at: usize) -> Option<(Span, usize)> {
        let (span, to, is_certain) = match self.direction {
            Direction::Left => self.read_left(at),
            Direction::Right => self.read_right(at),
        }?;
        if let Some(known) = self.known.filter(|_| is_certain) {
            known.put(at, to, span);
        }
        Some((span, to))
    }

    /// The span between two bytes.
    fn span(&self, start: usize, end: usize, line_break: bool) -> Span {
        let token = &self.text[start..end];
        let bytes = token.as_bytes();
        Span {
            start: start as u32,
            end: end as u32,
            pair: pair_of(bytes),
            begins: begins_with(token),
            is_ascii: token.is_ascii(),
            line_break,
        }
    }

    /// The same for a word, without the quotation marks around it unless it consists of them.
    fn word(&self, start: usize, end: usize, line_break: bool) -> Span {
        let bytes = self.text.as_bytes();
        let (mut from, mut to) = (start, end);
        while from < to && bytes[from] == b'\'' {
            from += 1;
        }
        if from == to {
            return self.span(start, end, line_break);
        }
        while bytes[to - 1] == b'\'' {
            to -= 1;
        }
        self.span(from, to, line_break)
    }

    /// The first `count` of them.
    pub(crate) fn take(&self, count: usize) -> impl Iterator<Item = Token<'t>> {
        (0..count).map_while(|index| self.get(index))
    }

    /// Whether there is no word, but the text continues after the end of the paragraph.
    pub(crate) fn is_followed(&self) -> bool {
        self.get(0).is_none() && self.goes_on.get()
    }

    /// The word or sign after `at`, its end, and whether it is independent of the text after that.
    fn read_right(&self, mut at: usize) -> Option<(Span, usize, bool)> {
        let text = &self.text[..self.range.end];
        let mut line_break = false;
        loop {
            let (kind, length) = match *text.as_bytes().get(at)? {
                byte if byte < 128 => (ASCII[byte as usize], 1),
                _ => text[at..].chars().next().map(|c| (kind(c), c.len_utf8()))?,
            };
            match kind {
                Kind::Word => {
                    let end = at + word_at_start(&text[at..]);
                    let is_whole = end < text.len();
                    return Some((self.word(at, end, line_break), end, !line_break && is_whole));
                }
                Kind::Sign => {
                    let is_open = text.as_bytes()[at] == b'<';
                    if is_open && let Some(tag) = tag_at_start(&text[at..]) {
                        at += tag;
                        continue;
                    }
                    let end = at + length;
                    return Some((self.span(at, end, line_break), end, !line_break && !is_open));
                }
                Kind::LineBreak => {
                    let rest = &text[at + length..];
                    if breaks_paragraph(rest) {
                        self.goes_on.set(!rest.trim().is_empty());
                        return None;
                    }
                    line_break = true;
                }
                Kind::Silent => {}
            }
            at += length;
        }
    }

    /// The word or sign before `at`, its start, and whether it is independent of the text before that.
    fn read_left(&self, mut at: usize) -> Option<(Span, usize, bool)> {
        let first = self.range.start;
        let mut line_break = false;
        while at > first {
            let (kind, length) = match self.text.as_bytes()[at - 1] {
                byte if byte < 128 => (ASCII[byte as usize], 1),
                _ => self.text[first..at].chars().next_back().map(|c| (kind(c), c.len_utf8()))?,
            };
            let start = at - length;
            match kind {
                Kind::Word => {
                    let start = first + word_at_end(&self.text[first..at]);
                    let is_whole = start > first;
                    return Some((self.word(start, at, line_break), start, !line_break && is_whole));
                }
                Kind::Sign => {
                    let is_closed = self.text.as_bytes()[start] == b'>';
                    if is_closed && let Some(tag) = tag_at_end(&self.text[first..at]) {
                        at = first + tag;
                        continue;
                    }
                    return Some((self.span(start, at, line_break), start, !line_break && !is_closed));
                }
                Kind::LineBreak => {
                    let head = &self.text[first..start];
                    if breaks_paragraph(&self.text[at..self.range.end]) || ends_in_line_break(head) {
                        self.goes_on.set(!head.trim().is_empty());
                        return None;
                    }
                    line_break = true;
                }
                Kind::Silent => {}
            }
            at = start;
        }
        None
    }
}
