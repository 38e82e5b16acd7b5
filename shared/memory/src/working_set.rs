//! Builds working sets (Memory Contract, section 4.5): the same state, query and budget give the same bytes (Memory
//! Contract, ORC-C-002).

mod select;

use crate::{
    handle::Handle,
    pins::{PinMismatch, Pins},
    policy,
    precision::Locked,
    state::State,
    truncate::{Budget, Candidate, CutReason, Receipt, Slice, receipts_hash, truncate},
};
use lens::{
    CompactionItem, Digest, Domain, FactItem, Slices, StateItem, Truncation, WORKING_SET_SCHEMA, WorkingSet,
    WorkingSetContent, canonical::CanonicalError,
};
use std::collections::BTreeSet;

/// The arguments for building a working set.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The campaign.
    pub campaign_id: &'a Handle,
    /// The scene; by default the open one.
    pub scene_id: Option<&'a Handle>,
    /// The query. It orders the items; it unlocks nothing and is not part of the working set.
    pub query: &'a str,
    /// The greatest size.
    pub budget: Budget,
}

/// A working set, and receipts for the items left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The model's input.
    pub set: WorkingSet,
    /// The items that the mode allows but that were left out, for operators.
    pub receipts: Vec<Receipt>,
}

/// The reason why no working set is built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The subject was erased.
    #[error("the subject was erased: there is nothing to build from")]
    Erased,
    /// The running system differs from the pins (Memory Contract, ORC-PIN-ASSERT).
    #[error("{} pin(s) do not hold without a recorded revision; the first is {} of {}",
        .0.len(), .0.first().map_or("?", |pin| pin.name.as_str()), .0.first().map_or("?", |pin| pin.kind.as_str()))]
    Pins(Vec<PinMismatch>),
    /// The fixed part exceeds the budget.
    #[error("a budget of {budget} bytes is too small: without any item this working set has {needed} bytes")]
    Budget {
        /// The budget.
        budget: u64,
        /// The size of the fixed part.
        needed: u64,
    },
    /// A name that every working set shows contains a locked token.
    #[error("the {0} contains a locked precision token; rename it")]
    Leak(&'static str),
    /// The state holds a value that the profile refuses.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

/// An item that may be shown, with its handles.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    shown: Shown,
    /// The handles that may be mentioned precisely when the item is shown.
    allowed: Vec<String>,
    /// The locked detail, if only the gist is shown.
    locked: Option<String>,
    /// The words written by a person, which are searched for locked tokens.
    written: String,
    /// The part of those words that continues from one item to the next for a reader.
    body: String,
}

#[derive(Clone, Debug)]
enum Shown {
    Fact(FactItem),
    State(StateItem),
    Compaction(CompactionItem),
}

/// Builds a working set. `running` are the pins of the running system.
///
/// # Errors
/// [`BuildError`]
pub fn build(state: &State, request: &Request<'_>, running: &Pins) -> Result<Built, BuildError> {
    if state.is_erased() {
        return Err(BuildError::Erased);
    }
    let mismatches = state.pins().mismatches(running);
    if !mismatches.is_empty() {
        return Err(BuildError::Pins(mismatches));
    }
    let scene = request.scene_id.or(state.story().scene_id.as_ref());
    let locked = Locked::of(state, scene);
    let mut content = fixed_part(state, request, scene);
    check_names(&content, &locked)?;
    let candidates = select::candidates(state, scene, request.query)?;
    let (candidates, leaking): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|candidate| !locked.is_in(&candidate.item.written));
    let mut receipts: Vec<Receipt> = leaking.iter().map(|candidate| candidate.receipt(CutReason::Precision)).collect();

    let needed = WorkingSet::seal(content.clone())?.bytes().len() as u64;
    let budget = request.budget.bytes();
    let room = budget.checked_sub(needed).ok_or(BuildError::Budget { budget, needed })?;
    let (kept, cut) = truncate(candidates, room);
    receipts.extend(cut);
    let kept = without_split_tokens(kept, &locked, &mut receipts);
    receipts.sort_by(|a, b| (a.reason, a.slice, &a.id).cmp(&(b.reason, b.slice, &b.id)));

    fill(&mut content, kept);
    content.truncation.cut = receipts.iter().filter(|receipt| receipt.reason == CutReason::Budget).count() as u64;
    content.truncation.receipts_hash = receipts_hash(&receipts)?;
    Ok(Built { set: WorkingSet::seal(content)?, receipts })
}

/// A working set without items, at its greatest possible length.
fn fixed_part(state: &State, request: &Request<'_>, scene: Option<&Handle>) -> WorkingSetContent {
    let text = |handle: &Handle| handle.to_string();
    WorkingSetContent {
        schema: WORKING_SET_SCHEMA.to_owned(),
        world_id: state.story().world_id.as_ref().map(text),
        campaign_id: request.campaign_id.to_string(),
        scene_id: scene.map(text),
        mode: state.story().mode,
        policy_ids: policy::ids(!state.compactions().is_empty()),
        pins: state.pins().snapshot(),
        allowmention_handles: Vec::new(),
        locked_precision_handles: Vec::new(),
        slices: Slices::default(),
        directives: policy::directives(),
        // The longest possible count. The real one replaces it at the end and is never longer.
        truncation: Truncation { cut: 9_999_999_999, receipts_hash: Digest::of(Domain::Receipts, b"[]") },
    }
}

/// Refuses names with a locked token, because every working set shows them. Hashes hold no written words and are not
/// searched.
fn check_names(content: &WorkingSetContent, locked: &Locked) -> Result<(), BuildError> {
    let names = [
        ("world_id", content.world_id.as_deref()),
        ("campaign_id", Some(content.campaign_id.as_str())),
        ("scene_id", content.scene_id.as_deref()),
    ];
    let names = names.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let pins = content.pins.values().flatten().flat_map(|(name, value)| [("pin", name.as_str()), ("pin", value)]);
    match names.chain(pins).find(|(_, text)| !text.starts_with("sha256:") && locked.is_in(text)) {
        Some((name, _)) => Err(BuildError::Leak(name)),
        None => Ok(()),
    }
}

/// Drops every item that completes a locked token with the items that are written beside it. The canonical bytes have
/// the slices by name, so an item is often written before items of earlier ranks. It is checked in the order of the
/// ranks, so the later of two items goes, and a larger budget, which only adds items of later ranks, never loses one.
fn without_split_tokens(
    mut kept: Vec<Candidate<Item>>,
    locked: &Locked,
    receipts: &mut Vec<Receipt>,
) -> Vec<Candidate<Item>> {
    const OVERLAP: usize = 400;
    let mut written = <[String; 3]>::default();
    kept.retain(|candidate| {
        let place = match candidate.rank.slice {
            Slice::CompactionsSlice => 0,
            Slice::FactsSlice => 1,
            Slice::StateSlice => 2,
        };
        let (before, after) = written.split_at(place + 1);
        let before: Vec<char> = before.iter().rev().flat_map(|texts| texts.chars().rev()).take(OVERLAP).collect();
        let after = after.iter().flat_map(|texts| texts.chars()).take(OVERLAP);
        let body = format!("\n{}", candidate.item.body);
        let context: String = before.into_iter().rev().chain(body.chars()).chain(after).collect();
        let is_safe = !locked.is_in(&context);
        if is_safe {
            written[place].push_str(&body);
        } else {
            receipts.push(candidate.receipt(CutReason::Precision));
        }
        is_safe
    });
    kept
}

fn fill(content: &mut WorkingSetContent, kept: Vec<Candidate<Item>>) {
    let (mut allowed, mut locked) = (BTreeSet::new(), BTreeSet::new());
    for Candidate { item, .. } in kept {
        for handle in item.allowed {
            if allowed.insert(handle.clone()) {
                content.allowmention_handles.push(handle);
            }
        }
        if let Some(handle) = item.locked
            && locked.insert(handle.clone())
        {
            content.locked_precision_handles.push(handle);
        }
        match item.shown {
            Shown::Fact(fact) => content.slices.facts_slice.push(fact),
            Shown::State(state) => content.slices.state_slice.push(state),
            Shown::Compaction(compaction) => content.slices.compactions_slice.push(compaction),
        }
    }
    if content.slices.compactions_slice.is_empty() {
        content.policy_ids.compaction_policy_id = None;
    }
}
