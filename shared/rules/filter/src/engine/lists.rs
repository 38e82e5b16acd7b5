//! The compiled lists: character classes, terms and their patterns. Plain data.

use serde::{Deserialize, Serialize};

use crate::engine::senses::Condition;

/// A set of symbols, one bit each. A symbol is a letter (0–25), a digit (26–35), one of `.` `-` `%` (36–38),
/// or a listed non-ASCII character (39 and up).
pub(crate) type Symbols = u128;

pub(crate) const POINT: u8 = 36;
pub(crate) const HYPHEN: u8 = 37;
pub(crate) const PERCENT: u8 = 38;
pub(crate) const FIRST_SPECIAL: u8 = 39;

/// Properties of a class, as bits.
pub(crate) mod kind {
    /// A letter of any script: no word ends next to it.
    pub(crate) const LETTER: u8 = 1;
    /// A decimal digit.
    pub(crate) const DIGIT: u8 = 2;
    /// May stand between the letters of a disguised term.
    pub(crate) const SEPARATOR: u8 = 4;
    /// White space (a separator too).
    pub(crate) const SPACE: u8 = 8;
    /// Invisible: ignored.
    pub(crate) const IGNORABLE: u8 = 16;
    /// A Greek letter.
    pub(crate) const GREEK: u8 = 32;
    /// A letter upside down.
    pub(crate) const TURNED: u8 = 64;
}

/// The symbol of an ASCII letter, digit or numeric sign.
pub(crate) fn ascii_symbol(c: char) -> Option<u8> {
    match c {
        'a'..='z' => Some(c as u8 - b'a'),
        'A'..='Z' => Some(c as u8 - b'A'),
        '0'..='9' => Some(26 + c as u8 - b'0'),
        '.' => Some(POINT),
        '-' => Some(HYPHEN),
        '%' => Some(PERCENT),
        _ => None,
    }
}

/// The ASCII signs that an escape or markup can begin with.
pub(crate) const ESCAPES: &[u8] = b"&%=\\<]";

/// Characters that the engine treats alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Class {
    /// All symbols that a character of this class can be read as.
    pub(crate) symbols: Symbols,
    /// The symbol of the character itself, or [`Class::NONE`].
    pub(crate) primary: u8,
    /// Bits of [`kind`].
    pub(crate) kind: u8,
}

impl Class {
    pub(crate) const NONE: u8 = u8::MAX;

    pub(crate) fn is(&self, bits: u8) -> bool {
        self.kind & bits != 0
    }

    pub(crate) fn reads_as(&self, symbol: u8) -> bool {
        self.symbols & (1 << symbol) != 0
    }

    /// Whether it can be read as a listed non-ASCII character.
    pub(crate) fn is_special(&self) -> bool {
        self.symbols >> FIRST_SPECIAL != 0
    }

    /// Whether it has more readings than the sieve follows.
    pub(crate) fn is_ambiguous(&self) -> bool {
        const LETTERS: Symbols = (1 << 26) - 1;
        const I_AND_L: Symbols = (1 << 8) | (1 << 11);
        let letters = self.symbols & LETTERS;
        let one_reading = letters == I_AND_L || letters.count_ones() <= 1;
        self.is_special() || self.is(kind::TURNED) || !one_reading || (letters != 0 && self.is(kind::SEPARATOR))
    }

    /// Whether a word may begin after, or end before, a character of this class.
    pub(crate) fn is_edge(&self) -> bool {
        !self.is(kind::LETTER | kind::DIGIT)
    }
}

/// The delimiters of a term's occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Matching {
    /// Letters, perhaps with digits; a whole word in any case and any disguise.
    Word,
    /// Digits with separators of the term's own, which are required.
    Number,
    /// Symbols, found anywhere.
    Symbol,
    /// Greek letters, found where no other Greek letter is adjacent.
    Greek,
    /// One letter outside ASCII, found where it is a word of its own.
    Letter,
}

impl Matching {
    /// Whether the term begins with a listed symbol, which is easy to find.
    pub(crate) fn is_symbolic(self) -> bool {
        matches!(self, Matching::Symbol | Matching::Greek | Matching::Letter)
    }
}

/// The substitute for a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Substitute {
    pub(crate) full: String,
    pub(crate) noun: String,
    pub(crate) after_a: String,
    #[serde(default)]
    pub(crate) alone: bool,
}

/// A blocked term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Term {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) category: u8,
    pub(crate) reason: String,
    pub(crate) matching: Matching,
    /// The term is a name: see [`Context::reads_as_name`](super::context::Context).
    pub(crate) name: bool,
    pub(crate) substitute: Option<Substitute>,
    pub(crate) innocent: Vec<String>,
    pub(crate) allow: Vec<Condition>,
    pub(crate) deny: Vec<Condition>,
}

/// One letter of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) symbol: u8,
    /// The character as the term writes it.
    pub(crate) written: char,
    /// The term's own separators between the previous element and this one.
    pub(crate) gap: String,
}

impl Element {
    pub(crate) fn is_digit(&self) -> bool {
        (26..36).contains(&self.symbol)
    }
}

/// One spelling of a term, as the automaton sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pattern {
    pub(crate) term: u16,
    #[serde(with = "packed")]
    pub(crate) elements: Vec<Element>,
    /// A spelling with `rn` for `m` or `vv` for `w`: a disguise in itself.
    pub(crate) disguise: bool,
    /// The added plural "s".
    pub(crate) plural: bool,
    pub(crate) direction: Direction,
}

/// Elements as three lists: a list of structures takes much longer to read at a cold start.
mod packed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Element;

    /// All letters as the term writes them, their symbols, and the gaps that are not empty, by the element's index.
    #[derive(Serialize, Deserialize)]
    struct Packed(String, Vec<u8>, Vec<(usize, String)>);

    pub(super) fn serialize<S: Serializer>(elements: &[Element], serializer: S) -> Result<S::Ok, S::Error> {
        let gaps = elements.iter().map(|element| element.gap.clone()).enumerate();
        Packed(
            elements.iter().map(|element| element.written).collect(),
            elements.iter().map(|element| element.symbol).collect(),
            gaps.filter(|(_, gap)| !gap.is_empty()).collect(),
        )
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Element>, D::Error> {
        let Packed(written, symbols, gaps) = Packed::deserialize(deserializer)?;
        let element = |(written, symbol)| Element { symbol, written, gap: String::new() };
        let mut elements: Vec<Element> = written.chars().zip(symbols).map(element).collect();
        for (index, gap) in gaps {
            if let Some(element) = elements.get_mut(index) {
                element.gap = gap;
            }
        }
        Ok(elements)
    }
}

/// The order and the shape of a pattern's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Direction {
    Forwards,
    Backwards,
    /// Backwards, with letters that are shown as others upside down.
    UpsideDown,
}

impl Pattern {
    /// Whether separators may precede the element with this index. A word backwards is recognised only in one piece,
    /// and the "s" of a plural only right behind the word: "TMM s" has none.
    pub(crate) fn may_be_apart(&self, index: usize) -> bool {
        if self.plural && index + 1 == self.elements.len() {
            return false;
        }
        !self.is_turned() || self.elements.get(index).is_some_and(|element| !element.gap.is_empty())
    }

    pub(crate) fn is_turned(&self) -> bool {
        self.direction != Direction::Forwards
    }

    /// Whether a character of this class can be the element with this index. Backwards, no digit or sign is a letter.
    pub(crate) fn reads(&self, index: usize, class: &Class) -> bool {
        let symbol = self.elements[index].symbol;
        class.reads_as(symbol) && (!self.is_turned() || symbol >= 26 || class.primary < 26)
    }
}

/// The small parts of [`Tables`](super::tables::Tables).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lists {
    pub(crate) version: String,
    pub(crate) hash: String,
    pub(crate) terms: Vec<Term>,
    pub(crate) patterns: Vec<Pattern>,
    /// The complete patterns of each state of the sieve that has any.
    pub(crate) complete: Vec<(u16, Vec<u16>)>,
    /// Column of `transitions` per class.
    pub(crate) column_of: Vec<u8>,
    /// log2 of the length of a row of `transitions`.
    pub(crate) shift: u32,
}
