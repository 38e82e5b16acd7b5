//! `oracle memory replay`: computes a state hash and a working set from events.

use crate::{
    event::{Event, EventError},
    handle::Handle,
    log::{AppendError, EventLog, Unsealed},
    pins::{PinKind, Pins},
    policy,
    truncate::{Budget, Receipt},
    working_set::{self, BuildError, Request},
};
use lens::{
    Digest,
    canonical::{self, CanonicalError, Value},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// The reason why a line is refused.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line is not an event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The event may not follow the lines before it.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// The reason why a replay has no result.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There are no events, and the caller chose no campaign.
    #[error("there are no events; choose a campaign to get its empty history")]
    NoEvents,
    /// The events belong to more than one campaign, and the caller chose none.
    #[error("the events are of {0} campaigns; choose one")]
    Campaigns(usize),
    /// The working set cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The state holds a value that the profile refuses.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

/// The arguments of a replay.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The campaign. Optional when all events belong to one.
    pub campaign: Option<Handle>,
    /// The scene; by default the open one.
    pub scene: Option<Handle>,
    /// The query.
    pub query: String,
    /// The greatest size of the working set.
    pub budget: Budget,
}

/// The result of a replay.
#[derive(Debug, Serialize)]
pub struct Replayed {
    /// The number of the campaign's events.
    pub events: u64,
    /// The hash of the state.
    pub state_hash: Digest,
    /// The hash of the working set's canonical bytes.
    pub working_set_hash: Digest,
    /// The working set.
    pub working_set: Value,
    /// The items left out of the working set, with reasons.
    pub receipts: Vec<Receipt>,
}

/// Reads events line by line into one log per campaign.
#[derive(Debug, Default)]
pub struct Replay {
    logs: BTreeMap<Handle, EventLog>,
}

impl Replay {
    /// Appends the event of one line.
    ///
    /// # Errors
    /// [`LineError`]
    pub fn line(&mut self, line: &[u8]) -> Result<(), LineError> {
        self.event(Event::parse(line)?)?;
        Ok(())
    }

    /// Appends one event.
    ///
    /// # Errors
    /// [`AppendError`]
    pub fn event(&mut self, event: Event) -> Result<(), AppendError> {
        let campaign = event.campaign_id.clone();
        let log = self.logs.entry(campaign.clone()).or_insert_with(|| EventLog::new(campaign));
        log.append(event, &Unsealed).map(|_| ())
    }

    /// The log of a campaign.
    #[must_use]
    pub fn log(&self, campaign: &str) -> Option<&EventLog> {
        self.logs.get(campaign)
    }

    /// The log of the chosen campaign, or of the only one. A campaign without events has an empty log.
    ///
    /// # Errors
    /// [`ReplayError::NoEvents`], [`ReplayError::Campaigns`]
    pub fn into_log(mut self, campaign: Option<&Handle>) -> Result<EventLog, ReplayError> {
        match (campaign, self.logs.len()) {
            (Some(campaign), _) => Ok(self.logs.remove(campaign).unwrap_or_else(|| EventLog::new(campaign.clone()))),
            (None, 0 | 1) => self.logs.into_values().next().ok_or(ReplayError::NoEvents),
            (None, count) => Err(ReplayError::Campaigns(count)),
        }
    }

    /// Builds the result. `running` are the pins of the running system. Without them, only the policies of this build
    /// are compared with the log's pins, because a replay runs no model.
    ///
    /// # Errors
    /// [`ReplayError`]
    pub fn finish(self, wanted: &Wanted, running: Option<&Pins>) -> Result<Replayed, ReplayError> {
        let log = self.into_log(wanted.campaign.as_ref())?;
        let request = Request {
            campaign_id: log.campaign_id(),
            scene_id: wanted.scene.as_ref(),
            query: &wanted.query,
            budget: wanted.budget,
        };
        let replaying = || {
            let mut pins = log.state().pins().clone();
            if pins.0.contains_key(&PinKind::PolicyIds) {
                pins.0.extend(policy::pins().0);
            }
            pins
        };
        let built = working_set::build(log.state(), &request, &running.cloned().unwrap_or_else(replaying))?;
        Ok(Replayed {
            events: log.state().events(),
            state_hash: log.state().hash()?,
            working_set_hash: built.set.bytes_hash(),
            working_set: canonical::parse_exact(built.set.bytes())?,
            receipts: built.receipts,
        })
    }
}
