//! The event log of one campaign: append-only, each record chained to the one before it.
//!
//! What is chained is what is stored: where records are sealed under the subject's key, the chain is over the sealed
//! bytes, so that it still verifies after the key is destroyed.

use crate::{
    event::{Event, EventError, Payload},
    handle::Handle,
    state::{Refusal, State},
};
pub use domain::ports::Seal;
use lens::{Digest, Domain, canonical::CanonicalError};
use std::{borrow::Cow, collections::BTreeMap};

/// One record, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number in the log, from 1.
    pub seq: u64,
    /// The hash of the record before it; of the campaign's id for the first.
    pub prev: Digest,
    /// The hash of this one.
    pub hash: Digest,
    /// The event: plain after a `P`, sealed after an `S`.
    pub body: Vec<u8>,
}

/// The event follows in plain canonical bytes.
pub const PLAIN: u8 = b'P';
/// The event follows sealed.
pub const SEALED: u8 = b'S';

/// Keeps events in plain bytes: for tools, and for logs without a person's words.
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

/// Why an event was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// It may not follow.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It is of another campaign.
    #[error("the event is of campaign {0}, not of this log's")]
    OtherCampaign(Handle),
    /// Another event has its key.
    #[error("the key {0} was used for another event")]
    KeyReused(Handle),
    /// An erasure was asked for with another event.
    #[error("an erasure is recorded by EV-ORC-012 and by no other event")]
    NotAnErasure,
    /// It holds what the profile refuses.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

/// Why a log could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// A record is missing, doubled, moved or changed.
    #[error("record {seq} of the log was tampered with: {problem}")]
    Tampered {
        /// The first record that is wrong.
        seq: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A record is intact and cannot be opened.
    #[error("record {0} cannot be opened: the subject's key is gone, and the log does not end with an erasure")]
    KeyGone(u64),
    /// A record is intact and not an event of this build.
    #[error("record {seq} is not an event")]
    Event {
        /// The record.
        seq: u64,
        /// Why.
        source: EventError,
    },
}

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is the log's last record.
    Written(u64),
    /// The same event was there already.
    AlreadyThere(u64),
}

/// A log with the state that it folds to.
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

    /// What the events say.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The hash of the last record.
    #[must_use]
    pub fn head(&self) -> Digest {
        self.records.last().map_or_else(|| origin(&self.campaign_id), |record| record.hash)
    }

    /// The events, oldest first; without those that cannot be opened, which are all but the last after an erasure.
    #[must_use]
    pub fn events(&self, seal: &dyn Seal) -> Vec<Event> {
        let event = |record: &Record| Event::parse_canonical(&open(record, seal)?).ok();
        self.records.iter().filter_map(event).collect()
    }

    /// Appends an event if it may follow. The same event with the same key is appended once.
    ///
    /// # Errors
    /// [`AppendError`]; nothing is appended then.
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
        // The erasure must be readable without the key that it destroys, and holds nothing of a person's.
        let body = match event.payload {
            Payload::SubjectErased(_) => [&[PLAIN], &plain[..]].concat(),
            _ => [&[SEALED], &seal.seal(seq, &plain)[..]].concat(),
        };
        self.records.push(Record { seq, prev, hash: link(&prev, seq, &body), body });
        self.take(event, seq);
        Ok(Appended::Written(seq))
    }

    /// Reads a log back from its records: checks the chain, opens every record, folds the events.
    ///
    /// Of a log that ends with an erasure only the chain is checked: its events are gone with the key.
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

/// Checks the chain of a log, without opening any record.
///
/// A log that was cut short at its end is a valid log: what holds its head against that is the store, which keeps
/// the head apart, and a comparison with an earlier head.
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

/// The erasure with which a log ends.
#[must_use]
pub fn erasure_of(records: &[Record]) -> Option<Event> {
    let plain = records.last()?.body.strip_prefix(&[PLAIN])?;
    let event = Event::parse_canonical(plain).ok()?;
    matches!(event.payload, Payload::SubjectErased(_)).then_some(event)
}

fn origin(campaign_id: &Handle) -> Digest {
    Digest::of(Domain::Link, campaign_id.as_str().as_bytes())
}

fn link(prev: &Digest, seq: u64, body: &[u8]) -> Digest {
    Digest::of_parts(Domain::Link, &[prev.as_bytes(), &seq.to_be_bytes(), body])
}

fn open<'a>(record: &'a Record, seal: &dyn Seal) -> Option<Cow<'a, [u8]>> {
    match record.body.split_first()? {
        (&PLAIN, plain) => Some(Cow::Borrowed(plain)),
        (&SEALED, sealed) => seal.open(record.seq, sealed).map(Cow::Owned),
        _ => None,
    }
}
