//! Aligns a log's pins with those of the running system (Memory Contract, section 7).

use crate::{
    event::{Payload, PinsRevised, RevisionRecorded, WorldCommitted},
    handle::{Handle, InvalidHandle},
    pins::Pins,
    state::State,
};

/// The events that make a log's pins those of the running system, each with its key: the world's commit in a log without
/// a world; a recorded revision and the pins after it when a release changed them; none when they match.
///
/// A revision is named after the event that set the pins before it, so that two writers who find the same mismatch
/// record the same revision.
///
/// # Errors
/// [`InvalidHandle`]; the names that it makes are valid.
pub fn alignment(
    state: &State,
    world_id: &Handle,
    running: &Pins,
    recorded_by: &Handle,
) -> Result<Vec<(Handle, Payload)>, InvalidHandle> {
    if state.is_erased() || state.story().world_id.is_some() && state.pins() == running {
        return Ok(Vec::new());
    }
    let pins = running.clone();
    if state.story().world_id.is_none() {
        return Ok(vec![(Handle::parse("world")?, WorldCommitted { world_id: world_id.clone(), pins }.into())]);
    }
    let set_by = state.pins.set_by.last().copied().unwrap_or_default();
    let revision_id = Handle::parse(format!("pins-after-{set_by}"))?;
    let changed = state.pins().mismatches(running);
    let changed: Vec<&str> = changed.iter().map(|pin| pin.name.as_str()).collect();
    let reason = format!("the release changed the pins: {}", changed.join(", "));
    let revision = RevisionRecorded {
        revision_id: revision_id.clone(),
        adds: Default::default(),
        reason: reason.clone(),
        recorded_by: recorded_by.clone(),
    };
    let revised_key = Handle::parse(format!("{revision_id}/revised"))?;
    Ok(vec![(revision_id.clone(), revision.into()), (revised_key, PinsRevised { revision_id, pins, reason }.into())])
}
