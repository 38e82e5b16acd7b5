//! The lines of the log: their fields, and their JSON.

use crate::record::Body;
use domain::Tier;
use serde::Serialize;

/// Version of the line format.
pub const VERSION: u8 = 1;

/// A record's place in its stream.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Place<'a> {
    /// The id that names the stream, in the form of a session id.
    #[serde(skip)]
    pub id: &'a str,
    /// The stream.
    pub stream: &'a str,
    /// The record's number, from 1.
    pub seq: u64,
    /// The hash of the line before it.
    pub prev: &'a str,
}

/// A line in the log: the spec's fields first, the chain's after them.
#[derive(Serialize)]
pub(crate) struct Line<'a> {
    pub(crate) timestamp: String,
    pub(crate) session_id: &'a str,
    pub(crate) tier: Option<Tier>,
    pub(crate) query_hash: Option<&'a str>,
    pub(crate) verdict_hash: Option<&'a str>,
    pub(crate) email: Option<&'a str>,
    pub(crate) latency_ms: u64,
    /// Present, and true, only if the sale is a smoke test's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) smoke: bool,
    #[serde(flatten)]
    pub(crate) body: &'a Body,
    pub(crate) v: u8,
    #[serde(flatten)]
    pub(crate) place: Place<'a>,
}

/// The line of a purchase's record: the fields of the spec's x402 records, then the stream's.
#[derive(Serialize)]
pub(crate) struct TollLine<'a> {
    pub(crate) timestamp: String,
    /// The purchase, which names its stream.
    pub(crate) session_id: &'a str,
    /// The first 12 characters; `None` before the settlement.
    pub(crate) tx_hash: Option<String>,
    pub(crate) endpoint: &'static str,
    pub(crate) query_hash: &'a str,
    pub(crate) amount_usdc: f64,
    pub(crate) latency_ms: u64,
    #[serde(flatten)]
    pub(crate) body: &'a Body,
    pub(crate) v: u8,
    #[serde(flatten)]
    pub(crate) place: Place<'a>,
}

/// The line of a chat account's, a subscriber's or a Bridge's record.
#[derive(Serialize)]
pub(crate) struct ChatLine<'a> {
    pub(crate) timestamp: String,
    /// The account, the subscriber or the Bridge, which names its stream.
    pub(crate) session_id: &'a str,
    pub(crate) latency_ms: u64,
    #[serde(flatten)]
    pub(crate) body: &'a Body,
    pub(crate) v: u8,
    #[serde(flatten)]
    pub(crate) place: Place<'a>,
}

/// A line's JSON. Every field serialises: strings, numbers and JSON values with string keys.
pub(crate) fn json(line: &impl Serialize) -> String {
    serde_json::to_string(line).unwrap_or_default()
}
