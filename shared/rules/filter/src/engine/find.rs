//! Finds the blocked terms of a payload: at the places that the sieve reports, or everywhere and in every view.
//! The file has more than 300 lines because both searches share the judgement of an occurrence, and one set of rules
//! merges their hits.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use crate::engine::align::{Aligner, Alignment, LONGEST};
use crate::engine::bidi;
use crate::engine::context::floor;
use crate::engine::decode::{each_view, shown_after_decoding};
use crate::engine::features::Features;
use crate::engine::judge::{Judgement, is_plainly_ordinary, judge, span};
use crate::engine::known::Known;
use crate::engine::sieve::{Held, sieve};
use crate::engine::tables::Tables;
use crate::engine::view::{AFTER_HIDDEN, COMMAND, DECODED, View};
use crate::engine::writing::Writing;

/// The search stops after this many hits: the payload is quarantined for far fewer.
const MOST_HITS: usize = 1000;

/// From this many occurrences on, words around one are cached for the next. An estimate, not a measurement: the cache
/// allocates room for 256 words, and each occurrence reads 24 at most.
const MANY: usize = 8;

/// A blocked term in the joined text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) pattern: u16,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) writing: Writing,
    pub(crate) decoded: bool,
    /// The letters differ from those in the list.
    respelled: bool,
}

/// Every blocked term of the payload, sorted by place in the joined text, without overlaps.
pub(crate) fn find(tables: &Tables, fields: &[&str]) -> Vec<Found> {
    let held = sieve(tables, fields);
    if held == Held::Places(Vec::new()) {
        return Vec::new();
    }
    let joined = fields.join("\n");
    let found = match held {
        Held::Places(places) => find_at(tables, &joined, &places),
        Held::Everything => None,
    };
    merge(found.unwrap_or_else(|| find_everywhere(tables, &joined)))
}

/// Examines the places that the sieve reported; `None` when one of them needs more than its surroundings.
fn find_at(tables: &Tables, text: &str, places: &[(usize, u16)]) -> Option<Vec<Found>> {
    let mut found = Vec::new();
    let mut search = Search::new(tables, text);
    for (place, state) in places {
        for pattern in tables.complete_in(*state) {
            if is_plainly_ordinary(tables, text, *place, *pattern) {
                continue;
            }
            // The letters are nearly always adjacent, so a narrow window usually suffices.
            let narrow = tables.lists.patterns[*pattern as usize].elements.len() + 8;
            match search.look_back(*place, *pattern, narrow) {
                Sight::Term(blocked) => found.extend(blocked),
                Sight::Unclear | Sight::Nothing => match search.look_back(*place, *pattern, LONGEST + 8) {
                    Sight::Term(blocked) => found.extend(blocked),
                    Sight::Nothing => {}
                    Sight::Unclear => return None,
                },
            }
        }
    }
    Some(found)
}

/// The result of looking back from a place.
enum Sight {
    /// Invisible characters hide how far back the term may begin.
    Unclear,
    Nothing,
    /// The letters of the term, with the hit unless the term is allowed there.
    Term(Option<Found>),
}

/// Examines a text exactly.
struct Search<'t> {
    tables: &'t Tables,
    text: &'t str,
    aligner: Aligner<'t>,
    features: Features,
    known: Known,
}

impl<'t> Search<'t> {
    fn new(tables: &'t Tables, text: &'t str) -> Search<'t> {
        Search { tables, text, aligner: Aligner::new(tables), features: Features::default(), known: Known::default() }
    }

    /// Looks for the pattern that ends at `place`, in a view of `width` characters before it and a few after it.
    fn look_back(&mut self, place: usize, pattern: u16, width: usize) -> Sight {
        let text = self.text;
        let near = place.saturating_sub(width);
        let is_ascii = text.as_bytes()[near..place].is_ascii();
        let from = floor(text, if is_ascii { near } else { place.saturating_sub(4 * width) });
        let view = View::of_part(&self.tables.characters, text, from..floor(text, (place + 24).min(text.len())));
        let last = view.units.partition_point(|unit| (unit.start as usize) < place).checked_sub(1);
        let Some(last) = last.filter(|_| !view.hides_anything()) else {
            return Sight::Unclear;
        };
        match self.aligner.at(&view.units, pattern, last) {
            // The two characters before a term decide whether it begins there.
            Some(alignment) if alignment.first >= 2 || from == 0 => {
                Sight::Term(blocked(self.tables, text, &view, alignment, &mut self.features, &self.known))
            }
            _ => Sight::Nothing,
        }
    }

    /// Examines the whole text, as it is and after every round of decoding that changes it. With `turned`, the reversed
    /// ranges of a shown text, judges only occurrences that may overlap one of them: judging costs most, and the source
    /// has all others too.
    fn everywhere(&mut self, turned: Option<&[Range<usize>]>) -> Vec<Found> {
        // A hit may have one byte more than its letters: the point that belongs to the term.
        let is_wanted =
            |place: &Place| turned.is_none_or(|turned| bidi::in_source(place.start..place.end + 1, turned).is_some());
        let (tables, text) = (self.tables, self.text);
        let mut examined = 0;
        let mut all: Vec<Found> = Vec::new();
        let mut before = Seen::default();
        each_view(&tables.characters, text, |view, round| {
            let mut seen = Seen::default();
            self.aligner.each(view, |index, alignment| {
                let place = Place::of(view, index, alignment);
                if !is_wanted(&place) {
                    return ControlFlow::Continue(());
                }
                examined += 1;
                if examined == MANY {
                    self.known.keep();
                }
                let judged_before = round > 0 && before.has_examined(&place) && is_untouched(view, alignment);
                let one = match judged_before {
                    true => before.found_at(&place),
                    false => blocked(tables, text, view, alignment, &mut self.features, &self.known),
                };
                if let Some(one) = one {
                    seen.found.push((place, one));
                    all.push(one);
                }
                if all.len() < MOST_HITS {
                    return ControlFlow::Continue(());
                }
                seen.stopped_at = Some(place.shown_at);
                ControlFlow::Break(())
            });
            before = seen;
        });
        all
    }
}

/// The place of a pattern's letters in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The start of the unit at which the occurrence was detected.
    shown_at: usize,
    pattern: u16,
    start: usize,
    end: usize,
}

impl Place {
    fn of(view: &View, index: usize, alignment: &Alignment) -> Place {
        let (start, end) = span(view, alignment);
        let shown_at = view.units.get(index).map_or(usize::MAX, |unit| unit.start as usize);
        Place { shown_at, pattern: alignment.pattern, start, end }
    }
}

/// The hits of the previous view. Places that decoding did not change are not judged again.
#[derive(Default)]
struct Seen {
    /// Sorted by [`Place::shown_at`].
    found: Vec<(Place, Found)>,
    /// The number of hits before all places that are still to be looked up.
    passed: usize,
    /// The place where the search stopped early, if it did.
    stopped_at: Option<usize>,
}

impl Seen {
    fn has_examined(&self, place: &Place) -> bool {
        self.stopped_at.is_none_or(|end| place.shown_at < end)
    }

    /// The hit at this place. Calls must come in the order of [`Place::shown_at`].
    fn found_at(&mut self, place: &Place) -> Option<Found> {
        while self.found.get(self.passed).is_some_and(|(passed, _)| passed.shown_at < place.shown_at) {
            self.passed += 1;
        }
        let here = self.found[self.passed..].iter().take_while(|(known, _)| known.shown_at == place.shown_at);
        here.filter(|(known, _)| known == place).map(|(_, found)| *found).next()
    }
}

/// Whether decoding changed nothing that an alignment depends on: its units, two before it and five after it.
fn is_untouched(view: &View, alignment: &Alignment) -> bool {
    let end = alignment.last + 6;
    let units = &view.units[alignment.first.saturating_sub(2)..end.min(view.units.len())];
    (end <= view.units.len() || !view.hides_at_end())
        && units.iter().all(|unit| unit.flags & (DECODED | AFTER_HIDDEN | COMMAND) == 0)
}

/// Examines everything in every view, and also the text as shown when parts of it are reversed.
pub(crate) fn find_everywhere(tables: &Tables, text: &str) -> Vec<Found> {
    let mut found = Search::new(tables, text).everywhere(None);
    if let Some((shown, turned)) = bidi::as_shown(text) {
        found.extend(Search::new(tables, &shown).everywhere(Some(&turned)).into_iter().filter_map(|one| {
            let Range { start, end } = bidi::in_source(one.start..one.end, &turned)?;
            Some(Found { start, end, writing: Writing::Turned, ..one })
        }));
    }
    found.extend(found_turned_after_decoding(tables, text));
    found
}

/// Finds a term that appears only when escapes are decoded and the result is reversed ("&#8238;&#83;…"). Reports it as
/// one hit over the whole text, because the escapes hide the places of its letters.
fn found_turned_after_decoding(tables: &Tables, text: &str) -> Option<Found> {
    let (shown, turned) = shown_after_decoding(&tables.characters, text)?;
    let found = Search::new(tables, &shown).everywhere(Some(&turned));
    let one = found.into_iter().find(|one| bidi::in_source(one.start..one.end, &turned).is_some())?;
    Some(Found { start: 0, end: text.len(), writing: Writing::Turned, decoded: true, ..one })
}

fn blocked(
    tables: &Tables,
    text: &str,
    view: &View,
    alignment: &Alignment,
    features: &mut Features,
    known: &Known,
) -> Option<Found> {
    let judgement = judge(tables, text, view, alignment, features, Some(known));
    let Judgement::Blocked { writing, decoded } = judgement else {
        return None;
    };
    let (start, end) = span(view, alignment);
    let written = &tables.term_of(&tables.lists.patterns[alignment.pattern as usize]).text;
    let end = with_own_point(written, text, start, end);
    let spelling = &text[start..end];
    let respelled =
        !spelling.eq_ignore_ascii_case(written.trim_end_matches('.')) && !spelling.eq_ignore_ascii_case(written);
    Some(Found { pattern: alignment.pattern, start, end, writing, decoded, respelled })
}

/// Includes the final point of "C.L.O.D." in the hit, unless that point ends the sentence.
fn with_own_point(written: &str, text: &str, start: usize, end: usize) -> usize {
    let after = &text[end..];
    if !(written.ends_with('.') && text[start..end].contains('.') && after.starts_with('.')) {
        return end;
    }
    let goes_on = after.chars().nth(1).is_some_and(|c| !c.is_whitespace())
        || after.get(1..).is_some_and(|rest| rest.trim_start().starts_with(char::is_lowercase));
    if goes_on { end + 1 } else { end }
}

/// Keeps the longest of overlapping hits; among equally long ones, the plainest.
pub(crate) fn merge(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|one| (one.start, one.end));
    // Nearly all hits overlap no other, or only identical ones.
    found.dedup();
    let mut kept = Vec::with_capacity(found.len());
    let mut rest = &found[..];
    while let Some(first) = rest.first() {
        let mut end = first.end;
        let overlapping = rest[1..].iter().take_while(|next| {
            let overlaps = next.start < end;
            end = end.max(next.end);
            overlaps
        });
        let (group, after) = rest.split_at(1 + overlapping.count());
        match group {
            [one] => kept.push(*one),
            several => kept.extend(longest(several)),
        }
        rest = after;
    }
    kept
}

/// The same for one group of overlapping hits.
fn longest(found: &[Found]) -> impl Iterator<Item = Found> {
    let mut found = found.to_vec();
    found.sort_by_key(|f| (std::cmp::Reverse(f.end - f.start), f.writing, f.decoded, f.respelled, f.start, f.pattern));
    let mut kept: BTreeMap<usize, Found> = BTreeMap::new();
    for candidate in found {
        let before = kept.range(..candidate.end).next_back();
        if before.is_none_or(|(_, other)| other.end <= candidate.start) {
            kept.insert(candidate.start, candidate);
        }
    }
    kept.into_values()
}
