//! Histories for tests and benchmarks, written by hand or drawn from a seed.
#![allow(dead_code, reason = "each test uses part of it")]

pub(crate) mod disguise;
pub(crate) mod drawn;
pub(crate) mod trials;

pub(crate) use disguise::disguised;
pub(crate) use drawn::history;

use lens::{Digest, Mode, canonical::Value};
use memory::{
    Event, EventLog, Handle, Payload, Pins,
    event::*,
    log::{AppendError, Appended, Unsealed},
    policy,
    truncate::Budget,
    working_set::{self, BuildError, Built, Request},
};
use std::collections::{BTreeMap, BTreeSet};
use testkit::Random;

pub(crate) fn handle(text: &str) -> Handle {
    Handle::parse(text).unwrap()
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A log with short helpers to append to it and to read from it.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) log: EventLog,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { log: EventLog::new(handle("camp-1")) }
    }

    pub(crate) fn try_add(&mut self, payload: impl Into<Payload>) -> Result<Appended, AppendError> {
        let at = 1_796_040_000_000 + self.log.records().len() as i64;
        let event = Event { at, campaign_id: self.log.campaign_id().clone(), key: None, payload: payload.into() };
        self.log.append(event, &Unsealed)
    }

    pub(crate) fn add(&mut self, payload: impl Into<Payload>) -> &mut Self {
        self.try_add(payload).unwrap();
        self
    }

    pub(crate) fn refusal(&mut self, payload: impl Into<Payload>) -> String {
        let before = self.log.clone();
        let error = self.try_add(payload).unwrap_err();
        assert_eq!(self.log, before, "a refused event leaves no trace");
        error.to_string()
    }

    /// Commits a locked clue and returns its id.
    pub(crate) fn clue(&mut self, detail: &str, payload: &str, gist: &str, tokens: &[&str]) -> Digest {
        self.add(locked(detail, payload, gist, tokens));
        *self.log.state().facts().by_detail(detail).unwrap().0
    }

    /// Commits a fact without a lock and returns its id.
    pub(crate) fn plain(&mut self, key: &str, payload: &str) -> Digest {
        let fact = unlocked(key, payload);
        let id = fact.content_address().unwrap();
        self.add(fact);
        id
    }

    pub(crate) fn scene(&mut self, scene: &str) -> &mut Self {
        self.add(SceneStart { scene_id: handle(scene), session_id: None, caps: BTreeMap::new() })
    }

    /// Appends EV-001 to EV-003 for a detail in a scene.
    pub(crate) fn recall(&mut self, detail: &str, scene: &str, roll: i64) -> &mut Self {
        let (detail_handle, scene_id, requester_id) = (handle(detail), handle(scene), handle("player-1"));
        self.add(RecallRequest { detail_handle: detail_handle.clone(), requester_id, scene_id });
        let roll = memory::recall::Roll { roller_id: handle("player-1"), skill_id: handle("lore"), dc: 10, roll };
        for payload in memory::recall::after_roll(&detail_handle, roll).unwrap() {
            self.add(payload);
        }
        self
    }

    /// Appends EV-010, EV-011 and EV-013 for a detail.
    pub(crate) fn record(&mut self, request: &str, detail: &str) -> &mut Self {
        let content_handles: BTreeSet<Handle> = [handle(detail)].into();
        let request_id = handle(request);
        let requester_id = handle("player-1");
        self.add(NotebookWriteConsentRequested {
            request_id: request_id.clone(),
            content_handles: content_handles.clone(),
            requester_id,
            scene_id: None,
        });
        self.add(NotebookWriteConsentGranted { request_id: request_id.clone(), granter_id: handle("player-1") });
        self.add(NotebookWriteApplied { request_id, content_handles })
    }

    pub(crate) fn try_build(&self, scene: Option<&str>, query: &str, budget: u64) -> Result<Built, BuildError> {
        // A system with this build's policies and the log's other pins, as `oracle memory replay` has.
        let mut pins = self.log.state().pins().clone();
        pins.0.extend(policy::pins().0);
        self.build_with(scene, query, budget, &pins)
    }

    pub(crate) fn build_with(
        &self,
        scene: Option<&str>,
        query: &str,
        budget: u64,
        pins: &Pins,
    ) -> Result<Built, BuildError> {
        let scene = scene.map(handle);
        let request = Request {
            campaign_id: self.log.campaign_id(),
            scene_id: scene.as_ref(),
            query,
            budget: Budget::of_bytes(budget),
        };
        working_set::build(self.log.state(), &request, pins)
    }

    pub(crate) fn build(&self, query: &str) -> Built {
        self.try_build(None, query, 1_000_000).unwrap()
    }

    pub(crate) fn shown(&self, scene: Option<&str>) -> String {
        String::from_utf8(self.try_build(scene, "", 1_000_000).unwrap().set.bytes().to_vec()).unwrap()
    }
}

pub(crate) fn provenance(source: &str) -> Provenance {
    Provenance { source: handle(source), rule_ref: None, generator_spec: None, event_ids: vec![], commit_ids: vec![] }
}

pub(crate) fn unlocked(key: &str, payload: &str) -> FactCommitted {
    FactCommitted {
        fact_id: None,
        kind: handle("LOCATION"),
        payload: text(payload),
        provenance: provenance("worldgen-1"),
        visibility_mask: [Mode::Play, Mode::Companion].into(),
        precision_tag: PrecisionTag::Unlocked,
        stable_key: handle(key),
        detail_handle: None,
        gist: None,
        precision_tokens: BTreeSet::new(),
    }
}

pub(crate) fn locked(detail: &str, payload: &str, gist: &str, tokens: &[&str]) -> FactCommitted {
    FactCommitted {
        kind: handle("CLUE"),
        precision_tag: PrecisionTag::Locked,
        detail_handle: Some(handle(detail)),
        gist: Some(gist.to_owned()),
        precision_tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
        ..unlocked(&format!("clue/{detail}"), payload)
    }
}

pub(crate) const WORDS: [&str; 24] = [
    "tower", "harbour", "lantern", "ferry", "market", "bridge", "garden", "letter", "winter", "captain", "mirror",
    "orchard", "stairs", "river", "candle", "archive", "window", "quarry", "signal", "carpet", "thunder", "violet",
    "north", "copper",
];

/// A code that no word of [`WORDS`] contains.
pub(crate) fn code(draw: &mut Random) -> String {
    format!(
        "{:04}-{}{}",
        draw.below(10_000),
        draw.pick(b"QXZKJ").unwrap() as char,
        draw.pick(b"QXZKJ").unwrap() as char
    )
}

pub(crate) fn sentence(draw: &mut Random, words: u64) -> String {
    let words: Vec<&str> = (0..words).map(|_| draw.pick(&WORDS).unwrap()).collect();
    words.join(" ")
}
