//! The state computed from a log. [`State::check`] decides whether an event may follow; [`State::apply`] cannot fail.

mod check;
mod facts;
mod images;
mod refusal;
mod story;
mod unlocks;

pub use facts::{Fact, FactsLedger};
pub use images::{ImageLedger, PooledAsset};
pub use refusal::Refusal;
pub use story::{NudgeState, PlaybackState, RoleplayState, StoryState};
pub use unlocks::{Consent, ConsentStatus, OpenRecall, Unlock, UnlockSource, UnlockState};

use crate::{
    event::{Event, EventId, Outcome, Payload, PointerKind, Scope},
    handle::Handle,
    pins::Pins,
    recipe::Recipe,
};
use lens::{
    Digest, Domain,
    canonical::{self, CanonicalError, Value},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The state of one campaign, computed from its events alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct State {
    /// The number of applied events, which is the sequence number of the last one.
    pub(crate) events: u64,
    pub(crate) erased_by: Option<u64>,
    pub(crate) revisions: BTreeMap<Handle, Revision>,
    pub(crate) pins: PinLedger,
    pub(crate) story: StoryState,
    pub(crate) facts: FactsLedger,
    pub(crate) unlocks: UnlockState,
    pub(crate) recalls: BTreeMap<Handle, OpenRecall>,
    pub(crate) notebook: BTreeMap<Handle, Consent>,
    pub(crate) compactions: BTreeMap<Digest, Recipe>,
    pub(crate) images: ImageLedger,
    pub(crate) playback: BTreeMap<Handle, PlaybackState>,
    pub(crate) roleplay: BTreeMap<Handle, RoleplayState>,
}

/// A recorded revision of the event contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Revision {
    /// The event ids that it adds.
    pub adds: BTreeSet<Handle>,
    /// The event that recorded it.
    pub event: u64,
}

/// The pins, and the events that set them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PinLedger {
    /// The pins in force.
    pub pins: Pins,
    /// The events that set them, oldest first: the commit, then every revision.
    pub set_by: Vec<u64>,
}

impl State {
    /// The number of applied events.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// The facts.
    #[must_use]
    pub const fn facts(&self) -> &FactsLedger {
        &self.facts
    }

    /// The current and the ended unlocks.
    #[must_use]
    pub const fn unlocks(&self) -> &UnlockState {
        &self.unlocks
    }

    /// The story's pointers.
    #[must_use]
    pub const fn story(&self) -> &StoryState {
        &self.story
    }

    /// The pins in force.
    #[must_use]
    pub const fn pins(&self) -> &Pins {
        &self.pins.pins
    }

    /// The requested compactions.
    #[must_use]
    pub const fn compactions(&self) -> &BTreeMap<Digest, Recipe> {
        &self.compactions
    }

    /// Pictures: requests, pools, bindings.
    #[must_use]
    pub const fn images(&self) -> &ImageLedger {
        &self.images
    }

    /// Whether the subject was erased: no event may follow then.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.erased_by.is_some()
    }

    /// Whether a recorded revision adds an event id.
    #[must_use]
    pub fn adds(&self, id: EventId) -> bool {
        self.revisions.values().any(|revision| revision.adds.iter().any(|added| added.as_str() == id.as_str()))
    }

    /// The hash of the whole state.
    ///
    /// # Errors
    /// [`CanonicalError`] when a number is outside the profile's range.
    pub fn hash(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(Domain::State, &canonical::encode(self)?))
    }

    /// Applies an event without checking it: `append` has checked it.
    pub fn apply(&mut self, event: Event) {
        self.events += 1;
        let seq = self.events;
        match event.payload {
            Payload::RecallRequest(it) => {
                let open = OpenRecall { requester_id: it.requester_id, scene_id: it.scene_id, outcome: None };
                self.recalls.insert(it.detail_handle, open);
            }
            Payload::RecallAttempt(it) => {
                if let Some(open) = self.recalls.get_mut(&it.detail_handle) {
                    open.outcome = Some(it.outcome);
                }
            }
            Payload::RecallResult(it) => {
                if let Some(open) = self.recalls.remove(&it.detail_handle)
                    && it.outcome == Outcome::Success
                {
                    let unlock = Unlock::new(UnlockSource::RecallRoll, seq, Scope::Scene, Some(open.scene_id));
                    self.unlocks.unlock_detail(it.detail_handle, unlock);
                }
            }
            Payload::NotebookWriteConsentRequested(it) => {
                self.notebook.insert(it.request_id, Consent::requested(it.content_handles, it.requester_id, seq));
            }
            Payload::NotebookWriteConsentGranted(it) => self.consent(&it.request_id, ConsentStatus::Granted, seq),
            Payload::NotebookWriteConsentDenied(it) => self.consent(&it.request_id, ConsentStatus::Denied, seq),
            Payload::NotebookWriteApplied(it) => {
                self.consent(&it.request_id, ConsentStatus::Applied, seq);
                for handle in it.content_handles {
                    self.unlocks.unlock_detail(handle, Unlock::new(UnlockSource::Notebook, seq, Scope::Campaign, None));
                }
            }
            Payload::ReadingSpotSettingChanged(it) => {
                self.story.reading_spot.insert(it.setting, it.value);
            }
            Payload::RuleRefOpened(it) => {
                let place = match it.unlock_scope {
                    Scope::Session => self.story.session_id.clone(),
                    Scope::Scene | Scope::Campaign => Some(it.scene_id),
                };
                let unlock = Unlock::new(UnlockSource::RuleRef, seq, it.unlock_scope, place);
                self.unlocks.unlock_rule(it.rule_ref, unlock);
            }
            Payload::ModeChanged(it) => self.story.mode = it.mode,
            Payload::SceneStart(it) => {
                if it.session_id.is_some() && it.session_id != self.story.session_id {
                    self.unlocks.end(Scope::Session, seq);
                    self.story.session_id = it.session_id;
                }
                self.unlocks.end(Scope::Scene, seq);
                self.recalls.clear();
                self.story.start_scene(it.scene_id, it.caps);
            }
            Payload::SceneEnd(it) => {
                self.unlocks.end_scene(&it.scene_id, seq);
                self.recalls.retain(|_, open| open.scene_id != it.scene_id);
                self.story.end_scene(&it.scene_id);
            }
            Payload::NudgeSelected(it) => {
                self.story.nudges.insert(it.nudge_id, NudgeState::Selected);
            }
            Payload::NudgeSuppressed(it) => {
                self.story.nudges.insert(it.nudge_id, NudgeState::Suppressed);
            }
            Payload::PlaybackPaused(it) => {
                self.playback.insert(it.playback_id, PlaybackState::Paused);
            }
            Payload::PlaybackResumed(it) => {
                self.playback.insert(it.playback_id, PlaybackState::Running);
            }
            Payload::PlaybackAborted(it) => {
                self.playback.insert(it.playback_id, PlaybackState::Aborted);
            }
            Payload::RoleplayValidated(it) => {
                self.roleplay.entry(it.rendering_id).or_default().validation = Some(it.validation);
            }
            Payload::RoleplayFallback(it) => {
                self.roleplay.entry(it.rendering_id).or_default().fallback_id = Some(it.fallback_id);
            }
            Payload::RevisionRecorded(it) => {
                self.revisions.insert(it.revision_id, Revision { adds: it.adds, event: seq });
            }
            Payload::WorldCommitted(it) => {
                self.story.world_id = Some(it.world_id);
                self.pins = PinLedger { pins: it.pins, set_by: vec![seq] };
            }
            Payload::PinsRevised(it) => {
                self.pins.pins = it.pins;
                self.pins.set_by.push(seq);
            }
            Payload::FactCommitted(it) => self.facts.commit(it, seq),
            Payload::FactWithdrawn(it) => {
                self.end_requests_for(&it.fact_id);
                self.facts.withdraw(&it.fact_id, seq);
                self.compactions.retain(|_, recipe| !recipe.input_handles.contains(&it.fact_id));
            }
            Payload::StoryPointerChanged(it) => {
                let pointers = match it.pointer {
                    PointerKind::Thread => &mut self.story.threads,
                    PointerKind::Clock => &mut self.story.clocks,
                    PointerKind::Region => &mut self.story.regions,
                };
                if it.value == Value::Null {
                    pointers.remove(&it.handle);
                } else {
                    pointers.insert(it.handle, it.value);
                }
            }
            Payload::CompactionRequested(it) => {
                let recipe = Recipe { policy_id: it.compaction_policy_id, input_handles: it.input_handles, event: seq };
                self.compactions.insert(recipe.id(), recipe);
            }
            Payload::CompactionDeleted(it) => {
                self.compactions.remove(&it.compaction_id);
            }
            Payload::ImageRequested(it) => self.images.request(it.request_hash, it.request_spec),
            Payload::AssetPooled(it) => self.images.pool(it),
            Payload::PoolBound(it) => self.images.bind(it),
            Payload::SubjectErased(_) => self.erased_by = Some(seq),
        }
    }

    /// Ends the recalls and the consents for a fact that is withdrawn: otherwise they would hold for another fact that
    /// gets its handle.
    fn end_requests_for(&mut self, fact_id: &Digest) {
        let detail =
            self.facts.get(fact_id).and_then(|fact| fact.content.detail_handle.as_ref()).map(Handle::to_string);
        for name in detail.into_iter().chain([fact_id.to_string()]) {
            self.recalls.remove(name.as_str());
            let open = [ConsentStatus::Requested, ConsentStatus::Granted];
            for consent in self.notebook.values_mut().filter(|consent| open.contains(&consent.status)) {
                consent.content_handles.remove(name.as_str());
            }
        }
    }

    fn consent(&mut self, request: &Handle, status: ConsentStatus, seq: u64) {
        if let Some(consent) = self.notebook.get_mut(request) {
            consent.status = status;
            consent.decided_by = Some(seq);
        }
    }
}
