//! Events: only an event changes the memory (Memory Contract, section 4: "no silent mutation").
//!
//! The memo defines the ids EV-001 to EV-121. It names no event for facts, pins, pointers, compactions, pictures,
//! erasure and revisions, although it needs them. Revision R1 adds those with their own series of ids, EV-ORC-…, so
//! that no id of the Golden Ticket is repurposed (infra/decisions/memory.md).

mod payload;

pub use payload::*;

use crate::handle::Handle;
use lens::canonical::{self, CanonicalError};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error as _, MapAccess, Visitor},
    ser::SerializeMap,
};
use std::fmt;

/// The type that a payload's variant holds. A fact is more than twice as large as any other payload. In a box it is not
/// copied when an event is moved or the ledger grows.
macro_rules! held {
    (FactCommitted) => { Box<FactCommitted> };
    ($name:ident) => { $name };
}

macro_rules! events {
    ($($id:literal $name:ident $meaning:literal,)*) => {
        /// The id of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum EventId { $(#[doc = $meaning] $name,)* }

        impl EventId {
            /// All ids.
            pub const ALL: &'static [EventId] = &[$(EventId::$name,)*];

            /// The id as written, such as `EV-001`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(EventId::$name => $id,)* }
            }

            /// The event's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(EventId::$name => stringify!($name),)* }
            }

            /// The event's meaning.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(EventId::$name => $meaning,)* }
            }

            /// Parses an id; `None` for an unknown one.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($id => Some(EventId::$name),)* _ => None }
            }
        }

        /// The content of an event.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Payload { $(#[doc = $meaning] $name(held!($name)),)* }

        impl Payload {
            /// The event's id.
            #[must_use]
            pub const fn id(&self) -> EventId {
                match self { $(Payload::$name(_) => EventId::$name,)* }
            }

            fn deserialize<'de, D: Deserializer<'de>>(id: EventId, deserializer: D) -> Result<Self, D::Error> {
                match id { $(EventId::$name => Deserialize::deserialize(deserializer).map(Payload::$name),)* }
            }
        }

        impl Serialize for Payload {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Payload::$name(payload) => payload.serialize(serializer),)* }
            }
        }

        $(impl From<$name> for Payload {
            fn from(payload: $name) -> Self { Payload::$name(payload.into()) }
        })*
    };
}

events! {
    "EV-001" RecallRequest "an exact detail is asked for",
    "EV-002" RecallAttempt "the recall roll",
    "EV-003" RecallResult "what was given after the roll",
    "EV-010" NotebookWriteConsentRequested "consent to a notebook entry is asked for",
    "EV-011" NotebookWriteConsentGranted "consent is given",
    "EV-012" NotebookWriteConsentDenied "consent is denied",
    "EV-013" NotebookWriteApplied "the entry is written; its details are unlocked for the campaign",
    "EV-020" ReadingSpotSettingChanged "a setting of the reading spot changed",
    "EV-021" RuleRefOpened "a rule was opened; needs a recorded revision",
    "EV-030" ModeChanged "the mode changed",
    "EV-031" SceneStart "a scene starts",
    "EV-032" SceneEnd "a scene ends",
    "EV-033" NudgeSelected "a nudge was selected",
    "EV-034" NudgeSuppressed "a nudge was suppressed",
    "EV-107" PlaybackPaused "roleplay playback paused",
    "EV-108" PlaybackResumed "roleplay playback resumed",
    "EV-109" PlaybackAborted "roleplay playback aborted",
    "EV-120" RoleplayValidated "a roleplay rendering was validated",
    "EV-121" RoleplayFallback "a fallback stands in for a roleplay rendering",
    "EV-ORC-001" RevisionRecorded "a revision of the event contract",
    "EV-ORC-002" WorldCommitted "a world and its pins were committed",
    "EV-ORC-003" PinsRevised "pins changed by an explicit revision",
    "EV-ORC-004" FactCommitted "a fact entered the ledger",
    "EV-ORC-005" FactWithdrawn "a fact is no longer canon",
    "EV-ORC-006" StoryPointerChanged "a thread, clock or region moved",
    "EV-ORC-007" CompactionRequested "a summary of facts is wanted",
    "EV-ORC-008" CompactionDeleted "a summary is deleted",
    "EV-ORC-009" ImageRequested "a picture was requested",
    "EV-ORC-010" AssetPooled "a picture entered a pool",
    "EV-ORC-011" PoolBound "a pool was bound to a surface",
    "EV-ORC-012" SubjectErased "the subject was erased",
}

/// One event of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time in milliseconds of Unix time. Decides nothing: the sequence number orders a log.
    pub at: i64,
    /// The campaign.
    pub campaign_id: Handle,
    /// The writer's idempotency key: a retry sends the same key.
    pub key: Option<Handle>,
    /// The content.
    pub payload: Payload,
}

/// The reason why bytes are not an event.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The bytes are not JSON of the profile.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// An id is unknown, or a field is missing, unknown or of another type.
    #[error("not an event: {0}")]
    Schema(String),
}

impl Event {
    /// Parses JSON of the profile, in any spacing and order of keys.
    ///
    /// # Errors
    /// [`EventError`]
    pub fn parse(bytes: &[u8]) -> Result<Self, EventError> {
        Self::parse_canonical(&canonical::parse(bytes)?.to_bytes())
    }

    /// Parses bytes that [`Event::to_bytes`] wrote and that a hash chain protects. Checks the fields, not the profile.
    ///
    /// # Errors
    /// [`EventError::Schema`]
    pub fn parse_canonical(bytes: &[u8]) -> Result<Self, EventError> {
        serde_json::from_slice(bytes).map_err(|error| EventError::Schema(error.to_string()))
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`CanonicalError`] when a field holds a value that the profile refuses.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::encode(self)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("at", &self.at)?;
        map.serialize_entry("campaign_id", &self.campaign_id)?;
        map.serialize_entry("event", self.payload.id().as_str())?;
        if let Some(key) = &self.key {
            map.serialize_entry("key", key)?;
        }
        map.serialize_entry("payload", &self.payload)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor)
    }
}

struct EventVisitor;

impl<'de> Deserialize<'de> for EventId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;
        impl Visitor<'_> for IdVisitor {
            type Value = EventId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the id of an event")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<EventId, E> {
                EventId::parse(text).ok_or_else(|| E::custom(format!("unknown event id {text:?}")))
            }
        }
        deserializer.deserialize_str(IdVisitor)
    }
}

/// Deserialises a payload after its id: in canonical bytes `event` precedes `payload`.
struct PayloadOf(EventId);

impl<'de> DeserializeSeed<'de> for PayloadOf {
    type Value = Payload;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Payload, D::Error> {
        Payload::deserialize(self.0, deserializer)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    At,
    CampaignId,
    Event,
    Key,
    Payload,
}

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event: at, campaign_id, event, key (optional) and payload")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Event, A::Error> {
        fn once<T, E: serde::de::Error>(slot: &mut Option<T>, value: T, name: &'static str) -> Result<(), E> {
            if slot.replace(value).is_some() { Err(E::duplicate_field(name)) } else { Ok(()) }
        }
        let (mut at, mut campaign_id, mut id, mut key, mut payload) = (None, None, None, None, None);
        while let Some(field) = members.next_key()? {
            match field {
                Field::At => once(&mut at, members.next_value()?, "at")?,
                Field::CampaignId => once(&mut campaign_id, members.next_value()?, "campaign_id")?,
                Field::Key => once(&mut key, members.next_value()?, "key")?,
                Field::Event => {
                    once(&mut id, members.next_value::<EventId>()?, "event")?;
                }
                Field::Payload => {
                    let id = id.ok_or_else(|| A::Error::custom("payload comes before event"))?;
                    once(&mut payload, members.next_value_seed(PayloadOf(id))?, "payload")?;
                }
            }
        }
        let missing = A::Error::missing_field;
        Ok(Event {
            at: at.ok_or_else(|| missing("at"))?,
            campaign_id: campaign_id.ok_or_else(|| missing("campaign_id"))?,
            key,
            payload: payload.ok_or_else(|| missing("payload"))?,
        })
    }
}
