//! Finds the concepts of a text: every word and phrase of the lexicon, and every quantity.

use super::data::{
    ANCHOR_COUNT, ANCHORING, ANCHORS_OF, CONCEPT_COUNT, CONDITIONS, CONTINUATION_PLACES, CONTINUATIONS, ELEMENTS,
    NAMES, PHRASES, SETS, STEMS, SUFFIXES,
};
use super::disguise::undisguise;
use super::lexicon::spelt;
use super::quantity::quantities;
use crate::tables::{ConceptId, LETTERS, Mapping, NO_SET, Pattern, SetId, builtin, continuation_hash, letter};
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

/// One bit per number below `64 * WORDS`.
#[derive(Clone)]
pub(crate) struct Bits<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Bits<WORDS> {
    const fn none() -> Self {
        Self([0; WORDS])
    }

    fn insert(&mut self, number: u16) {
        self.0[usize::from(number / 64)] |= 1 << (number % 64);
    }

    pub(crate) fn has(&self, number: u16) -> bool {
        self.0.get(usize::from(number / 64)).is_some_and(|bits| bits & (1 << (number % 64)) != 0)
    }

    /// The numbers that are also among others, in ascending order.
    fn among(&self, others: &[u64; WORDS]) -> impl Iterator<Item = u16> {
        self.0.iter().zip(others).enumerate().flat_map(|(index, (bits, others))| {
            let mut bits = bits & others;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some((index * 64) as u16 + bit as u16)
            })
        })
    }
}

pub(crate) type ConceptBits = Bits<{ CONCEPT_COUNT / 64 + 1 }>;

impl ConceptBits {
    /// Whether one of the concepts of a set is among them.
    fn has_one_of(&self, set: SetId) -> bool {
        SETS.of(usize::from(set)).iter().any(|concept| self.has(*concept))
    }
}

const ANCHOR_WORDS: usize = ANCHOR_COUNT / 64 + 1;

type AnchorBits = Bits<ANCHOR_WORDS>;

/// The concepts of a text.
pub(crate) struct Hits {
    pub(crate) tokens: Vec<Token>,
    /// Sorted by first token.
    pub(crate) hits: Vec<Hit>,
    /// For each token, the first hit that starts there or later.
    first: Vec<u32>,
    /// The concepts of the hits.
    pub(crate) concepts: ConceptBits,
    /// The same without the quantities of an untrusted part, if there is one: a quantity is state.
    trusted: Option<ConceptBits>,
    /// The anchors of patterns of which the text contains a concept.
    anchors: AnchorBits,
}

impl Hits {
    /// Finds the concepts of a lower-case text. The part from `untrusted_from` supplies no state.
    pub(crate) fn of(reading: &str, untrusted_from: usize) -> Hits {
        let tokens = undisguise(reading, tokens(reading));
        let mut hits: Vec<Hit> = Vec::with_capacity(tokens.len() * 4);
        let mut first = Vec::with_capacity(tokens.len() + 1);
        let numbers: Vec<Option<u16>> =
            tokens.iter().map(|token| spelt(token.word(reading), token.hashes.word)).collect();
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
        let (mut concepts, mut anchors) = (ConceptBits::none(), AnchorBits::none());
        for hit in &hits {
            concepts.insert(hit.concept);
        }
        let found = concepts.among(&ANCHORING).flat_map(|concept| ANCHORS_OF.of(usize::from(concept)));
        found.for_each(|anchor| anchors.insert(*anchor));
        let trusted = (untrusted_from < reading.len()).then(|| {
            let mut trusted = ConceptBits::none();
            let counts = |hit: &&Hit| {
                let is_quantity = usize::from(hit.concept) < builtin::NAMES.len();
                !is_quantity || tokens[hit.end as usize - 1].end <= untrusted_from
            };
            for hit in hits.iter().filter(counts) {
                trusted.insert(hit.concept);
            }
            trusted
        });
        Hits { tokens, hits, first, concepts, trusted, anchors }
    }

    /// The anchors of patterns of which the text contains a concept, each once.
    pub(crate) fn anchors(&self) -> impl Iterator<Item = u16> {
        self.anchors.among(&[u64::MAX; ANCHOR_WORDS])
    }

    /// Whether the text contains a concept of the set. Few sets are ever asked for, so no text collects all of its sets.
    pub(crate) fn has(&self, set: SetId) -> bool {
        self.concepts.has_one_of(set)
    }

    /// Whether the text contains a concept of every element of a pattern.
    pub(crate) fn has_all(&self, pattern: &Pattern) -> bool {
        pattern.elements.of(ELEMENTS).iter().all(|element| self.has(element.set))
    }

    /// Whether the text meets the conditions of a mapping.
    pub(crate) fn meets(&self, mapping: &Mapping) -> bool {
        let concepts = self.trusted.as_ref().unwrap_or(&self.concepts);
        mapping.with.of(CONDITIONS).iter().all(|set| concepts.has_one_of(*set))
            && (mapping.without == NO_SET || !concepts.has_one_of(mapping.without))
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
    let mut end = index + 1;
    // The node of a word is the word's number.
    let mut node = Some(number);
    while let Some(phrase) = node {
        let concepts = PHRASES.of(usize::from(phrase)).iter();
        hits.extend(concepts.map(|concept| Hit { concept: *concept, start: index as u32, end: end as u32 }));
        node = numbers.get(end).copied().flatten().and_then(|word| continued(phrase, word));
        end += 1;
    }
}

/// The node of the phrase that continues another one with a word.
fn continued(node: u16, word: u16) -> Option<u16> {
    let (phrase, next, to) = CONTINUATIONS[CONTINUATION_PLACES.of(continuation_hash(node, word))];
    ((phrase, next) == (node, word)).then_some(to)
}

/// The concepts of an unknown word by its ending: "-statin" indicates a medicine.
fn by_ending(word: &str) -> impl Iterator<Item = ConceptId> {
    let is_candidate = word.len() >= 7 && word.is_ascii();
    let last = word.as_bytes().last().and_then(|byte| letter(*byte)).filter(|_| is_candidate);
    let endings = last.map_or(&[][..], |last| SUFFIXES.of(last)).iter();
    endings.filter(move |(ending, _)| word.ends_with(ending.of(NAMES))).map(|(_, concept)| *concept)
}

/// The concepts of an unknown word by its stem: "scarifiait" has the concepts of "scarifier".
fn by_stem(word: &str) -> impl Iterator<Item = ConceptId> {
    let beginning = match word.as_bytes() {
        [first, second, ..] => letter(*first).zip(letter(*second)),
        _ => None,
    };
    let stems = beginning.map_or(&[][..], |(first, second)| STEMS.of(first * LETTERS + second)).iter();
    stems.filter(move |(stem, _)| word.starts_with(stem.of(NAMES))).map(|(_, concept)| *concept)
}
