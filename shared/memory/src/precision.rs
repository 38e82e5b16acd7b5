//! Precision tokens (Memory Contract, section 5; HL-005, RR-002, PC-006): exact details that are locked by default.
//! Until they are unlocked, only the gist may be shown.

use crate::{
    event::FactCommitted,
    handle::Handle,
    numbers,
    state::{Fact, Refusal, State},
};
use filter::Watchlist;
use lens::canonical::Value;
use std::collections::BTreeSet;

/// The strings that are locked with a fact: those that its author names, or else every string and integer of the
/// payload.
#[must_use]
pub fn tokens(fact: &FactCommitted) -> BTreeSet<String> {
    if !fact.precision_tokens.is_empty() {
        return fact.precision_tokens.clone();
    }
    let mut tokens = BTreeSet::new();
    leaves(&fact.payload, &mut |text| {
        if Watchlist::is_watchable(text) {
            tokens.insert(text.to_owned());
        }
    });
    tokens
}

fn leaves(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Integer(number) => each(&number.to_string()),
        Value::Text(text) => each(text),
        Value::List(items) => items.iter().for_each(|item| leaves(item, each)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, each)),
    }
}

/// Refuses a locked fact whose visible part contains one of its own tokens, as written or disguised.
pub(crate) fn check_commit(fact: &FactCommitted) -> Result<(), Refusal> {
    if fact.precision_tokens.iter().any(|token| !Watchlist::is_watchable(token)) {
        return Err(Refusal::Fact("a precision token has neither a letter nor a digit"));
    }
    let locked = Locked::new(tokens(fact));
    let provenance = &fact.provenance;
    let sources = [Some(&provenance.source), provenance.rule_ref.as_ref(), provenance.generator_spec.as_ref()];
    let sources = sources.into_iter().flatten().chain(&provenance.event_ids).chain(&provenance.commit_ids);
    let visible = [
        ("gist", fact.gist.as_deref()),
        ("kind", Some(fact.kind.as_str())),
        ("stable_key", Some(fact.stable_key.as_str())),
        ("detail_handle", fact.detail_handle.as_ref().map(Handle::as_str)),
    ];
    let visible = visible.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let sources = sources.map(|source| ("provenance", source.as_str()));
    match visible.chain(sources).find(|(_, text)| locked.is_in(text)) {
        Some((name, _)) => Err(Refusal::Leak(name)),
        None => Ok(()),
    }
}

/// The locked tokens, indexed for the search.
#[derive(Debug, Default)]
pub struct Locked {
    watchlist: Watchlist,
}

impl Locked {
    /// Makes the search index of these tokens.
    #[must_use]
    pub fn new(tokens: impl IntoIterator<Item = String>) -> Self {
        let tokens: Vec<String> = tokens.into_iter().collect();
        Self { watchlist: Watchlist::new(tokens.iter().map(String::as_str)) }
    }

    /// The locked tokens of a scene: those of every locked fact of the canon, visible or masked, without those that an
    /// unlocked fact already shows.
    #[must_use]
    pub fn of(state: &State, scene: Option<&Handle>) -> Self {
        let (mut locked, mut unlocked) = (BTreeSet::new(), BTreeSet::new());
        for (_, fact) in state.facts().canon().filter(|(_, fact)| fact.content.is_locked_by_default()) {
            let set = if is_unlocked(state, fact, scene) { &mut unlocked } else { &mut locked };
            set.append(&mut tokens(&fact.content));
        }
        locked.retain(|token| !unlocked.contains(token));
        Self::new(locked)
    }

    /// Whether a text contains a locked token, as written, disguised, or spelled out in words for numbers.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        if self.watchlist.is_empty() {
            return false;
        }
        self.watchlist.find(text).is_some()
            || numbers::readings(text).iter().any(|digits| self.watchlist.find(digits).is_some())
    }
}

/// Whether a fact's exact payload may be shown in a scene: the fact was never locked, its detail is unlocked, or the
/// rule that it comes from is open.
#[must_use]
pub fn is_unlocked(state: &State, fact: &Fact, scene: Option<&Handle>) -> bool {
    if !fact.content.is_locked_by_default() {
        return true;
    }
    let since = fact.created_event_id;
    let by_id = fact.content.fact_id.map(|id| id.to_string());
    let handles = [fact.content.detail_handle.as_ref().map(Handle::as_str), by_id.as_deref()];
    let rule = fact.content.provenance.rule_ref.as_ref();
    handles.into_iter().flatten().any(|handle| state.unlocks().detail(handle, scene, since).is_some())
        || rule.is_some_and(|rule| state.unlocks().rule(rule.as_str(), scene, since).is_some())
}
