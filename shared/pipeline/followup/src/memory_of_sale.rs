//! The memory of a Strategy Session, rebuilt from its sale for the follow-up: the model sees a working set of it and
//! nothing else of the first question and its verdict (infra/decisions/followup.md).

use domain::{FirstVerdict, Verdict};
use lens::{
    Mode, WorkingSet,
    canonical::{self, CanonicalError, Value},
};
use memory::{
    Event, EventLog, Handle, InvalidHandle, Payload, PinKind, Pins,
    event::{FactCommitted, ModeChanged, WorldCommitted},
    log::{AppendError, Unsealed},
    policy,
    truncate::Budget,
    working_set::{self as builder, BuildError, Request},
};
use serde::Serialize;

/// The budget of a follow-up's working set. Both facts must fit, because a model that lacks one answers another question. The
/// longest question has 20,000 characters, of up to 6 bytes when escaped; the longest reply of a model has about 50 KB.
const BUDGET: Budget = Budget::of_bytes(400_000);

/// Every session has the same names: no working set shows the id of a session, which opens its page.
const CAMPAIGN: &str = "strategy-session";

/// The template of the follow-up's prompt among the pins.
const TEMPLATE: &str = "followup";

/// Why there is no working set. The follow-up then needs a human.
#[derive(Debug, thiserror::Error)]
pub enum NoMemory {
    /// A constant of this module is not a handle.
    #[error(transparent)]
    Handle(#[from] InvalidHandle),
    /// The first verdict holds a value that the canonical profile refuses.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The log refuses a fact.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The working set cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A fact does not fit.
    #[error("the first question and its verdict are larger than the memory's budget of {0} bytes")]
    TooLarge(u64),
}

/// The verdict's fact.
#[derive(Serialize)]
struct Given<'a> {
    date: &'a str,
    verdict: &'a Verdict,
}

/// The working set for a follow-up of this question and verdict: the same two give the same bytes, whether they come
/// from the cache or the archive, for the first call of a model and for every later one.
///
/// `prompt_version` is pinned: the release that changes the prompt changes the working set.
///
/// # Errors
/// [`NoMemory`]; nothing is left out silently.
pub fn working_set(first: &FirstVerdict, prompt_version: &str) -> Result<WorkingSet, NoMemory> {
    let pins = pins(prompt_version)?;
    let campaign_id = handle(CAMPAIGN)?;
    let mut log = EventLog::new(campaign_id.clone());
    let given = Given { date: &first.cached_at, verdict: &first.verdict };
    let events: [Payload; 4] = [
        WorldCommitted { world_id: handle(CAMPAIGN)?, pins: pins.clone() }.into(),
        ModeChanged { mode: Mode::Companion }.into(),
        fact("QUESTION", "first-question", Value::Text(first.query.clone()))?.into(),
        fact("VERDICT", "first-verdict", canonical::value_of(&given)?)?.into(),
    ];
    for payload in events {
        // The time of an event decides nothing, and the verdict's date is part of its fact.
        log.append(Event { at: 0, campaign_id: campaign_id.clone(), key: None, payload }, &Unsealed)?;
    }
    // Both facts are always shown, so there is nothing that a query could choose or order.
    let request = Request { campaign_id: &campaign_id, scene_id: None, query: "", budget: BUDGET };
    let built = builder::build(log.state(), &request, &pins)?;
    if built.receipts.is_empty() { Ok(built.set) } else { Err(NoMemory::TooLarge(BUDGET.bytes())) }
}

fn handle(text: &str) -> Result<Handle, InvalidHandle> {
    Handle::parse(text)
}

fn pins(prompt_version: &str) -> Result<Pins, InvalidHandle> {
    let mut pins = policy::pins();
    let version = handle(&format!("sha256:{prompt_version}"))?;
    pins.0.insert(PinKind::PromptTemplates, [(handle(TEMPLATE)?, version)].into());
    Ok(pins)
}

/// A fact without a lock: the customer wrote the question and was shown the verdict.
fn fact(kind: &str, stable_key: &str, payload: Value) -> Result<FactCommitted, InvalidHandle> {
    Ok(FactCommitted::unlocked(handle("sale")?, handle(kind)?, handle(stable_key)?, Mode::Companion, payload))
}

#[cfg(test)]
mod tests;
