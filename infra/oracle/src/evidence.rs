//! The evidence of a command that corrects data (Authority Governance, RFC-0007): fingerprints of the form of the
//! items, of the rules for a change, and of the items as they were before the command proposed the change. It is
//! recorded before the change.
//!
//! Form and items are read from the store. The rules are those that this build's code applies, in words: the store
//! enforces none but the key, so its description would say nothing about them.

use std::collections::{BTreeMap, BTreeSet};

use authority::{BindingError, Category, Evidence, EvidenceBinding, EvidenceOperation, ReasonCode};
use domain::{Operator, SessionId, ports::SaleStore};
use serde_json::{Value, json};

use crate::{
    command::{CommandError, OrFailed, Signed, wait},
    stack::Deployed,
    terminal::progress::counted,
};

/// Items of one store that a command is about to change.
pub(crate) struct Observed<'a> {
    pub(crate) store: &'a str,
    /// The rules that protect the items during a change.
    pub(crate) rules: &'a [&'a str],
    /// The items as JSON objects. Only their fingerprints are recorded.
    pub(crate) items: Vec<Value>,
}

/// Stored sales, each with its version.
pub(crate) fn of_sales(deployed: &Deployed, sessions: &[SessionId]) -> Result<Observed<'static>, CommandError> {
    let items = wait(async {
        let mut items = Vec::new();
        for session in sessions {
            items.push(of_sale(&deployed.stores.sales, session).await?);
            counted(items.len() as u64, sessions.len() as u64, "sales are read");
        }
        Ok(items)
    })?;
    Ok(Observed { store: "sales", rules: RULES_OF_SALES, items })
}

/// A stored sale with its version; both are `null` if there is no such sale.
async fn of_sale(store: &dyn SaleStore, session: &SessionId) -> Result<Value, CommandError> {
    let found = store.load(session).await.or_failed("the sale cannot be read")?;
    Ok(match found {
        Some(found) => json!({ "session": session, "version": found.version, "sale": found.value }),
        None => json!({ "session": session, "version": null, "sale": null }),
    })
}

/// The rules for every change of a sale.
const RULES_OF_SALES: &[&str] = &["saved on condition of its version", "only transitions of its state"];

impl Observed<'_> {
    /// The evidence that a correction needs.
    pub(crate) fn bind(&self) -> Result<EvidenceBinding, BindingError> {
        let fields = || self.items.iter().filter_map(Value::as_object).flatten();
        let columns: BTreeSet<&String> = fields().map(|(name, _)| name).collect();
        let types: BTreeMap<&String, &str> = fields().map(|(name, value)| (name, authority::type_of(value))).collect();
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
        // A correction requires neither.
        let mut evidence = BTreeMap::from([
            (Category::ExternalSource, Evidence::absent(ReasonCode::NotNeeded)),
            (Category::StateSnapshot, Evidence::absent(ReasonCode::NotNeeded)),
        ]);
        for (category, observation, summary) in observations {
            evidence.insert(category, Evidence::observe(category, &observation, &summary)?);
        }
        EvidenceBinding::new(EvidenceOperation::Correct, evidence)
    }

    /// Asks `question`, and records the decision if the operator confirms it. Returns whether they did.
    pub(crate) fn confirm(
        &self,
        deployed: &Deployed,
        (signed, operator): (&Signed, &Operator),
        action: &'static str,
        question: &str,
    ) -> Result<bool, CommandError> {
        let is_confirmed = signed.confirm(deployed, question)?;
        if is_confirmed {
            wait(self.record(deployed, operator, action, json!({})))?;
        }
        Ok(is_confirmed)
    }

    /// Records the operator's decision with its evidence beside other facts. If that fails, the command must change
    /// nothing.
    pub(crate) async fn record(
        &self,
        deployed: &Deployed,
        operator: &Operator,
        action: &'static str,
        facts: Value,
    ) -> Result<(), CommandError> {
        deployed.record(operator, action, &self.with_evidence(facts)?).await
    }

    fn with_evidence(&self, mut facts: Value) -> Result<Value, CommandError> {
        facts["items"] = self.items.len().into();
        facts["evidence"] = json!(self.bind().or_failed("the decision is bound to no evidence, and nothing was done")?);
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Sale, Timestamp};
    use testkit::World;

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
        for category in ["external_source", "state_snapshot"] {
            assert_eq!(bound["evidence"][category], json!({ "reason": "not_needed" }));
        }
        assert!(!bound.to_string().contains("cs_live_secret"), "{bound}");
        let other = bind(vec![json!({ "session": "cs_live_secret", "version": 4, "verdict": null })]);
        let sample = |value: &Value| value["evidence"]["data_sample"]["fingerprint"].clone();
        assert_ne!(sample(&bound), sample(&other), "another version is another observation");
        assert_eq!(bound["evidence"]["schema"], other["evidence"]["schema"]);
        assert_eq!(other["evidence"]["data_sample"]["summary"], "1 of sales");
    }

    #[test]
    fn a_sale_is_observed_as_it_is_stored_and_one_that_is_not_there_too() {
        let world = World::default();
        let session = SessionId::parse("cs_test_1").unwrap();
        assert_eq!(wait(of_sale(&world, &session)).unwrap()["version"], Value::Null);
        let sale = Sale::ordered(session.clone(), Timestamp::from_seconds(0));
        world.state().sales.insert(session.clone(), (sale.clone(), 3));
        let item = wait(of_sale(&world, &session)).unwrap();
        assert_eq!((&item["version"], &item["sale"]), (&json!(3), &json!(sale)));
    }

    #[test]
    fn the_evidence_stands_beside_the_facts_of_the_command() {
        let items = vec![json!({ "id": "m-1", "body": "of a customer" })];
        let observed = Observed { store: "dead letters", rules: &["a removed message is not put back"], items };
        let facts = observed.with_evidence(json!({ "message": "m-1" })).unwrap();
        assert_eq!((&facts["message"], &facts["items"]), (&json!("m-1"), &json!(1)));
        assert_eq!(facts["evidence"]["operation"], "correct");
        assert!(!facts.to_string().contains("of a customer"), "{facts}");
    }
}
