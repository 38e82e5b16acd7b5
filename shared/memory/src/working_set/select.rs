//! Selects and orders the items that may be shown. Reads facts and pointers, but neither pictures nor renderings
//! (Memory Contract, section 9.2: "no backflow").

use super::{Item, Shown};
use crate::{
    compaction,
    event::Scope,
    handle::Handle,
    precision,
    state::{Fact, State},
    truncate::{Candidate, Rank, Slice},
};
use lens::{
    CompactionItem, Digest, FactItem, Precision, StateItem,
    canonical::{self, CanonicalError, Value},
};
use std::{cmp::Reverse, collections::BTreeSet};

/// Groups of [`crate::policy::ORDER`].
mod group {
    pub(super) const NAMED: u8 = 0;
    pub(super) const POINTERS: u8 = 1;
    pub(super) const SHARED: u8 = 2;
    pub(super) const OTHER: u8 = 3;
    pub(super) const COMPACTIONS: u8 = 4;
}

/// Shorter words of a query are ignored: they do not identify its subject.
const SHORTEST_WORD: usize = 3;

/// All items that the mode makes visible.
pub(super) fn candidates(
    state: &State,
    scene: Option<&Handle>,
    query: &str,
) -> Result<Vec<Candidate<Item>>, CanonicalError> {
    let query = Query::new(query);
    let mut found = Vec::new();
    for (id, fact) in state.facts().canon().filter(|(_, fact)| is_visible(state, fact)) {
        found.push(of_fact(state, scene, &query, id, fact)?);
    }
    for (kind, handle, value) in pointers(state, scene) {
        found.push(of_pointer(kind, handle, value)?);
    }
    for recipe in state.compactions().values() {
        let inputs_are_visible = recipe.input_handles.iter().all(|input| {
            let fact = state.facts().get(input);
            fact.is_some_and(|fact| fact.withdrawn_by.is_none() && is_visible(state, fact))
        });
        if let Some(made) = compaction::make(state, recipe).filter(|_| inputs_are_visible) {
            found.push(of_compaction(&made, recipe.event)?);
        }
    }
    Ok(found)
}

/// Whether the mode makes a fact visible, by [`crate::policy::MASK`].
fn is_visible(state: &State, fact: &Fact) -> bool {
    fact.content.visibility_mask.contains(&state.story().mode)
}

struct Query {
    words: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Query {
    fn new(text: &str) -> Self {
        let trim = |name: &str| name.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        Self { words: words(text), names: text.split_whitespace().map(trim).filter(|name| !name.is_empty()).collect() }
    }

    fn names(&self, handle: &str) -> bool {
        self.names.contains(handle.trim_matches(|c: char| !c.is_alphanumeric()))
    }
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= SHORTEST_WORD);
    words.map(str::to_lowercase).collect()
}

fn of_fact(
    state: &State,
    scene: Option<&Handle>,
    query: &Query,
    id: &Digest,
    fact: &Fact,
) -> Result<Candidate<Item>, CanonicalError> {
    let content = &fact.content;
    let fact_id = id.to_string();
    let is_locked = !precision::is_unlocked(state, fact, scene);
    let precision = match (content.is_locked_by_default(), is_locked) {
        (false, _) => Precision::Plain,
        (true, false) => Precision::Exact,
        (true, true) => Precision::Gist,
    };
    let detail_handle = content
        .is_locked_by_default()
        .then(|| content.detail_handle.as_ref().map_or(fact_id.clone(), Handle::to_string));
    let shown = FactItem {
        fact_id: fact_id.clone(),
        kind: content.kind.to_string(),
        stable_key: content.stable_key.to_string(),
        precision,
        detail_handle: detail_handle.clone(),
        payload: (!is_locked).then(|| content.payload.clone()),
        gist: if is_locked { content.gist.clone() } else { None },
    };
    // The order depends only on shown text: the place of a fact must not reveal its locked detail.
    let mut written = format!("{}\n{}", content.kind, content.stable_key);
    let mut add = |text: &str| {
        written.push('\n');
        written.push_str(text);
    };
    content.detail_handle.iter().for_each(|handle| add(handle.as_str()));
    let mut body = shown.gist.clone().unwrap_or_default();
    shown.payload.iter().for_each(|payload| payload.each_text(&mut |text| join(&mut body, text)));
    add(&body);
    let is_named = [Some(fact_id.as_str()), detail_handle.as_deref(), Some(content.stable_key.as_str())]
        .into_iter()
        .flatten()
        .any(|handle| query.names(handle));
    let shared = words(&written).intersection(&query.words).count() as u32;
    let group = match (is_named, shared) {
        (true, _) => group::NAMED,
        (false, 0) => group::OTHER,
        (false, _) => group::SHARED,
    };
    let allowed = match is_locked {
        true => Vec::new(),
        false => detail_handle.iter().filter(|handle| **handle != fact_id).cloned().chain([fact_id.clone()]).collect(),
    };
    let locked = detail_handle.filter(|_| is_locked);
    let rank = Rank {
        group,
        shared: Reverse(shared),
        event: Reverse(fact.created_event_id),
        slice: Slice::FactsSlice,
        id: fact_id,
    };
    let bytes = canonical::encode(&shown)?.len();
    Ok(candidate(rank, bytes, Item { shown: Shown::Fact(shown), allowed, locked, written, body }))
}

/// The story's pointers and the open rules, in order.
fn pointers<'a>(state: &'a State, scene: Option<&'a Handle>) -> Vec<(&'static str, &'a Handle, Value)> {
    let story = state.story();
    let mut found = Vec::new();
    for (kind, of_kind) in [
        ("thread", &story.threads),
        ("clock", &story.clocks),
        ("region", &story.regions),
        ("reading_spot", &story.reading_spot),
    ] {
        found.extend(of_kind.iter().map(|(handle, value)| (kind, handle, value.clone())));
    }
    found.extend(story.caps.iter().map(|(handle, cap)| ("cap", handle, Value::Integer(*cap))));
    found.extend(state.unlocks().open_rules(scene).map(|(rule, scope)| {
        let scope = match scope {
            Scope::Scene => "scene",
            Scope::Session => "session",
            Scope::Campaign => "campaign",
        };
        ("rule_ref", rule, Value::Text(scope.to_owned()))
    }));
    found
}

fn of_pointer(kind: &'static str, handle: &Handle, value: Value) -> Result<Candidate<Item>, CanonicalError> {
    let mut body = String::new();
    value.each_text(&mut |text| join(&mut body, text));
    let written = format!("{handle}\n{body}");
    let shown = StateItem { kind: kind.to_owned(), handle: handle.to_string(), value };
    let bytes = canonical::encode(&shown)?.len();
    let rank = Rank {
        group: group::POINTERS,
        shared: Reverse(0),
        event: Reverse(0),
        slice: Slice::StateSlice,
        id: format!("{kind}:{handle}"),
    };
    let allowed = vec![handle.to_string()];
    Ok(candidate(rank, bytes, Item { shown: Shown::State(shown), allowed, locked: None, written, body }))
}

fn of_compaction(made: &compaction::Compaction, event: u64) -> Result<Candidate<Item>, CanonicalError> {
    let output = made.lines.join("\n");
    let shown = CompactionItem {
        compaction_id: made.compaction_id.to_string(),
        purpose: made.purpose.to_owned(),
        input_handles: made.input_handles.iter().map(Digest::to_string).collect(),
        output: output.clone(),
    };
    let bytes = canonical::encode(&shown)?.len();
    let rank = Rank {
        group: group::COMPACTIONS,
        shared: Reverse(0),
        event: Reverse(event),
        slice: Slice::CompactionsSlice,
        id: made.compaction_id.to_string(),
    };
    let allowed = made.allowmention_handles.iter().map(Digest::to_string).collect();
    Ok(candidate(
        rank,
        bytes,
        Item { shown: Shown::Compaction(shown), allowed, locked: None, written: output.clone(), body: output },
    ))
}

fn join(body: &mut String, text: &str) {
    if !body.is_empty() {
        body.push('\n');
    }
    body.push_str(text);
}

/// Makes a candidate. Its size counts every comma and quotation mark that the item and its handles can add.
fn candidate(rank: Rank, bytes: usize, item: Item) -> Candidate<Item> {
    // Handles are ASCII without quotation marks and backslashes, so none of their characters is escaped.
    let handles: usize = item.allowed.iter().chain(&item.locked).map(|handle| handle.len() + 3).sum();
    Candidate { rank, bytes: (bytes + 1 + handles) as u64, item }
}
