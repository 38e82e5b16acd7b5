//! Routes a request for an exact detail (Memory Contract, section 5, "Routing").

use crate::{
    event::{Outcome, Payload, RecallAttempt, RecallRequest, RecallResult},
    handle::{Handle, InvalidHandle},
    precision,
    state::State,
};
use lens::canonical::Value;

/// The suffix of a detail's handle that names its exact content.
pub const EXACT: &str = "/exact";

/// The suffix of a detail's handle that names its gist.
pub const GIST: &str = "/gist";

/// The route of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// The detail is unlocked, and this is its content. No roll and no event.
    Exact(&'a Value),
    /// The detail is locked: append this event (EV-001), have the Box roll, and append the events of [`after_roll`].
    Roll(RecallRequest),
    /// The detail does not exist, or is not visible in this mode.
    Unknown,
}

/// Decides the route of a request for an exact detail.
#[must_use]
pub fn route<'a>(state: &'a State, detail: &Handle, requester: &Handle, scene: &Handle) -> Route<'a> {
    let Some((_, fact)) = state.facts().by_detail(detail.as_str()) else { return Route::Unknown };
    if !fact.content.visibility_mask.contains(&state.story().mode) {
        return Route::Unknown;
    }
    if precision::is_unlocked(state, fact, Some(scene)) {
        return Route::Exact(&fact.content.payload);
    }
    Route::Roll(RecallRequest {
        detail_handle: detail.clone(),
        requester_id: requester.clone(),
        scene_id: scene.clone(),
    })
}

/// A roll that the Box validated. The Oracle neither rolls nor decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roll {
    /// The roller.
    pub roller_id: Handle,
    /// The skill.
    pub skill_id: Handle,
    /// The difficulty class: the least roll that succeeds.
    pub dc: i64,
    /// The number rolled.
    pub roll: i64,
}

/// The events that follow a roll: EV-002 and EV-003. A success names the exact content, a failure the gist.
///
/// # Errors
/// [`InvalidHandle`] when the detail's handle with the suffix is too long.
pub fn after_roll(detail: &Handle, roll: Roll) -> Result<[Payload; 2], InvalidHandle> {
    let outcome = if roll.roll >= roll.dc { Outcome::Success } else { Outcome::Fail };
    let ending = if outcome == Outcome::Success { EXACT } else { GIST };
    let payload_handle = Handle::parse(format!("{detail}{ending}"))?;
    let Roll { roller_id, skill_id, dc, roll } = roll;
    let detail_handle = detail.clone();
    Ok([
        RecallAttempt { detail_handle: detail_handle.clone(), roller_id, skill_id, dc, roll, outcome }.into(),
        RecallResult { detail_handle, outcome, payload_handle }.into(),
    ])
}

/// The content that a player gets.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The exact content.
    Exact(&'a Value),
    /// The gist, if the fact has one: fuzzy or partial, never exact.
    Gist(Option<&'a str>),
}

/// The content that a player gets in a scene, after the events of the routing are appended.
#[must_use]
pub fn answer<'a>(state: &'a State, detail: &Handle, scene: &Handle) -> Option<Answer<'a>> {
    let (_, fact) = state.facts().by_detail(detail.as_str())?;
    if !fact.content.visibility_mask.contains(&state.story().mode) {
        return None;
    }
    Some(match precision::is_unlocked(state, fact, Some(scene)) {
        true => Answer::Exact(&fact.content.payload),
        false => Answer::Gist(fact.content.gist.as_deref()),
    })
}
