//! The worked examples of the appendices (Authority Governance, response structure). `data/worked_examples.json`
//! contains their printed structures, and the fields that differ deliberately, with the reason. Every printed value is
//! compared as a whole.

#![allow(clippy::unwrap_used, reason = "fixtures of tests")]

use std::collections::BTreeMap;

use authority::evaluate;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Example {
    appendix: String,
    question: String,
    response: Value,
    /// The reasons by path.
    otherwise: BTreeMap<String, String>,
}

/// The paths of all printed values that differ. An object is compared field by field: a response may have more fields
/// than the example. Lists and single values must be identical, except that more sources of help may follow the printed
/// ones.
fn differences(path: &str, printed: &Value, ours: &Value, found: &mut Vec<String>) {
    match (printed, ours) {
        (Value::Object(printed), Value::Object(_)) => {
            for (name, printed) in printed {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                differences(&path, printed, &ours[name], found);
            }
        }
        _ if printed == ours => {}
        (Value::Array(printed), Value::Array(ours))
            if path == "immediate_response.resources" && ours.starts_with(printed) => {}
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn worked_examples_are_as_the_specification_prints_them() {
    let examples: Vec<Example> = serde_json::from_str(include_str!("data/worked_examples.json")).unwrap();
    assert_eq!(examples.len(), 7, "one of each appendix");
    for Example { appendix, question, response, otherwise } in examples {
        let ours = serde_json::to_value(evaluate(&question, Some("en-US")).response()).unwrap();
        let mut found = Vec::new();
        differences("", &response, &ours, &mut found);
        // A field that is listed as different but matches is an error as well.
        found.sort();
        assert_eq!(found, otherwise.keys().cloned().collect::<Vec<_>>(), "{appendix}: {ours:#}");
    }
}
