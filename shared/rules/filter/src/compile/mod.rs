//! Compiles the data files into [`Tables`]. Runs in the build script, and in tests with their own lists.

pub(crate) mod automaton;
pub(crate) mod folds;
pub(crate) mod list;
pub(crate) mod lookalikes;
pub(crate) mod validate;

use std::sync::Arc;

use crate::compile::list::{BlockList, ListError, ListedTerm};
use crate::engine::character_tables::{CharacterLists, CharacterTables};
use crate::engine::lists::{Direction, Element, FIRST_SPECIAL, Lists, Matching, Pattern, ascii_symbol};
use crate::engine::nfa::Nfa;
use crate::engine::tables::Tables;

/// The reason why the data files cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompileError {
    #[error(transparent)]
    List(#[from] ListError),
    #[error("{0}")]
    Lookalikes(String),
    #[error("entities: line {0} is not a name and a code point")]
    Entities(usize),
}

/// The most words of 64 positions that the exact matcher keeps track of.
const MOST_WORDS: usize = u128::BITS as usize;

/// The fewest letters of a term that is also looked for backwards.
const SHORTEST_TURNED: usize = 4;

/// Compiles the three data files. `hash` identifies the bytes of the block list.
pub(crate) fn compile(list: &BlockList, hash: &str, lookalikes: &str, entities: &str) -> Result<Tables, CompileError> {
    let special = special_characters(list);
    let folds = folds::compile(lookalikes, &special).map_err(CompileError::Lookalikes)?;
    let mut patterns = Vec::new();
    for (number, listed) in list.terms.iter().enumerate() {
        patterns.extend(spellings(listed, number as u16, &special)?);
    }
    let terms: Vec<_> = list.terms.iter().map(|listed| listed.term.clone()).collect();
    let sieve = automaton::compile(&terms, &patterns, &folds.classes)?;
    let lists = Lists {
        version: list.version.clone(),
        hash: hash.to_owned(),
        terms,
        patterns,
        complete: sieve.complete,
        column_of: sieve.column_of,
        shift: sieve.shift,
    };
    let characters =
        CharacterLists { classes: folds.classes, expansions: folds.expansions, entities: parse_entities(entities)? };
    let words = Nfa::new(&lists, &characters.classes).words;
    if words > MOST_WORDS {
        return Err(ListError::TooLarge { what: format!("{words} words of positions"), limit: MOST_WORDS }.into());
    }
    let characters = CharacterTables::new(characters, folds.pages.into(), folds.folds.into());
    Ok(Tables::new(lists, Arc::new(characters), sieve.transitions.into()))
}

/// The non-ASCII characters of all terms, in the order of their first occurrence.
fn special_characters(list: &BlockList) -> Vec<char> {
    let mut special = Vec::new();
    for c in list.terms.iter().flat_map(|listed| &listed.spellings).flat_map(|text| text.chars()) {
        if !c.is_ascii() && !special.contains(&c) {
            special.push(c);
        }
    }
    special
}

fn spellings(listed: &ListedTerm, term: u16, special: &[char]) -> Result<Vec<Pattern>, ListError> {
    let mut patterns = Vec::new();
    for text in &listed.spellings {
        let elements = elements(text, listed.term.matching, special);
        if elements.is_empty() {
            let problem = format!("{text:?} has no letter, digit or symbol to look for");
            return Err(ListError::Term { id: listed.term.id.clone(), problem });
        }
        if elements.len() > 40 {
            return Err(ListError::TooLarge { what: format!("{} letters for {text:?}", elements.len()), limit: 40 });
        }
        patterns.push(Pattern { term, elements, disguise: false, plural: false, direction: Direction::Forwards });
    }
    if listed.plural {
        let mut plural = patterns[0].clone();
        plural.elements.push(Element { symbol: 18, written: 's', gap: String::new() });
        plural.plural = true;
        patterns.push(plural);
    }
    let pairs = [&[('m', ['r', 'n'])][..], &[('w', ['v', 'v'])], &[('m', ['r', 'n']), ('w', ['v', 'v'])]];
    let disguised = patterns.iter().flat_map(|pattern| pairs.iter().filter_map(|pairs| in_pairs(pattern, pairs)));
    for pattern in disguised.collect::<Vec<_>>() {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    let turned = turned(&patterns[0], listed.term.matching);
    patterns.extend(turned.unwrap_or_default());
    Ok(patterns)
}

/// The spelling read from its end, and the same upside down, where capitals ("M" as "W") and small letters ("n" as "u")
/// are shown as others.
/// `None` for short terms and numbers, which are other words and numbers then ("TMM" and "MMT", "0.042" and "240.0").
fn turned(pattern: &Pattern, matching: Matching) -> Option<Vec<Pattern>> {
    let letters = pattern.elements.iter().filter(|element| element.symbol < 26).count();
    let digits = pattern.elements.iter().filter(|element| element.is_digit()).count();
    if matching != Matching::Word || letters < SHORTEST_TURNED || digits * 2 > letters {
        return None;
    }
    let mut gap = String::new();
    let mut elements = Vec::new();
    for element in pattern.elements.iter().rev() {
        elements.push(Element { gap: std::mem::replace(&mut gap, element.gap.clone()), ..element.clone() });
    }
    let backwards = Pattern { elements, direction: Direction::Backwards, ..pattern.clone() };
    let mut patterns = vec![backwards];
    for (letters, shown) in [("mw", "wm"), ("nubqdpmw", "unqbpdwm")] {
        let upside_down = with_letters(&patterns[0], letters, shown)?;
        if patterns.iter().all(|known| known.elements != upside_down.elements) {
            patterns.push(upside_down);
        }
    }
    Some(patterns)
}

/// The same spelling with letters that are shown as others.
fn with_letters(pattern: &Pattern, letters: &str, shown: &str) -> Option<Pattern> {
    let mut pattern = Pattern { direction: Direction::UpsideDown, ..pattern.clone() };
    for element in &mut pattern.elements {
        let at = letters.find(element.written.to_ascii_lowercase());
        if let Some(letter) = at.and_then(|at| shown[at..].chars().next()) {
            (element.written, element.symbol) = (letter, ascii_symbol(letter)?);
        }
    }
    Some(pattern)
}

/// The letters, digits and symbols of a term, each with the separators before it.
fn elements(text: &str, matching: Matching, special: &[char]) -> Vec<Element> {
    let chars: Vec<char> = text.chars().collect();
    let digit_at = |i: Option<usize>| i.and_then(|i| chars.get(i)).is_some_and(char::is_ascii_digit);
    let special_at = |i: Option<usize>| i.and_then(|i| chars.get(i)).is_some_and(|c| special.contains(c));
    let mut elements = Vec::new();
    let mut gap = String::new();
    for (i, c) in chars.iter().enumerate() {
        let own_sign = matching != Matching::Word
            && match c {
                // ".042" begins with its point.
                '.' if i == 0 => digit_at(Some(1)),
                '.' | '-' => digit_at(Some(i + 1)) && (digit_at(i.checked_sub(1)) || special_at(i.checked_sub(1))),
                '%' => digit_at(i.checked_sub(1)),
                _ => false,
            };
        let symbol = match special.iter().position(|s| s == c) {
            Some(index) => Some(FIRST_SPECIAL + index as u8),
            None => ascii_symbol(*c).filter(|_| c.is_ascii_alphanumeric() || own_sign),
        };
        match symbol {
            Some(symbol) => elements.push(Element { symbol, written: *c, gap: std::mem::take(&mut gap) }),
            None => gap.push(*c),
        }
    }
    elements
}

/// The same spelling with two letters instead of one that they look like, such as `rn` for every `m`.
fn in_pairs(pattern: &Pattern, pairs: &[(char, [char; 2])]) -> Option<Pattern> {
    let mut elements = Vec::new();
    for element in &pattern.elements {
        let Some((_, pair)) = pairs.iter().find(|(one, _)| element.written.eq_ignore_ascii_case(one)) else {
            elements.push(element.clone());
            continue;
        };
        for (i, c) in pair.iter().enumerate() {
            let gap = if i == 0 { element.gap.clone() } else { String::new() };
            elements.push(Element { symbol: ascii_symbol(*c)?, written: *c, gap });
        }
    }
    let longer = elements.len() > pattern.elements.len();
    longer.then_some(Pattern { elements, disguise: true, ..pattern.clone() })
}

fn parse_entities(text: &str) -> Result<Vec<(String, char)>, CompileError> {
    let mut entities = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        let parsed = line.split_once(' ').and_then(|(name, code)| {
            Some((name.to_owned(), u32::from_str_radix(code, 16).ok().and_then(char::from_u32)?))
        });
        entities.push(parsed.ok_or(CompileError::Entities(index + 1))?);
    }
    entities.sort();
    Ok(entities)
}
