use super::*;
use domain::{CachedVerdict, Query, SessionId, Tier, Timestamp};
use serde_json::json;
use testkit::{World, run};

const VERSION: &str = "5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c5f2c";

fn verdict(summary: &str) -> Verdict {
    let dimension = json!({ "verdict": "AMBER", "analysis": format!("Analysis: {summary}") });
    let names = domain::verdict::DIMENSIONS;
    let breakdown: serde_json::Map<_, _> = names.iter().map(|name| ((*name).to_owned(), dimension.clone())).collect();
    let tests: Vec<String> = (1..=3).map(|number| format!("Test {number}: {summary}")).collect();
    let strategy = json!({ "next_step": summary, "alternative": summary, "tests": tests });
    let verdict = json!({ "verdict": "AMBER", "summary": summary, "breakdown": breakdown, "strategy": strategy });
    serde_json::from_value(verdict).unwrap()
}

fn first(query: &str, summary: &str) -> FirstVerdict {
    FirstVerdict {
        query: query.to_owned(),
        verdict: verdict(summary),
        cached_at: "2026-11-22T10:00:00.000Z".to_owned(),
    }
}

fn payload<'a>(set: &'a WorkingSet, kind: &str) -> &'a Value {
    let facts = &set.content().slices.facts_slice;
    facts.iter().find(|fact| fact.kind == kind).and_then(|fact| fact.payload.as_ref()).unwrap()
}

#[test]
fn the_model_sees_the_question_the_verdict_and_its_date() {
    let first = first("Open a second shop?", "Only with a lease.");
    let set = working_set(&first, VERSION).unwrap();
    assert_eq!(payload(&set, "QUESTION").as_text(), Some("Open a second shop?"));
    let given = payload(&set, "VERDICT");
    assert_eq!(given.get("date").and_then(Value::as_text), Some("2026-11-22T10:00:00.000Z"));
    assert_eq!(given.get("verdict"), Some(&canonical::value_of(&first.verdict).unwrap()));
    let content = set.content();
    assert_eq!((content.mode, content.slices.facts_slice.len(), content.truncation.cut), (Mode::Companion, 2, 0));
    assert!(content.locked_precision_handles.is_empty());
    assert_eq!(content.pins["prompt_templates"]["followup"], format!("sha256:{VERSION}"));
    assert_eq!(content.pins["policy_ids"]["ordering_policy_id"], policy::ORDER);
}

/// Pinned: these bytes are part of a prompt, and the audit log has their hash.
#[test]
fn the_same_sale_gives_the_same_bytes() {
    let one = working_set(&first("Open a second shop?", "Only with a lease."), VERSION).unwrap();
    assert_eq!(one, working_set(&first("Open a second shop?", "Only with a lease."), VERSION).unwrap());
    assert_eq!(one.bytes_hash().to_string(), "sha256:25bff2c5df14393de09e736eab49de9c70b6097535b874c5f0826322098b908a");
    for other in [first("Open a third shop?", "Only with a lease."), first("Open a second shop?", "Only with two.")] {
        assert_ne!(working_set(&other, VERSION).unwrap().bytes_hash(), one.bytes_hash());
    }
    let pinned = working_set(&first("Open a second shop?", "Only with a lease."), &VERSION.replace('5', "6")).unwrap();
    assert_ne!(pinned.bytes_hash(), one.bytes_hash(), "a release that changes the prompt changes the pins");
}

#[test]
fn the_cache_and_the_archive_give_the_same_set() {
    let paid = SessionId::parse("cs_test_a1B2c3D4e5F6").unwrap();
    let query = Query::parse("Open a second shop?").unwrap();
    let at = Timestamp::from_seconds(1_800_000_000);
    let mut cached = CachedVerdict::first(Tier::Strategy, &query, verdict("Only with a lease."), at);
    cached.notice = Some("A sentence that the model never saw.".to_owned());
    let set = |from_cache: bool| {
        let world = World::at(at);
        if from_cache {
            world.state().sales.insert(paid.clone(), (domain::Sale::ordered(paid.clone(), at), 1));
            world.state().cache.insert(paid.clone(), cached.clone());
        } else {
            world.state().archive.insert(paid.clone(), cached.clone());
        }
        let first = run(crate::first_verdict(&world, &world, &paid)).unwrap().unwrap().unwrap();
        working_set(&first, VERSION).unwrap()
    };
    assert_eq!(set(true), set(false));
    assert!(!set(true).text().contains("cs_test_"), "the id of a session opens its page");
}

/// Digits with a fraction are text in a question and in a verdict, and no other value can get in: the keys are those of
/// the verdict's type.
#[test]
fn whatever_a_customer_or_a_model_writes_is_kept_as_text() {
    for text in ["1.5", "-0", "9007199254740993", "{\"é\":1.5}", "é😀\u{1}\"\\", "null", "\u{202e}abc"] {
        let set = working_set(&first(text, text), VERSION).unwrap();
        assert_eq!(payload(&set, "QUESTION").as_text(), Some(text));
        let summary = payload(&set, "VERDICT").get("verdict").and_then(|verdict| verdict.get("summary"));
        assert_eq!(summary.and_then(Value::as_text), Some(text));
        assert_eq!(WorkingSet::parse(set.bytes()).unwrap(), set);
    }
}

#[test]
fn the_longest_question_fits_and_nothing_is_left_out_silently() {
    // A control character has six bytes in JSON, more than any other character.
    for character in ["\u{1}", "😀", "\"", "a"] {
        let query = Query::parse(format!("x{}", character.repeat(domain::query::MAX_CHARACTERS - 1))).unwrap();
        let set = working_set(&first(query.as_str(), &"Only with a lease. ".repeat(300)), VERSION).unwrap();
        assert_eq!(payload(&set, "QUESTION").as_text(), Some(query.as_str()));
    }
    let error = working_set(&first("Open a second shop?", &"x".repeat(100_000)), VERSION).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the first question and its verdict are larger than the memory's budget of 400000 bytes"
    );
}
