//! Memory Contract, G3: a detail is unlocked by a recall, a consent or a recorded revision, and by nothing else.

use super::*;

#[test]
fn g3_orc_recall_rr002() {
    let (code, player, scene) = (handle("vault-code"), handle("player-1"), handle("scene-1"));
    let exact = text("The vault opens with 4471-ZX.");
    let mut table = vault();
    let Route::Roll(request) = recall::route(table.log.state(), &code, &player, &scene) else { panic!("not locked") };
    assert_eq!((request.detail_handle.as_str(), request.scene_id.as_str()), ("vault-code", "scene-1"));

    // A failed roll records all three events and gives the gist.
    table.recall("vault-code", "scene-1", 9);
    let ids: Vec<&str> =
        events_of(&table).iter().rev().take(3).rev().map(|event| event.payload.id().as_str()).collect();
    assert_eq!(ids, ["EV-001", "EV-002", "EV-003"]);
    assert_eq!(
        recall::answer(table.log.state(), &code, &scene),
        Some(Answer::Gist(Some("The vault opens with a code.")))
    );
    assert!(!table.shown(None).contains(SECRET));

    // A successful roll gives the exact detail in this scene only, until the scene ends.
    table.recall("vault-code", "scene-1", 10);
    assert_eq!(recall::route(table.log.state(), &code, &player, &scene), Route::Exact(&exact));
    assert!(table.shown(None).contains(SECRET) && !table.shown(Some("scene-2")).contains(SECRET));
    table.add(SceneEnd { scene_id: scene.clone() });
    assert!(!table.shown(Some("scene-1")).contains(SECRET));
    let history = table.log.state().unlocks().history("vault-code");
    assert_eq!(history.len(), 1);
    assert_eq!(history[0].ended_by, Some(table.log.state().events()));

    // A notebook entry unlocks for the whole campaign.
    table.record("note-1", "vault-code").scene("scene-9");
    assert!(table.shown(Some("scene-9")).contains(SECRET));
    assert_eq!(recall::route(table.log.state(), &handle("nothing"), &player, &scene), Route::Unknown);
}

#[test]
fn g3_no_step_of_a_recall_or_of_consent_can_be_skipped_or_bent() {
    let mut table = vault();
    let (detail_handle, payload_handle) = (handle("vault-code"), handle("vault-code/exact"));
    let result = |outcome| RecallResult {
        detail_handle: detail_handle.clone(),
        outcome,
        payload_handle: payload_handle.clone(),
    };
    let attempt = |roll, outcome| RecallAttempt {
        detail_handle: detail_handle.clone(),
        roller_id: handle("player-1"),
        skill_id: handle("lore"),
        dc: 10,
        roll,
        outcome,
    };
    assert!(table.refusal(result(Outcome::Success)).contains("without EV-001"));
    assert!(table.refusal(attempt(20, Outcome::Success)).contains("EV-002 without EV-001"));
    table.add(RecallRequest {
        detail_handle: detail_handle.clone(),
        requester_id: handle("player-1"),
        scene_id: handle("scene-1"),
    });
    assert!(table.refusal(result(Outcome::Success)).contains("EV-002"));
    assert!(table.refusal(attempt(9, Outcome::Success)).contains("roll >= dc"));
    table.add(attempt(9, Outcome::Fail));
    assert!(table.refusal(attempt(20, Outcome::Success)).contains("rolled already"));
    assert!(table.refusal(result(Outcome::Success)).contains("not the attempt's outcome"));
    let vault = *table.log.state().facts().by_detail("vault-code").unwrap().0;
    for exact in ["vault-code", "vault-code/exact", &vault.to_string(), &format!("{vault}/exact")] {
        let named = RecallResult { payload_handle: handle(exact), ..result(Outcome::Fail) };
        assert!(table.refusal(named).contains("never the exact detail"), "{exact}");
    }

    let (request_id, granter_id) = (handle("note-1"), handle("player-1"));
    let applied =
        |what: &str| NotebookWriteApplied { request_id: request_id.clone(), content_handles: [handle(what)].into() };
    let granted = NotebookWriteConsentGranted { request_id: request_id.clone(), granter_id };
    assert!(table.refusal(applied("vault-code")).contains("never requested"));
    assert!(table.refusal(granted.clone()).contains("never requested"));
    table.add(NotebookWriteConsentRequested {
        request_id: request_id.clone(),
        content_handles: [detail_handle.clone()].into(),
        requester_id: handle("player-1"),
        scene_id: None,
    });
    assert!(table.refusal(applied("vault-code")).contains("not at this step"));
    let mut denied = table.clone();
    denied.add(NotebookWriteConsentDenied { request_id: request_id.clone(), denier_id: handle("player-1") });
    assert!(denied.refusal(granted.clone()).contains("not at this step"));
    assert!(denied.refusal(applied("vault-code")).contains("not at this step"));
    assert!(!denied.shown(None).contains(SECRET));
    table.add(granted);
    assert!(table.refusal(applied("something-else")).contains("not what consent was given for"));
    table.add(applied("vault-code"));
    assert!(table.refusal(applied("vault-code")).contains("not at this step"));
}

/// Consent and a roll are for the content that has the handle at that time, not for another one that gets it later.
#[test]
fn g3_a_step_for_a_withdrawn_fact_unlocks_no_later_one() {
    let (detail, player, request_id) = (handle("vault-code"), handle("player-1"), handle("note-1"));
    let replace = |table: &mut Table| {
        let fact_id = *table.log.state().facts().by_detail("vault-code").unwrap().0;
        table.add(FactWithdrawn { fact_id, reason: "superseded".to_owned() });
        table.clue("vault-code", "The vault opens with 9902-QQ.", "The vault opens with another code.", &["9902-QQ"]);
    };
    let mut consented = vault();
    consented.add(NotebookWriteConsentRequested {
        request_id: request_id.clone(),
        content_handles: [detail.clone()].into(),
        requester_id: player.clone(),
        scene_id: None,
    });
    consented.add(NotebookWriteConsentGranted { request_id: request_id.clone(), granter_id: player.clone() });
    replace(&mut consented);
    let applied = NotebookWriteApplied { request_id, content_handles: [detail.clone()].into() };
    assert!(consented.refusal(applied).contains("not what consent was given for"));

    let mut rolled = vault();
    let scene_id = handle("scene-1");
    rolled.add(RecallRequest { detail_handle: detail.clone(), requester_id: player.clone(), scene_id });
    let roll = recall::Roll { roller_id: player, skill_id: handle("lore"), dc: 10, roll: 20 };
    let [attempt, result] = recall::after_roll(&detail, roll).unwrap();
    rolled.add(attempt);
    replace(&mut rolled);
    assert!(rolled.refusal(result).contains("EV-003 without EV-001"));

    // Its own roll and consent unlock the new content.
    rolled.recall("vault-code", "scene-1", 20);
    assert!(!consented.shown(None).contains("9902-QQ") && rolled.shown(None).contains("9902-QQ"));
    consented.record("note-2", "vault-code");
    assert!(consented.shown(None).contains("9902-QQ"));
}

/// What is unlocked for a scene begins in it: nothing would end what begins after it.
#[test]
fn g3_no_recall_outlives_its_scene() {
    let ends: [(&str, Payload); 2] = [
        ("EV-032", SceneEnd { scene_id: handle("scene-1") }.into()),
        ("EV-031", SceneStart { scene_id: handle("scene-2"), session_id: None, caps: Default::default() }.into()),
    ];
    for (id, end) in ends {
        let request = |scene: &str| RecallRequest {
            detail_handle: handle("vault-code"),
            requester_id: handle("player-1"),
            scene_id: handle(scene),
        };
        let roll = |roll| {
            let roll = recall::Roll { roller_id: handle("player-1"), skill_id: handle("lore"), dc: 10, roll };
            recall::after_roll(&handle("vault-code"), roll).unwrap()
        };
        // The scene ends before the roll, or between the roll and its result.
        for (rolled, refused) in [(0, "EV-002 without EV-001"), (1, "EV-003 without EV-001")] {
            let mut table = vault();
            assert!(table.refusal(request("scene-2")).contains("scene-2 is not open"));
            table.add(request("scene-1"));
            let [attempt, result] = roll(20);
            let next = if rolled == 0 {
                attempt
            } else {
                table.add(attempt);
                result
            };
            table.add(end.clone());
            assert!(table.refusal(next).contains(refused), "{id}");
            assert!(table.refusal(request("scene-1")).contains("scene-1 is not open"), "{id}");
            assert!(!table.shown(Some("scene-1")).contains(SECRET), "{id}");
        }
    }
}

#[test]
fn g3_rules_unlock_by_a_recorded_revision_alone() {
    let mut table = Table::new();
    table.add(SceneStart { scene_id: handle("scene-1"), session_id: Some(handle("s1")), caps: Default::default() });
    let mut fact = locked("trap", "The trap needs 17.", "The trap is hard.", &["17"]);
    fact.provenance.rule_ref = Some(handle("rule-7"));
    table.add(fact);
    let opened_in = |scene: &str, unlock_scope| RuleRefOpened {
        rule_ref: handle("rule-7"),
        scene_id: handle(scene),
        actor_id: handle("player-1"),
        unlock_scope,
    };
    let opened = |unlock_scope| opened_in("scene-1", unlock_scope);
    assert!(table.refusal(opened(Scope::Scene)).contains("recorded revision"));
    let revision = |adds: &str| RevisionRecorded {
        revision_id: handle("GT-12-R2"),
        adds: [handle(adds)].into(),
        reason: "The table opens the rulebook.".to_owned(),
        recorded_by: handle("operator"),
    };
    assert!(table.refusal(revision("EV-022")).contains("other than EV-021"));
    table.add(revision("EV-021"));
    assert!(table.refusal(opened(Scope::Campaign)).contains("only the notebook"));
    table.add(opened(Scope::Scene));
    let set = table.build("").set;
    assert!(String::from_utf8_lossy(set.bytes()).contains("needs 17") && set.allows("rule-7") && set.allows("trap"));
    table.scene("scene-2");
    assert!(!table.shown(None).contains("needs 17"));
    for scope in [Scope::Scene, Scope::Session] {
        assert!(table.refusal(opened(scope)).contains("scene-1 is not open"));
    }
    table.add(opened_in("scene-2", Scope::Session)).scene("scene-3");
    assert!(table.shown(None).contains("needs 17"));
    table.add(SceneStart { scene_id: handle("scene-4"), session_id: Some(handle("s2")), caps: Default::default() });
    assert!(!table.shown(None).contains("needs 17"));
}
