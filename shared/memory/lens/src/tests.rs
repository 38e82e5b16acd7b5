//! Tests of the profile against its vectors, and of round trips of working sets and briefs.

use crate::{
    Digest, Directives, Domain, FactItem, Mode, PolicyIds, Precision, Pvib, PvibError, Slices, Truncation, WorkingSet,
    WorkingSetContent, WorkingSetError,
    canonical::{self, CanonicalError, Value},
};
use proptest::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Vectors {
    accepted: Vec<Accepted>,
    refused: Vec<Refused>,
    hashes: Vec<Hashed>,
}

#[derive(Deserialize)]
struct Accepted {
    why: String,
    input: String,
    canonical: String,
}

#[derive(Deserialize)]
struct Refused {
    why: String,
    input: String,
}

#[derive(Deserialize)]
struct Hashed {
    domain: String,
    canonical: String,
    hash: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("canonical_vectors.json")).unwrap()
}

#[test]
fn the_profile_agrees_with_its_vectors() {
    for vector in vectors().accepted {
        let value = canonical::parse(vector.input.as_bytes()).unwrap_or_else(|e| panic!("{}: {e}", vector.why));
        assert_eq!(value.to_string(), vector.canonical, "{}", vector.why);
        assert_eq!(canonical::parse_exact(vector.canonical.as_bytes()).unwrap(), value, "{}", vector.why);
        if vector.input != vector.canonical {
            let exact = canonical::parse_exact(vector.input.as_bytes());
            assert!(matches!(exact, Err(CanonicalError::NotCanonical)), "{}", vector.why);
        }
    }
    for vector in vectors().refused {
        assert!(canonical::parse(vector.input.as_bytes()).is_err(), "{}", vector.why);
    }
    assert!(canonical::parse(b"\"\xff\"").is_err());
}

#[test]
fn hashes_agree_with_their_vectors() {
    let vectors = vectors().hashes;
    assert_eq!(vectors.len(), Domain::ALL.len(), "every type has a vector");
    for (vector, domain) in vectors.iter().zip(Domain::ALL) {
        assert_eq!(vector.domain, domain.prefix());
        let digest = Digest::of(domain, vector.canonical.as_bytes());
        assert_eq!(digest.to_string(), vector.hash);
        assert_eq!(Digest::parse(&vector.hash), Some(digest));
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-canonical::MAX_INTEGER..=canonical::MAX_INTEGER).prop_map(Value::Integer),
        any::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
            prop::collection::btree_map("[ -~]{0,6}", inner, 0..5).prop_map(Value::Object),
        ]
    })
}

proptest! {
    #[test]
    fn every_value_comes_back_from_its_bytes(value in values()) {
        let bytes = value.to_bytes();
        prop_assert_eq!(&canonical::parse_exact(&bytes).unwrap(), &value);
        prop_assert_eq!(canonical::encode(&value).unwrap(), bytes);
    }

    /// Ledgers are hashed in the order of their hashes. Few byte values and a common beginning of any length give hashes
    /// that differ early, late or nowhere.
    #[test]
    fn hashes_have_the_order_of_their_bytes(
        left in prop::array::uniform32(0_u8..3),
        other in prop::array::uniform32(prop::sample::select(vec![0_u8, 1, 127, 128, 255])),
        common in 0_usize..=32,
    ) {
        let mut right = other;
        right[..common].copy_from_slice(&left[..common]);
        let order = Digest::from_bytes(left).cmp(&Digest::from_bytes(right));
        prop_assert_eq!(order, left.cmp(&right));
        prop_assert_eq!(Digest::from_bytes(left).partial_cmp(&Digest::from_bytes(right)), Some(order));
    }
}

fn content() -> WorkingSetContent {
    let fact = |id: &str, precision, payload: Option<&str>, gist: Option<&str>| FactItem {
        fact_id: id.to_owned(),
        kind: "CLUE".to_owned(),
        stable_key: id.to_owned(),
        precision,
        detail_handle: gist.map(|_| format!("{id}/detail")),
        payload: payload.map(|text| Value::Text(text.to_owned())),
        gist: gist.map(str::to_owned),
    };
    WorkingSetContent {
        schema: "working-set/1".to_owned(),
        world_id: None,
        campaign_id: "c1".to_owned(),
        scene_id: Some("s1".to_owned()),
        mode: Mode::Play,
        policy_ids: PolicyIds {
            mask_matrix_id: "m/1".to_owned(),
            ordering_policy_id: "o/1".to_owned(),
            truncation_policy_id: "t/1".to_owned(),
            budget_policy_id: "b/1".to_owned(),
            compaction_policy_id: None,
        },
        pins: BTreeMap::new(),
        allowmention_handles: vec!["f1".to_owned()],
        locked_precision_handles: vec!["f2/detail".to_owned()],
        slices: Slices {
            facts_slice: vec![
                fact("f1", Precision::Plain, Some("A tower by the sea."), None),
                fact("f2", Precision::Gist, None, Some("There is a code.")),
            ],
            ..Slices::default()
        },
        directives: Directives { output_class: vec![], channel_separation: vec![], why: "rule_ref_open_only".into() },
        truncation: Truncation { cut: 0, receipts_hash: Digest::of(Domain::Receipts, b"[]") },
    }
}

#[test]
fn a_working_set_comes_back_from_its_bytes_and_from_no_others() {
    let set = WorkingSet::seal(content()).unwrap();
    assert_eq!(WorkingSet::parse(set.bytes()).unwrap(), set);
    let text = String::from_utf8(set.bytes().to_vec()).unwrap();
    let changed = text.replace("tower", "house");
    assert!(matches!(WorkingSet::parse(changed.as_bytes()), Err(WorkingSetError::Id)));
    let unknown = text.replacen('{', "{\"aaa\":1,", 1);
    assert!(matches!(WorkingSet::parse(unknown.as_bytes()), Err(WorkingSetError::Schema(_))));
    let spaced = text.replacen('{', "{ ", 1);
    assert!(matches!(WorkingSet::parse(spaced.as_bytes()), Err(WorkingSetError::Canonical(_))));
    assert!(set.wrap("Do.").contains(&text));
}

#[test]
fn a_brief_holds_what_may_be_mentioned_and_nothing_else() {
    let set = WorkingSet::seal(content()).unwrap();
    let brief = Pvib::of(&set, &["f1"]).unwrap();
    assert_eq!(brief.lines()[0].text, "A tower by the sea.");
    let bytes = brief.bytes().unwrap();
    assert_eq!(Pvib::parse(&bytes, &set).unwrap(), brief);
    for locked in ["f2", "f2/detail", "f3"] {
        assert_eq!(Pvib::of(&set, &[locked]), Err(PvibError::NotAllowed(locked.to_owned())));
    }
    assert_eq!(Pvib::of(&set, &[]), Err(PvibError::Lines(0)));
    let foreign = String::from_utf8(bytes.clone()).unwrap().replace("tower", "vault 4471");
    assert_eq!(Pvib::parse(foreign.as_bytes(), &set), Err(PvibError::Foreign("f1".to_owned())));
    let unknown = String::from_utf8(bytes).unwrap().replacen('{', "{\"aa\":1,", 1);
    assert!(matches!(Pvib::parse(unknown.as_bytes(), &set), Err(PvibError::Schema(_))));
}

/// The schema's document and the type agree on every field and limit.
#[test]
fn schema_and_brief_agree() {
    let schema: serde_json::Value = serde_json::from_str(crate::PVIB_SCHEMA).unwrap();
    let set = WorkingSet::seal(content()).unwrap();
    let allowed = &set.content().allowmention_handles;
    let brief = Pvib::of(&set, &[allowed[0].as_str()]).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&brief.bytes().unwrap()).unwrap();
    let names = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let required = |of: &serde_json::Value| {
        let mut names: Vec<String> = serde_json::from_value(of["required"].clone()).unwrap();
        names.sort();
        names
    };
    let line = &schema["properties"]["lines"];
    for (of, value) in [(&schema, &written), (&line["items"], &written["lines"][0])] {
        assert_eq!((names(&of["properties"]), &of["additionalProperties"]), (names(value), &serde_json::json!(false)));
        assert_eq!(required(of), names(value), "every field is written, and none may be missing");
    }
    assert_eq!(schema["properties"]["schema"]["const"], written["schema"]);
    let example = &schema["examples"][0];
    assert_eq!((names(example), names(&example["lines"][0])), (names(&written), names(&written["lines"][0])));

    let parses = |value: &serde_json::Value| {
        Pvib::parse(&canonical::encode(value).unwrap(), &set).map(|parsed| assert_eq!(parsed, brief))
    };
    parses(&written).unwrap();
    for name in names(&written) {
        let mut without = written.clone();
        without.as_object_mut().unwrap().remove(&name);
        assert!(parses(&without).is_err(), "without {name}");
        let mut other = written.clone();
        other[&name] = serde_json::json!(7);
        assert!(parses(&other).is_err(), "another {name}");
    }
    for name in names(&written["lines"][0]) {
        let mut without = written.clone();
        without["lines"][0].as_object_mut().unwrap().remove(&name);
        assert!(parses(&without).is_err(), "a line without {name}");
    }
    let mut more = written.clone();
    more["preview"] = serde_json::json!("x");
    assert!(parses(&more).is_err(), "an unknown field");

    let handles = |count: u64| vec![allowed[0].as_str(); usize::try_from(count).unwrap()];
    let [least, most] = ["minItems", "maxItems"].map(|name| line[name].as_u64().unwrap());
    assert!(Pvib::of(&set, &handles(least)).is_ok() && Pvib::of(&set, &handles(most)).is_ok());
    assert_eq!(Pvib::of(&set, &handles(least - 1)), Err(PvibError::Lines(0)));
    assert!(matches!(Pvib::of(&set, &handles(most + 1)), Err(PvibError::Lines(17))));
}
