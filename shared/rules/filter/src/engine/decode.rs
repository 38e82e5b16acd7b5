//! Decodes one round of HTML entities and tags, percent, backslash and quoted-printable escapes, and Markdown links.
//! Never recursive; the caller limits the number of rounds.
//! The file has more than 300 lines because each kind of escape has a short decoder, and all decoders read the same
//! units.

use std::ops::Range;

use crate::engine::bidi;
use crate::engine::character_tables::CharacterTables;
use crate::engine::lists::{Class, ascii_symbol};
use crate::engine::view::{COMMAND, CONTINUES, DECODED, Unit, View};

/// Rounds of decoding.
const ROUNDS: usize = 3;

/// The most units of an entity or of a number in an escape.
const LONGEST_ENTITY: usize = 36;

/// The longest name of a command of LaTeX that is looked up.
const LONGEST_COMMAND: usize = 16;

/// Whether an escape may begin at `at`, which is one of [`ESCAPES`](super::lists::ESCAPES) or the first byte of a
/// full-width form. May return true without cause, but never false wrongly.
pub(crate) fn may_be_escape(bytes: &[u8], at: usize) -> bool {
    // Invisible characters, control characters among them, may separate the signs, or a full-width form may replace one.
    let is_ignored = |byte: u8| byte.is_ascii_control() && !char::from(byte).is_whitespace();
    let hides = |byte: Option<&u8>| byte.is_some_and(|b| *b >= 128 || is_ignored(*b));
    let next = bytes.get(at + 1);
    let hexadecimal = || {
        let is = |byte: Option<&u8>| hides(byte) || byte.is_some_and(u8::is_ascii_hexdigit);
        is(next) && is(bytes.get(at + 2))
    };
    match bytes.get(at) {
        Some(b'&') => hides(next) || next.is_some_and(|b| b.is_ascii_alphabetic() || *b == b'#'),
        Some(b'%') => hides(next) || hexadecimal(),
        Some(b'=') => hides(next) || next.is_some_and(u8::is_ascii_whitespace) || hexadecimal(),
        Some(b'\\') => next.is_some(),
        Some(b'<') => hides(next) || next.is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'!')),
        Some(b']') => hides(next) || next == Some(&b'('),
        _ => matches!(next, Some(0xbc | 0xb9)),
    }
}

/// The ASCII character that a unit shows, also from a full-width or mathematical form.
fn shown(tables: &CharacterTables, unit: &Unit) -> u8 {
    match unit.ch {
        c if c.is_ascii() => c as u8,
        c @ '\u{ff01}'..='\u{ff5e}' => (c as u32 - 0xfee0) as u8,
        _ => match unit.class_in(tables).primary {
            Class::NONE => 0,
            symbol => (b'0'..=b'z').find(|b| ascii_symbol(*b as char) == Some(symbol)).unwrap_or(0),
        },
    }
}

/// The result of decoding a sequence of units.
enum Piece {
    Character(char),
    /// A command of LaTeX, which spells a character as ordinarily as the character itself does.
    Command(char),
    /// Text that a reader does not see.
    Nothing,
}

/// Calls `each` with the text as it is and after every round of decoding that changes it.
pub(crate) fn each_view(tables: &CharacterTables, text: &str, mut each: impl FnMut(&View, usize)) {
    let mut view = View::of_text(tables, text);
    each(&view, 0);
    for round in 1..=ROUNDS {
        let Some(decoded) = decode(tables, &view) else {
            return;
        };
        each(&decoded, round);
        view = decoded;
    }
}

struct Decoder<'t> {
    tables: &'t CharacterTables,
    units: &'t [Unit],
    /// No comment ends after this unit.
    no_comment_after: usize,
}

/// Decodes one round. `None` when nothing changed.
pub(crate) fn decode(tables: &CharacterTables, view: &View) -> Option<View> {
    let mut decoder = Decoder { tables, units: &view.units, no_comment_after: usize::MAX };
    let mut out = View::default();
    let (mut at, mut copied, mut changed) = (0, 0, false);
    while let Some(skipped) = view.units.get(at..).and_then(|rest| rest.iter().position(|unit| begins_piece(unit.ch))) {
        at += skipped;
        let Some((piece, length)) = decoder.piece(at) else {
            at += 1;
            continue;
        };
        if !changed {
            out.units.reserve(view.units.len());
        }
        changed = true;
        out.copy(&view.units[copied..at]);
        let (start, end) = (view.units[at].start, view.units[at + length - 1].end);
        match piece {
            Piece::Character(ch) => out.push(tables, ch, start, end, DECODED),
            Piece::Command(ch) => out.push(tables, ch, start, end, COMMAND),
            Piece::Nothing => out.hide(),
        }
        at += length;
        copied = at;
    }
    out.copy(&view.units[copied.min(view.units.len())..]);
    changed.then_some(out)
}

/// The text as its control characters show it after all rounds of decoding ("&#8238;&#83;…"), and the byte ranges of the
/// shown text that are reversed; `None` when decoding reverses nothing.
pub(crate) fn shown_after_decoding(tables: &CharacterTables, text: &str) -> Option<(String, Vec<Range<usize>>)> {
    if !bidi::may_turn_after_decoding(text) {
        return None;
    }
    let mut decoded = decode_text(tables, text)?;
    for _ in 1..ROUNDS {
        let Some(further) = decode_text(tables, &decoded) else {
            break;
        };
        decoded = further;
    }
    bidi::as_shown(&decoded)
}

/// Decodes one round from text to text and keeps characters that are not shown. `None` when nothing changed.
fn decode_text(tables: &CharacterTables, text: &str) -> Option<String> {
    let unit = |ch: char| {
        let class = u8::try_from(tables.fold(ch)).unwrap_or_default();
        Unit { start: 0, end: 0, ch, class, flags: 0 }
    };
    let units: Vec<Unit> = text.chars().map(unit).collect();
    let mut decoder = Decoder { tables, units: &units, no_comment_after: usize::MAX };
    let mut decoded = String::with_capacity(text.len());
    let (mut at, mut changed) = (0, false);
    while let Some(unit) = units.get(at) {
        let piece = if begins_piece(unit.ch) { decoder.piece(at) } else { None };
        let Some((piece, length)) = piece else {
            decoded.push(unit.ch);
            at += 1;
            continue;
        };
        changed = true;
        if let Piece::Character(ch) | Piece::Command(ch) = piece {
            decoded.push(ch);
        }
        at += length;
    }
    changed.then_some(decoded)
}

fn is_greek(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3ff}')
}

/// Whether an escape may begin with this character.
fn begins_piece(ch: char) -> bool {
    match ch {
        '&' | '%' | '=' | '\\' | '<' | ']' => true,
        ..'\u{80}' => false,
        _ => matches!(ch, '＆' | '％' | '﹪' | '＝' | '＼' | '＜'),
    }
}

impl Decoder<'_> {
    fn at(&self, index: usize) -> u8 {
        match self.units.get(index) {
            Some(unit) if unit.flags & CONTINUES == 0 => shown(self.tables, unit),
            _ => 0,
        }
    }

    /// The piece that begins with the unit at `at`, and the number of its units.
    fn piece(&mut self, at: usize) -> Option<(Piece, usize)> {
        match self.units[at].ch {
            '&' | '＆' => self.entity(at).map(|(c, length)| (Piece::Character(c), length)),
            '%' | '％' | '﹪' => self.bytes(at, b'%').map(|(c, length)| (Piece::Character(c), length)),
            '=' | '＝' => self.quoted_printable(at),
            '\\' | '＼' => self.backslash(at),
            '<' | '＜' => self.tag(at),
            ']' => self.link(at),
            _ => None,
        }
    }

    fn digits(&self, at: usize, radix: u32, most: usize) -> (u32, usize) {
        let (mut value, mut length) = (0_u32, 0);
        while length < most
            && let Some(digit) = (self.at(at + length) as char).to_digit(radix)
        {
            value = value.saturating_mul(radix).saturating_add(digit);
            length += 1;
        }
        (value, length)
    }

    /// The code of the numeric reference that begins at `at`, and the index after its digits.
    fn number(&self, at: usize) -> Option<(u32, usize)> {
        if self.at(at) != b'&' || self.at(at + 1) != b'#' {
            return None;
        }
        let (radix, skip) = if self.at(at + 2).eq_ignore_ascii_case(&b'x') { (16, 3) } else { (10, 2) };
        let (code, digits) = self.digits(at + skip, radix, 12);
        (digits > 0).then_some((code, at + skip + digits))
    }

    fn entity(&self, at: usize) -> Option<(char, usize)> {
        if let Some((code, end)) = self.number(at) {
            // In "&#x2&#53;CC;" a digit is itself an entity, which the next round decodes. In "&#49&#48" both are
            // characters. One reference is looked at and no more, so that a run of them costs what its length does.
            let is_digit = |code: u32| matches!(code, 0x30..=0x39);
            let is_shown = code >= 0x20;
            if let Some((next, after)) = self.number(end)
                && is_digit(next)
                && (self.at(after) == b';' || !is_shown)
            {
                return None;
            }
            let length = end - at + usize::from(self.at(end) == b';');
            return Some((char::from_u32(code).unwrap_or('\u{fffd}'), length));
        }
        let mut name = String::new();
        for index in at + 1..at + LONGEST_ENTITY {
            match self.at(index) {
                b';' => break,
                b if b.is_ascii_alphanumeric() => name.push(b as char),
                _ => return None,
            }
        }
        let character = self.tables.named(&name).or_else(|| self.tables.named(&name.to_ascii_lowercase()))?;
        Some((character, name.len() + 2))
    }

    fn byte_escape(&self, at: usize, sign: u8) -> Option<u8> {
        let high = (self.at(at + 1) as char).to_digit(16)?;
        let low = (self.at(at + 2) as char).to_digit(16)?;
        (self.at(at) == sign).then_some((high * 16 + low) as u8)
    }

    /// A character written as one to four escaped bytes.
    fn bytes(&self, at: usize, sign: u8) -> Option<(char, usize)> {
        let first = self.byte_escape(at, sign)?;
        let expected = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        let mut bytes = [first, 0, 0, 0];
        let mut found = 1;
        let mut length = 3;
        while found < expected {
            // A soft line break may separate the bytes of one character.
            if sign == b'=' && self.at(at + length) == b'=' && self.at(at + length + 1) == b'\n' {
                length += 2;
            }
            let Some(byte) = self.byte_escape(at + length, sign) else {
                // In "%CE&#37;B9" the sign of the next byte is itself an entity, which the next round decodes.
                if self.at(at + length) == b'&' {
                    return None;
                }
                break;
            };
            bytes[found] = byte;
            found += 1;
            length += 3;
        }
        let decoded = std::str::from_utf8(&bytes[..found]).ok().and_then(|s| s.chars().next());
        Some(decoded.map_or(('\u{fffd}', 3), |c| (c, length)))
    }

    fn quoted_printable(&self, at: usize) -> Option<(Piece, usize)> {
        let mut blank = 1;
        while matches!(self.at(at + blank), b' ' | b'\t' | b'\r') && blank < 8 {
            blank += 1;
        }
        if self.at(at + blank) == b'\n' {
            return Some((Piece::Nothing, blank + 1));
        }
        self.bytes(at, b'=').map(|(c, length)| (Piece::Character(c), length))
    }

    fn backslash(&self, at: usize) -> Option<(Piece, usize)> {
        if let Some((ch, length)) = self.css(at) {
            return Some((Piece::Character(ch), length));
        }
        if let Some((ch, length)) = self.command(at) {
            return Some((Piece::Command(ch), length));
        }
        let (ch, length) = match self.at(at + 1) {
            b'u' | b'U' if self.at(at + 2) == b'{' => {
                let (code, digits) = self.digits(at + 3, 16, 6);
                let closed = digits > 0 && self.at(at + 3 + digits) == b'}';
                closed.then(|| (char::from_u32(code).unwrap_or('\u{fffd}'), digits + 4))?
            }
            b'u' => self.utf16(at)?,
            b'U' => match self.digits(at + 2, 16, 8) {
                (code, 8) => (char::from_u32(code).unwrap_or('\u{fffd}'), 10),
                _ => self.utf16(at)?,
            },
            b'x' => match self.digits(at + 2, 16, 2) {
                (code, 2) => (char::from_u32(code).unwrap_or('\u{fffd}'), 4),
                _ => return None,
            },
            b'0'..=b'3' => match self.digits(at + 1, 8, 3) {
                (code, 3) => (char::from_u32(code).unwrap_or('\u{fffd}'), 4),
                _ => return None,
            },
            b'n' | b'r' => ('\n', 2),
            b't' => ('\t', 2),
            // Markdown and LaTeX escape punctuation.
            b if b.is_ascii_punctuation() => (b as char, 2),
            b'\n' => return Some((Piece::Nothing, 2)),
            _ => return None,
        };
        Some((Piece::Character(ch), length))
    }

    /// An escape of CSS: two to six hexadecimal digits, and one space that ends them. Three octal digits are an escape
    /// of C.
    fn css(&self, at: usize) -> Option<(char, usize)> {
        let (code, digits) = self.digits(at + 1, 16, 6);
        let is_octal =
            digits < 6 && matches!(self.at(at + 1), b'0'..=b'3') && matches!(self.digits(at + 1, 8, 3), (_, 3));
        let is_shown = code > 0x20 && code != 0x7f;
        if digits < 2 || is_octal || !is_shown {
            return None;
        }
        // After six digits the space is not needed, and most writers leave it out.
        let space = usize::from(digits < 6 && self.at(at + 1 + digits) == b' ');
        Some((char::from_u32(code)?, 1 + digits + space))
    }

    /// A command of LaTeX that writes a Greek letter or a listed symbol, with the space that ends it.
    fn command(&self, at: usize) -> Option<(char, usize)> {
        let mut name = [0; LONGEST_COMMAND];
        let mut length = 0;
        while length < LONGEST_COMMAND && self.at(at + 1 + length).is_ascii_alphabetic() {
            name[length] = self.at(at + 1 + length);
            length += 1;
        }
        let name = std::str::from_utf8(&name[..length]).ok().filter(|name| name.len() > 1)?;
        let ch = match name {
            "oslash" => '⊘',
            "boxdot" => '⊡',
            name => self.tables.named(name).filter(|ch| !ch.is_alphabetic() || is_greek(*ch))?,
        };
        let space = usize::from(self.at(at + 1 + name.len()) == b' ');
        Some((ch, 1 + name.len() + space))
    }

    fn utf16(&self, at: usize) -> Option<(char, usize)> {
        let (first, 4) = self.digits(at + 2, 16, 4) else {
            return None;
        };
        if (0xd800..0xdc00).contains(&first)
            && self.at(at + 6) == b'\\'
            && let (second, 4) = self.digits(at + 8, 16, 4)
            && (0xdc00..0xe000).contains(&second)
        {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Some((char::from_u32(code).unwrap_or('\u{fffd}'), 12));
        }
        Some((char::from_u32(first).unwrap_or('\u{fffd}'), 6))
    }

    fn tag(&mut self, at: usize) -> Option<(Piece, usize)> {
        let comment = (1..=3).all(|i| self.at(at + i) == b"<!--"[i]);
        if comment {
            if at >= self.no_comment_after {
                return None;
            }
            let end = (at + 4..self.units.len()).find(|i| (0..3).all(|k| self.at(i + k) == b"-->"[k]));
            let Some(end) = end else {
                self.no_comment_after = at;
                return None;
            };
            return Some((Piece::Nothing, end + 3 - at));
        }
        let name = usize::from(self.at(at + 1) == b'/') + 1;
        if !self.at(at + name).is_ascii_alphabetic() && self.at(at + 1) != b'!' {
            return None;
        }
        let mut end = at + 1;
        while end < self.units.len() && !matches!(self.at(end), b'<' | b'>') {
            end += 1;
        }
        if self.at(end) != b'>' {
            return None;
        }
        let is_break =
            [&b"br"[..], b"p", b"div", b"td", b"th", b"tr", b"li", b"h1", b"h2", b"h3"].iter().any(|block| {
                (0..block.len()).all(|i| self.at(at + name + i).to_ascii_lowercase() == block[i])
                    && !self.at(at + name + block.len()).is_ascii_alphanumeric()
            });
        // HTML takes a line break after one of these for white space.
        let wrap = usize::from(is_break && self.at(end + 1) == b'\n');
        Some((if is_break { Piece::Character('\n') } else { Piece::Nothing }, end + 1 + wrap - at))
    }

    /// The target of a Markdown link or image: `](…)`.
    fn link(&self, at: usize) -> Option<(Piece, usize)> {
        if self.at(at + 1) != b'(' {
            return None;
        }
        let mut end = at + 2;
        while end < self.units.len() && !matches!(self.at(end), b')' | b'(' | b'\n') {
            end += 1;
        }
        if self.at(end) != b')' {
            return None;
        }
        Some((Piece::Nothing, end + 1 - at))
    }
}
