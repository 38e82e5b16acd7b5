//! Finds the mappings that apply to a text: those that one pattern sets, and the signs that weigh enough together.

use super::hits::Hits;
use super::matching::{Chains, Fired, fired_alone};
use super::signs::weigh;
use crate::tables::Sign;

/// All mappings that apply. An untrusted part of the text supplies no state.
pub(crate) fn fired(hits: &Hits, untrusted_from: usize) -> Vec<Fired> {
    let mut chains: Option<Chains<'_>> = None;
    let mut signs: Vec<(u16, Sign)> = Vec::new();
    let mut fired = fired_alone(hits, untrusted_from, &mut chains, &mut signs);
    weigh(hits, &mut chains, &signs, &mut fired);
    fired.sort_by_key(|one| (one.mapping, one.start, one.end));
    fired
}
