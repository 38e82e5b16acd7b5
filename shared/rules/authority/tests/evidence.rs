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
        Category::StateSnapshot => json!({ "values": { "live": 3 }, "cache": "warm", "connection": "open" }),
        Category::ExternalSource => json!({ "response": "abc", "timestamp": "2026-11-22T12:00:00Z", "version": "1" }),
    }
}

fn bound(categories: &[Category]) -> BTreeMap<Category, Evidence> {
    let bind = |category: &Category| (*category, Evidence::observe(*category, &observed(*category), "seen").unwrap());
    categories.iter().map(bind).collect()
}

/// The other categories are not bound, for a reason.
fn bound_alone(categories: &[Category]) -> BTreeMap<Category, Evidence> {
    let absent = Category::ALL.map(|category| (category, Evidence::absent(ReasonCode::NotNeeded)));
    absent.into_iter().chain(bound(categories)).collect()
}

#[test]
fn each_category_needs_its_minimum_depth() {
    for category in Category::ALL {
        let whole = observed(category);
        for field in whole.as_object().unwrap().keys() {
            let mut shallow = whole.clone();
            shallow.as_object_mut().unwrap().remove(field);
            let refused = Evidence::observe(category, &shallow, "seen");
            assert!(matches!(refused, Err(BindingError::Depth { .. })), "{category:?} without {field}");
        }
    }
}

/// "Evidence binding is not satisfied by surface-level checks": a field that holds nothing was not observed.
#[test]
fn an_empty_value_binds_nothing() {
    let refused = |category: Category, field: &str, value: Value| {
        let mut shallow = observed(category);
        shallow[field] = value.clone();
        let refused = Evidence::observe(category, &shallow, "seen");
        assert!(matches!(refused, Err(BindingError::Depth { .. })), "{category:?} with {field} {value}");
    };
    for (category, fields) in [
        (Category::Schema, ["table", "columns", "types"]),
        (Category::StateSnapshot, ["values", "cache", "connection"]),
        (Category::ExternalSource, ["response", "timestamp", "version"]),
    ] {
        for field in fields {
            for value in [json!(null), json!(""), json!(" "), json!([]), json!({}), json!([""]), json!({ "a": null })] {
                refused(category, field, value);
            }
        }
    }
    for value in [json!(""), json!("12"), json!([]), json!({}), json!({ "sales": "many" }), json!(-1)] {
        refused(Category::DataSample, "row_count", value);
    }
    for (category, field) in [
        (Category::Schema, "constraints"),
        (Category::Constraint, "foreign_keys"),
        (Category::Constraint, "policies"),
        (Category::DataSample, "nullability"),
    ] {
        refused(category, field, json!(""));
        // That nothing exists is an observation, and so is the number 0.
        let mut whole = observed(category);
        whole[field] = json!([]);
        Evidence::observe(category, &whole, "seen").unwrap();
    }
    for value in [json!(0), json!({ "sales": 3, "mails": 0 })] {
        let sample = json!({ "row_count": value, "nullability": {} });
        Evidence::observe(Category::DataSample, &sample, "seen").unwrap();
    }
}

#[test]
fn each_operation_needs_its_categories() {
    for operation in [Operation::Migrate, Operation::Correct, Operation::Calculate, Operation::BoundsEngine] {
        EvidenceBinding::new(operation, bound_alone(operation.required())).unwrap();
        for missing in operation.required() {
            let rest: Vec<Category> =
                operation.required().iter().copied().filter(|category| category != missing).collect();
            let refused = EvidenceBinding::new(operation, bound(&rest)).unwrap_err();
            assert!(refused.to_string().starts_with("EB-021"), "{operation:?} without {missing:?}: {refused}");
            let refused = EvidenceBinding::new(operation, bound_alone(&rest)).unwrap_err();
            assert!(refused.to_string().starts_with("EB-021"), "{operation:?}, {missing:?} for a reason: {refused}");
        }
    }
}

#[test]
fn no_category_is_left_out_without_a_reason() {
    for operation in [Operation::Migrate, Operation::Correct, Operation::Calculate, Operation::BoundsEngine] {
        for left_out in Category::ALL.iter().filter(|category| !operation.required().contains(category)) {
            let mut evidence = bound_alone(operation.required());
            evidence.remove(left_out);
            let refused = EvidenceBinding::new(operation, evidence).unwrap_err();
            assert_eq!(refused, BindingError::Reason(*left_out), "{operation:?}");
        }
    }
}

#[test]
fn forbidden_patterns_are_named() {
    use ForbiddenPattern as Pattern;
    let named = |operation, categories: &[Category]| {
        let error = EvidenceBinding::new(operation, bound(categories)).unwrap_err();
        (error.pattern(), error.code())
    };
    for operation in [Operation::Migrate, Operation::Correct, Operation::Calculate, Operation::BoundsEngine] {
        let without_schema = named(operation, &[Category::Constraint, Category::DataSample]);
        assert_eq!(without_schema, (Some(Pattern::ProposalWithoutSchemaCheck), ReasonCode::SchemaNotInspected));
        let without_rows = named(operation, &[Category::Schema, Category::Constraint]);
        let pattern = (operation == Operation::Migrate).then_some(Pattern::MigrationWithoutRowCounts);
        assert_eq!(without_rows, (pattern, ReasonCode::DataSampleMissing), "{operation:?}");
    }
    for operation in [Operation::Migrate, Operation::Correct] {
        let without_constraint = named(operation, &[Category::Schema, Category::DataSample]);
        let pattern = (operation == Operation::Correct).then_some(Pattern::CorrectionWithoutConstraintCheck);
        assert_eq!(without_constraint, (pattern, ReasonCode::ConstraintNotChecked), "{operation:?}");
    }
}

#[test]
fn a_claim_without_proof_or_reason_is_refused() {
    let item = |text: &str| serde_json::from_str::<Item>(text).unwrap();
    let refused = |text: &str| Evidence::parse(Category::Schema, &item(text)).unwrap_err();
    for text in [r#"{"bound":true,"summary":"I checked it"}"#, r#"{"bound":true,"fingerprint":"yes"}"#] {
        let error = refused(text);
        assert!(error.to_string().starts_with("EB-012"), "{error}");
        assert_eq!(error.pattern(), Some(ForbiddenPattern::BoundWithoutFingerprint));
        assert_eq!(error.code(), ReasonCode::FingerprintMissing);
    }
    let error = refused(r#"{"bound":false}"#);
    assert!(error.to_string().starts_with("EB-013"), "{error}");
    let named = (error.pattern(), error.code());
    assert_eq!(named, (Some(ForbiddenPattern::DeferredWithoutReason), ReasonCode::EvidenceNotBound));
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
    let evidence = || bound_alone(Operation::Annotate.required());
    let without_reasons = bound(Operation::Annotate.required());
    let refused = EvidenceBinding::for_annotation(without_reasons, "mark allergens", &json!(["salt"])).unwrap_err();
    assert!(refused.to_string().starts_with("EB-013"), "{refused}");
    assert_eq!(EvidenceBinding::new(Operation::Annotate, evidence()), Err(BindingError::Annotation));
    assert!(EvidenceBinding::for_annotation(evidence(), " ", &json!(["salt"])).is_err());
    for empty in [json!(null), json!(""), json!([]), json!({}), json!([""])] {
        let refused = EvidenceBinding::for_annotation(evidence(), "mark allergens", &empty);
        assert_eq!(refused, Err(BindingError::Annotation), "{empty}");
    }
    let one = EvidenceBinding::for_annotation(evidence(), "mark allergens", &json!(["salt"])).unwrap();
    let other = EvidenceBinding::for_annotation(evidence(), "mark allergens", &json!(["sugar"])).unwrap();
    assert_ne!(one, other);
}
