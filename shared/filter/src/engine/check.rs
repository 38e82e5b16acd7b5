//! Checks a payload: what is found in its fields, the substitutes and the second look at the result.

use crate::engine::find::{Found, find};
use crate::engine::replace::wording;
use crate::engine::tables::Tables;
use crate::engine::writing::Writing;
use crate::outcome::{Action, Checked, CheckedField, CheckedPayload, Hit, Outcome, View as Reading};

/// More replacements than this in one payload quarantine it ("contamination threshold", DESIGN).
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
