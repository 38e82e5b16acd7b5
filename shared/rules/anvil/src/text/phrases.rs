//! Finds the vocabulary's phrases in a text.

use super::token::{Kind, Tokens};
use super::vocabulary::{List, Term, is_word, unspaced};

/// A phrase in the text, as a range of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) term: Term,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All phrases of a text, in text order.
pub(super) struct Phrases(Vec<Hit>);

impl Phrases {
    pub(super) fn of(tokens: &Tokens<'_>) -> Self {
        let mut hits = Vec::with_capacity(16);
        let mut is_unspaced = false;
        for at in 0..tokens.len() {
            let word = tokens.word(at);
            is_unspaced |= word.chars().next_back().is_some_and(|last| last >= '\u{3040}');
            for (rest, term) in &tokens.known(at).phrases {
                if let Some(end) = matched(tokens, at + 1, rest) {
                    hits.push(Hit { term: *term, start: at, end });
                }
            }
        }
        if is_unspaced {
            let found = unspaced().iter().filter(|(_, phrase)| tokens.text.contains(phrase));
            hits.extend(found.map(|(term, _)| Hit { term: *term, start: tokens.len(), end: tokens.len() }));
        }
        Self(hits)
    }

    pub(super) fn all(&self, term: Term) -> impl Iterator<Item = Hit> + '_ {
        self.0.iter().copied().filter(move |hit| hit.term == term)
    }

    /// The hits of a term within reach of another hit, on either side. Hits in scripts without spaces have no position,
    /// so they are all near each other.
    pub(super) fn near(&self, term: Term, of: Hit, reach: usize) -> impl Iterator<Item = Hit> + '_ {
        const LONGEST_PHRASE: usize = 12;
        let first = self.0.partition_point(|hit| hit.start + reach + LONGEST_PHRASE < of.start);
        let near = self.0.get(first..).unwrap_or_default().iter().copied();
        near.take_while(move |hit| hit.start <= of.end + reach).filter(move |hit| hit.term == term)
    }

    pub(super) fn has(&self, term: Term) -> bool {
        self.all(term).next().is_some()
    }
}

/// The token after the rest of a phrase. Hyphens and apostrophes may separate the phrase's words.
fn matched(tokens: &Tokens<'_>, from: usize, rest: &[&str]) -> Option<usize> {
    let mut at = from;
    for word in rest {
        while matches!(tokens.kind(at), Some(Kind::Sign('-' | '\'' | '_' | '/'))) {
            at += 1;
        }
        if tokens.str(at) != *word {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// Whether one of the three words before the phrase, in its sentence, denies it: "no errors", "has not failed".
pub(super) fn is_denied(tokens: &Tokens<'_>, hit: Hit) -> bool {
    let (start, _) = tokens.sentence(hit.start);
    (hit.start.saturating_sub(3).max(start)..hit.start).any(|at| is_word(List::Negation, tokens.str(at)))
}
