//! Binds a verdict to the observations: fingerprints of their form and their content. A verdict is computed from data, so
//! the authority gate's operation is `calculate`.

use anvil_rules::Kernel;
use authority::{BindingError, Category, Evidence, EvidenceBinding, EvidenceOperation, ReasonCode};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Binds the observations of `subject`, a JSON object.
///
/// # Errors
/// [`BindingError`] if there is nothing to bind to.
pub fn bind(subject: &str, observed: &Value) -> Result<EvidenceBinding, BindingError> {
    let empty = Map::new();
    let fields = observed.as_object().unwrap_or(&empty);
    let kinds: BTreeMap<&String, &str> = fields.iter().map(|(name, value)| (name, authority::type_of(value))).collect();
    let count = |value: &Value| value.as_array().map_or(1, Vec::len);
    let rows: usize = fields.values().filter(|value| !value.is_null()).map(count).sum();
    let missing: Vec<&String> = fields.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name).collect();
    let thresholds = Kernel::ALL.map(|kernel| format!("{} {}", kernel.symbol(), kernel.threshold()));
    let names: Vec<&String> = fields.keys().collect();
    let schema = json!({ "tables": [subject], "columns": names, "types": kinds, "constraints": thresholds });
    let sample = json!({ "row_count": rows, "nullability": missing, "rows": observed });
    let observations = [
        (Category::Schema, schema, format!("{} fields and the kernels' thresholds", names.len())),
        (Category::DataSample, sample, format!("{rows} observations, {} not made", missing.len())),
    ];
    // A calculation changes no data, and the values are what the caller observed: no source is asked for this one, and
    // no cache or connection is looked at.
    let mut evidence = BTreeMap::from([
        (Category::Constraint, Evidence::absent(ReasonCode::NotApplicable)),
        (Category::ExternalSource, Evidence::absent(ReasonCode::NotNeeded)),
        (Category::StateSnapshot, Evidence::absent(ReasonCode::NotNeeded)),
    ]);
    for (category, observation, summary) in observations {
        evidence.insert(category, Evidence::observe(category, &observation, &summary)?);
    }
    EvidenceBinding::new(EvidenceOperation::Calculate, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anvil_rules::evidence::Forge;

    #[test]
    fn a_verdict_is_bound_to_exactly_what_was_observed() {
        let of = |document: &str| {
            let observed: Forge = serde_json::from_str(document).unwrap();
            serde_json::to_value(bind("the forge", &serde_json::to_value(observed).unwrap()).unwrap()).unwrap()
        };
        let bound = of(r#"{"loss":0.378}"#);
        assert_eq!(bound["operation"], "calculate");
        assert_eq!(bound["evidence"]["constraint"], json!({ "reason": "not_applicable" }));
        for category in ["external_source", "state_snapshot"] {
            assert_eq!(bound["evidence"][category], json!({ "reason": "not_needed" }), "{category}");
        }
        let fingerprint = |value: &Value| value["evidence"]["data_sample"]["fingerprint"].as_str().unwrap().to_owned();
        assert_eq!(fingerprint(&bound).len(), 64);
        assert_eq!(fingerprint(&bound), fingerprint(&of(r#"{"loss":0.378,"pairs":null}"#)));
        assert_ne!(fingerprint(&bound), fingerprint(&of(r#"{"loss":0.379}"#)));
        let text = bound.to_string();
        assert!(!text.contains("0.378"), "a binding holds no raw data: {text}");
    }
}
