//! The exact matcher: a bit-parallel automaton over all positions of all patterns. It follows every reading of every
//! character, which the sieve does not, and runs on texts that the sieve does not pass.

use crate::engine::lists::{Class, Direction, Element, Lists, Matching, Pattern, Symbols, kind};
use crate::engine::word_lists::COMPOUNDS;

/// The patterns as bit masks; a pattern never crosses a word of 64 bits, and there are at most 128 words, the
/// bits of a `u128`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nfa {
    pub(crate) words: usize,
    /// Per class, the positions whose letter it can be read as.
    letters: Vec<u64>,
    masks: Vec<Masks>,
    /// Per class, the words in which a pattern begins with it, one bit each.
    starts: Vec<u128>,
    /// The pattern that ends at each bit's position.
    pattern_of: Vec<u16>,
    /// The patterns that begin with a listed symbol, by class. They have no positions.
    symbolic: Vec<Vec<u16>>,
}

/// Kinds of positions within a word.
#[derive(Clone, Copy, Debug, Default)]
struct Masks {
    /// The first position of each pattern.
    first: u64,
    /// Positions that separators may follow: all but the last of each pattern, if it is not turned.
    inner: u64,
    /// Positions that stay reached when a letter repeats.
    repeating: u64,
    last: u64,
}

/// The reached positions.
pub(crate) struct State {
    reached: Vec<u64>,
    /// The words of `reached` that are not zero, one bit each.
    active: u128,
    /// Those of them in which a pattern is complete.
    done: u128,
    after_edge: bool,
}

/// The positions of the bits that are set.
fn bits(mut mask: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
}

impl Nfa {
    pub(crate) fn new(lists: &Lists, classes: &[Class]) -> Nfa {
        // Patterns that begin with the same symbol share words, so that a character starts few words.
        let mut order: Vec<usize> = (0..lists.patterns.len()).collect();
        order.sort_by_key(|number| lists.patterns[*number].elements[0].symbol);
        let mut places = vec![None; lists.patterns.len()];
        let mut next = 0;
        for number in order {
            let pattern = &lists.patterns[number];
            let length = pattern.elements.len();
            if lists.terms[pattern.term as usize].matching.is_symbolic() {
                continue;
            }
            if next % 64 + length > 64 {
                next = next.next_multiple_of(64);
            }
            places[number] = Some(next);
            next += length;
        }
        let words = next.div_ceil(64);
        let mut nfa = Nfa {
            words,
            letters: vec![0; words * classes.len()],
            masks: vec![Masks::default(); words],
            starts: vec![0; classes.len()],
            pattern_of: vec![0; words * 64],
            symbolic: vec![Vec::new(); classes.len()],
        };
        let readers = readers(classes);
        for ((number, pattern), place) in lists.patterns.iter().enumerate().zip(places) {
            let Some(place) = place else {
                for class in &readers[pattern.elements[0].symbol as usize] {
                    nfa.symbolic[*class].push(number as u16);
                }
                continue;
            };
            let repeats = lists.terms[pattern.term as usize].matching == Matching::Word && !pattern.is_turned();
            for (offset, element) in pattern.elements.iter().enumerate() {
                let (word, bit) = ((place + offset) / 64, 1 << ((place + offset) % 64));
                let readers = &readers[element.symbol as usize];
                for class in readers.iter().filter(|class| pattern.reads(offset, &classes[**class])) {
                    nfa.letters[class * words + word] |= bit;
                    nfa.starts[*class] |= if offset == 0 { 1 << word } else { 0 };
                }
                nfa.masks[word].first |= if offset == 0 { bit } else { 0 };
                nfa.masks[word].repeating |= if repeats { bit } else { 0 };
                if offset + 1 == pattern.elements.len() {
                    nfa.masks[word].last |= bit;
                    nfa.pattern_of[place + offset] = number as u16;
                } else if pattern.may_be_apart(offset + 1) {
                    nfa.masks[word].inner |= bit;
                }
            }
        }
        nfa
    }

    /// The patterns that begin with a listed symbol that a character of this class can be read as.
    pub(crate) fn symbolic(&self, class: u8) -> &[u16] {
        self.symbolic.get(class as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn start(&self) -> State {
        State { reached: vec![0; self.words], active: 0, done: 0, after_edge: true }
    }

    /// Calls `each` with every complete pattern.
    pub(crate) fn complete(&self, state: &State, mut each: impl FnMut(u16)) {
        for word in bits(state.done) {
            for bit in bits((state.reached[word] & self.masks[word].last).into()) {
                each(self.pattern_of[word * 64 + bit]);
            }
        }
    }

    /// Advances by one unit of this class.
    pub(crate) fn step(&self, state: &mut State, number: u8, class: &Class) {
        let letters = &self.letters[number as usize * self.words..][..self.words];
        let starts = if state.after_edge { u64::MAX } else { 0 };
        let begins = if state.after_edge { self.starts[number as usize] } else { 0 };
        let stays = if class.is(kind::SEPARATOR) { u64::MAX } else { 0 };
        let touched = state.active | begins;
        (state.active, state.done) = (0, 0);
        for word in bits(touched) {
            let (Some(reached), Some(letter), Some(masks)) =
                (state.reached.get_mut(word), letters.get(word), self.masks.get(word))
            else {
                continue;
            };
            let moved = ((*reached << 1) & !masks.first) | (masks.first & starts) | (*reached & masks.repeating);
            let now = (moved & letter) | (*reached & masks.inner & stays);
            *reached = now;
            state.active |= u128::from(now != 0) << word;
            state.done |= u128::from(now & masks.last != 0) << word;
        }
        state.after_edge = class.is_edge();
    }
}

/// Per symbol, the classes that can be read as it.
fn readers(classes: &[Class]) -> Vec<Vec<usize>> {
    let reads = |symbol| move |(number, class): (usize, &Class)| class.reads_as(symbol).then_some(number);
    (0..Symbols::BITS as u8).map(|symbol| classes.iter().enumerate().filter_map(reads(symbol)).collect()).collect()
}

/// Whether a class after the last letter of a complete pattern ends it.
pub(crate) fn ends_before(pattern: &Pattern, class: &Class) -> bool {
    match pattern.elements.last().map(|last| last.symbol) {
        Some(0..=25) => !class.is(kind::LETTER) || (may_be_compound(pattern) && begins_part(class)),
        Some(26..=35) => class.is_edge(),
        _ => true,
    }
}

/// Whether a pattern may be the beginning of a longer name of the same thing: "CSDMv2", "TMMScore".
pub(crate) fn may_be_compound(pattern: &Pattern) -> bool {
    const FEWEST_LETTERS: usize = 3;
    let is_letter = |element: &&Element| element.symbol < 26;
    !pattern.disguise
        && !pattern.plural
        && pattern.direction == Direction::Forwards
        && pattern.elements.iter().filter(is_letter).count() >= FEWEST_LETTERS
}

/// Whether what follows a term in a longer name can begin with this class.
fn begins_part(class: &Class) -> bool {
    let initials = COMPOUNDS.iter().filter_map(|part| part.bytes().next()).chain([b'V']);
    initials.map(|initial| initial - b'A').any(|symbol| class.reads_as(symbol))
}
