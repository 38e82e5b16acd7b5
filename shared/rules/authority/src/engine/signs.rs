//! Weighs signs: no single one decides, but those of several families near each other do, in any combination.

use super::data::{MAPPINGS, PATTERNS, TREATMENTS, WEIGHINGS};
use super::hits::Hits;
use super::matching::{Chains, Fired, SignMatches, around, contains};
use crate::tables::{MOST_FAMILIES, NO_SET, Sign, Treatment, Weighing};

/// The distance in words around the signs within which a term of a trade weighs against them.
const AROUND: usize = 8;

/// Adds the signs that weigh enough together. `signs` are those whose words the text has, with their patterns, without
/// the ones that are only looked for beside others.
pub(crate) fn weigh<'h>(
    hits: &'h Hits,
    chains: &mut Option<Chains<'h>>,
    signs: &[(u16, Sign)],
    fired: &mut Vec<Fired>,
) {
    if signs.is_empty() {
        return;
    }
    for (number, weighing) in WEIGHINGS.iter().enumerate() {
        let of_weighing = || signs.iter().filter(|(_, sign)| usize::from(sign.weighing) == number);
        if of_weighing().next().is_none() || (weighing.who != NO_SET && !hits.has(weighing.who)) {
            continue;
        }
        let (first, end) = weighing.beside;
        let is_present = |pattern: &u16| hits.has_all(&PATTERNS[usize::from(*pattern)]);
        let beside = || (first..end).filter(is_present).filter_map(|pattern| Some((pattern, sign(pattern)?)));
        // Most texts have a few of the words, and are not searched for their places.
        let core = Heaviest::of(of_weighing().map(|(_, sign)| *sign));
        if core.weight() < u32::from(weighing.core) {
            continue;
        }
        if of_weighing().next().is_some_and(|(pattern, _)| is_decided(fired, *pattern)) {
            continue;
        }
        let other = Heaviest::of(beside().map(|(_, sign)| sign));
        if !core.and(&other).may_decide(weighing) {
            continue;
        }
        let mut matches = SignMatches::of(chains.get_or_insert_with(|| Chains::of(hits)));
        let mut found: Vec<(Fired, Sign)> = Vec::new();
        for (pattern, sign) in of_weighing() {
            matches.add(*pattern, *sign, &mut found);
        }
        let core = Heaviest::of(found.iter().map(|(_, sign)| *sign));
        if core.weight() < u32::from(weighing.core) || !core.and(&other).may_decide(weighing) {
            continue;
        }
        // A term of a trade near a sign is near every group of signs that contains it.
        let with_trade = core.and(&other).weight().saturating_sub(u32::from(weighing.against_weight));
        let is_near_trade = |one: &Fired| has_trade(hits, weighing, one.start, one.end);
        if with_trade < u32::from(weighing.total) && found.iter().all(|(one, _)| is_near_trade(one)) {
            continue;
        }
        for (pattern, sign) in beside() {
            matches.add(pattern, sign, &mut found);
        }
        found.sort_by_key(|(one, _)| (one.start, one.end, one.mapping));
        if let Some(decided) = (0..found.len()).find_map(|first| decided_from(hits, weighing, &found[first..])) {
            fired.extend(decided);
        }
    }
}

/// Whether another request of the domain is as severe as the one that the signs would set: they would change nothing.
fn is_decided(fired: &[Fired], pattern: u16) -> bool {
    let treatment = |mapping: u16| TREATMENTS.get(usize::from(MAPPINGS[usize::from(mapping)].treatment));
    let severity = |treatment: &Treatment| (treatment.locked, treatment.state);
    let Some(own) = treatment(PATTERNS[usize::from(pattern)].mapping) else { return false };
    let mut others = fired.iter().filter_map(|one| treatment(one.mapping));
    others.any(|other| other.domain == own.domain && severity(other) >= severity(own))
}

/// What a pattern adds if it is one of a sign.
fn sign(pattern: u16) -> Option<Sign> {
    MAPPINGS[usize::from(PATTERNS[usize::from(pattern)].mapping)].sign
}

/// The heaviest weight of each family.
struct Heaviest([u8; MOST_FAMILIES]);

impl Heaviest {
    fn of(signs: impl Iterator<Item = Sign>) -> Self {
        let mut heaviest = [0; MOST_FAMILIES];
        for sign in signs {
            let family = &mut heaviest[usize::from(sign.family)];
            *family = sign.weight.max(*family);
        }
        Self(heaviest)
    }

    fn and(&self, other: &Self) -> Self {
        let mut heaviest = self.0;
        for (weight, other) in heaviest.iter_mut().zip(&other.0) {
            *weight = (*other).max(*weight);
        }
        Self(heaviest)
    }

    fn weight(&self) -> u32 {
        self.0.iter().map(|weight| u32::from(*weight)).sum()
    }

    /// Whether the signs would weigh enough if all were near each other.
    fn may_decide(&self, weighing: &Weighing) -> bool {
        let families = self.0.iter().filter(|weight| **weight > 0).count();
        families >= usize::from(weighing.families) && self.weight() >= u32::from(weighing.total)
    }
}

/// The heaviest sign of each family in the window that begins with the first sign, if they weigh enough.
fn decided_from(hits: &Hits, weighing: &Weighing, signs: &[(Fired, Sign)]) -> Option<Vec<Fired>> {
    let position = |token: usize| hits.tokens[token].position;
    let from = position(signs.first()?.0.start);
    let until = from + u32::from(weighing.window);
    let mut heaviest: [Option<(Fired, Sign)>; MOST_FAMILIES] = [None; MOST_FAMILIES];
    // Signs are sorted by their start, so a long text is not searched to its end from each of them.
    let near = signs.iter().take_while(|(one, _)| position(one.start) <= until);
    for (one, sign) in near.filter(|(one, _)| position(one.end - 1) <= until) {
        let family = &mut heaviest[usize::from(sign.family)];
        if family.is_none_or(|(_, known)| sign.weight > known.weight) {
            *family = Some((*one, *sign));
        }
    }
    let counted: Vec<(Fired, Sign)> = heaviest.into_iter().flatten().collect();
    let weight = |signs: &mut dyn Iterator<Item = &(Fired, Sign)>| -> u32 {
        signs.map(|(_, sign)| u32::from(sign.weight)).sum()
    };
    let total = weight(&mut counted.iter());
    let core = weight(&mut counted.iter().filter(|(_, sign)| !sign.beside));
    let is_enough = counted.len() >= usize::from(weighing.families)
        && core >= u32::from(weighing.core)
        && total >= u32::from(weighing.total);
    if !is_enough {
        return None;
    }
    let window_start = hits.tokens.partition_point(|token| token.position + 2 < from);
    let window_end = hits.tokens.partition_point(|token| token.position <= until);
    let concerns_a_person = weighing.who == NO_SET || contains(weighing.who, hits.starting(window_start, window_end));
    let start = counted.iter().map(|(one, _)| one.start).min()?;
    let end = counted.iter().map(|(one, _)| one.end).max()?;
    let against = if has_trade(hits, weighing, start, end) { u32::from(weighing.against_weight) } else { 0 };
    (concerns_a_person && total >= u32::from(weighing.total) + against)
        .then(|| counted.into_iter().map(|(one, _)| one).collect())
}

/// Whether a term of a trade is near these tokens.
fn has_trade(hits: &Hits, weighing: &Weighing, start: usize, end: usize) -> bool {
    if weighing.against == NO_SET || !hits.has(weighing.against) {
        return false;
    }
    let (from, until) = around(hits, start, end, AROUND);
    contains(weighing.against, hits.starting(from, until))
}
