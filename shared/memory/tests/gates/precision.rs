//! Memory Contract, G2: an exact detail is shown only where it is unlocked, and never in parts.

use super::*;

#[test]
fn g2_orc_precision_leak() {
    let mut table = vault();
    assert!(!table.shown(None).contains(SECRET));
    // No name, pointer, other fact or compaction contains the code, as written or disguised.
    let leaking = table.plain("diary", "I wrote it down: four four seven one, zx.");
    table.plain("second-half", "71-ZX stands beneath it");
    table.plain("first-half", "On the wall stands 44");
    let value = text("4.4.7.1.Z.X");
    table.add(StoryPointerChanged { pointer: PointerKind::Thread, handle: handle("thread/vault"), value });
    let recap = CompactionRequested { compaction_policy_id: handle("recap/1"), input_handles: vec![leaking] };
    table.add(recap);
    let built = table.build("vault 4471-ZX");
    let shown = String::from_utf8(built.set.bytes().to_vec()).unwrap();
    assert!(!shown.contains(SECRET) && !shown.contains("four four") && !shown.contains("4.4.7.1"), "{shown}");
    assert!(!(shown.contains("stands 44") && shown.contains("71-ZX stands")), "{shown}");
    let withheld = built.receipts.iter().filter(|receipt| receipt.reason == CutReason::Precision).count();
    assert_eq!(withheld, 4, "{:?}", built.receipts);
    // No image brief contains the code, so no picture shows it.
    for handle in ["vault-code", leaking.to_string().as_str()] {
        assert_eq!(Pvib::of(&built.set, &[handle]), Err(PvibError::NotAllowed(handle.to_owned())));
    }
    assert!(table.try_build(Some("scene-4471zx"), "", 9000).is_err_and(|error| matches!(error, BuildError::Leak(_))));
    // After the notebook entry, the exact code may be mentioned.
    table.record("note-1", "vault-code");
    let built = table.build("vault");
    assert!(String::from_utf8_lossy(built.set.bytes()).contains(SECRET));
    assert_eq!(Pvib::of(&built.set, &["vault-code"]).unwrap().lines()[0].text, "The vault opens with 4471-ZX.");
    assert!(built.receipts.is_empty() && built.set.content().locked_precision_handles.is_empty());
}

/// The halves of a code are neighbours for a reader although an item of another slice is ranked between them.
#[test]
fn g2_a_code_in_two_halves_is_withheld_however_they_are_ranked() {
    let halves = |table: &mut Table| {
        table.plain("second-half", "71-ZX stands beneath it");
        table.plain("first-half", "On the wall stands 44")
    };
    // A pointer is ranked between the facts, and written after them.
    let mut pointer_between = vault();
    halves(&mut pointer_between);
    let (pointer, value) = (PointerKind::Thread, text("the captain waits"));
    pointer_between.add(StoryPointerChanged { pointer, handle: handle("thread/ferry"), value });
    // A summary is ranked after the facts and the pointers, and written before the facts.
    let mut in_a_summary = vault();
    let first = halves(&mut in_a_summary);
    in_a_summary.add(CompactionRequested { compaction_policy_id: handle("recap/1"), input_handles: vec![first] });
    for (table, query) in [(pointer_between, "first-half"), (in_a_summary, "second-half")] {
        let built = table.build(query);
        let slices = &built.set.content().slices;
        let facts = slices.facts_slice.iter().filter_map(|fact| fact.payload.as_ref()?.as_text());
        let texts: Vec<&str> = slices.compactions_slice.iter().map(|it| it.output.as_str()).chain(facts).collect();
        assert!(!texts.windows(2).any(|two| two[0].ends_with("44") && two[1].starts_with("71")), "{texts:?}");
        let withheld = built.receipts.iter().filter(|receipt| receipt.reason == CutReason::Precision).count();
        assert_eq!(withheld, 1, "{texts:?}");
    }
}

/// The later in the order of two items that make up a code is withheld, wherever it is written: at no budget does one
/// more item cost an earlier one, here the fact that the query names.
#[test]
fn g2_a_larger_budget_loses_no_item_to_the_other_half_of_a_code() {
    let mut table = vault();
    table.plain("ferry", "71-ZX is the ferry's number.");
    let first = table.plain("passengers", "They counted 44");
    table.add(CompactionRequested { compaction_policy_id: handle("recap/1"), input_handles: vec![first] });
    let mut before = BTreeSet::new();
    for budget in (1_000..4_000).step_by(50) {
        let Ok(built) = table.try_build(None, "ferry", budget) else { continue };
        let shown: BTreeSet<String> =
            built.set.content().slices.facts_slice.iter().map(|fact| fact.stable_key.clone()).collect();
        assert!(shown.is_superset(&before), "{budget}: {before:?}, then {shown:?}");
        before = shown;
    }
    assert_eq!(before.len(), 4, "{before:?}");
    let built = table.build("ferry");
    let withheld: Vec<_> = built.receipts.iter().map(|receipt| (receipt.slice, receipt.reason)).collect();
    assert_eq!(withheld, [(Slice::CompactionsSlice, CutReason::Precision)]);
}

/// From the working set to every output: no request for a picture, and no narration that a model may have guessed.
#[test]
fn g2_holds_for_requests_of_pictures_and_for_narrations() {
    let mut table = vault();
    let harbour = table.log.state().facts().canon().find(|(_, fact)| fact.content.stable_key.as_str() == "harbour");
    let harbour = harbour.unwrap().0.to_string();
    let spec = |table: &Table, handles: &[&str]| {
        let brief = Pvib::of(&table.build("vault").set, handles).unwrap();
        let spec = RequestSpec::of(&brief, handle("sandbox/1"), (512, 512)).unwrap();
        String::from_utf8(lens::canonical::encode(&spec).unwrap()).unwrap()
    };
    let is_leak = |table: &Table, text: &str| Locked::of(table.log.state(), None).is_in(text);
    assert!(!is_leak(&table, &spec(&table, &[&harbour])));
    for narration in
        ["The dial turns to 4471-ZX.", "She whispers: forty-four, seventy-one, Z, X.", "xz 17 44", "４４７１ＺＸ"]
    {
        assert!(is_leak(&table, narration), "{narration}");
    }
    assert!(!is_leak(&table, "She whispers a code and turns the dial."));
    // After the notebook entry, the picture and the narration may show the exact code.
    table.record("note-1", "vault-code");
    assert!(spec(&table, &["vault-code"]).contains(SECRET) && !is_leak(&table, "The dial turns to 4471-ZX."));
}

#[test]
fn g2_a_gist_that_gives_its_detail_away_is_refused() {
    for gist in [
        "It is 4471-ZX.",
        "It is 4 4 7 1 Z X.",
        "It is four-four-seven-one ZX.",
        "xz-1744",
        "44&#55;1zx",
        "Forty-four seventy-one ZX.",
    ] {
        let refusal = Table::new().refusal(locked("code", "4471-ZX", gist, &[SECRET]));
        assert!(refusal.contains("gist") && !refusal.contains("4471"), "{gist}: {refusal}");
    }
    let by_default =
        FactCommitted { precision_tokens: Default::default(), ..locked("code", "Swordfish", "s-w-o-r-d-fish", &[]) };
    assert!(Table::new().refusal(by_default).contains("gist"));
    assert!(Table::new().refusal(locked("4471zx", "4471-ZX", "A code.", &[SECRET])).contains("stable_key"));
    assert!(Table::new().refusal(locked("code", "?", "A code.", &["?!"])).contains("letter"));
}

#[test]
fn g2_a_fact_is_locked_unless_it_says_otherwise() {
    let line = br#"{"at":1,"campaign_id":"camp-1","event":"EV-ORC-004","payload":{"kind":"CLUE","payload":"Midnight at the quarry","provenance":{"source":"w"},"stable_key":"k","visibility_mask":["PLAY"]}}"#;
    let mut table = Table::new();
    let event = memory::Event::parse(line).unwrap();
    table.log.append(event, &Unsealed).unwrap();
    let shown = table.shown(None);
    assert!(!shown.contains("quarry") && shown.contains(r#""precision":"gist""#), "{shown}");
    // An unlock that is older than the fact does not unlock it.
    let mut table = vault();
    table.record("note-1", "later");
    table.clue("later", "It is 9983-QK.", "It is a number.", &["9983-QK"]);
    assert!(!table.shown(None).contains("9983"));
}
