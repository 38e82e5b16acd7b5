//! The memory: an append-only event log, the state computed from it, and working sets built from that state byte for
//! byte (Memory Contract).
//!
//! Pure: no clock, no randomness, no store. Stores are behind ports in `domain::ports`. `lens` holds the types that
//! models see; nothing in it writes.

mod alignment;
pub mod compaction;
pub mod event;
pub mod export;
mod handle;
pub mod image;
pub mod log;
mod numbers;
mod pins;
pub mod policy;
pub mod precision;
pub mod recall;
mod recipe;
pub mod replay;
mod state;
pub mod store;
pub mod truncate;
pub mod working_set;

pub use alignment::alignment;
pub use event::{Event, EventId, Payload};
pub use handle::{Handle, InvalidHandle};
pub use lens::Digest;
pub use log::EventLog;
pub use pins::{PinKind, PinMismatch, Pins};
pub use state::{
    Consent, ConsentStatus, Fact, FactsLedger, ImageLedger, NudgeState, OpenRecall, PinLedger, PlaybackState,
    PooledAsset, Refusal, Revision, RoleplayState, State, StoryState, Unlock, UnlockSource, UnlockState,
};

/// The JSON schema of the events, with an example of each. `oracle memory schema` prints it.
pub const EVENTS_SCHEMA: &str = include_str!("../data/events.schema.json");
