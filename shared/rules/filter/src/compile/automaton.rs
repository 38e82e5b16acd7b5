//! Compiles the patterns into a small deterministic automaton, the sieve, which nearly every text passes. It accepts
//! every text in which a term may end, in any disguise whose characters have one reading each. The exact matcher
//! handles characters with several readings.

use std::collections::HashMap;

use crate::compile::list::ListError;
use crate::engine::lists::{Class, Direction, Matching, Pattern, Symbols, Term, kind};
use crate::engine::nfa::ends_before;
use crate::engine::tables::COMPLETE;

/// The automaton.
pub(crate) struct Sieve {
    /// See [`Tables::transitions`](crate::engine::tables::Tables).
    pub(crate) transitions: Vec<u16>,
    /// The complete patterns of each state that has any.
    pub(crate) complete: Vec<(u16, Vec<u16>)>,
    /// Column of `transitions` per class.
    pub(crate) column_of: Vec<u8>,
    /// log2 of the length of a row of `transitions`.
    pub(crate) shift: u32,
}

/// A position: pattern and number of letters found. Pattern `u16::MAX` stands for "an edge was just seen".
type Position = (u16, u8);

const EDGE: Position = (u16::MAX, 0);

fn step(positions: &[Position], class: &Class, terms: &[Term], patterns: &[Pattern]) -> Vec<Position> {
    if class.is(kind::IGNORABLE) {
        return positions.to_vec();
    }
    let mut next = Vec::new();
    if positions.contains(&EDGE) {
        for (number, pattern) in patterns.iter().enumerate() {
            // The first symbol alone finds a term that begins with a symbol.
            let symbolic = terms[pattern.term as usize].matching.is_symbolic();
            // A letter upside down stops the sieve, so that the exact matcher looks.
            let upside_down = pattern.direction == Direction::UpsideDown;
            if !symbolic && !upside_down && pattern.reads(0, class) {
                next.push((number as u16, 1));
            }
        }
    }
    for &(number, found) in positions.iter().filter(|position| **position != EDGE) {
        let pattern = &patterns[number as usize];
        let found_at = found as usize;
        if found_at < pattern.elements.len() {
            if pattern.reads(found_at, class) {
                next.push((number, found + 1));
            }
            if class.is(kind::SEPARATOR) && pattern.may_be_apart(found_at) {
                next.push((number, found));
            }
        }
        let repeats = terms[pattern.term as usize].matching == Matching::Word && !pattern.is_turned();
        if repeats && class.reads_as(pattern.elements[found_at - 1].symbol) {
            next.push((number, found));
        }
    }
    if class.is_edge() {
        next.push(EDGE);
    }
    next.sort_unstable();
    next.dedup();
    next
}

/// The properties by which the automaton distinguishes classes.
fn signature(class: &Class) -> (Symbols, u8, bool) {
    let ambiguous = class.is_ambiguous();
    if ambiguous { (0, 0, true) } else { (class.symbols, class.kind & !(kind::SPACE | kind::GREEK), false) }
}

/// Builds the automaton by subset construction.
pub(crate) fn compile(terms: &[Term], patterns: &[Pattern], classes: &[Class]) -> Result<Sieve, ListError> {
    let mut columns: Vec<Class> = Vec::new();
    let mut column_of = Vec::new();
    for class in classes {
        let column = columns.iter().position(|known| signature(known) == signature(class)).unwrap_or_else(|| {
            columns.push(class.clone());
            columns.len() - 1
        });
        column_of.push(column as u8);
    }
    let ambiguous: Vec<bool> = columns.iter().map(Class::is_ambiguous).collect();
    let shift = usize::BITS - (columns.len() - 1).leading_zeros();
    let mut states: Vec<Vec<Position>> = vec![vec![EDGE], vec![]];
    let mut numbers: HashMap<Vec<Position>, u16> = HashMap::from([(vec![EDGE], 0), (vec![], 1)]);
    let (mut transitions, mut complete) = (Vec::new(), Vec::new());
    let mut current = 0;
    while current < states.len() {
        let positions = states[current].clone();
        let done: Vec<u16> = positions
            .iter()
            .filter(|p| **p != EDGE && patterns[p.0 as usize].elements.len() == p.1 as usize)
            .map(|p| p.0)
            .collect();
        for (class, ambiguous) in columns.iter().zip(&ambiguous) {
            if *ambiguous {
                transitions.push(COMPLETE);
                continue;
            }
            let next = step(&positions, class, terms, patterns);
            let number = match numbers.get(&next) {
                Some(number) => *number,
                None => {
                    let number = states.len() as u16;
                    if number >= COMPLETE {
                        return Err(ListError::TooLarge { what: "states".to_owned(), limit: COMPLETE as usize });
                    }
                    states.push(next.clone());
                    numbers.insert(next, number);
                    number
                }
            };
            let ended = !class.is(kind::IGNORABLE)
                && done.iter().any(|pattern| ends_before(&patterns[*pattern as usize], class));
            transitions.push(if ended { number | COMPLETE } else { number });
        }
        transitions.resize((current + 1) << shift, 0);
        if !done.is_empty() {
            complete.push((current as u16, done));
        }
        current += 1;
    }
    Ok(Sieve { transitions, complete, column_of, shift })
}
