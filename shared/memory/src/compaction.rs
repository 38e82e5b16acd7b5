//! Compactions (Memory Contract, section 4.3): summaries that can be recomputed from the facts. A summary is never
//! canon, may be deleted at any time, and is purged when one of its facts is withdrawn.

use crate::state::{Fact, State};

pub use crate::recipe::{Recipe, purpose_of};
use lens::Digest;
use serde::Serialize;

/// A summary of facts. The same inputs and policy give one with the same bytes (Memory Contract, G4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compaction {
    /// The hash of inputs and policy.
    pub compaction_id: Digest,
    /// The purpose: a recap or a synopsis.
    pub purpose: &'static str,
    /// The facts it summarises.
    pub input_handles: Vec<Digest>,
    /// One line per fact.
    pub lines: Vec<String>,
    /// The facts that the summary gives in full: those without a lock.
    pub allowmention_handles: Vec<Digest>,
}

/// Makes a compaction from the facts. `None` when one of them is no longer canon, or the policy is unknown.
///
/// A lockable fact contributes its gist even while it is unlocked, because the summary outlives the scene.
#[must_use]
pub fn make(state: &State, recipe: &Recipe) -> Option<Compaction> {
    let purpose = purpose_of(recipe.policy_id.as_str())?;
    let (mut lines, mut allowed) = (Vec::new(), Vec::new());
    for input in &recipe.input_handles {
        let fact = state.facts().get(input).filter(|fact| fact.withdrawn_by.is_none())?;
        let line = line_of(fact);
        lines.push(if purpose == "synopsis" { first_sentence(&line).to_owned() } else { line });
        if !fact.content.is_locked_by_default() {
            allowed.push(*input);
        }
    }
    Some(Compaction {
        compaction_id: recipe.id(),
        purpose,
        input_handles: recipe.input_handles.clone(),
        lines,
        allowmention_handles: allowed,
    })
}

fn line_of(fact: &Fact) -> String {
    if fact.content.is_locked_by_default() {
        return fact.content.gist.clone().unwrap_or_default();
    }
    fact.content.payload.as_text().map_or_else(|| fact.content.payload.to_string(), str::to_owned)
}

fn first_sentence(text: &str) -> &str {
    let ends = |(at, c): (usize, char)| {
        let after = &text[at + c.len_utf8()..];
        (matches!(c, '.' | '!' | '?') && after.starts_with(char::is_whitespace)).then(|| at + c.len_utf8())
    };
    text.char_indices().find_map(ends).map_or(text, |end| &text[..end])
}
