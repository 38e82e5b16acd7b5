//! The stream of a state with an audit trail: where a record is in it, and the line of a record.

use crate::{
    line::{ChatLine, VERSION, json},
    record::Record,
};
use domain::{audit_trail::Audited, ports::Store};

/// A record's place in its stream.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The id that names the stream, in the form of a session id.
    pub id: &'a str,
    /// The stream.
    pub stream: &'a str,
    /// The record's number, from 1.
    pub seq: u64,
    /// The hash of the line before it.
    pub prev: &'a str,
}

/// A state whose records the journal writes.
pub trait Stream: Audited {
    /// The port that stores it.
    type Store: ?Sized + Store<Self>;

    /// The JSON line of a record.
    fn line(&self, record: &Record, place: Place<'_>) -> String {
        json(&ChatLine {
            timestamp: record.timestamp.to_iso(),
            session_id: place.id,
            latency_ms: record.timestamp.millis_since(record.triggered_at),
            body: &record.body,
            v: VERSION,
            stream: place.stream,
            seq: place.seq,
            prev: place.prev,
        })
    }
}
