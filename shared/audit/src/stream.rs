//! The stream of a state with an audit trail, and the lines of its records.

use crate::{
    line::{ChatLine, Place, VERSION, json},
    record::Record,
};
use domain::{
    Alert, Measurement, Timestamp,
    audit_trail::Audited,
    ports::{SaveError, Store},
};
use std::future::Future;

/// A state whose records the journal writes.
pub trait Stream: Audited {
    /// The JSON line of a record.
    fn line(&self, record: &Record, place: Place<'_>) -> String {
        json(&ChatLine {
            timestamp: record.timestamp.to_iso(),
            session_id: place.id,
            latency_ms: record.timestamp.millis_since(record.triggered_at),
            body: &record.body,
            v: VERSION,
            place,
        })
    }

    /// The measurements that come with a record.
    fn measurements(&self, record: &Record) -> Vec<Measurement> {
        record.measurements()
    }

    /// The state to decide on if another process has removed this one; `None` if there is none.
    fn renewed(&self) -> Option<Self> {
        Self::unstored(self.id())
    }

    /// Completes a change of the state, with its alerts, before it is saved.
    fn complete(&mut self, _alerts: &mut Vec<Alert>, _now: Timestamp) {}
}

/// A port that stores one kind of state whose records the journal writes.
pub trait StreamStore: Store<<Self as StreamStore>::State> {
    /// The kind of state.
    type State: Stream;

    /// What may be saved in the same write: a sale's cached verdict. `Infallible` for a state that is saved alone.
    type Beside: Send + Sync;

    /// Saves the state, on condition that the stored version is the expected one. Returns the new version. Without
    /// an implementation of its own, a store saves the state alone.
    fn save_with(
        &self,
        state: &Self::State,
        expected: u64,
        _beside: Option<&Self::Beside>,
    ) -> impl Future<Output = Result<u64, SaveError>> + Send {
        async move { self.save(state, expected).await }
    }
}

/// A store whose states are loaded by their id alone: without a stored one, the id says how it begins, if it can.
pub trait LoadsById: StreamStore {}
