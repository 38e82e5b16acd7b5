//! Histories drawn from a seed. They hold every kind of event but the erasure, which ends a log.

use super::{Table, code, handle, locked, sentence, unlocked};
use lens::{Digest, Domain, Mode, canonical::Value};
use memory::{Payload, PinKind, Pins, event::*, policy};
use testkit::Random;

/// A history of `length` attempts to append, drawn from a seed. Some drawn events are refused and leave no trace.
pub(crate) fn history(seed: u64, length: u64) -> Table {
    let mut draw = Random::seeded(seed);
    let mut table = Table::new();
    table.add(RevisionRecorded {
        revision_id: handle("R2"),
        adds: [handle("EV-021")].into(),
        reason: "test".to_owned(),
        recorded_by: handle("operator"),
    });
    for step in 0..length {
        let _ = table.try_add(random_payload(&mut draw, &table, step));
    }
    table
}

fn random_payload(draw: &mut Random, table: &Table, step: u64) -> Payload {
    match draw.below(24) {
        0..=3 => {
            let (n, code, words) = (draw.below(8), code(draw), sentence(draw, 6));
            locked(&format!("detail-{n}"), &format!("{words} {code}"), &words, &[&code]).into()
        }
        4..=7 => unlocked(&format!("key-{step}"), &sentence(draw, 9)).into(),
        8..=15 => at_the_table(draw, table),
        16..=19 => of_the_ledger(draw, table),
        20..=21 => beside_the_table(draw),
        _ => of_pictures_and_pins(draw, table),
    }
}

/// Recalls, the notebook, scenes, rules, modes.
fn at_the_table(draw: &mut Random, table: &Table) -> Payload {
    // Few names, so that the steps of one recall and of one request meet.
    let n = draw.below(2);
    let scene_id = handle(&format!("scene-{}", draw.below(3)));
    // A recall and a rule opening in another scene than the open one are refused, so most are in the open one.
    let open = table.log.state().story().scene_id.clone().filter(|_| draw.below(4) > 0);
    let here = open.unwrap_or_else(|| scene_id.clone());
    let (detail_handle, request_id) = (handle(&format!("detail-{n}")), handle(&format!("note-{n}")));
    let actor = handle("player-1");
    match draw.below(15) {
        0 | 12 => RecallRequest { detail_handle, requester_id: actor, scene_id: here }.into(),
        1 | 13 => {
            let (dc, roll) = (10, draw.below(20) as i64);
            let outcome = if roll >= dc { Outcome::Success } else { Outcome::Fail };
            RecallAttempt { detail_handle, roller_id: actor, skill_id: handle("lore"), dc, roll, outcome }.into()
        }
        2 | 14 => {
            let outcome = if draw.below(2) == 0 { Outcome::Success } else { Outcome::Fail };
            RecallResult { payload_handle: handle("given"), detail_handle, outcome }.into()
        }
        3 | 4 => NotebookWriteConsentRequested {
            request_id,
            content_handles: [detail_handle].into(),
            requester_id: actor,
            scene_id: Some(scene_id),
        }
        .into(),
        5 | 6 => NotebookWriteConsentGranted { request_id, granter_id: actor }.into(),
        7 => NotebookWriteConsentDenied { request_id, denier_id: actor }.into(),
        8 => NotebookWriteApplied { request_id, content_handles: [detail_handle].into() }.into(),
        9 => {
            let session_id = (draw.below(2) == 0).then(|| handle(&format!("session-{}", draw.below(2))));
            SceneStart { scene_id, session_id, caps: [(handle("nudges"), n as i64)].into() }.into()
        }
        10 => SceneEnd { scene_id }.into(),
        _ => match draw.below(2) {
            0 => RuleRefOpened {
                rule_ref: handle("rule-1"),
                scene_id: here,
                actor_id: actor,
                unlock_scope: Scope::Scene,
            }
            .into(),
            _ => ModeChanged { mode: draw.pick(&[Mode::Play, Mode::Play, Mode::Companion, Mode::Reference]).unwrap() }
                .into(),
        },
    }
}

/// Pointers, withdrawn facts, compactions.
fn of_the_ledger(draw: &mut Random, table: &Table) -> Payload {
    let n = draw.below(8);
    let state = table.log.state();
    let facts: Vec<Digest> = state.facts().canon().map(|(id, _)| *id).collect();
    let compactions: Vec<Digest> = state.compactions().keys().copied().collect();
    match draw.below(5) {
        0 if !facts.is_empty() => {
            FactWithdrawn { fact_id: draw.pick(&facts).unwrap(), reason: "test".to_owned() }.into()
        }
        1 | 2 if !facts.is_empty() => {
            let compaction_policy_id = handle(["recap/1", "synopsis/1"][draw.below(2) as usize]);
            CompactionRequested { compaction_policy_id, input_handles: vec![draw.pick(&facts).unwrap()] }.into()
        }
        3 if !compactions.is_empty() => CompactionDeleted { compaction_id: draw.pick(&compactions).unwrap() }.into(),
        _ => {
            let pointer = draw.pick(&[PointerKind::Thread, PointerKind::Clock, PointerKind::Region]).unwrap();
            let value = if n == 0 { Value::Null } else { Value::Integer(n as i64) };
            StoryPointerChanged { pointer, handle: handle(&format!("pointer-{n}")), value }.into()
        }
    }
}

/// Nudges, playback, roleplay, the reading spot: events that select nothing.
fn beside_the_table(draw: &mut Random) -> Payload {
    let n = draw.below(8);
    let scene_id = handle(&format!("scene-{}", draw.below(3)));
    let (nudge_id, playback_id) = (handle(&format!("nudge-{n}")), handle(&format!("playback-{n}")));
    let rendering_id = handle(&format!("rendering-{n}"));
    match draw.below(8) {
        0 => NudgeSelected { nudge_id, scene_id }.into(),
        1 => NudgeSuppressed { nudge_id, scene_id, reason: handle("cap") }.into(),
        2 => PlaybackPaused { playback_id }.into(),
        3 => PlaybackResumed { playback_id }.into(),
        4 => PlaybackAborted { playback_id }.into(),
        5 => RoleplayValidated { rendering_id, validation: draw.pick(&[Validation::Pass, Validation::Fail]).unwrap() }
            .into(),
        6 => RoleplayFallback { rendering_id, fallback_id: handle("fallback") }.into(),
        _ => ReadingSpotSettingChanged { setting: handle(&format!("setting-{n}")), value: Value::Bool(n > 3) }.into(),
    }
}

/// Pictures, worlds, pins and revisions.
fn of_pictures_and_pins(draw: &mut Random, table: &Table) -> Payload {
    let n = draw.below(4);
    let spec = Value::Text(format!("a picture of {n}"));
    let request_hash = Digest::of(Domain::RequestSpec, &spec.to_bytes());
    let pool_id = handle(&format!("pool-{}", draw.below(2)));
    let last = table.log.records().len();
    match draw.below(7) {
        0 => ImageRequested { request_spec: spec, request_hash }.into(),
        1 | 2 => {
            let bytes_hash = Digest::of(Domain::AssetBytes, &draw.next().to_be_bytes());
            AssetPooled { asset_id: bytes_hash, bytes_hash, request_hash, pool_id, weight: 1 + n as i64 }.into()
        }
        3 => PoolBound { pool_id, surface: handle(&format!("surface-{n}")) }.into(),
        4 => WorldCommitted { world_id: handle("world-1"), pins: pins(0) }.into(),
        5 => RevisionRecorded {
            revision_id: handle(&format!("revision-{n}")),
            adds: Default::default(),
            reason: "test".to_owned(),
            recorded_by: handle("operator"),
        }
        .into(),
        _ => PinsRevised { revision_id: handle(&format!("revision-{n}")), pins: pins(last), reason: "test".to_owned() }
            .into(),
    }
}

/// The policies' pins, which a working set of a test asserts, and a model's.
fn pins(version: usize) -> Pins {
    let mut pins = policy::pins();
    pins.0.insert(PinKind::ModelHashes, [(handle("llm"), handle(&format!("model/{version}")))].into());
    pins
}
