//! Finds the patterns of the data in the concepts of a text.
//! The file has more than 300 lines because sequences, windows, exceptions and negations are all checked on the same
//! private matches.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::data::{ANCHORED, ELEMENTS, MAPPINGS, NEGATION, PATTERNS, SETS};
use super::hits::{Hit, Hits};
use crate::tables::{Element, Mapping, NO_SET, NO_TREATMENT, Pattern, SetId};

/// The number of occurrences of a pattern's first element, or of its anchor if the order does not matter, of which the
/// matches are examined.
const MOST_MATCHES: usize = 32;

/// The distance in words around a match within which no concept of `apart_from` may occur.
const APART: usize = 6;

/// The distance of two words with a line break between them; the end of a sentence makes it larger.
const LINE_BREAK: u32 = 2;

/// A mapping that applies, with its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fired {
    pub(crate) mapping: u16,
    /// The first token of the quote.
    pub(crate) start: usize,
    /// The token after the last.
    pub(crate) end: usize,
    /// The tokens of the most specific element of a match that counts only if the weights confirm it.
    pub(crate) doubtful: Option<(usize, usize)>,
}

/// The mappings that apply. An untrusted part of the text supplies no state.
pub(crate) fn fired(hits: &Hits, untrusted_from: usize) -> Vec<Fired> {
    let mut chains: Option<Chains<'_>> = None;
    let mut fired: Vec<Fired> = Vec::new();
    let anchored = hits.anchors().flat_map(|anchor| ANCHORED.of(usize::from(anchor)));
    for (index, _) in anchored.filter(|(_, second)| hits.has(*second)) {
        let pattern = &PATTERNS[usize::from(*index)];
        if !hits.has_all(pattern) {
            continue;
        }
        let mapping = &MAPPINGS[usize::from(pattern.mapping)];
        if !hits.meets(mapping) {
            continue;
        }
        let chains = chains.get_or_insert_with(|| Chains::of(hits));
        let supplies_state = mapping.treatment == NO_TREATMENT;
        let Matches { found, is_cut } = matches(chains, pattern);
        for one in found {
            let Match { start, end, .. } = one;
            let doubtful = (mapping.needs_weights && !is_cut).then_some(one.anchor);
            let is_trusted = !supplies_state || hits.tokens[end - 1].end <= untrusted_from;
            let counts = is_trusted
                && is_apart(hits, mapping, &one)
                && !is_excepted(chains, mapping, &one)
                && !(mapping.negatable && is_negated(hits, &one));
            if counts {
                fired.push(Fired { mapping: pattern.mapping, start, end, doubtful });
                // A second value of an axis matters; a second occurrence of the same request does not, unless the first is
                // doubtful.
                if !supplies_state && doubtful.is_none() {
                    break;
                }
            }
        }
    }
    fired.sort_by_key(|one| (one.mapping, one.start, one.end));
    fired
}

/// The hits of each concept of a text, in chains: one for all concepts whose numbers have the same lower bits.
struct Chains<'h> {
    hits: &'h Hits,
    /// The first hit of each chain; at least as many chains as hits.
    heads: Vec<u32>,
    /// Per hit, the next one of its chain; [`END`] after the last.
    next: Vec<u32>,
    /// The matches of the exceptions that were asked for, by the numbers of their patterns: many matches ask for the same
    /// ones.
    excepted: RefCell<BTreeMap<u16, Vec<Match>>>,
}

const END: u32 = u32::MAX;

impl<'h> Chains<'h> {
    fn of(hits: &'h Hits) -> Self {
        let mut heads = vec![END; hits.hits.len().next_power_of_two()];
        let mut next = vec![END; hits.hits.len()];
        let mask = heads.len() - 1;
        for (index, (hit, next)) in hits.hits.iter().zip(&mut next).enumerate().rev() {
            *next = std::mem::replace(&mut heads[usize::from(hit.concept) & mask], index as u32);
        }
        Self { hits, heads, next, excepted: RefCell::default() }
    }

    /// Appends the numbers of the hits of a set, in their order.
    fn add(&self, set: SetId, found: &mut Vec<u32>) {
        let from = found.len();
        let mut concepts = 0;
        for concept in SETS.of(usize::from(set)).iter().filter(|concept| self.hits.concepts.has(**concept)) {
            concepts += 1;
            let mut index = self.heads[usize::from(*concept) & (self.heads.len() - 1)];
            while index != END {
                if self.hits.hits[index as usize].concept == *concept {
                    found.push(index);
                }
                index = self.next[index as usize];
            }
        }
        if concepts > 1 {
            found[from..].sort_unstable();
        }
    }
}

/// The hits of every element of a pattern.
struct Candidates<'h> {
    hits: &'h Hits,
    pattern: &'static Pattern,
    elements: &'static [Element],
    /// The numbers of the hits of all elements, one after the other.
    numbers: Vec<u32>,
    /// Per element, the end of its numbers.
    ends: Vec<usize>,
}

impl<'h> Candidates<'h> {
    fn of(chains: &Chains<'h>, pattern: &'static Pattern) -> Self {
        let elements = pattern.elements.of(ELEMENTS);
        let mut candidates = Self {
            hits: chains.hits,
            pattern,
            elements,
            numbers: Vec::with_capacity(elements.len() * 4),
            ends: Vec::with_capacity(elements.len()),
        };
        for element in elements {
            chains.add(element.set, &mut candidates.numbers);
            candidates.ends.push(candidates.numbers.len());
        }
        candidates
    }

    /// The hits of an element that start at a token from `from` on.
    fn from(&self, element: usize, from: usize) -> impl Iterator<Item = &'h Hit> {
        let start = element.checked_sub(1).map_or(0, |before| self.ends[before]);
        let hits = self.hits;
        let numbers = &self.numbers[start..self.ends[element]];
        let first = numbers.partition_point(|number| (hits.hits[*number as usize].start as usize) < from);
        numbers[first..].iter().map(|number| &hits.hits[*number as usize])
    }
}

/// A match of a pattern, in tokens.
#[derive(PartialEq)]
struct Match {
    start: usize,
    end: usize,
    /// The most specific element.
    anchor: (usize, usize),
}

/// The examined matches of a pattern.
#[derive(Default)]
struct Matches {
    found: Vec<Match>,
    /// Whether there may be more: one that is meant may be behind those that are examined.
    is_cut: bool,
}

impl Match {
    /// Whether this match of an exception covers the most specific element of a match, or its last one.
    fn covers(&self, one: &Match) -> bool {
        let anchor = self.start < one.anchor.1 && one.anchor.0 < self.end;
        anchor || (self.start < one.end && one.end <= self.end)
    }

    /// Whether every end of a sentence in this match of an exception is in the match too. A line break ends none.
    fn is_of_its_sentences(&self, one: &Match, hits: &Hits) -> bool {
        let goes_on = |token: usize| distance(hits, token) <= LINE_BREAK;
        (self.start..self.end - 1).all(|token| goes_on(token) || (one.start <= token && token + 1 < one.end))
    }
}

/// The matches of a pattern.
fn matches(chains: &Chains<'_>, pattern: &'static Pattern) -> Matches {
    let candidates = Candidates::of(chains, pattern);
    if pattern.window > 0 {
        return near_each_other(&candidates);
    }
    if candidates.elements.is_empty() {
        return Matches::default();
    }
    let in_order = |hit: &Hit| {
        let (start, end) = (hit.start as usize, hit.end as usize);
        let (end, anchor) = follow(&candidates, 1, end, (start, end))?;
        Some(Match { start, end, anchor })
    };
    let found: Vec<Match> = candidates.from(0, 0).filter_map(in_order).take(MOST_MATCHES).collect();
    Matches { is_cut: found.len() == MOST_MATCHES, found }
}

/// The matches of a pattern whose elements may occur in any order. An anchor has several if other sentences are near it:
/// in its own sentence, with what is before it, with what follows, and with both. Each counts by itself, so words that
/// make one of them harmless leave the others. Each takes the first words that fit.
fn near_each_other(candidates: &Candidates<'_>) -> Matches {
    let Candidates { hits, pattern, .. } = candidates;
    let mut found: Vec<Match> = Vec::new();
    let mut anchors = 0;
    let mut places = Vec::with_capacity(candidates.elements.len());
    for hit in candidates.from(usize::from(pattern.anchor), 0) {
        if anchors == MOST_MATCHES {
            break;
        }
        let anchor = (hit.start as usize, hit.end as usize);
        let position = hits.tokens[anchor.0].position;
        let window = u32::from(pattern.window);
        let from = hits.tokens.partition_point(|token| token.position + window < position);
        let until = hits.tokens.partition_point(|token| token.position <= position + window);
        let (before, own) = (found.len(), sentence(hits, anchor, (from, until)));
        for within in [own, (from, own.1), (own.0, until), (from, until)] {
            places.clear();
            places.push(anchor);
            if place_rest(candidates, 0, within, &mut places) {
                let start = places.iter().map(|place| place.0).min().unwrap_or(anchor.0);
                let end = places.iter().map(|place| place.1).max().unwrap_or(anchor.1);
                let one = Match { start, end, anchor };
                if !found[before..].contains(&one) {
                    found.push(one);
                }
            }
            if own == (from, until) {
                break;
            }
        }
        anchors += usize::from(found.len() > before);
    }
    Matches { found, is_cut: anchors == MOST_MATCHES }
}

/// Finds a position for every element from `element` on; no word counts for two elements.
fn place_rest(
    candidates: &Candidates<'_>,
    element: usize,
    within: (usize, usize),
    places: &mut Vec<(usize, usize)>,
) -> bool {
    if element == usize::from(candidates.pattern.anchor) {
        return place_rest(candidates, element + 1, within, places);
    }
    if element >= candidates.elements.len() {
        return true;
    }
    for hit in candidates.from(element, within.0).take_while(|hit| (hit.start as usize) < within.1) {
        let place = (hit.start as usize, hit.end as usize);
        if places.iter().any(|other| place.0 < other.1 && other.0 < place.1) {
            continue;
        }
        places.push(place);
        if place_rest(candidates, element + 1, within, places) {
            return true;
        }
        places.pop();
    }
    false
}

/// The token after the match of the elements from `element` on, which begins at `at` or within the gap after it, and
/// the position of the anchor.
fn follow(
    candidates: &Candidates<'_>,
    element: usize,
    at: usize,
    anchor: (usize, usize),
) -> Option<(usize, (usize, usize))> {
    let Some(next) = candidates.elements.get(element) else { return Some((at, anchor)) };
    let tokens = &candidates.hits.tokens;
    let limit = tokens.get(at.checked_sub(1)?)?.position + 1 + u32::from(next.gap);
    let mut near = candidates.from(element, at).take_while(|hit| tokens[hit.start as usize].position <= limit);
    near.find_map(|hit| {
        let place = (hit.start as usize, hit.end as usize);
        let anchor = if element == usize::from(candidates.pattern.anchor) { place } else { anchor };
        follow(candidates, element + 1, place.1, anchor)
    })
}

/// Whether no concept near the match changes its meaning.
fn is_apart(hits: &Hits, mapping: &Mapping, one: &Match) -> bool {
    if mapping.apart_from == NO_SET || !hits.has(mapping.apart_from) {
        return true;
    }
    let (from, until) = around(hits, one.start, one.end);
    !contains(mapping.apart_from, hits.starting(from, until))
}

/// The distance of a token to the next one.
fn distance(hits: &Hits, token: usize) -> u32 {
    hits.tokens[token + 1].position.saturating_sub(hits.tokens[token].position)
}

/// Whether neither a sentence nor a line ends between a token and the next one.
fn goes_on(hits: &Hits, token: usize) -> bool {
    distance(hits, token) <= 1
}

/// The tokens of the sentence of a match, within these limits.
fn sentence(hits: &Hits, (start, end): (usize, usize), (least, most): (usize, usize)) -> (usize, usize) {
    let (mut from, mut until) = (start, end);
    while from > least && goes_on(hits, from - 1) {
        from -= 1;
    }
    while until < most && goes_on(hits, until - 1) {
        until += 1;
    }
    (from, until)
}

/// The tokens of a match and of the [`APART`] words around it, without other sentences: a business sentence before the
/// question must not weaken the outcome.
fn around(hits: &Hits, start: usize, end: usize) -> (usize, usize) {
    sentence(hits, (start, end), (start.saturating_sub(APART), (end + APART).min(hits.tokens.len())))
}

/// Whether an exception covers the most specific element of a match, or its last one. Exceptions elsewhere do not
/// count: a harmless idiom beside a question does not make the question harmless. Nor does an exception that needs a word
/// of another sentence, unless the match itself extends over both. An exception of a value denies it, wherever it stands.
fn is_excepted(chains: &Chains<'_>, mapping: &Mapping, one: &Match) -> bool {
    exceptions(mapping).any(|number| {
        let exception = &PATTERNS[usize::from(number)];
        chains.hits.has_all(exception) && {
            let mut excepted = chains.excepted.borrow_mut();
            let matches = excepted.entry(number).or_insert_with(|| matches(chains, exception).found);
            let is_value = mapping.treatment == NO_TREATMENT;
            let counts = |it: &Match| it.covers(one) && (is_value || it.is_of_its_sentences(one, chains.hits));
            matches.iter().any(counts)
        }
    })
}

/// The numbers of the patterns of the exceptions of a mapping and of the idioms of its value.
fn exceptions(mapping: &Mapping) -> impl Iterator<Item = u16> {
    let numbers = |(from, until): (u16, u16)| from..until;
    numbers(mapping.exceptions).chain(numbers(mapping.idioms))
}

/// Whether a negation is in the match or one of the three words before it, without other sentences.
fn is_negated(hits: &Hits, one: &Match) -> bool {
    if !hits.has(NEGATION) {
        return false;
    }
    let first = hits.tokens[one.start].position;
    let from = hits.tokens.partition_point(|token| token.position + 3 < first);
    contains(NEGATION, hits.starting(from, one.end))
}

/// Whether one of the hits is of the set.
fn contains(set: SetId, hits: &[Hit]) -> bool {
    let concepts = SETS.of(usize::from(set));
    hits.iter().any(|hit| concepts.binary_search(&hit.concept).is_ok())
}
