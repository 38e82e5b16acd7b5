//! Checks a payload: finds terms in its fields, puts in the substitutes, and checks the result again.

use crate::engine::find::{Found, find};
use crate::engine::replace::{fits, wording};
use crate::engine::tables::Tables;
use crate::engine::writing::Writing;
use crate::outcome::{Action, Checked, CheckedField, CheckedPayload, Hit, Outcome, View as Reading};

/// More replacements than this in one payload quarantine it (content filter, GAP-B).
pub(crate) const MOST_REPLACEMENTS: usize = 3;

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
    let (hits, patterns) = hits(tables, fields, &found);
    let quarantined = hits.iter().flatten().any(|hit| hit.action == Action::Quarantine);
    if quarantined || found.len() > MOST_REPLACEMENTS {
        return untouched(hits, Outcome::Quarantine);
    }
    let texts: Vec<String> = fields
        .iter()
        .zip(hits.iter().zip(&patterns))
        .map(|(text, (hits, patterns))| replaced(tables, text, hits, patterns))
        .collect();
    // A substitute may join two pieces of a term, or remove the context that made another term ordinary.
    let second: Vec<&str> = texts.iter().map(String::as_str).collect();
    if !find(tables, &second).is_empty() {
        return untouched(hits, Outcome::Quarantine);
    }
    CheckedPayload {
        outcome: Outcome::Replace,
        fields: texts.into_iter().zip(hits).map(|(text, hits)| CheckedField { text, hits }).collect(),
    }
}

/// The text with every hit replaced; `patterns` are those of the hits.
fn replaced(tables: &Tables, text: &str, hits: &[Hit], patterns: &[u16]) -> String {
    let mut out = String::with_capacity(text.len() + 16 * hits.len());
    let mut at = 0;
    for (hit, number) in hits.iter().zip(patterns) {
        let pattern = &tables.lists.patterns[*number as usize];
        let Some(substitute) = &tables.term_of(pattern).substitute else {
            continue;
        };
        let Some(wording) = wording(substitute, text, hit.start, hit.end, pattern.plural) else {
            continue;
        };
        out.push_str(&text[at..hit.start]);
        out.push_str(&wording);
        at = hit.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The hits per field, and the pattern of each. Decides whether a substitute fits, but not its wording, because a
/// payload with many hits is not changed.
fn hits(tables: &Tables, fields: &[&str], found: &[Found]) -> (Vec<Vec<Hit>>, Vec<Vec<u16>>) {
    let mut hits = vec![Vec::new(); fields.len()];
    let mut patterns = vec![Vec::new(); fields.len()];
    if let ([hits], [patterns]) = (&mut hits[..], &mut patterns[..]) {
        hits.reserve_exact(found.len());
        patterns.reserve_exact(found.len());
    }
    let (mut field, mut offset) = (0, 0);
    for one in found {
        // A reversed place may begin with the break between two fields; it then belongs to the next field with text.
        while field + 1 < fields.len() && one.start.max(offset) >= offset + fields[field].len() {
            offset += fields[field].len() + 1;
            field += 1;
        }
        let text = fields[field];
        let pattern = &tables.lists.patterns[one.pattern as usize];
        let term = tables.term_of(pattern);
        let (start, end) = (one.start.saturating_sub(offset), one.end - offset);
        let joined = end > text.len();
        let is_replaced = !joined
            && one.writing < Writing::Leet
            && term.substitute.as_ref().is_some_and(|substitute| fits(substitute, text, start, end, pattern.plural));
        hits[field].push(Hit {
            id: term.id.clone(),
            term: term.text.clone(),
            start,
            end: end.min(text.len()),
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
            action: if is_replaced { Action::Replace } else { Action::Quarantine },
        });
        patterns[field].push(one.pattern);
    }
    (hits, patterns)
}
