//! The evidence of a command that corrects data (Authority Governance, RFC-0007): fingerprints of the form of the
//! items, of the rules for a change, and of the items as they were before the command proposed the change. It is
//! recorded before the change.

use std::collections::{BTreeMap, BTreeSet};

use authority::{BindingError, Category, Evidence, EvidenceBinding, EvidenceOperation};
use domain::{Operator, SessionId, ports::SaleStore};
use serde_json::{Value, json};

use crate::{command::CommandError, stack::Deployed};

/// Items of one store that a command is about to change.
pub(crate) struct Observed<'a> {
    /// The store.
    pub(crate) store: &'a str,
    /// The rules that protect the items during a change.
    pub(crate) rules: &'a [&'a str],
    /// The items as JSON objects. Only their fingerprints are recorded.
    pub(crate) items: Vec<Value>,
}

/// A stored sale with its version; both are `null` if there is no such sale.
pub(crate) async fn of_sale(deployed: &Deployed, session: &SessionId) -> Result<Value, CommandError> {
    let store: &dyn SaleStore = &deployed.stores.sales;
    let found = store.load(session).await.map_err(|error| CommandError::failed("the sale cannot be read", error))?;
    Ok(match found {
        Some(found) => json!({ "session": session, "version": found.version, "sale": found.value }),
        None => json!({ "session": session, "version": null, "sale": null }),
    })
}

/// The rules for every change of a sale.
pub(crate) const RULES_OF_SALES: &[&str] = &["saved on condition of its version", "only transitions of its state"];

impl Observed<'_> {
    /// The evidence that a correction needs.
    ///
    /// # Errors
    /// [`BindingError`] if there are no observations to bind to.
    pub(crate) fn bind(&self) -> Result<EvidenceBinding, BindingError> {
        let fields = || self.items.iter().filter_map(Value::as_object).flatten();
        let columns: BTreeSet<&String> = fields().map(|(name, _)| name).collect();
        let types: BTreeMap<&String, &str> = fields().map(|(name, value)| (name, kind(value))).collect();
        let mut missing: BTreeMap<&String, usize> = BTreeMap::new();
        fields().filter(|(_, value)| value.is_null()).for_each(|(name, _)| *missing.entry(name).or_default() += 1);
        let count = self.items.len();
        let schema = json!({ "tables": [self.store], "columns": columns, "types": types, "constraints": self.rules });
        let constraint = json!({ "foreign_keys": [], "checks": self.rules, "unique": ["its key"], "policies": [] });
        let sample = json!({ "row_count": count, "nullability": missing, "rows": self.items });
        let observations = [
            (Category::Schema, schema, format!("{} fields of {}", columns.len(), self.store)),
            (Category::Constraint, constraint, self.rules.join("; ")),
            (Category::DataSample, sample, format!("{count} of {}", self.store)),
        ];
        let mut evidence = BTreeMap::new();
        for (category, observation, summary) in observations {
            evidence.insert(category, Evidence::observe(category, &observation, &summary)?);
        }
        EvidenceBinding::new(EvidenceOperation::Correct, evidence)
    }

    /// Records the operator's decision with its evidence. If that fails, the command must change nothing.
    pub(crate) async fn record(
        &self,
        deployed: &Deployed,
        operator: &Operator,
        action: &'static str,
    ) -> Result<(), CommandError> {
        let unbound = |error| CommandError::failed("the decision is bound to no evidence, and nothing was done", error);
        let facts = json!({ "items": self.items.len(), "evidence": self.bind().map_err(unbound)? });
        deployed.record(operator, action, &facts).await
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_bound_to_exactly_what_was_seen_and_shows_none_of_it() {
        let bind = |items: Vec<Value>| {
            let observed = Observed { store: "sales", rules: RULES_OF_SALES, items };
            serde_json::to_value(observed.bind().unwrap()).unwrap()
        };
        let bound = bind(vec![json!({ "session": "cs_live_secret", "version": 3, "verdict": null })]);
        assert_eq!(bound["operation"], "correct");
        for category in ["schema", "constraint", "data_sample"] {
            assert_eq!(bound["evidence"][category]["fingerprint"].as_str().unwrap().len(), 64, "{category}");
        }
        assert!(!bound.to_string().contains("cs_live_secret"), "{bound}");
        let other = bind(vec![json!({ "session": "cs_live_secret", "version": 4, "verdict": null })]);
        let sample = |value: &Value| value["evidence"]["data_sample"]["fingerprint"].clone();
        assert_ne!(sample(&bound), sample(&other), "another version is another observation");
        assert_eq!(bound["evidence"]["schema"], other["evidence"]["schema"]);
        assert_eq!(other["evidence"]["data_sample"]["summary"], "1 of sales");
    }
}
