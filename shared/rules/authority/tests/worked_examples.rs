//! The worked examples of the appendices (003). `data/worked_examples.json` contains their printed values, byte for
//! byte, by the path of each field, and the fields that differ deliberately, with the reason.

#![allow(clippy::unwrap_used, reason = "fixtures of tests")]

use std::collections::BTreeMap;

use authority::{Evaluation, evaluate};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Example {
    appendix: String,
    question: String,
    structure: BTreeMap<String, Value>,
    otherwise: BTreeMap<String, String>,
}

/// The field at a path of an example.
fn field(evaluation: &Evaluation, path: &str) -> Value {
    let envelope = serde_json::to_value(evaluation.authorization()).unwrap();
    match path {
        "status" => envelope["status"].clone(),
        "missing_axes" => envelope["missing_axes"].clone(),
        "blocking_axis" | "blocking_reason" => json!(evaluation.reason_code()),
        "escalation.override_allowed" => envelope["override_allowed"].clone(),
        "immediate_response.resources" => envelope["resources"].clone(),
        "narrative.grammar_constraints.forbidden" => json!(evaluation.forbidden_phrases()),
        "narrative.grammar_constraints.required" => json!(evaluation.required_phrases()),
        "provenance.override_prohibited" => json!(evaluation.override_prohibited()),
        "recovery_hint.reformulation_guidance" => json!(evaluation.reformulation()),
        "recovery_hint.suggested_actions" => json!(evaluation.suggested_actions()),
        path => envelope["provenance"][path.strip_prefix("provenance.").unwrap()].clone(),
    }
}

/// Whether a field matches the printed value. A list of phrases, actions or contacts may contain more than the
/// example's; missing axes and single values must be identical.
fn is_as_printed(path: &str, printed: &Value, ours: &Value) -> bool {
    match (printed, ours) {
        (Value::Array(printed), Value::Array(ours)) if path != "missing_axes" => {
            printed.iter().all(|one| ours.contains(one))
        }
        _ => printed == ours,
    }
}

#[test]
fn worked_examples_are_as_the_specification_prints_them() {
    let examples: Vec<Example> = serde_json::from_str(include_str!("data/worked_examples.json")).unwrap();
    assert_eq!(examples.len(), 7, "one of each appendix");
    let mut wrong = Vec::new();
    for example in examples {
        let evaluation = evaluate(&example.question, Some("en-US"));
        for (path, printed) in &example.structure {
            let ours = field(&evaluation, path);
            // A field that is listed as different but matches is an error as well.
            if is_as_printed(path, printed, &ours) == example.otherwise.contains_key(path) {
                wrong.push(format!("{}: {path}: {ours} for {printed}", example.appendix));
            }
        }
        assert!(example.otherwise.keys().all(|path| example.structure.contains_key(path)), "{}", example.appendix);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
