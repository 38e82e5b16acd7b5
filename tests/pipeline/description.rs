//! Compares the API's description with the types that the handlers use.

use authority::State;
use domain::{
    Colour, Tier,
    chat::{BridgeState, LONGEST_MESSAGE, Plan, Voice},
    query::MAX_CHARACTERS,
    toll::Offer,
    verdict::DIMENSIONS,
};
use serde_json::{Value, json};

fn document() -> Value {
    serde_json::from_str(result::OPENAPI).unwrap()
}

#[test]
fn it_lists_the_values_that_the_types_have() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(schemas["Tier"]["enum"], json!(Tier::ALL));
    assert_eq!(schemas["Colour"]["enum"], json!(Colour::ALL));
    assert_eq!(schemas["AuthorityState"]["enum"], json!(State::ALL));
    assert_eq!(schemas["Verdict"]["properties"]["breakdown"]["required"], json!(DIMENSIONS));
    assert_eq!(schemas["Question"]["maxLength"], json!(MAX_CHARACTERS));
    let said = &schemas["Replies"]["items"]["properties"];
    let voices = [Voice::Aether, Voice::FirstView, Voice::SecondView];
    assert_eq!(said["voice"]["enum"], json!(voices));
    assert!(voices.iter().all(|voice| json!(voice) == voice.name()));
    let ask = &document["paths"]["/api/chat/exchanges"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(ask["properties"]["text"]["maxLength"], json!(LONGEST_MESSAGE));
    let plans = [Plan::Free, Plan::Chat, Plan::Pro, Plan::Bridge].map(Plan::key);
    assert_eq!(schemas["Bridge"]["properties"]["state"]["enum"], json!(BridgeState::ALL));
    let post = &document["paths"]["/api/chat/bridge/messages"]["post"]["requestBody"]["content"]["application/json"];
    assert_eq!(post["schema"]["properties"]["text"]["maxLength"], json!(LONGEST_MESSAGE));
    assert_eq!(schemas["ChatMe"]["properties"]["plan"]["enum"], json!(plans));
}

/// The description has every offer to agents, with its price and its maximum length.
#[test]
fn it_describes_every_offer_as_it_is_sold() {
    let document = document();
    for offer in Offer::ALL {
        let post = &document["paths"][offer.path()]["post"];
        let summary = post["summary"].as_str().unwrap();
        assert!(summary.ends_with(&format!(" for {:.2} USDC", offer.dollars())), "{summary}");
        let query = &post["requestBody"]["content"]["application/json"]["schema"]["properties"]["query"];
        assert_eq!(query["maxLength"], json!(offer.longest()), "{}", offer.path());
    }
    let sold: Vec<_> = Offer::ALL.into_iter().map(Offer::path).collect();
    assert_eq!(document["components"]["schemas"]["Answer"]["properties"]["endpoint"]["enum"], json!(sold));
}

/// The description states the same rule for session ids that the pages apply.
#[test]
fn it_describes_ids_as_they_are_checked() {
    let document = document();
    let id = &document["components"]["schemas"]["SessionId"];
    let (least, most) = (id["minLength"].as_u64().unwrap(), id["maxLength"].as_u64().unwrap());
    let of = |length: u64| {
        let text = format!("cs_live_{}", "a".repeat(usize::try_from(length).unwrap() - 8));
        domain::SessionId::parse(text).is_ok_and(|id| id.looks_issued())
    };
    assert_eq!([of(least - 1), of(least), of(most), of(most + 1)], [false, true, true, false]);
}

/// The chat refuses another site's requests and large bodies before it looks for the call.
#[test]
fn it_describes_what_the_chat_refuses_first() {
    let document = document();
    let paths = document["paths"].as_object().unwrap().iter().filter(|(path, _)| path.starts_with("/api/chat/"));
    for (path, calls) in paths {
        for (method, call) in calls.as_object().unwrap() {
            let refused: &[&str] = if method == "get" { &["403"] } else { &["403", "413"] };
            for status in refused {
                assert!(call["responses"][*status].is_object(), "{method} {path}: {status}");
            }
        }
    }
}

/// Every reference has a target.
#[test]
fn it_is_whole() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|inner| references(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
            _ => {}
        }
    }
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 30);
    for reference in found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}
