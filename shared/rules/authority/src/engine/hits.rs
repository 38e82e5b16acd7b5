//! Finds the concepts of a text: every word and phrase of the lexicon, and every quantity.

use super::data::{CONCEPTS, NODE_CHILDREN, NODE_CONCEPTS, NODES, ROOTS, STEMS, SUFFIXES};
use super::disguise::undisguise;
use super::lexicon::spelt;
use super::quantity::quantities;
use crate::tables::{ConceptId, builtin};
use crate::text::token::{Token, tokens};

/// A concept at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) concept: ConceptId,
    /// The first token.
    pub(crate) start: u32,
    /// The token after the last.
    pub(crate) end: u32,
}

const NONE: u32 = u32::MAX;

/// The concepts of a text.
pub(crate) struct Hits {
    pub(crate) tokens: Vec<Token>,
    /// Sorted by first token.
    pub(crate) hits: Vec<Hit>,
    /// For each token, the first hit that starts there or later.
    pub(crate) first: Vec<u32>,
    /// Per concept, its first hit, and per hit the next one of its concept; [`NONE`] where there is no more.
    first_of: Vec<u32>,
    next_of: Vec<u32>,
    /// One bit per concept.
    present: Vec<u64>,
    /// The same, for concepts that may supply state.
    trusted: Vec<u64>,
}

impl Hits {
    /// Finds the concepts of a lower-case text. The part from `untrusted_from` supplies no state.
    pub(crate) fn of(reading: &str, untrusted_from: usize) -> Hits {
        let tokens = undisguise(reading, tokens(reading));
        let mut hits: Vec<Hit> = Vec::with_capacity(tokens.len() * 3);
        let mut first = Vec::with_capacity(tokens.len() + 1);
        let numbers: Vec<Option<u16>> = tokens.iter().map(|token| spelt(token.word(reading))).collect();
        for (index, token) in tokens.iter().enumerate() {
            first.push(hits.len() as u32);
            let start = index as u32;
            match numbers[index] {
                Some(number) => phrases(&numbers, index, number, &mut hits),
                None => {
                    let word = token.word(reading);
                    let found = by_ending(word).chain(by_stem(word));
                    hits.extend(found.map(|concept| Hit { concept, start, end: start + 1 }));
                }
            }
            quantities(reading, &tokens, index, &mut |concept, end| {
                hits.push(Hit { concept, start, end: end as u32 });
            });
        }
        first.push(hits.len() as u32);
        let mut present = vec![0; CONCEPTS.len() / 64 + 1];
        let mut trusted = present.clone();
        let (mut first_of, mut next_of) = (vec![NONE; CONCEPTS.len()], vec![NONE; hits.len()]);
        for (index, hit) in hits.iter().enumerate().rev() {
            next_of[index] = std::mem::replace(&mut first_of[usize::from(hit.concept)], index as u32);
            let (slot, bit) = (usize::from(hit.concept) / 64, 1 << (hit.concept % 64));
            present[slot] |= bit;
            if tokens[hit.end as usize - 1].end <= untrusted_from {
                trusted[slot] |= bit;
            }
        }
        Hits { tokens, hits, first, first_of, next_of, present, trusted }
    }

    /// Whether the text contains the concept.
    pub(crate) fn has(&self, concept: ConceptId) -> bool {
        self.present.get(usize::from(concept) / 64).is_some_and(|bits| bits & (1 << (concept % 64)) != 0)
    }

    /// Whether the text contains one of the concepts.
    pub(crate) fn has_any(&self, concepts: &[ConceptId]) -> bool {
        concepts.iter().any(|concept| self.has(*concept))
    }

    /// Whether the text contains one of the concepts that a mapping's condition requires. A quantity is state, so it
    /// counts only in the trusted part.
    pub(crate) fn meets(&self, concepts: &[ConceptId]) -> bool {
        concepts.iter().any(|concept| {
            let is_quantity = usize::from(*concept) < builtin::NAMES.len();
            let bits = if is_quantity { &self.trusted } else { &self.present };
            bits.get(usize::from(*concept) / 64).is_some_and(|bits| bits & (1 << (concept % 64)) != 0)
        })
    }

    /// The distinct concepts of the text.
    pub(crate) fn concepts(&self) -> impl Iterator<Item = ConceptId> {
        self.present.iter().enumerate().flat_map(|(index, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some((index * 64) as ConceptId + bit as ConceptId)
            })
        })
    }

    /// The hits of one of the concepts that start at one of the tokens.
    pub(crate) fn of_any<'h>(
        &'h self,
        concepts: &'h [ConceptId],
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = &'h Hit> {
        // Most elements of a pattern are one concept, whose hits are known without looking at the others.
        let (one, several) = match concepts {
            [one] => (self.first_of[usize::from(*one)], &[][..]),
            _ => (NONE, self.starting(from, to)),
        };
        let known = |index: u32| (index != NONE).then_some(index);
        let chain = std::iter::successors(known(one), move |index| known(self.next_of[*index as usize]));
        chain
            .map(|index| &self.hits[index as usize])
            .skip_while(move |hit| (hit.start as usize) < from)
            .take_while(move |hit| (hit.start as usize) < to)
            .chain(several.iter().filter(|hit| concepts.contains(&hit.concept)))
    }

    /// The hits that start at the tokens of a range.
    pub(crate) fn starting(&self, from: usize, to: usize) -> &[Hit] {
        let to = to.min(self.tokens.len());
        if from >= to {
            return &[];
        }
        &self.hits[self.first[from] as usize..self.first[to] as usize]
    }
}

/// Finds every phrase that begins at a token.
fn phrases(numbers: &[Option<u16>], index: usize, number: u16, hits: &mut Vec<Hit>) {
    let mut node = ROOTS[usize::from(number)];
    let mut end = index + 1;
    while node != 0 {
        let here = &NODES[usize::from(node)];
        hits.extend(here.concepts.of(NODE_CONCEPTS).iter().map(|concept| Hit {
            concept: *concept,
            start: index as u32,
            end: end as u32,
        }));
        let children = here.children.of(NODE_CHILDREN);
        if children.is_empty() {
            return;
        }
        let Some(Some(next)) = numbers.get(end) else { return };
        let Ok(child) = children.binary_search_by_key(next, |(word, _)| *word) else { return };
        node = children[child].1;
        end += 1;
    }
}

/// The concepts of an unknown word by its ending: "-statin" indicates a medicine.
fn by_ending(word: &str) -> impl Iterator<Item = ConceptId> {
    let is_candidate = word.len() >= 7 && word.is_ascii();
    SUFFIXES.iter().filter(move |(ending, _)| is_candidate && word.ends_with(ending)).map(|(_, concept)| *concept)
}

/// The concepts of an unknown word by its stem: "scarifiait" has the concepts of "scarifier".
fn by_stem(word: &str) -> impl Iterator<Item = ConceptId> {
    let letter = word.as_bytes().first().copied().unwrap_or_default();
    let first = STEMS.partition_point(|(stem, _)| stem.as_bytes()[0] < letter);
    let same_letter = STEMS[first..].iter().take_while(move |(stem, _)| stem.as_bytes()[0] == letter);
    same_letter.filter(move |(stem, _)| word.starts_with(stem)).map(|(_, concept)| *concept)
}
