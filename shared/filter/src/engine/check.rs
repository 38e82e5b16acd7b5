//! Checks a payload: all views, all fields, the substitutes and the second look at the result.

use std::ops::{ControlFlow, Range};

use crate::engine::align::{Alignment, LONGEST, alignment_at, alignments};
use crate::engine::bidi;
use crate::engine::context::floor;
use crate::engine::decode::decode;
use crate::engine::judge::{Judgement, Writing, is_plainly_ordinary, judge, span};
use crate::engine::replace::wording;
use crate::engine::sieve::{Held, sieve};
use crate::engine::tables::Tables;
use crate::engine::view::View;
use crate::outcome::{Action, Checked, CheckedField, CheckedPayload, Hit, Outcome, View as Reading};

/// More replacements than this in one payload quarantine it ("contamination threshold", DESIGN).
pub(crate) const MOST_REPLACEMENTS: usize = 3;

/// Rounds of decoding.
pub(crate) const ROUNDS: usize = 3;

/// Hits after this many are not looked for: the payload is quarantined long before.
const MOST_HITS: usize = 1000;

/// A blocked term in the joined text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pattern: u16,
    start: usize,
    end: usize,
    writing: Writing,
    decoded: bool,
    /// Not letter for letter what the list writes.
    respelled: bool,
}

/// Checks one text.
pub(crate) fn check(tables: &Tables, text: &str) -> Checked {
    let payload = check_payload(tables, &[text]);
    let mut fields = payload.fields.into_iter();
    let field = fields.next().unwrap_or(CheckedField { text: text.to_owned(), hits: Vec::new() });
    Checked { outcome: payload.outcome, text: field.text, hits: field.hits }
}

/// Checks several fields that are one payload.
pub(crate) fn check_payload(tables: &Tables, fields: &[&str]) -> CheckedPayload {
    let untouched = |hits: Vec<Vec<Hit>>, outcome| {
        let texts = fields.iter().map(|text| (*text).to_owned());
        CheckedPayload { outcome, fields: texts.zip(hits).map(|(text, hits)| CheckedField { text, hits }).collect() }
    };
    let none = || vec![Vec::new(); fields.len()];
    let found = find(tables, fields);
    if found.is_empty() {
        return untouched(none(), Outcome::Pass);
    }
    let (hits, wordings) = hits(tables, fields, &found);
    let replacements = wordings.iter().flatten().count();
    let quarantined = hits.iter().flatten().any(|hit| hit.action == Action::Quarantine);
    if quarantined || replacements > MOST_REPLACEMENTS {
        return untouched(hits, Outcome::Quarantine);
    }
    let texts: Vec<String> = fields
        .iter()
        .zip(hits.iter().zip(&wordings))
        .map(|(text, (hits, wordings))| replaced(text, hits, wordings))
        .collect();
    // A substitute may close a gap between two pieces of a term, or take away what made another ordinary.
    let second: Vec<&str> = texts.iter().map(String::as_str).collect();
    if !find(tables, &second).is_empty() {
        return untouched(hits, Outcome::Quarantine);
    }
    CheckedPayload {
        outcome: Outcome::Replace,
        fields: texts.into_iter().zip(hits).map(|(text, hits)| CheckedField { text, hits }).collect(),
    }
}

/// The text with every hit replaced.
fn replaced(text: &str, hits: &[Hit], wordings: &[Option<String>]) -> String {
    let mut out = String::with_capacity(text.len() + 16 * hits.len());
    let mut at = 0;
    for (hit, wording) in hits.iter().zip(wordings) {
        let Some(wording) = wording else { continue };
        out.push_str(&text[at..hit.start]);
        out.push_str(wording);
        at = hit.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Every blocked term of the payload, in the order of its place in the joined text, without overlaps.
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

/// Looks closely at the places that the sieve noted; `None` when that needs more than their surroundings.
fn find_at(tables: &Tables, text: &str, places: &[(usize, u16)]) -> Option<Vec<Found>> {
    let mut found = Vec::new();
    for (place, state) in places {
        for pattern in tables.complete_in(*state) {
            if is_plainly_ordinary(tables, text, *place, *pattern) {
                continue;
            }
            // Nearly always the letters stand side by side, and a narrow window shows it.
            let length = tables.lists.patterns[*pattern as usize].elements.len();
            let narrow = window(tables, text, *place, length + 8, *pattern);
            let aligned = match narrow {
                Some((view, Some(alignment))) => Some((view, alignment)),
                _ => match window(tables, text, *place, LONGEST + 8, *pattern)? {
                    (view, Some(alignment)) => Some((view, alignment)),
                    _ => None,
                },
            };
            if let Some((view, alignment)) = aligned {
                found.extend(blocked(tables, text, &view, &alignment));
            }
        }
    }
    Some(found)
}

/// A view of so many characters before a place and a few after it, and the pattern in it that ends at the
/// place; `None` when something invisible stands there, so that nobody knows how far back to look.
fn window(tables: &Tables, text: &str, place: usize, width: usize, pattern: u16) -> Option<(View, Option<Alignment>)> {
    let near = place.saturating_sub(width);
    let is_ascii = text.as_bytes()[near..place].is_ascii();
    let from = floor(text, if is_ascii { near } else { place.saturating_sub(4 * width) });
    let view = View::of_part(tables, text, from..floor(text, (place + 24).min(text.len())));
    if view.hides_anything() {
        return None;
    }
    let last = view.units.partition_point(|unit| (unit.start as usize) < place).checked_sub(1)?;
    // Whether a term begins shows in the two characters before it.
    let whole = |alignment: &Alignment| alignment.first >= 2 || from == 0;
    let alignment = alignment_at(tables, &view.units, pattern, last).filter(whole);
    Some((view, alignment))
}

/// Looks closely at everything, in every view, and where the text is shown turned around, at that too.
pub(crate) fn find_everywhere(tables: &Tables, text: &str) -> Vec<Found> {
    let mut found = find_as_written(tables, text);
    if let Some((shown, turned)) = bidi::as_shown(text) {
        found.extend(find_as_written(tables, &shown).into_iter().filter_map(|one| {
            let Range { start, end } = bidi::in_source(one.start..one.end, &turned)?;
            Some(Found { start, end, writing: Writing::Turned, ..one })
        }));
    }
    found
}

fn find_as_written(tables: &Tables, text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    each_view(tables, text, |view, _| {
        alignments(tables, view, |alignment| {
            found.extend(blocked(tables, text, view, &alignment));
            if found.len() < MOST_HITS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    });
    found
}

fn blocked(tables: &Tables, text: &str, view: &View, alignment: &Alignment) -> Option<Found> {
    let Judgement::Blocked { writing, decoded } = judge(tables, text, view, alignment) else { return None };
    let (start, end) = span(view, alignment);
    let written = &tables.term_of(&tables.lists.patterns[alignment.pattern as usize]).text;
    let end = with_own_point(written, text, start, end);
    let spelling = &text[start..end];
    let respelled =
        !spelling.eq_ignore_ascii_case(written.trim_end_matches('.')) && !spelling.eq_ignore_ascii_case(written);
    Some(Found { pattern: alignment.pattern, start, end, writing, decoded, respelled })
}

/// "C.L.O.D." ends in a point of its own, unless that point ends the sentence.
fn with_own_point(written: &str, text: &str, start: usize, end: usize) -> usize {
    let after = &text[end..];
    let own = written.ends_with('.') && text[start..end].contains('.') && after.starts_with('.');
    let goes_on = after.chars().nth(1).is_some_and(|c| !c.is_whitespace())
        || after.get(1..).is_some_and(|rest| rest.trim_start().starts_with(char::is_lowercase));
    if own && goes_on { end + 1 } else { end }
}

/// Calls `each` with the text as it stands and after every round of decoding that changed anything.
pub(crate) fn each_view(tables: &Tables, text: &str, mut each: impl FnMut(&View, usize)) {
    let mut view = View::of_text(tables, text);
    each(&view, 0);
    for round in 1..=ROUNDS {
        let Some(decoded) = decode(tables, &view) else { return };
        each(&decoded, round);
        view = decoded;
    }
}

/// Of hits that overlap, the longest stands; of equally long ones, the plainest.
pub(crate) fn merge(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|f| (std::cmp::Reverse(f.end - f.start), f.writing, f.decoded, f.respelled, f.start, f.pattern));
    let mut kept: std::collections::BTreeMap<usize, Found> = std::collections::BTreeMap::new();
    for candidate in found {
        let before = kept.range(..candidate.end).next_back();
        if before.is_none_or(|(_, other)| other.end <= candidate.start) {
            kept.insert(candidate.start, candidate);
        }
    }
    kept.into_values().collect()
}

/// The hits per field, and what replaces each of those that can be replaced.
#[allow(clippy::type_complexity, reason = "two lists of the same shape")]
fn hits(tables: &Tables, fields: &[&str], found: &[Found]) -> (Vec<Vec<Hit>>, Vec<Vec<Option<String>>>) {
    let mut hits = vec![Vec::new(); fields.len()];
    let mut wordings = vec![Vec::new(); fields.len()];
    let (mut field, mut offset) = (0, 0);
    for one in found {
        while field + 1 < fields.len() && one.start > offset + fields[field].len() {
            offset += fields[field].len() + 1;
            field += 1;
        }
        let text = fields[field];
        let pattern = &tables.lists.patterns[one.pattern as usize];
        let term = tables.term_of(pattern);
        let (start, end) = (one.start - offset, one.end - offset);
        let joined = end > text.len();
        let end = end.min(text.len());
        let wording = match &term.substitute {
            Some(substitute) if !joined && one.writing < Writing::Leet => {
                wording(substitute, text, start, end, pattern.plural)
            }
            _ => None,
        };
        hits[field].push(Hit {
            id: term.id.clone(),
            term: term.text.clone(),
            start,
            end,
            rule: format!("category-{}", term.category),
            category: term.category,
            view: match one.writing {
                _ if joined => Reading::Joined,
                Writing::Leet => Reading::Leet,
                Writing::Turned => Reading::Decoded,
                _ if one.decoded => Reading::Decoded,
                Writing::Squashed => Reading::Squashed,
                Writing::Folded => Reading::Folded,
                Writing::Plain(_) => Reading::Word,
            },
            action: if wording.is_some() { Action::Replace } else { Action::Quarantine },
        });
        wordings[field].push(wording);
    }
    (hits, wordings)
}
