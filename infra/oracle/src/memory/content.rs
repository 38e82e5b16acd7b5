//! The content of a memory's log as the commands write it, and the hash of its state.

use crate::command::{CommandError, OrFailed};
use memory::{Digest, EventLog, Fact, precision};
use serde_json::{Value, json};

pub(crate) fn state_hash(log: &EventLog) -> Result<Digest, CommandError> {
    log.state().hash().or_failed("the state cannot be hashed")
}

/// The content of a log. Shows a locked detail as its gist; the export contains the detail itself.
pub(crate) fn shown(log: &EventLog) -> Result<Value, CommandError> {
    let state = log.state();
    let fact = |(id, fact): (&Digest, &Fact)| {
        let is_unlocked = precision::is_unlocked(state, fact, state.story().scene_id.as_ref());
        let content = &fact.content;
        json!({"fact_id": id, "kind": content.kind, "stable_key": content.stable_key,
            "created_event_id": fact.created_event_id, "locked": !is_unlocked,
            "payload": is_unlocked.then_some(&content.payload), "gist": content.gist})
    };
    let facts: Vec<Value> = state.facts().canon().map(fact).collect();
    Ok(json!({"campaign_id": log.campaign_id(), "events": state.events(), "state_hash": state_hash(log)?,
        "erased": state.is_erased(), "story": state.story(), "pins": state.pins(), "facts": facts,
        "unlocks": state.unlocks()}))
}
