//! Evidence binding: the required evidence of each category, and the errors of each invariant.
#![allow(clippy::unwrap_used, reason = "fixtures of tests")]

use authority::{
    BindingError, Category, Evidence, EvidenceBinding, EvidenceOperation as Operation, ForbiddenPattern, Item,
    ReasonCode,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn observed(category: Category) -> Value {
    match category {
        Category::Schema => json!({ "table": "sales", "columns": ["id"], "types": ["S"], "constraints": ["pk"] }),
        Category::Constraint => json!({ "foreign_keys": [], "checks": ["v > 0"], "unique": ["id"], "policies": [] }),
        Category::DataSample => json!({ "row_count": 12, "nullability": { "id": 0 } }),
        Category::StateSnapshot => json!({ "values": {}, "cache": "warm", "connection": "open" }),
        Category::ExternalSource => json!({ "response": "abc", "timestamp": "2026-11-22T12:00:00Z", "version": "1" }),
    }
}

const ALL: [Category; 5] =
    [Category::Schema, Category::Constraint, Category::DataSample, Category::StateSnapshot, Category::ExternalSource];

fn bound(categories: &[Category]) -> BTreeMap<Category, Evidence> {
    let bind = |category: &Category| (*category, Evidence::observe(*category, &observed(*category), "seen").unwrap());
    categories.iter().map(bind).collect()
}

#[test]
fn each_category_needs_its_minimum_depth() {
    for category in ALL {
        let whole = observed(category);
        for field in whole.as_object().unwrap().keys() {
            let mut shallow = whole.clone();
            shallow.as_object_mut().unwrap().remove(field);
            let refused = Evidence::observe(category, &shallow, "seen");
            assert!(matches!(refused, Err(BindingError::Depth { .. })), "{category:?} without {field}");
        }
    }
}

#[test]
fn each_operation_needs_its_categories() {
    for operation in [Operation::Migrate, Operation::Correct, Operation::Calculate, Operation::BoundsEngine] {
        EvidenceBinding::new(operation, bound(operation.required())).unwrap();
        for missing in operation.required() {
            let rest: Vec<Category> =
                operation.required().iter().copied().filter(|category| category != missing).collect();
            let refused = EvidenceBinding::new(operation, bound(&rest)).unwrap_err();
            assert!(refused.to_string().starts_with("EB-021"), "{operation:?} without {missing:?}: {refused}");
            let mut deferred = bound(&rest);
            deferred.insert(*missing, Evidence::absent(ReasonCode::Timeout));
            EvidenceBinding::new(operation, deferred).unwrap_err();
        }
    }
}

#[test]
fn forbidden_patterns_are_named() {
    let pattern = |operation, categories: &[Category]| match EvidenceBinding::new(operation, bound(categories)) {
        Err(BindingError::NotBound { pattern, .. }) => pattern,
        other => panic!("{other:?}"),
    };
    assert_eq!(pattern(Operation::Calculate, &[Category::DataSample]), ForbiddenPattern::ProposalWithoutSchemaCheck);
    let without_rows = [Category::Schema, Category::Constraint];
    assert_eq!(pattern(Operation::Migrate, &without_rows), ForbiddenPattern::MigrationWithoutRowCounts);
    let without_constraint = [Category::Schema, Category::DataSample];
    assert_eq!(pattern(Operation::Correct, &without_constraint), ForbiddenPattern::CorrectionWithoutConstraintCheck);
}

#[test]
fn a_claim_without_proof_or_reason_is_refused() {
    let item = |text: &str| serde_json::from_str::<Item>(text).unwrap();
    let refused = |text: &str| Evidence::parse(Category::Schema, &item(text)).unwrap_err().to_string();
    assert!(refused(r#"{"bound":true,"summary":"I checked it"}"#).starts_with("EB-012"));
    assert!(refused(r#"{"bound":true,"fingerprint":"yes"}"#).starts_with("EB-012"));
    assert!(refused(r#"{"bound":false}"#).starts_with("EB-013"));
    Evidence::parse(Category::Schema, &item(r#"{"bound":false,"reason":"dependency_unavailable"}"#)).unwrap();
}

#[test]
fn a_summary_has_500_characters_at_most() {
    let observe = |summary: String| Evidence::observe(Category::DataSample, &observed(Category::DataSample), &summary);
    observe("é".repeat(500)).unwrap();
    assert_eq!(observe("é".repeat(501)), Err(BindingError::Summary(501)));
}

#[test]
fn equal_observations_have_equal_fingerprints_and_no_raw_data() {
    let one = json!({ "row_count": 12, "nullability": { "address": 0, "id": 1 }, "samples": ["a@b.example"] });
    let other: Value = serde_json::from_str(
        r#"{ "samples": ["a@b.example"], "nullability": { "id": 1, "address": 0 }, "row_count": 12 }"#,
    )
    .unwrap();
    let bind = |value: &Value| json!(Evidence::observe(Category::DataSample, value, "12 rows").unwrap());
    assert_eq!(bind(&one), bind(&other));
    assert!(!bind(&one).to_string().contains("a@b.example"));
}

#[test]
fn an_annotation_binds_its_instruction_and_its_source() {
    let evidence = || bound(Operation::Annotate.required());
    assert_eq!(EvidenceBinding::new(Operation::Annotate, evidence()), Err(BindingError::Annotation));
    assert!(EvidenceBinding::for_annotation(evidence(), " ", &json!(["salt"])).is_err());
    let one = EvidenceBinding::for_annotation(evidence(), "mark allergens", &json!(["salt"])).unwrap();
    let other = EvidenceBinding::for_annotation(evidence(), "mark allergens", &json!(["sugar"])).unwrap();
    assert_ne!(one, other);
}
