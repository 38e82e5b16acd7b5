//! Tests that the printed schema and the types that parse events agree on every field of every event.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use memory::{EVENTS_SCHEMA, Event, EventId};
use serde_json::{Value, json};

fn branches() -> Vec<Value> {
    let schema: Value = serde_json::from_str(EVENTS_SCHEMA).unwrap();
    schema["oneOf"].as_array().unwrap().clone()
}

fn parses(event: &Value) -> bool {
    Event::parse(event.to_string().as_bytes()).is_ok()
}

#[test]
fn every_event_has_a_branch_and_every_branch_an_event() {
    let ids: Vec<String> =
        branches().iter().map(|branch| branch["properties"]["event"]["const"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, EventId::ALL.iter().map(|id| id.as_str()).collect::<Vec<_>>());
    for (branch, id) in branches().iter().zip(EventId::ALL) {
        assert_eq!(branch["title"], format!("{} {}", id.as_str(), id.name()));
    }
}

#[test]
fn schema_and_types_agree_on_every_field() {
    for branch in branches() {
        let title = branch["title"].as_str().unwrap();
        let example = &branch["examples"][0];
        let event = Event::parse(example.to_string().as_bytes()).unwrap_or_else(|error| panic!("{title}: {error}"));
        let written: Value = serde_json::from_slice(&event.to_bytes().unwrap()).unwrap();
        assert_eq!(&written, example, "{title}");

        let payload = &branch["properties"]["payload"];
        let required = payload["required"].as_array().unwrap();
        for field in payload["properties"].as_object().unwrap().keys() {
            if !example["payload"].as_object().unwrap().contains_key(field) {
                continue;
            }
            let mut without = example.clone();
            without["payload"].as_object_mut().unwrap().remove(field);
            assert_eq!(parses(&without), !required.contains(&json!(field)), "{title}: {field}");
        }
        for (place, name) in [("payload", "unknown"), ("", "unknown")] {
            let mut with = example.clone();
            let object = if place.is_empty() { &mut with } else { &mut with[place] };
            object.as_object_mut().unwrap().insert(name.to_owned(), json!(1));
            assert!(!parses(&with), "{title}: unknown field in {place:?}");
        }
        for field in branch["required"].as_array().unwrap() {
            let mut without = example.clone();
            without.as_object_mut().unwrap().remove(field.as_str().unwrap());
            assert!(!parses(&without), "{title}: {field}");
        }
    }
}

#[test]
fn what_is_not_an_event_is_refused() {
    let event = |text: &str| Event::parse(text.as_bytes()).unwrap_err().to_string();
    let line = |id: &str, payload: &str| format!(r#"{{"at":1,"campaign_id":"c","event":"{id}","payload":{payload}}}"#);
    for id in ["EV-004", "EV-021 ", "ev-001", "EV-1", "EV-122", "EV-ORC-013", ""] {
        assert!(event(&line(id, "{}")).contains("unknown event id"), "{id}");
    }
    assert!(event(&line("EV-030", r#"{"mode":"PLAY","mode":"PLAY"}"#)).contains("twice"));
    assert!(event(&line("EV-030", r#"{"mode":"FIGHT"}"#)).contains("unknown variant"));
    assert!(event(&line("EV-032", r#"{"scene_id":"with space"}"#)).contains("handle"));
    assert!(event(&line("EV-020", r#"{"setting":"s","value":0.5}"#)).contains("integer"));
    assert!(event(r#"{"at":1,"at":1,"campaign_id":"c","event":"EV-030","payload":{"mode":"PLAY"}}"#).contains("twice"));
    assert!(
        event(r#"{"at":99999999999999999,"campaign_id":"c","event":"EV-030","payload":{"mode":"PLAY"}}"#)
            .contains("2^53")
    );
    assert!(Event::parse(b"\xff").is_err());
}
