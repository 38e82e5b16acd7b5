//! The hot path: one pass over the bytes that passes a text in which no term can end. An ASCII byte costs two table
//! look-ups.

use crate::engine::bidi;
use crate::engine::decode::may_be_escape;
use crate::engine::numbers::NumberSlice;
use crate::engine::tables::{COMPLETE, Tables};

/// A sign that is also a letter ("$" in "$5" and in "nou$") is followed as a letter for at most this many bytes.
const LONGEST_FORK: usize = 48;

/// The state inside a word in which no term has begun. State 0 is the same after an edge.
const NOTHING: u16 = 1;

/// With more places than this in one payload, the whole payload is examined.
const MOST_PLACES: usize = 32;

/// The parts of a text that the sieve does not pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The places in the joined text where a term may end, with the automaton's state there; often empty.
    Places(Vec<(usize, u16)>),
    /// The whole text: it has characters with several readings, escapes, or too many places.
    Everything,
}

/// Sieves the fields as if each were on its own line.
pub(crate) fn sieve(tables: &Tables, fields: &[&str]) -> Held {
    let mut places = Vec::new();
    let (mut state, mut base) = (0, 0);
    for field in fields {
        for (bytes, base) in [(field.as_bytes(), base), (&b"\n"[..], base + field.len())] {
            match pass(tables, state, bytes, base, &mut places) {
                Some(after) => state = after,
                None => return Held::Everything,
            }
        }
        base += field.len() + 1;
    }
    Held::Places(places)
}

/// Runs the automaton and records where a term may end; `None` where it cannot follow the text.
fn pass(tables: &Tables, mut state: u16, bytes: &[u8], base: usize, places: &mut Vec<(usize, u16)>) -> Option<u16> {
    let shift = tables.lists.shift;
    let ascii = &tables.ascii;
    let transitions = tables.transitions.as_slice();
    let mut at = 0;
    loop {
        let skipped = uneventful(transitions, ascii, shift, state, &bytes[at..]);
        (state, at) = (skipped.0, at + skipped.1);
        let Some(&byte) = bytes.get(at) else { break };
        if byte < 128 {
            let column = ascii[byte as usize];
            let next = transitions.get(((state as usize) << shift) | (column & 0xff) as usize)?;
            if (next & COMPLETE) | (column & (Tables::SIGN | Tables::ESCAPE)) != 0 {
                if column & Tables::ESCAPE != 0 && may_be_escape(bytes, at) {
                    return None;
                }
                if column & Tables::SIGN != 0 && fork_is_alive(tables, state, bytes, at) {
                    return None;
                }
                if next & COMPLETE != 0 {
                    push_place(places, base + at, state)?;
                }
            }
            state = next & !COMPLETE;
            at += 1;
            continue;
        }
        if byte == 0xef && may_be_escape(bytes, at) {
            return None;
        }
        let (c, length) = decode_utf8(&bytes[at..])?;
        if c == bidi::OVERRIDE {
            return None;
        }
        let fold = tables.characters.fold(c);
        let one = [fold as u8];
        let classes = match fold.checked_sub(256) {
            None => &one[..],
            Some(index) => tables.characters.expansion(index)?,
        };
        for class in classes {
            if tables.characters.is_ambiguous(*class) {
                return None;
            }
            let column = *tables.lists.column_of.get(*class as usize)?;
            let next = transitions.get(((state as usize) << shift) | column as usize)?;
            if next & COMPLETE != 0 {
                push_place(places, base + at, state)?;
            }
            state = next & !COMPLETE;
        }
        at += length;
    }
    Some(state)
}

/// Skips ASCII characters where no exact check can begin and no term can end. Returns the state after them and their
/// number. A separate function, so that all its data stays in registers.
#[inline(never)]
fn uneventful(transitions: NumberSlice<'_>, ascii: &[u16; 128], shift: u32, from: u16, bytes: &[u8]) -> (u16, usize) {
    let mut state = from;
    for (at, &byte) in bytes.iter().enumerate() {
        let Some(&column) = ascii.get(byte as usize) else {
            return (state, at);
        };
        let Some(next) = transitions.get(((state as usize) << shift) | (column & 0xff) as usize) else {
            return (state, at);
        };
        if (next & COMPLETE) | (column & (Tables::SIGN | Tables::ESCAPE)) != 0 {
            return (state, at);
        }
        state = next;
    }
    (state, bytes.len())
}

fn push_place(places: &mut Vec<(usize, u16)>, at: usize, state: u16) -> Option<()> {
    places.push((at, state));
    (places.len() <= MOST_PLACES).then_some(())
}

/// Whether reading the sign at `at` as a letter can lead to a term.
fn fork_is_alive(tables: &Tables, mut state: u16, bytes: &[u8], at: usize) -> bool {
    for (offset, byte) in bytes[at..].iter().take(LONGEST_FORK).enumerate() {
        if *byte >= 128 {
            return true;
        }
        let column = tables.ascii[*byte as usize];
        let column = if column & Tables::SIGN != 0 { tables.sign_columns[*byte as usize] } else { column & 0xff };
        if offset > 0 && tables.ascii[*byte as usize] & Tables::SIGN != 0 {
            return true;
        }
        let Some(next) = tables.transitions.get(((state as usize) << tables.lists.shift) | column as usize) else {
            return true;
        };
        if next & COMPLETE != 0 {
            return true;
        }
        state = next;
        if state <= NOTHING {
            return false;
        }
    }
    true
}

fn decode_utf8(bytes: &[u8]) -> Option<(char, usize)> {
    let length = match bytes.first()? {
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    };
    let c = std::str::from_utf8(bytes.get(..length)?).ok()?.chars().next()?;
    Some((c, length))
}
