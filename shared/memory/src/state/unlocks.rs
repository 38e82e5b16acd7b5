//! Unlocks (Memory Contract, section 4.4): default deny, persistent, auditable. Every unlock names the event that
//! created it and, when it ends, the event that ended it.

use crate::{
    event::{Outcome, Scope},
    handle::Handle,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The source of an unlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnlockSource {
    /// The notebook's consent chain.
    Notebook,
    /// An opened rule.
    RuleRef,
    /// A recall roll.
    RecallRoll,
}

/// One unlock, in force or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unlock {
    /// Its source.
    pub source: UnlockSource,
    /// The event that created it.
    pub event: u64,
    /// Its duration.
    pub scope: Scope,
    /// The scene or session that it belongs to.
    pub place: Option<Handle>,
    /// The event that ended it.
    pub ended_by: Option<u64>,
}

impl Unlock {
    pub(super) const fn new(source: UnlockSource, event: u64, scope: Scope, place: Option<Handle>) -> Self {
        Self { source, event, scope, place, ended_by: None }
    }
}

/// Unlocked details and rules, with their history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnlockState {
    details: BTreeMap<Handle, Vec<Unlock>>,
    rule_refs: BTreeMap<Handle, Vec<Unlock>>,
    /// The details (false) and rules (true) that have unlocks with an end.
    #[serde(skip)]
    scoped: Vec<(bool, Handle)>,
}

impl UnlockState {
    /// The unlock of a detail that is in force in a scene and was created after the event `since`: an older unlock does
    /// not unlock content that is committed later.
    #[must_use]
    pub fn detail(&self, handle: &str, scene: Option<&Handle>, since: u64) -> Option<&Unlock> {
        self.details.get(handle)?.iter().find(|unlock| unlock.event > since && is_in_force(unlock, scene))
    }

    /// The same for a rule.
    #[must_use]
    pub fn rule(&self, rule_ref: &str, scene: Option<&Handle>, since: u64) -> Option<&Unlock> {
        self.rule_refs.get(rule_ref)?.iter().find(|unlock| unlock.event > since && is_in_force(unlock, scene))
    }

    /// The rules that are open in a scene, with the widest scope of each.
    pub fn open_rules<'a>(&'a self, scene: Option<&'a Handle>) -> impl Iterator<Item = (&'a Handle, Scope)> {
        self.rule_refs.iter().filter_map(move |(rule, unlocks)| {
            let scopes = unlocks.iter().filter(|unlock| is_in_force(unlock, scene)).map(|unlock| unlock.scope);
            Some((rule, scopes.max()?))
        })
    }

    /// All unlocks of a detail, for audits.
    #[must_use]
    pub fn history(&self, handle: &str) -> &[Unlock] {
        self.details.get(handle).map_or(&[], Vec::as_slice)
    }

    pub(super) fn unlock_detail(&mut self, handle: Handle, unlock: Unlock) {
        if unlock.scope != Scope::Campaign {
            self.scoped.push((false, handle.clone()));
        }
        self.details.entry(handle).or_default().push(unlock);
    }

    pub(super) fn unlock_rule(&mut self, rule_ref: Handle, unlock: Unlock) {
        if unlock.scope != Scope::Campaign {
            self.scoped.push((true, rule_ref.clone()));
        }
        self.rule_refs.entry(rule_ref).or_default().push(unlock);
    }

    /// Ends every unlock of a scope.
    pub(super) fn end(&mut self, scope: Scope, by: u64) {
        self.end_where(by, |unlock| unlock.scope == scope);
    }

    /// Ends the unlocks of a scene.
    pub(super) fn end_scene(&mut self, scene: &Handle, by: u64) {
        self.end_where(by, |unlock| unlock.scope == Scope::Scene && unlock.place.as_ref() == Some(scene));
    }

    fn end_where(&mut self, by: u64, ends: impl Fn(&Unlock) -> bool) {
        let (details, rules) = (&mut self.details, &mut self.rule_refs);
        self.scoped.retain(|(is_rule, handle)| {
            let Some(unlocks) = (if *is_rule { &mut *rules } else { &mut *details }).get_mut(handle) else {
                return false;
            };
            for unlock in unlocks.iter_mut().filter(|unlock| unlock.ended_by.is_none() && ends(unlock)) {
                unlock.ended_by = Some(by);
            }
            unlocks.iter().any(|unlock| unlock.ended_by.is_none() && unlock.scope != Scope::Campaign)
        });
    }
}

fn is_in_force(unlock: &Unlock, scene: Option<&Handle>) -> bool {
    unlock.ended_by.is_none() && (unlock.scope != Scope::Scene || unlock.place.as_ref() == scene)
}

/// A recall request without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenRecall {
    /// The requester.
    pub requester_id: Handle,
    /// The scene.
    pub scene_id: Handle,
    /// The roll's outcome, after the roll.
    pub outcome: Option<Outcome>,
}

/// The status of a request for a notebook entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsentStatus {
    /// No decision yet.
    Requested,
    /// The entry may be written.
    Granted,
    /// The entry may not be written.
    Denied,
    /// The entry is written.
    Applied,
}

/// A request for a notebook entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Consent {
    /// The details to be written.
    pub content_handles: BTreeSet<Handle>,
    /// The requester.
    pub requester_id: Handle,
    /// The event that requested it.
    pub requested_by: u64,
    /// The status.
    pub status: ConsentStatus,
    /// The last event that changed the status.
    pub decided_by: Option<u64>,
}

impl Consent {
    pub(super) const fn requested(content_handles: BTreeSet<Handle>, requester_id: Handle, event: u64) -> Self {
        let status = ConsentStatus::Requested;
        Self { content_handles, requester_id, requested_by: event, status, decided_by: None }
    }
}
