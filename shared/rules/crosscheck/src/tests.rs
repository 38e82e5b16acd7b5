use super::*;
use proptest::prelude::*;
use serde_json::json;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

fn full(top: &str, colours: [&str; 5]) -> Value {
    let dimensions: serde_json::Map<String, Value> = domain::verdict::DIMENSIONS
        .iter()
        .zip(colours)
        .map(|(name, colour)| ((*name).to_owned(), json!({"verdict": colour, "analysis": "An analysis."})))
        .collect();
    json!({"verdict": top, "summary": "A summary of sufficient length.", "breakdown": dimensions})
}

fn strategy() -> Value {
    let mut reply = full("GREEN", ["GREEN"; 5]);
    reply["strategy"] = json!({"next_step": "Do it.", "alternative": "Or not.", "tests": ["a", "b", "c"]});
    reply
}

/// TMM Crosscheck, verification criterion 6.
#[test]
fn constants_are_those_of_the_spec() {
    assert!(close(constants::PHI, 0.042));
    assert!(close(constants::OMEGA, 1.0 - (0.042 / 1.618_033_988_75)));
    assert!((constants::OMEGA - 0.97404).abs() < 1e-5);
}

/// The three worked examples under "Formula application".
#[test]
fn worked_examples_of_the_formula() {
    assert!(close(coherence(0.0, 0.0, 2.0), 1.0));
    let tolerated = coherence(0.0, 3.0, 7.0);
    assert!(close(tolerated, 0.982) && tolerated >= constants::OMEGA);
    let severe = coherence(0.5, 5.5, 2.0);
    assert!((severe - 0.635).abs() < 5e-4 && severe < constants::OMEGA);
}

/// TMM Crosscheck, verification criterion 1.
#[test]
fn a_perfect_quick_take_passes() {
    let checked = crosscheck(r#"{"verdict":"GREEN","summary":"Demand is real and the format fits."}"#, Tier::Quick);
    assert!(checked.approved && close(checked.coherence_score, 1.0));
    assert_eq!((checked.crosscheck_reason, checked.flags.len()), (Reason::Pass, 0));
    assert_eq!(checked.verdict_label, Some(Colour::Green));
}

/// TMM Crosscheck, verification criterion 2.
#[test]
fn a_reply_without_verdict_and_with_an_empty_summary_is_field_missing() {
    let checked = crosscheck(r#"{"summary":""}"#, Tier::Quick);
    assert!(!checked.approved);
    assert_eq!(checked.crosscheck_reason, Reason::FieldMissing);
    assert!(close(checked.coherence_score, 1.0 - 1.042));
    assert_eq!(crosscheck("{}", Tier::Strategy).crosscheck_reason, Reason::FieldMissing);
}

/// TMM Crosscheck, verification criterion 3, and the second worked example: a conflict alone is tolerated by the
/// formula.
#[test]
fn a_conflict_is_flagged_scored_and_passes_as_the_spec_says() {
    let checked = crosscheck_value(&full("GREEN", ["RED"; 5]), Tier::Full);
    assert_eq!(checked.flags, ["dimension_conflict", "opposed_by_every_dimension"]);
    assert!(close(checked.coherence_score, 1.0 - 2.0 * 0.042 / 7.0));
    assert!(checked.approved && checked.is_opposed());
    assert!(!Crosscheck { approved: false, ..checked }.is_opposed());
    assert!(!crosscheck_value(&full("AMBER", ["RED"; 5]), Tier::Full).is_opposed());
    let mut short = full("GREEN", ["RED"; 5]);
    short["summary"] = json!("No.");
    let checked = crosscheck_value(&short, Tier::Full);
    assert!(close(checked.coherence_score, 0.982) && checked.approved);
}

/// The flag has no weight: the two units of V_r come from the conflict.
#[test]
fn a_verdict_that_every_dimension_opposes_has_a_flag_of_its_own() {
    let flags = |top, colours| crosscheck_value(&full(top, colours), Tier::Full).flags;
    assert_eq!(flags("RED", ["GREEN"; 5]), ["dimension_conflict", "opposed_by_every_dimension"]);
    assert_eq!(flags("GREEN", ["RED", "RED", "RED", "RED", "AMBER"]), ["dimension_conflict"]);
    assert_eq!(flags("AMBER", ["RED"; 5]), ["dimension_conflict"]);
}

#[test]
fn a_majority_is_more_than_half_of_the_dimensions() {
    // Verdict Pipeline, example 2: three dimensions differ from GREEN, but no other colour has a majority.
    let mixed = crosscheck_value(&full("GREEN", ["GREEN", "AMBER", "RED", "AMBER", "GREEN"]), Tier::Full);
    assert!(mixed.flags.is_empty() && close(mixed.coherence_score, 1.0));
    let three = crosscheck_value(&full("GREEN", ["RED", "RED", "RED", "GREEN", "GREEN"]), Tier::Full);
    assert_eq!(three.flags, ["dimension_conflict"]);
}

/// TMM Crosscheck, invariant 8.
#[test]
fn null_is_a_verdict_and_only_a_contradictory_one_counts() {
    let consistent = crosscheck_value(&full("NULL", ["RED"; 5]), Tier::Full);
    assert!(consistent.approved && consistent.flags.is_empty());
    let contradictory = crosscheck_value(&full("NULL", ["GREEN", "AMBER", "GREEN", "AMBER", "GREEN"]), Tier::Full);
    assert_eq!(contradictory.flags, ["contradictory_null"]);
    assert!(close(contradictory.coherence_score, 1.0 - 1.5 * 0.042 / 7.0));
}

/// TMM Crosscheck, failure mode 6 and CROSSCHECK-GAP-02.
#[test]
fn what_is_not_an_object_is_degenerate() {
    for raw in ["", "Sure! Here is your verdict:", "```json\n{}\n```", "[]", "null", "\"GREEN\"", r#"{"verdict":"GR"#] {
        let checked = crosscheck(raw, Tier::Quick);
        assert!(!checked.approved && checked.is_malformed(), "{raw}");
        assert_eq!(checked.crosscheck_reason, Reason::DegenerateManifold, "{raw}");
        assert!(close(checked.coherence_score, -1.0), "{raw}");
        assert_eq!(checked.flags, ["malformed_json"], "{raw}");
    }
}

#[test]
fn an_unknown_colour_is_no_verdict() {
    for colour in ["green", "BLUE", "", " GREEN", "GREEN\n"] {
        let reply = json!({"verdict": colour, "summary": "Long enough a summary."});
        let checked = crosscheck_value(&reply, Tier::Quick);
        assert_eq!((checked.approved, checked.verdict_label), (false, None), "{colour:?}");
        assert_eq!((checked.crosscheck_reason, checked.is_malformed()), (Reason::FieldMissing, false));
    }
    let checked = crosscheck_value(&full("GREEN", ["GREEN", "GREEN", "BLUE", "GREEN", "GREEN"]), Tier::Full);
    assert_eq!((checked.approved, checked.crosscheck_reason), (false, Reason::FieldMissing));
    assert_eq!(checked.flags, ["field_missing:breakdown.Change Rate.verdict"]);
}

#[test]
fn every_absent_field_rejects_and_every_empty_one_only_weighs() {
    assert!(close(crosscheck_value(&strategy(), Tier::Strategy).coherence_score, 1.0));
    for path in ["summary", "breakdown", "strategy"] {
        let mut reply = strategy();
        reply.as_object_mut().unwrap().remove(path);
        let checked = crosscheck_value(&reply, Tier::Strategy);
        assert_eq!((checked.approved, checked.crosscheck_reason), (false, Reason::FieldMissing), "{path}");
    }
    for path in ["next_step", "alternative", "tests"] {
        let mut reply = strategy();
        reply["strategy"].as_object_mut().unwrap().remove(path);
        assert!(!crosscheck_value(&reply, Tier::Strategy).approved, "{path}");
    }
    let mut empty = strategy();
    empty["breakdown"]["Stability"]["analysis"] = json!("");
    let checked = crosscheck_value(&empty, Tier::Strategy);
    assert_eq!(checked.flags, ["empty_analysis:Stability"]);
    assert!(checked.approved && close(checked.coherence_score, 1.0 - 0.5 * 0.042 / 9.5));
}

#[test]
fn the_strategy_block_is_weighed_as_mapped() {
    let mut reply = strategy();
    reply["strategy"]["tests"] = json!(["only one"]);
    let checked = crosscheck_value(&reply, Tier::Strategy);
    assert_eq!(checked.flags, ["strategy_tests_fewer_than_two"]);
    assert!(close(checked.coherence_score, 1.0 - 0.042 / 9.5));
    reply.as_object_mut().unwrap().remove("strategy");
    let checked = crosscheck_value(&reply, Tier::Strategy);
    assert!(checked.flags.contains(&"strategy_missing".to_owned()));
    assert!(close(checked.coherence_score, 1.0 - 2.0f64.mul_add(0.042, 0.5) / 7.0));
    // A Full Breakdown ignores the block.
    assert!(close(crosscheck_value(&reply, Tier::Full).coherence_score, 1.0));
}

#[test]
fn the_largest_evidence_is_that_of_the_spec() {
    for (tier, most) in [(Tier::Quick, 2.0), (Tier::Full, 7.0), (Tier::Strategy, 10.5)] {
        let measured = measure::measure(strategy().as_object().unwrap(), tier);
        assert!(close(measured.evidence, most), "{tier}");
    }
}

#[test]
fn the_record_has_the_fields_of_the_contract() {
    let checked = crosscheck("{", Tier::Quick);
    let line = serde_json::to_value(&checked).unwrap();
    let keys: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["approved", "coherence_score", "threshold", "verdict_label", "flags", "crosscheck_reason"];
    assert!(expected.iter().all(|key| keys.contains(key)) && keys.len() == expected.len());
    assert_eq!(line["crosscheck_reason"], "degenerate_manifold");
}

proptest! {
    #[test]
    fn the_score_never_exceeds_one_and_decides_alone(raw in "\\PC{0,200}", tier in 0usize..3) {
        let checked = crosscheck(&raw, Tier::ALL[tier]);
        prop_assert!(checked.coherence_score <= 1.0);
        prop_assert_eq!(checked.approved, checked.coherence_score >= constants::OMEGA);
        prop_assert_eq!(checked.approved, checked.crosscheck_reason == Reason::Pass);
    }
}
