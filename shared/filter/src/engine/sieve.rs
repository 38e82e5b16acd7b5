//! The hot path: one pass over the bytes that lets a text go when no term can end anywhere in it. Per byte of
//! ASCII it is two table look-ups.

use crate::engine::tables::{COMPLETE, Tables, kind};

/// A letter that is a sign too ("$" in "$5" and in "nou$") is followed up as a letter for at most this long.
const LONGEST_FORK: usize = 48;

/// The state in which nothing has begun, in the middle of a word. State 0 is the same after an edge.
const NOTHING: u16 = 1;

/// Whether the fields, one after the other, hold any place where a term may end. Wrong only by "yes".
pub(crate) fn may_hold_term(tables: &Tables, fields: &[&str]) -> bool {
    let mut state = 0;
    for field in fields {
        match pass(tables, state, field.as_bytes()) {
            Some(after) => state = after,
            None => return true,
        }
        // Fields are as far apart as lines.
        match pass(tables, state, b"\n") {
            Some(after) => state = after,
            None => return true,
        }
    }
    false
}

/// Runs the automaton; `None` as soon as a term may have ended.
fn pass(tables: &Tables, mut state: u16, bytes: &[u8]) -> Option<u16> {
    let shift = tables.lists.shift;
    let ascii = &tables.ascii;
    let transitions = &tables.transitions[..];
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte < 128 {
            let column = ascii[byte as usize];
            let next = *transitions.get(((state as usize) << shift) | (column & 0xff) as usize)?;
            if (next & COMPLETE) | (column & Tables::SIGN) != 0 {
                if next & COMPLETE != 0 || fork_is_alive(tables, state, bytes, at) {
                    return None;
                }
            }
            state = next;
            at += 1;
            continue;
        }
        let (c, length) = decode_utf8(&bytes[at..])?;
        at += length;
        let fold = tables.fold(c);
        let one = [fold as u8];
        let classes = match fold.checked_sub(256) {
            None => &one[..],
            Some(index) => tables.lists.expansions.get(index as usize)?,
        };
        for class in classes {
            if tables.is_ambiguous(*class) {
                return None;
            }
            let column = *tables.lists.column_of.get(*class as usize)?;
            let next = *transitions.get(((state as usize) << shift) | column as usize)?;
            if next & COMPLETE != 0 {
                return None;
            }
            state = next;
        }
    }
    Some(state)
}

/// Whether anything comes of reading the sign at `at` as a letter.
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
        state = *next;
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

/// A column of the ASCII characters, with [`Tables::SIGN`] set for those that are a sign and a letter.
pub(crate) fn ascii_columns(tables: &Tables) -> ([u16; 128], [u16; 128]) {
    let (mut ascii, mut letters) = ([0; 128], [0; 128]);
    for byte in 0..128_u8 {
        let id = tables.fold(byte as char) as u8;
        let class = tables.class(id);
        let column = |id: u8| tables.lists.column_of.get(id as usize).copied().unwrap_or(0);
        ascii[byte as usize] = u16::from(column(id));
        if tables.is_ambiguous(id) && class.is(kind::SEPARATOR) {
            // As a separator it is a space; as a letter it is the first letter that it can be read as.
            ascii[byte as usize] = u16::from(column(tables.fold(' ') as u8)) | Tables::SIGN;
            let letter = (b'a' + class.symbols.trailing_zeros() as u8) as char;
            letters[byte as usize] = u16::from(column(tables.fold(letter) as u8));
        }
    }
    (ascii, letters)
}
