//! The story's pointers (Memory Contract, section 4.2). Only events change them.

use crate::{event::Validation, handle::Handle};
use lens::{Mode, canonical::Value};
use serde::Serialize;
use std::collections::BTreeMap;

/// The current state of the story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoryState {
    /// The world, after its commit.
    pub world_id: Option<Handle>,
    /// The session.
    pub session_id: Option<Handle>,
    /// The open scene.
    pub scene_id: Option<Handle>,
    /// The table's mode.
    pub mode: Mode,
    /// The scene's caps.
    pub caps: BTreeMap<Handle, i64>,
    /// Threads.
    pub threads: BTreeMap<Handle, Value>,
    /// Clocks.
    pub clocks: BTreeMap<Handle, Value>,
    /// Regions.
    pub regions: BTreeMap<Handle, Value>,
    /// Settings of the reading spot.
    pub reading_spot: BTreeMap<Handle, Value>,
    /// The scene's nudges.
    pub nudges: BTreeMap<Handle, NudgeState>,
}

/// The state of a nudge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NudgeState {
    /// It was selected.
    Selected,
    /// It was suppressed.
    Suppressed,
}

/// The state of a roleplay playback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaybackState {
    /// It was resumed.
    Running,
    /// It is paused.
    Paused,
    /// It was aborted.
    Aborted,
}

/// The state of a roleplay rendering.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoleplayState {
    /// The result of its validation.
    pub validation: Option<Validation>,
    /// The fallback that replaces it.
    pub fallback_id: Option<Handle>,
}

impl StoryState {
    pub(super) fn start_scene(&mut self, scene_id: Handle, caps: BTreeMap<Handle, i64>) {
        self.scene_id = Some(scene_id);
        self.caps = caps;
        self.nudges.clear();
    }

    /// Ends the scene if it is open.
    pub(super) fn end_scene(&mut self, scene_id: &Handle) {
        if self.scene_id.as_ref() == Some(scene_id) {
            self.scene_id = None;
            self.caps.clear();
            self.nudges.clear();
        }
    }
}
