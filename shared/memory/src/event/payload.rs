//! The payload of each event. The fields have the memo's names where the memo names them (Memory Contract, sections 5
//! and 8).
//! The file has more than 300 lines because it has one structure for every event, with each field documented.

use crate::{handle::Handle, pins::Pins};
use lens::{Digest, Mode, canonical::Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The outcome of a recall roll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The player gets the exact detail for the scene.
    Success,
    /// The player gets only the gist.
    Fail,
}

/// How long an unlocked detail stays unlocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Until the scene ends.
    Scene,
    /// Until the session ends.
    Session,
    /// For the whole campaign. Only the notebook's consent chain gives this scope.
    Campaign,
}

/// Whether a fact holds a precise detail that is locked by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PrecisionTag {
    /// Only the gist is shown until the detail is unlocked. The default.
    #[default]
    Locked,
    /// The fact has no detail that needs a lock.
    Unlocked,
}

/// The provenance of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The person or component that added the fact.
    pub source: Handle,
    /// The rule that the fact comes from; opening it (EV-021) unlocks the fact's detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_ref: Option<Handle>,
    /// The generator of the fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_spec: Option<Handle>,
    /// The events it follows from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_ids: Vec<Handle>,
    /// The commits it follows from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commit_ids: Vec<Handle>,
}

/// The kind of a story pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointerKind {
    /// A thread of the story.
    Thread,
    /// A clock that counts towards something.
    Clock,
    /// A region.
    Region,
}

/// The result of validating a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validation {
    /// The rendering satisfies its constraints.
    Pass,
    /// The rendering violates a constraint.
    Fail,
}

macro_rules! payload {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $kind:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $kind,)* }
    )*};
}

payload! {
    /// EV-001: a player asks for an exact detail.
    RecallRequest {
        /// The detail.
        detail_handle: Handle,
        /// The requester.
        requester_id: Handle,
        /// The scene.
        scene_id: Handle,
    }
    /// EV-002: the roll that the Box validated.
    RecallAttempt {
        /// The detail.
        detail_handle: Handle,
        /// The roller.
        roller_id: Handle,
        /// The skill that was rolled.
        skill_id: Handle,
        /// The difficulty class: the least roll that succeeds.
        dc: i64,
        /// The number rolled.
        roll: i64,
        /// Success if the roll reaches the dc.
        outcome: Outcome,
    }
    /// EV-003: the content that the player got after the roll.
    RecallResult {
        /// The detail.
        detail_handle: Handle,
        /// The attempt's outcome.
        outcome: Outcome,
        /// The handle of the content. After a failure it is never the exact detail.
        payload_handle: Handle,
    }
    /// EV-010: consent to a notebook entry is requested.
    NotebookWriteConsentRequested {
        /// The request.
        request_id: Handle,
        /// The details to be written.
        content_handles: BTreeSet<Handle>,
        /// The requester.
        requester_id: Handle,
        /// The scene.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scene_id: Option<Handle>,
    }
    /// EV-011: a player consents.
    NotebookWriteConsentGranted {
        /// The request.
        request_id: Handle,
        /// The player who consents.
        granter_id: Handle,
    }
    /// EV-012: a player denies consent.
    NotebookWriteConsentDenied {
        /// The request.
        request_id: Handle,
        /// The player who does not consent.
        denier_id: Handle,
    }
    /// EV-013: the entry is written; the recorded details are unlocked for the campaign.
    NotebookWriteApplied {
        /// The granted request.
        request_id: Handle,
        /// The details written, all of them named in the request.
        content_handles: BTreeSet<Handle>,
    }
    /// EV-020: a setting of the reading spot changed.
    ReadingSpotSettingChanged {
        /// The setting.
        setting: Handle,
        /// Its new value.
        value: Value,
    }
    /// EV-021: a rule was opened. Refused until a revision that adds EV-021 is recorded.
    RuleRefOpened {
        /// The rule.
        rule_ref: Handle,
        /// The scene.
        scene_id: Handle,
        /// The person who opened it.
        actor_id: Handle,
        /// The duration: scene or session.
        unlock_scope: Scope,
    }
    /// EV-030: the table changes its mode.
    ModeChanged {
        /// The new mode.
        mode: Mode,
    }
    /// EV-031: a scene starts.
    SceneStart {
        /// The scene.
        scene_id: Handle,
        /// The session; a new session ends the unlocks of the previous one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<Handle>,
        /// The scene's caps.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        caps: BTreeMap<Handle, i64>,
    }
    /// EV-032: a scene ends, and its unlocks end with it.
    SceneEnd {
        /// The scene.
        scene_id: Handle,
    }
    /// EV-033: a nudge was selected.
    NudgeSelected {
        /// The nudge.
        nudge_id: Handle,
        /// The scene.
        scene_id: Handle,
    }
    /// EV-034: a nudge was suppressed.
    NudgeSuppressed {
        /// The nudge.
        nudge_id: Handle,
        /// The scene.
        scene_id: Handle,
        /// The reason.
        reason: Handle,
    }
    /// EV-107: roleplay playback paused. Concerns playback, not recall.
    PlaybackPaused {
        /// The playback.
        playback_id: Handle,
    }
    /// EV-108: roleplay playback resumed.
    PlaybackResumed {
        /// The playback.
        playback_id: Handle,
    }
    /// EV-109: roleplay playback aborted.
    PlaybackAborted {
        /// The playback.
        playback_id: Handle,
    }
    /// EV-120: a roleplay rendering was validated. Does not select models.
    RoleplayValidated {
        /// The rendering.
        rendering_id: Handle,
        /// The result.
        validation: Validation,
    }
    /// EV-121: a fallback replaces a roleplay rendering.
    RoleplayFallback {
        /// The rendering.
        rendering_id: Handle,
        /// The fallback.
        fallback_id: Handle,
    }
    /// EV-ORC-001: a revision of the event contract was recorded.
    RevisionRecorded {
        /// The revision.
        revision_id: Handle,
        /// The event ids that it adds; only EV-021 can be added.
        adds: BTreeSet<Handle>,
        /// The reason.
        reason: String,
        /// The person who decided.
        recorded_by: Handle,
    }
    /// EV-ORC-002: a world was committed with its pins.
    WorldCommitted {
        /// The world.
        world_id: Handle,
        /// The pins that a rebuild must find unchanged.
        pins: Pins,
    }
    /// EV-ORC-003: a recorded revision changed the pins.
    PinsRevised {
        /// The revision.
        revision_id: Handle,
        /// All pins after the revision.
        pins: Pins,
        /// The reason.
        reason: String,
    }
    /// EV-ORC-004: a fact was added to the ledger.
    FactCommitted {
        /// The content address; the log computes it when it is absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fact_id: Option<Digest>,
        /// WORLD_RULE, NPC_IDENTITY, LOCATION, FACTION_LAW, CLUE, ITEM_LORE, QUEST_STATE, …
        kind: Handle,
        /// The exact content.
        payload: Value,
        /// The provenance.
        provenance: Provenance,
        /// The modes in which the fact is visible; an empty set hides it in every mode.
        visibility_mask: BTreeSet<Mode>,
        /// LOCKED by default.
        #[serde(default)]
        precision_tag: PrecisionTag,
        /// The author's key.
        stable_key: Handle,
        /// The handle that a recall request for the locked detail names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail_handle: Option<Handle>,
        /// The text shown instead of a locked payload.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gist: Option<String>,
        /// The exact strings that are locked. If empty, every string and integer of the payload is locked.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        precision_tokens: BTreeSet<String>,
    }
    /// EV-ORC-005: a fact is no longer canon; compactions of it are purged.
    FactWithdrawn {
        /// The fact.
        fact_id: Digest,
        /// The reason.
        reason: String,
    }
    /// EV-ORC-006: a pointer of the story moved.
    StoryPointerChanged {
        /// The kind of pointer.
        pointer: PointerKind,
        /// The thread, clock or region.
        handle: Handle,
        /// The new value; null removes the pointer.
        value: Value,
    }
    /// EV-ORC-007: a summary of facts is requested.
    CompactionRequested {
        /// The policy, which gives method and purpose.
        compaction_policy_id: Handle,
        /// The facts, in the order of the summary.
        input_handles: Vec<Digest>,
    }
    /// EV-ORC-008: a summary is deleted.
    CompactionDeleted {
        /// The compaction.
        compaction_id: Digest,
    }
    /// EV-ORC-009: a picture was requested.
    ImageRequested {
        /// The request's canonical content.
        request_spec: Value,
        /// Its hash.
        request_hash: Digest,
    }
    /// EV-ORC-010: a picture that passed the quality director was added to a pool.
    AssetPooled {
        /// The hash of its metadata.
        asset_id: Digest,
        /// The hash of its bytes.
        bytes_hash: Digest,
        /// The request.
        request_hash: Digest,
        /// The pool.
        pool_id: Handle,
        /// Its weight in the draw, at least 1.
        weight: i64,
    }
    /// EV-ORC-011: a pool was bound to a surface.
    PoolBound {
        /// The pool.
        pool_id: Handle,
        /// The surface that shows the pool's pictures.
        surface: Handle,
    }
    /// EV-ORC-012: the subject's key is destroyed; the log ends.
    SubjectErased {
        /// The subject, as a keyed id.
        subject: Handle,
        /// The person who asked for the erasure.
        requested_by: Handle,
        /// The reason.
        reason: String,
    }
}

impl FactCommitted {
    /// A fact without a lock that one mode shows: its payload is no secret of the log's owner.
    #[must_use]
    pub fn unlocked(source: Handle, kind: Handle, stable_key: Handle, mode: Mode, payload: Value) -> Self {
        Self {
            fact_id: None,
            kind,
            payload,
            provenance: Provenance {
                source,
                rule_ref: None,
                generator_spec: None,
                event_ids: Vec::new(),
                commit_ids: Vec::new(),
            },
            visibility_mask: [mode].into(),
            precision_tag: PrecisionTag::Unlocked,
            stable_key,
            detail_handle: None,
            gist: None,
            precision_tokens: BTreeSet::new(),
        }
    }
}
