//! Finds the patterns of the data in the concepts of a text.

use super::data::{ANCHORED, ANCHORS, AXES, CONCEPTS, MAPPINGS, PATTERNS};
use super::hits::Hits;
use crate::tables::{Mapping, Pattern};

/// The maximum number of matches examined for one pattern.
const MOST_MATCHES: usize = 32;

/// The distance in words around a match within which no concept of `apart_from` may occur.
const APART: usize = 6;

/// A mapping that applies, with its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fired {
    pub(crate) mapping: u16,
    /// The first token of the quote.
    pub(crate) start: usize,
    /// The token after the last.
    pub(crate) end: usize,
}

/// All mappings that apply. An untrusted part of the text supplies no state.
pub(crate) fn fired(hits: &Hits, untrusted_from: usize) -> Vec<Fired> {
    let mut fired: Vec<Fired> = Vec::new();
    let mut tried = vec![0_u64; PATTERNS.len() / 64 + 1];
    for concept in hits.concepts() {
        for index in ANCHORS[usize::from(concept)].of(ANCHORED) {
            let (slot, bit) = (usize::from(*index) / 64, 1 << (index % 64));
            if tried[slot] & bit != 0 {
                continue;
            }
            tried[slot] |= bit;
            let pattern = &PATTERNS[usize::from(*index)];
            let mapping = &MAPPINGS[usize::from(pattern.mapping)];
            let is_possible = pattern.elements.iter().all(|element| hits.has_any(element.concepts))
                && mapping.with.iter().all(|group| hits.meets(group))
                && !hits.meets(mapping.without);
            if !is_possible {
                continue;
            }
            let supplies_state = AXES[usize::from(mapping.axis)].key != "request";
            let counts = |one: &Match| {
                let is_trusted = !supplies_state || hits.tokens[one.end - 1].end <= untrusted_from;
                is_trusted
                    && is_apart(hits, mapping, one)
                    && !is_excepted(hits, mapping, one)
                    && !(mapping.negatable && is_negated(hits, one.start))
            };
            for one in matches(hits, pattern) {
                let Match { start, end, .. } = one;
                if counts(&one) {
                    fired.push(Fired { mapping: pattern.mapping, start, end });
                    // A second value of an axis matters; a second occurrence of the same request does not.
                    if !supplies_state {
                        break;
                    }
                }
            }
        }
    }
    fired.sort_by_key(|one| (one.mapping, one.start, one.end));
    fired
}

/// A match of a pattern, in tokens.
struct Match {
    start: usize,
    end: usize,
    /// The most specific element.
    anchor: (usize, usize),
}

/// The matches of a pattern.
fn matches(hits: &Hits, pattern: &Pattern) -> Vec<Match> {
    if pattern.window > 0 {
        return near_each_other(hits, pattern);
    }
    let mut found = Vec::new();
    let Some(first) = pattern.elements.first() else { return found };
    for hit in hits.of_any(first.concepts, 0, hits.tokens.len()) {
        if found.len() == MOST_MATCHES {
            break;
        }
        let (start, end) = (hit.start as usize, hit.end as usize);
        if let Some((end, anchor)) = follow(hits, pattern, 1, end, (start, end)) {
            found.push(Match { start, end, anchor });
        }
    }
    found
}

/// The matches of a pattern whose elements may occur in any order.
fn near_each_other(hits: &Hits, pattern: &Pattern) -> Vec<Match> {
    let mut found = Vec::new();
    let Some(telling) = pattern.elements.get(usize::from(pattern.anchor)) else { return found };
    for hit in hits.of_any(telling.concepts, 0, hits.tokens.len()) {
        if found.len() == MOST_MATCHES {
            break;
        }
        let anchor = (hit.start as usize, hit.end as usize);
        let position = hits.tokens[anchor.0].position;
        let window = u32::from(pattern.window);
        let from = hits.tokens.partition_point(|token| token.position + window < position);
        let until = hits.tokens.partition_point(|token| token.position <= position + window);
        let mut places = vec![anchor];
        if place_rest(hits, pattern, 0, (from, until), &mut places) {
            let start = places.iter().map(|place| place.0).min().unwrap_or(anchor.0);
            let end = places.iter().map(|place| place.1).max().unwrap_or(anchor.1);
            found.push(Match { start, end, anchor });
        }
    }
    found
}

/// Finds a position for every element from `element` on; no word counts for two elements.
fn place_rest(
    hits: &Hits,
    pattern: &Pattern,
    element: usize,
    within: (usize, usize),
    places: &mut Vec<(usize, usize)>,
) -> bool {
    if element == usize::from(pattern.anchor) {
        return place_rest(hits, pattern, element + 1, within, places);
    }
    let Some(next) = pattern.elements.get(element) else { return true };
    for hit in hits.of_any(next.concepts, within.0, within.1) {
        let place = (hit.start as usize, hit.end as usize);
        if places.iter().any(|other| place.0 < other.1 && other.0 < place.1) {
            continue;
        }
        places.push(place);
        if place_rest(hits, pattern, element + 1, within, places) {
            return true;
        }
        places.pop();
    }
    false
}

/// The token after the match of the elements from `element` on, which begins at `at` or within the gap after it, and
/// the position of the anchor.
fn follow(
    hits: &Hits,
    pattern: &Pattern,
    element: usize,
    at: usize,
    anchor: (usize, usize),
) -> Option<(usize, (usize, usize))> {
    let Some(next) = pattern.elements.get(element) else { return Some((at, anchor)) };
    let position = hits.tokens.get(at.checked_sub(1)?)?.position;
    let mut from = at;
    loop {
        let token = hits.tokens.get(from)?;
        if token.position > position + 1 + u32::from(next.gap) {
            return None;
        }
        for hit in hits.starting(from, from + 1).iter().filter(|hit| next.concepts.contains(&hit.concept)) {
            let place = (hit.start as usize, hit.end as usize);
            let anchor = if element == usize::from(pattern.anchor) { place } else { anchor };
            if let Some(found) = follow(hits, pattern, element + 1, place.1, anchor) {
                return Some(found);
            }
        }
        from += 1;
    }
}

/// Whether no concept near the match changes its meaning.
fn is_apart(hits: &Hits, mapping: &Mapping, one: &Match) -> bool {
    if mapping.apart_from.is_empty() {
        return true;
    }
    // Other sentences do not count: a business sentence before the question must not weaken the outcome.
    let goes_on =
        |left: usize, right: usize| hits.tokens[right].position.saturating_sub(hits.tokens[left].position) <= 1;
    let (mut from, mut until) = (one.start, one.end - 1);
    while from > 0 && one.start - from < APART && goes_on(from - 1, from) {
        from -= 1;
    }
    while until + 1 < hits.tokens.len() && until + 1 - one.end < APART && goes_on(until, until + 1) {
        until += 1;
    }
    !hits.starting(from, until + 1).iter().any(|hit| mapping.apart_from.binary_search(&hit.concept).is_ok())
}

/// Whether an exception covers the most specific element of a match, or its last one. Exceptions elsewhere do not
/// count: a harmless idiom beside a question does not make the question harmless.
fn is_excepted(hits: &Hits, mapping: &Mapping, one: &Match) -> bool {
    let patterns = |(from, until): (u16, u16)| &PATTERNS[usize::from(from)..usize::from(until)];
    let mut exceptions = patterns(mapping.exceptions).iter().chain(patterns(mapping.idioms));
    let covers = |other: &Match| {
        let anchor = other.start < one.anchor.1 && one.anchor.0 < other.end;
        anchor || (other.start < one.end && one.end <= other.end)
    };
    exceptions.any(|exception| {
        exception.elements.iter().all(|element| hits.has_any(element.concepts))
            && matches(hits, exception).iter().any(covers)
    })
}

/// Whether one of the three preceding words is a negation.
fn is_negated(hits: &Hits, start: usize) -> bool {
    static NEGATION: std::sync::OnceLock<Option<u16>> = std::sync::OnceLock::new();
    let negation = NEGATION.get_or_init(|| CONCEPTS.iter().position(|name| *name == "@negation").map(|id| id as u16));
    negation
        .is_some_and(|negation| hits.starting(start.saturating_sub(3), start).iter().any(|hit| hit.concept == negation))
}
