//! What each event says. The fields are the memo's where it names them (spec 002, sections 5 and 8).

use crate::{handle::Handle, pins::Pins};
use lens::{Digest, Mode, canonical::Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How a recall roll ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The exact detail, for the scene.
    Success,
    /// The gist and no more.
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
    /// For good. Only the notebook's consent chain gives it.
    Campaign,
}

/// Whether a fact holds a precise detail that is locked until something unlocks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PrecisionTag {
    /// Gist only, until unlocked. The default.
    #[default]
    Locked,
    /// No detail that needs a lock.
    Unlocked,
}

/// Where a fact comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Who or what brought it in.
    pub source: Handle,
    /// The rule that says so; opening it (EV-021) unlocks the fact's detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_ref: Option<Handle>,
    /// What generated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_spec: Option<Handle>,
    /// The events it follows from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_ids: Vec<Handle>,
    /// The commits it follows from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commit_ids: Vec<Handle>,
}

/// Which pointer of the story changed.
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

/// What came of a check of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validation {
    /// It keeps to its constraints.
    Pass,
    /// It does not.
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
    /// EV-001: somebody asks for an exact detail.
    RecallRequest {
        /// The detail.
        detail_handle: Handle,
        /// Who asks.
        requester_id: Handle,
        /// In which scene.
        scene_id: Handle,
    }
    /// EV-002: the roll, as the Box validated it.
    RecallAttempt {
        /// The detail.
        detail_handle: Handle,
        /// Who rolled.
        roller_id: Handle,
        /// The skill that was rolled.
        skill_id: Handle,
        /// What the roll had to reach.
        dc: i64,
        /// What it reached.
        roll: i64,
        /// Success where the roll reaches the dc.
        outcome: Outcome,
    }
    /// EV-003: what was given after the roll.
    RecallResult {
        /// The detail.
        detail_handle: Handle,
        /// The attempt's outcome.
        outcome: Outcome,
        /// What was given: for a failure never the exact detail.
        payload_handle: Handle,
    }
    /// EV-010: may this be written into the notebook?
    NotebookWriteConsentRequested {
        /// The request.
        request_id: Handle,
        /// What is to be written.
        content_handles: BTreeSet<Handle>,
        /// Who asks.
        requester_id: Handle,
        /// In which scene.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scene_id: Option<Handle>,
    }
    /// EV-011: yes.
    NotebookWriteConsentGranted {
        /// The request.
        request_id: Handle,
        /// The player who consents.
        granter_id: Handle,
    }
    /// EV-012: no.
    NotebookWriteConsentDenied {
        /// The request.
        request_id: Handle,
        /// The player who does not consent.
        denier_id: Handle,
    }
    /// EV-013: it is written; the recorded details are unlocked for the campaign.
    NotebookWriteApplied {
        /// The granted request.
        request_id: Handle,
        /// What was written: nothing beyond the request.
        content_handles: BTreeSet<Handle>,
    }
    /// EV-020: a setting of the reading spot changed.
    ReadingSpotSettingChanged {
        /// The setting.
        setting: Handle,
        /// Its value from now on.
        value: Value,
    }
    /// EV-021: a rule was opened. Refused until a revision that adds EV-021 is recorded.
    RuleRefOpened {
        /// The rule.
        rule_ref: Handle,
        /// In which scene.
        scene_id: Handle,
        /// Who opened it.
        actor_id: Handle,
        /// For how long: scene or session.
        unlock_scope: Scope,
    }
    /// EV-030: the table does something else now.
    ModeChanged {
        /// What it does.
        mode: Mode,
    }
    /// EV-031: a scene starts.
    SceneStart {
        /// The scene.
        scene_id: Handle,
        /// The session; another one than before ends what was unlocked for the session before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<Handle>,
        /// The scene's caps.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        caps: BTreeMap<Handle, i64>,
    }
    /// EV-032: a scene ends, and with it what was unlocked for it.
    SceneEnd {
        /// The scene.
        scene_id: Handle,
    }
    /// EV-033: a nudge was selected.
    NudgeSelected {
        /// The nudge.
        nudge_id: Handle,
        /// In which scene.
        scene_id: Handle,
    }
    /// EV-034: a nudge was suppressed.
    NudgeSuppressed {
        /// The nudge.
        nudge_id: Handle,
        /// In which scene.
        scene_id: Handle,
        /// Why.
        reason: Handle,
    }
    /// EV-107: roleplay playback paused. Playback, not recall.
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
    /// EV-120: a roleplay rendering was validated. Not a selection of models.
    RoleplayValidated {
        /// The rendering.
        rendering_id: Handle,
        /// What came of it.
        validation: Validation,
    }
    /// EV-121: a fallback stands in for a roleplay rendering.
    RoleplayFallback {
        /// The rendering.
        rendering_id: Handle,
        /// The fallback.
        fallback_id: Handle,
    }
    /// EV-ORC-001: a revision of the event contract, explicit and recorded.
    RevisionRecorded {
        /// The revision.
        revision_id: Handle,
        /// The event ids that it adds; there is only EV-021 to add.
        adds: BTreeSet<Handle>,
        /// Why.
        reason: String,
        /// Who decided.
        recorded_by: Handle,
    }
    /// EV-ORC-002: a world was committed with its pins.
    WorldCommitted {
        /// The world.
        world_id: Handle,
        /// What a rebuild must find unchanged.
        pins: Pins,
    }
    /// EV-ORC-003: pins changed by an explicit revision.
    PinsRevised {
        /// The revision.
        revision_id: Handle,
        /// All pins from now on.
        pins: Pins,
        /// Why.
        reason: String,
    }
    /// EV-ORC-004: a fact entered the ledger.
    FactCommitted {
        /// The content address; the log fills it in when it is absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fact_id: Option<Digest>,
        /// WORLD_RULE, NPC_IDENTITY, LOCATION, FACTION_LAW, CLUE, ITEM_LORE, QUEST_STATE, …
        kind: Handle,
        /// The exact content.
        payload: Value,
        /// Where it comes from.
        provenance: Provenance,
        /// The modes in which it may be seen; in none when empty.
        visibility_mask: BTreeSet<Mode>,
        /// LOCKED unless said otherwise.
        #[serde(default)]
        precision_tag: PrecisionTag,
        /// The author's key.
        stable_key: Handle,
        /// The handle by which a locked detail is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail_handle: Option<Handle>,
        /// What is shown instead of a locked payload.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gist: Option<String>,
        /// The exact strings that are locked; without them every string and integer of the payload is.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        precision_tokens: BTreeSet<String>,
    }
    /// EV-ORC-005: a fact is no longer canon; compactions of it are purged.
    FactWithdrawn {
        /// The fact.
        fact_id: Digest,
        /// Why.
        reason: String,
    }
    /// EV-ORC-006: a pointer of the story moved.
    StoryPointerChanged {
        /// Which kind.
        pointer: PointerKind,
        /// The thread, clock or region.
        handle: Handle,
        /// Where it stands now; null removes it.
        value: Value,
    }
    /// EV-ORC-007: a summary of facts is wanted.
    CompactionRequested {
        /// How it is made and what for.
        compaction_policy_id: Handle,
        /// The facts, in the order in which they are summarised.
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
    /// EV-ORC-010: a picture that passed entered a pool.
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
        /// Where its pictures are delivered.
        surface: Handle,
    }
    /// EV-ORC-012: the subject's key is destroyed; the log ends.
    SubjectErased {
        /// The subject, as a keyed id.
        subject: Handle,
        /// On whose behalf.
        requested_by: Handle,
        /// Why.
        reason: String,
    }
}
