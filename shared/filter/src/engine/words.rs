//! The words and signs beside an occurrence, read one after the other, and only as many as are asked for.

use std::cell::Cell;
use std::sync::LazyLock;

use crate::engine::token::Token;

/// How many words to each side are looked at.
pub(crate) const WORDS: usize = 12;

/// What a character is to those who read words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    /// White space, and emphasis and quotation marks, which say nothing about the clause.
    Silent,
    LineBreak,
    Sign,
}

const ASCII: [Kind; 128] = {
    let mut kinds = [Kind::Sign; 128];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'\'' => Kind::Word,
            b'\n' => Kind::LineBreak,
            b'\t' | b'\x0b' | b'\x0c' | b'\r' | b' ' | b'"' | b'*' | b'_' | b'`' | b'~' => Kind::Silent,
            _ => Kind::Sign,
        };
        byte += 1;
    }
    kinds
};

/// The letters and digits among the characters before U+0800, one bit each: asking about them takes long.
static NEAR_WORDS: LazyLock<[u64; 32]> = LazyLock::new(|| {
    let mut bits = [0; 32];
    for c in (0..0x800).filter_map(char::from_u32).filter(|c| c.is_alphanumeric()) {
        bits[c as usize / 64] |= 1 << (c as usize % 64);
    }
    bits
});

fn is_word(c: char) -> bool {
    match NEAR_WORDS.get(c as usize / 64) {
        Some(bits) => bits & (1 << (c as usize % 64)) != 0,
        None => c == '’' || c.is_alphanumeric(),
    }
}

fn kind(c: char) -> Kind {
    match ASCII.get(c as usize) {
        Some(kind) => *kind,
        None if is_word(c) => Kind::Word,
        None if c.is_whitespace() || matches!(c, '“' | '”' | '„' | '«' | '»' | '‘') => Kind::Silent,
        None => Kind::Sign,
    }
}

/// How many bytes at the beginning are characters of a word.
fn word_at_start(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(byte) if *byte < 128 => match ASCII[*byte as usize] {
                Kind::Word => at += 1,
                _ => return at,
            },
            Some(_) => match text[at..].chars().next().filter(|c| is_word(*c)) {
                Some(c) => at += c.len_utf8(),
                None => return at,
            },
            None => return at,
        }
    }
}

/// Where the characters of a word begin that the text ends with.
fn word_at_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = bytes.len();
    loop {
        match at.checked_sub(1).map(|before| bytes[before]) {
            Some(byte) if byte < 128 => match ASCII[byte as usize] {
                Kind::Word => at -= 1,
                _ => return at,
            },
            Some(_) => match text[..at].chars().next_back().filter(|c| is_word(*c)) {
                Some(c) => at -= c.len_utf8(),
                None => return at,
            },
            None => return at,
        }
    }
}

/// The length of the HTML tag that the text begins with; a reader does not see it.
fn tag_at_start(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    if !inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
        return None;
    }
    inside.find(['<', '>']).filter(|end| inside.as_bytes()[*end] == b'>').map(|end| end + 2)
}

/// Where the HTML tag begins that the text ends with.
fn tag_at_end(text: &str) -> Option<usize> {
    let open = text.rfind('<')?;
    (tag_at_start(&text[open..]) == Some(text.len() - open)).then_some(open)
}

/// Whether a paragraph ends with the line break that stands before `rest`, because a blank line, a list item or
/// a heading follows. What is true there is no reason for anything here.
fn breaks_paragraph(rest: &str) -> bool {
    let line = rest.trim_start_matches([' ', '\t', '\r', '>']);
    let numbered = || {
        let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
        after.starts_with(". ") || after.starts_with(") ")
    };
    line.starts_with(['\n', '•', '#'])
        || ["- ", "* ", "+ "].iter().any(|marker| line.starts_with(marker))
        || (line.starts_with(|c: char| c.is_ascii_digit()) && numbered())
}

/// Whether the line that ends with `head` is blank, so that the line break after it ends a paragraph.
fn ends_in_line_break(head: &str) -> bool {
    head.trim_end_matches([' ', '\t', '\r', '>']).ends_with('\n')
}

/// In which direction the words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Left,
    Right,
}

/// Where a token stands in the text that is read, which is shorter than 64 KB.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u16,
    end: u16,
    is_ascii: bool,
    line_break: bool,
}

/// The words on one side of an occurrence, nearest first, up to the end of its paragraph or list item. A line
/// break alone ends nothing: mail wraps its lines.
#[derive(Clone, Debug)]
pub(crate) struct Words<'t> {
    text: &'t str,
    direction: Direction,
    read: [Cell<Span>; WORDS],
    count: Cell<usize>,
    /// What has not been read yet.
    rest: Cell<&'t str>,
    /// Whether the text goes on behind the end of the paragraph, as far as it has been read.
    goes_on: Cell<bool>,
}

impl<'t> Words<'t> {
    pub(crate) fn before(text: &'t str) -> Words<'t> {
        Words::new(text, Direction::Left)
    }

    pub(crate) fn after(text: &'t str) -> Words<'t> {
        Words::new(text, Direction::Right)
    }

    fn new(text: &'t str, direction: Direction) -> Words<'t> {
        let read = [const { Cell::new(Span { start: 0, end: 0, is_ascii: true, line_break: false }) }; WORDS];
        Words { text, direction, read, count: Cell::new(0), rest: Cell::new(text), goes_on: Cell::new(false) }
    }

    /// The text that is read.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// The word or sign with this number from 0, of at most [`WORDS`].
    pub(crate) fn get(&self, index: usize) -> Option<Token<'t>> {
        while self.count.get() <= index {
            let span = match self.direction {
                Direction::Left => self.read_left(),
                Direction::Right => self.read_right(),
            };
            match (span, self.read.get(self.count.get())) {
                (Some(span), Some(place)) => {
                    place.set(span);
                    self.count.set(self.count.get() + 1);
                }
                _ => {
                    self.rest.set("");
                    return None;
                }
            }
        }
        let Span { start, end, is_ascii, line_break } = self.read.get(index)?.get();
        Some(Token { text: self.text.get(start as usize..end as usize)?, is_ascii, line_break })
    }

    /// Where a word or sign stands that begins so many bytes from the beginning of the text.
    fn span(start: usize, token: &str, line_break: bool) -> Span {
        Span { start: start as u16, end: (start + token.len()) as u16, is_ascii: token.is_ascii(), line_break }
    }

    /// The same for a word: without the quotation marks around it, unless it is nothing else.
    fn word(start: usize, word: &str, line_break: bool) -> Span {
        let bare = word.trim_start_matches('\'');
        if bare.is_empty() {
            return Words::span(start, word, line_break);
        }
        Words::span(start + word.len() - bare.len(), bare.trim_end_matches('\''), line_break)
    }

    /// The first so many of them.
    pub(crate) fn take(&self, count: usize) -> impl Iterator<Item = Token<'t>> {
        (0..count).map_while(|index| self.get(index))
    }

    /// Whether there is none, and the text goes on behind the end of the paragraph.
    pub(crate) fn is_followed(&self) -> bool {
        self.get(0).is_none() && self.goes_on.get()
    }

    fn read_right(&self) -> Option<Span> {
        let mut line_break = false;
        let mut rest = self.rest.get();
        while let Some(c) = rest.chars().next() {
            let kind = kind(c);
            if kind == Kind::Word {
                let (word, tail) = rest.split_at(word_at_start(rest));
                self.rest.set(tail);
                return Some(Words::word(self.text.len() - rest.len(), word, line_break));
            }
            if c == '<'
                && let Some(tag) = tag_at_start(rest)
            {
                rest = &rest[tag..];
                continue;
            }
            let start = self.text.len() - rest.len();
            let (sign, tail) = rest.split_at(c.len_utf8());
            rest = tail;
            match kind {
                Kind::Sign => {
                    self.rest.set(tail);
                    return Some(Words::span(start, sign, line_break));
                }
                Kind::LineBreak if breaks_paragraph(rest) => {
                    self.goes_on.set(!rest.trim().is_empty());
                    return None;
                }
                Kind::LineBreak => line_break = true,
                Kind::Word | Kind::Silent => {}
            }
        }
        None
    }

    fn read_left(&self) -> Option<Span> {
        let mut line_break = false;
        let mut rest = self.rest.get();
        while let Some(c) = rest.chars().next_back() {
            let kind = kind(c);
            if kind == Kind::Word {
                let (head, word) = rest.split_at(word_at_end(rest));
                self.rest.set(head);
                return Some(Words::word(head.len(), word, line_break));
            }
            if c == '>'
                && let Some(tag) = tag_at_end(rest)
            {
                rest = &rest[..tag];
                continue;
            }
            let (head, sign) = rest.split_at(rest.len() - c.len_utf8());
            rest = head;
            match kind {
                Kind::Sign => {
                    self.rest.set(head);
                    return Some(Words::span(head.len(), sign, line_break));
                }
                Kind::LineBreak if breaks_paragraph(&self.text[head.len() + 1..]) || ends_in_line_break(head) => {
                    self.goes_on.set(!head.trim().is_empty());
                    return None;
                }
                Kind::LineBreak => line_break = true,
                Kind::Word | Kind::Silent => {}
            }
        }
        None
    }
}
