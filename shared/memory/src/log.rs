//! The event log of one campaign: append-only, each record chained to the previous one.
//!
//! The chain covers the stored bytes. If records are sealed under the subject's key, it covers the sealed bytes, so
//! that it still verifies after the key is destroyed.

use crate::{
    event::{Event, EventError, Payload},
    handle::Handle,
    state::{Refusal, State},
};
pub use domain::ports::Seal;
use lens::{Digest, Domain, canonical::CanonicalError};
use std::{borrow::Cow, collections::BTreeMap};

/// One stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number in the log, from 1.
    pub seq: u64,
    /// The hash of the previous record; for the first record, of the campaign's id.
    pub prev: Digest,
    /// The hash of this record.
    pub hash: Digest,
    /// The event: in plain bytes after a `P`, sealed after an `S`.
    pub body: Vec<u8>,
}

/// Marks a body whose event is in plain canonical bytes.
pub const PLAIN: u8 = b'P';
/// Marks a body whose event is sealed.
pub const SEALED: u8 = b'S';

/// Stores events in plain bytes: for tools, and for logs without a person's words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsealed;

impl Seal for Unsealed {
    fn seal(&self, _: u64, plain: &[u8]) -> Vec<u8> {
        plain.to_vec()
    }

    fn open(&self, _: u64, sealed: &[u8]) -> Option<Vec<u8>> {
        Some(sealed.to_vec())
    }
}

/// The reason why an event is not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The event may not follow.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The event belongs to another campaign.
    #[error("the event is of campaign {0}, not of this log's")]
    OtherCampaign(Handle),
    /// Another event has the same key.
    #[error("the key {0} was used for another event")]
    KeyReused(Handle),
    /// The caller requested an erasure with another event.
    #[error("an erasure is recorded by EV-ORC-012 and by no other event")]
    NotAnErasure,
    /// The event holds a value that the profile refuses.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

/// The reason why a log cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// A record is missing, duplicated, moved or changed.
    #[error("record {seq} of the log was tampered with: {problem}")]
    Tampered {
        /// The first record that is wrong.
        seq: u64,
        /// The problem.
        problem: &'static str,
    },
    /// A record is intact but cannot be decrypted.
    #[error("record {0} cannot be opened: the subject's key is gone, and the log does not end with an erasure")]
    KeyGone(u64),
    /// A record is intact but is not an event that this build knows.
    #[error("record {seq} is not an event")]
    Event {
        /// The record.
        seq: u64,
        /// The cause.
        source: EventError,
    },
}

/// The result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The event is now the log's last record, with this number.
    Written(u64),
    /// The log already has the event, as the record with this number.
    AlreadyThere(u64),
}

/// A log with the state computed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLog {
    campaign_id: Handle,
    records: Vec<Record>,
    keys: BTreeMap<Handle, u64>,
    state: State,
}

impl EventLog {
    /// An empty log.
    #[must_use]
    pub fn new(campaign_id: Handle) -> Self {
        Self { campaign_id, records: Vec::new(), keys: BTreeMap::new(), state: State::default() }
    }

    /// The campaign.
    #[must_use]
    pub const fn campaign_id(&self) -> &Handle {
        &self.campaign_id
    }

    /// The records, oldest first.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The state computed from the events.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The hash of the last record.
    #[must_use]
    pub fn head(&self) -> Digest {
        self.records.last().map_or_else(|| origin(&self.campaign_id), |record| record.hash)
    }

    /// The events, oldest first, without those that cannot be decrypted: after an erasure, all but the last.
    #[must_use]
    pub fn events(&self, seal: &dyn Seal) -> Vec<Event> {
        self.records.iter().filter_map(|record| event_of(record, seal)).collect()
    }

    /// The same events, newest first. Each is decrypted when the iterator reaches it.
    pub fn newest_events(&self, seal: &dyn Seal) -> impl Iterator<Item = Event> {
        self.records.iter().rev().filter_map(move |record| event_of(record, seal))
    }

    /// The event with this key; `None` if the log has none, or it cannot be decrypted.
    #[must_use]
    pub fn event(&self, key: &Handle, seal: &dyn Seal) -> Option<Event> {
        let seq = self.keys.get(key)?;
        event_of(self.records.get(*seq as usize - 1)?, seal)
    }

    /// Appends an event if it may follow. A retry with the same key and event appends nothing.
    ///
    /// # Errors
    /// [`AppendError`]; the log is unchanged then.
    pub fn append(&mut self, mut event: Event, seal: &dyn Seal) -> Result<Appended, AppendError> {
        if event.campaign_id != self.campaign_id {
            return Err(AppendError::OtherCampaign(event.campaign_id));
        }
        if let Payload::FactCommitted(fact) = &mut event.payload
            && fact.fact_id.is_none()
        {
            fact.fact_id = Some(fact.content_address()?);
        }
        let plain = event.to_bytes()?;
        if let Some(key) = &event.key
            && let Some(seq) = self.keys.get(key)
        {
            let stored = self.records.get(*seq as usize - 1).and_then(|record| open(record, seal));
            return match stored.is_some_and(|stored| *stored == *plain) {
                true => Ok(Appended::AlreadyThere(*seq)),
                false => Err(AppendError::KeyReused(key.clone())),
            };
        }
        self.state.check(&event.payload)?;
        let seq = self.records.len() as u64 + 1;
        let prev = self.head();
        // The erasure must be readable without the key that it destroys. It holds no personal data.
        let body = match event.payload {
            Payload::SubjectErased(_) => [&[PLAIN], &plain[..]].concat(),
            _ => [&[SEALED], &seal.seal(seq, &plain)[..]].concat(),
        };
        self.records.push(Record { seq, prev, hash: link(&prev, seq, &body), body });
        self.take(event, seq);
        Ok(Appended::Written(seq))
    }

    /// Restores a log from its records: checks the chain, opens every record, applies the events.
    ///
    /// If the log ends with an erasure, only the chain is checked: its events cannot be decrypted without the key.
    ///
    /// # Errors
    /// [`BootError`]
    pub fn boot(campaign_id: Handle, records: Vec<Record>, seal: &dyn Seal) -> Result<Self, BootError> {
        verify(&campaign_id, &records)?;
        let mut log = Self { records, ..Self::new(campaign_id) };
        let records = std::mem::take(&mut log.records);
        let erasure = erasure_of(&records);
        for record in &records {
            let event = match open(record, seal) {
                Some(plain) => {
                    Event::parse_canonical(&plain).map_err(|source| BootError::Event { seq: record.seq, source })?
                }
                None if erasure.is_some() => {
                    log.state.events += 1;
                    continue;
                }
                None => return Err(BootError::KeyGone(record.seq)),
            };
            log.take(event, record.seq);
        }
        log.records = records;
        Ok(log)
    }

    fn take(&mut self, event: Event, seq: u64) {
        if let Some(key) = &event.key {
            self.keys.insert(key.clone(), seq);
        }
        self.state.apply(event);
    }
}

/// Checks the chain of a log without opening any record.
///
/// A log without its last records still verifies. The store detects the cut, because it keeps the head separately; so
/// does a comparison with an earlier head.
///
/// # Errors
/// [`BootError::Tampered`]
pub fn verify(campaign_id: &Handle, records: &[Record]) -> Result<(), BootError> {
    let mut prev = origin(campaign_id);
    for (index, record) in records.iter().enumerate() {
        let seq = index as u64 + 1;
        let problem = if record.seq != seq {
            "its number is not the next"
        } else if record.prev != prev {
            "it does not follow the record before it"
        } else if record.hash != link(&prev, seq, &record.body) {
            "its content is not what was hashed"
        } else {
            prev = record.hash;
            continue;
        };
        return Err(BootError::Tampered { seq, problem });
    }
    Ok(())
}

/// The erasure at the end of a log, if it has one.
#[must_use]
pub fn erasure_of(records: &[Record]) -> Option<Event> {
    let plain = records.last()?.body.strip_prefix(&[PLAIN])?;
    let event = Event::parse_canonical(plain).ok()?;
    matches!(event.payload, Payload::SubjectErased(_)).then_some(event)
}

/// The record of an erasure that follows these records. It is plain, so that it needs no key and can be read without one.
///
/// # Errors
/// [`AppendError::NotAnErasure`]; [`AppendError::Canonical`]
pub fn erasure_record(records: &[Record], event: &Event) -> Result<Record, AppendError> {
    if !matches!(event.payload, Payload::SubjectErased(_)) {
        return Err(AppendError::NotAnErasure);
    }
    let seq = records.len() as u64 + 1;
    let prev = records.last().map_or_else(|| origin(&event.campaign_id), |record| record.hash);
    let body = [&[PLAIN], &event.to_bytes()?[..]].concat();
    Ok(Record { seq, prev, hash: link(&prev, seq, &body), body })
}

fn origin(campaign_id: &Handle) -> Digest {
    Digest::of(Domain::Link, campaign_id.as_str().as_bytes())
}

fn link(prev: &Digest, seq: u64, body: &[u8]) -> Digest {
    Digest::of_parts(Domain::Link, &[prev.as_bytes(), &seq.to_be_bytes(), body])
}

fn event_of(record: &Record, seal: &dyn Seal) -> Option<Event> {
    Event::parse_canonical(&open(record, seal)?).ok()
}

fn open<'a>(record: &'a Record, seal: &dyn Seal) -> Option<Cow<'a, [u8]>> {
    match record.body.split_first()? {
        (&PLAIN, plain) => Some(Cow::Borrowed(plain)),
        (&SEALED, sealed) => seal.open(record.seq, sealed).map(Cow::Owned),
        _ => None,
    }
}
