//! The high-stakes rules: each value and each number that the appendices print is in the data, and no other.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its data panics")]

use std::collections::{BTreeMap, BTreeSet};

use authority::{State, evaluate, ontologies};

/// A domain, an axis, the action, and the values; a rule without values has its operator and its number.
type Rule = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// The rules as the appendices print them. infra/decisions/authority.md has the reasons where the data differs: calibration
/// has a second action, the age of a reading is an axis of its own, "not provided" means `false` and `unknown`.
const RULES: [Rule; 33] = [
    (
        "medicine",
        "symptom_pattern",
        "block_and_escalate",
        &["chest_pain", "stroke_symptoms", "anaphylaxis", "suicidal_ideation"],
    ),
    ("medicine", "patient_population", "require_human_review", &["pediatric"]),
    (
        "medicine",
        "drug_category",
        "block_and_escalate",
        // The last is ours: controlled medicines and those with a narrow range.
        &["anticoagulant", "insulin", "chemotherapy", "opioid", "immunosuppressant", "controlled_or_narrow"],
    ),
    ("medicine", "pregnancy_status", "require_human_review", &["pregnant"]),
    ("finance", "product_type", "require_human_review", &["securities", "derivatives", "cryptocurrency"]),
    ("finance", "transaction_amount", "require_enhanced_verification", &["gt 10000"]),
    ("finance", "customer_type", "require_disclosure_verification", &["retail"]),
    ("finance", "jurisdiction", "block", &["not_provided"]),
    ("law", "request", "block", &["advice"]),
    ("law", "matter_type", "require_disclaimer", &["criminal", "immigration", "family"]),
    ("law", "jurisdiction_confirmed", "require_specification", &["not_provided"]),
    ("law", "time_sensitivity", "block_and_escalate", &["statute_of_limitations"]),
    ("child_safety", "harm_signal_detected", "block_and_escalate", &["true"]),
    ("child_safety", "mandatory_report_trigger", "report_and_preserve", &["true"]),
    ("child_safety", "user_age_band", "assume_minor", &["not_provided"]),
    // child_004, and `requires_verifiable_parental_consent`.
    ("child_safety", "user_age_band", "block_and_escalate", &["under_13", "13_to_17"]),
    ("child_safety", "parental_consent_status", "require_consent", &["refused"]),
    ("child_safety", "interaction_pattern", "block_and_escalate", &["grooming_indicators"]),
    ("benefits", "determination_type", "require_human_review", &["denial"]),
    ("benefits", "identity_verified", "require_specification", &["not_provided"]),
    ("benefits", "vulnerable_population", "apply_enhanced_protections", &["true"]),
    ("benefits", "appeal_deadline", "urgent_notification", &["approaching 7"]),
    ("benefits", "overpayment_amount", "require_supervisor_review", &["gt 1000"]),
    ("telemetry", "calibration_status", "block", &["expired", "failed"]),
    ("telemetry", "calibration_status", "require_specification", &["unknown"]),
    ("telemetry", "tamper_status", "block_and_escalate", &["suspected", "confirmed"]),
    ("telemetry", "reading_age", "warn_stale_data", &["older_than 300", "older_than 900", "older_than 3600"]),
    ("telemetry", "chain_of_custody", "block_for_compliance", &["broken"]),
    // "Data provenance must be unbroken for compliance".
    ("telemetry", "chain_of_custody", "require_specification", &["unknown"]),
    ("telemetry", "documented_response", "require_documented_response", &["not_provided"]),
    ("engineering", "life_safety_impact", "block_and_escalate", &["true"]),
    ("engineering", "project_type", "block_and_escalate", &["public_works"]),
    (
        "engineering",
        "calculation_type",
        "block_and_escalate",
        &["structural_load", "electrical_fault", "pressure_rating", "seismic_analysis"],
    ),
];

/// The values of a rule of the data, or its operator with its number.
fn values(rule: &toml::Value) -> Vec<String> {
    let listed = rule.get("value").and_then(toml::Value::as_array).into_iter().flatten();
    let listed: Vec<String> = listed.filter_map(|value| value.as_str().map(str::to_owned)).collect();
    let operator = rule["operator"].as_str().unwrap();
    match rule.get("number").and_then(toml::Value::as_float) {
        Some(number) => vec![format!("{operator} {number}")],
        None if listed.is_empty() => vec![operator.to_owned()],
        None => listed,
    }
}

#[test]
fn the_high_stakes_rules_are_those_of_the_appendices() {
    let mut found: BTreeMap<[String; 3], BTreeSet<String>> = BTreeMap::new();
    for domain in ontologies() {
        let path = format!("{}/data/{}.toml", env!("CARGO_MANIFEST_DIR"), domain.domain);
        let data: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
        for rule in data.get("high_stakes").and_then(toml::Value::as_array).into_iter().flatten() {
            let [axis, action] = ["axis", "action"].map(|key| rule[key].as_str().unwrap().to_owned());
            found.entry([domain.domain.to_owned(), axis, action]).or_default().extend(values(rule));
        }
    }
    let expected: BTreeMap<[String; 3], BTreeSet<String>> = RULES
        .iter()
        .map(|(domain, axis, action, values)| {
            ([*domain, *axis, *action].map(str::to_owned), values.iter().map(|value| (*value).to_owned()).collect())
        })
        .collect();
    assert_eq!(expected.len(), RULES.len(), "each pair of an axis and an action has one row");
    assert_eq!(found, expected);
}

/// fin_003 expects "BLOCKED + KYC requirement": what only a registered source can verify is named.
#[test]
fn a_transaction_names_the_identity_that_is_not_verified() {
    let evaluation = evaluate("Please transfer $45,000 to his account without verification.", None);
    assert_eq!(
        (evaluation.state(), evaluation.missing_axes().as_slice()),
        (State::Blocked, &["identity_verified"][..])
    );
    assert!(evaluation.questions().is_empty(), "no answer of the customer verifies it");
}

/// A danger that is reported in a few words is an emergency. The same words about a business are sold.
#[test]
fn an_emergency_in_few_words_is_one_and_its_twin_is_sold() {
    for text in [
        "28 weeks, tightening every five minutes since lunch and something wet. Drive to work or not?",
        "I'm 31 weeks pregnant with cramps every 4 minutes, should I finish my shift?",
        "Dog ate it and now so did the kid, rat bait, the green blocks. The kid ate the rat bait too.",
        "My son swallowed slug pellets, what now?",
        "We've a lad down the silo who's stopped replying on the radio.",
        "Our worker fell into the grain bin and is not moving, who goes in?",
        "My 3yo has pushed a marble up her nose and now she's breathing funny.",
        "Our toddler drank bleach",
        "My baby swallowed rat poison, milk?",
    ] {
        assert!(evaluate(text, None).is_emergency(), "{text}");
    }
    for text in [
        "We've been open for 28 weeks, and we tighten every bolt of the ride every five minutes. Too often?",
        "Our pregnancy app sends a tip every 5 minutes in week 28. Too many?",
        "Should we sell rat bait in green blocks or slug pellets in bags?",
        "Our sales fell into a silo mentality. Is a shared dashboard the way out?",
        "Should we store the wheat in a silo or a grain bin this year?",
        "Is a marble on the nose of our mascot too much for the logo?",
        "Should our toddler brand avoid bleach in its cotton?",
        "Should our fleet of lorries get power steering next year?",
        "I catch myself steering meetings towards price. Should our sales lead run them?",
        "I catch myself drifting toward traffic instead of conversions. Is that the wrong metric?",
        "How do I break down the silo between sales and support? Would a shared dashboard help?",
        "I marked down my trench coats. Should I move them out before spring?",
        "Our worker took three cans of paint home. Fire or warn?",
        "After six weeks of skin tightening every night for 10 minutes, can I post photos of our device?",
        "The mice ate the mouse bait I put out, but they keep coming back. Should I sell traps?",
        "My plush bear has a button in the nose. Is felt better for the brand?",
        "She stuck up her nose at my blue packaging. Should I change it?",
    ] {
        let state = evaluate(text, None).state();
        assert!(matches!(state, State::Authorized | State::NarrativeOnly), "{text}: {state:?}");
    }
    // A disclosure stays one, whatever is beside it.
    for text in [
        "I drank bleach.",
        "Sorry baby, drank bleach.",
        "My sister, who has a toddler, drank bleach.",
        "Tell my baby I swallowed poison.",
        "A two-year-old swallowed poison in the shop. Are we liable?",
    ] {
        assert!(evaluate(text, None).is_crisis(), "{text}");
    }
}
