//! Finds the patterns of the data in the concepts of a text.

use super::data::{ANCHORS, AXES, CONCEPTS, MAPPINGS, PATTERNS};
use super::hits::Hits;
use crate::tables::{Mapping, Pattern};

/// Matches of one pattern that are looked at.
const MOST_MATCHES: usize = 32;

/// A mapping that holds, with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fired {
    pub(crate) mapping: u16,
    /// First token of the quote.
    pub(crate) start: usize,
    /// Token after the last.
    pub(crate) end: usize,
}

/// Every mapping that holds. State that an untrusted part supplies does not.
pub(crate) fn fired(hits: &Hits, untrusted_from: usize) -> Vec<Fired> {
    let mut fired: Vec<Fired> = Vec::new();
    let mut tried = vec![0_u64; PATTERNS.len() / 64 + 1];
    for concept in hits.concepts() {
        for index in ANCHORS[usize::from(concept)] {
            let (slot, bit) = (usize::from(*index) / 64, 1 << (index % 64));
            if tried[slot] & bit != 0 {
                continue;
            }
            tried[slot] |= bit;
            let pattern = &PATTERNS[usize::from(*index)];
            let mapping = &MAPPINGS[usize::from(pattern.mapping)];
            let is_possible = pattern.elements.iter().all(|element| hits.has_any(element.concepts))
                && mapping.with.iter().all(|group| hits.has_any(group))
                && !hits.has_any(mapping.without);
            if !is_possible {
                continue;
            }
            let supplies_state = AXES[usize::from(mapping.axis)].key != "request";
            let counts = |start: usize, end: usize| {
                let is_trusted = !supplies_state || hits.tokens[end - 1].end <= untrusted_from;
                is_trusted && !is_excepted(hits, mapping, start, end) && !(mapping.negatable && is_negated(hits, start))
            };
            for (start, end) in matches(hits, pattern) {
                if counts(start, end) {
                    fired.push(Fired { mapping: pattern.mapping, start, end });
                    // A second value of an axis matters, a second place of the same request does not.
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

/// The places of a pattern, as ranges of tokens.
fn matches(hits: &Hits, pattern: &Pattern) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let Some(first) = pattern.elements.first() else { return found };
    for hit in hits.hits.iter().filter(|hit| first.concepts.contains(&hit.concept)) {
        if found.len() == MOST_MATCHES {
            break;
        }
        if let Some(end) = follow(hits, pattern, 1, hit.end as usize) {
            found.push((hit.start as usize, end));
        }
    }
    found
}

/// The token after the match of the elements from `element` on, which begins at `at` or a gap later.
fn follow(hits: &Hits, pattern: &Pattern, element: usize, at: usize) -> Option<usize> {
    let Some(next) = pattern.elements.get(element) else { return Some(at) };
    let position = hits.tokens.get(at.checked_sub(1)?)?.position;
    let mut from = at;
    loop {
        let token = hits.tokens.get(from)?;
        if token.position > position + 1 + u32::from(next.gap) {
            return None;
        }
        for hit in hits.starting(from, from + 1).iter().filter(|hit| next.concepts.contains(&hit.concept)) {
            if let Some(end) = follow(hits, pattern, element + 1, hit.end as usize) {
                return Some(end);
            }
        }
        from += 1;
    }
}

fn is_excepted(hits: &Hits, mapping: &Mapping, start: usize, end: usize) -> bool {
    let exceptions = &PATTERNS[usize::from(mapping.exceptions.0)..usize::from(mapping.exceptions.1)];
    exceptions.iter().any(|exception| {
        exception.elements.iter().all(|element| hits.has_any(element.concepts))
            && matches(hits, exception).iter().any(|(from, to)| *from < end && start < *to)
    })
}

/// Whether one of the three words before is a negation.
fn is_negated(hits: &Hits, start: usize) -> bool {
    static NEGATION: std::sync::OnceLock<Option<u16>> = std::sync::OnceLock::new();
    let negation = NEGATION.get_or_init(|| CONCEPTS.iter().position(|name| *name == "@negation").map(|id| id as u16));
    negation
        .is_some_and(|negation| hits.starting(start.saturating_sub(3), start).iter().any(|hit| hit.concept == negation))
}
