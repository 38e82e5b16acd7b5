//! The API's description and the template have the same routes.

use crate::{
    assert_rule, finder,
    model::{Template, events},
    patch::remove,
};
use serde_json::Value;
use std::{collections::BTreeSet, fs};

/// The route for every GET that no other route matches.
const REST: &str = "/{proxy+}";

fn description() -> Value {
    let path = crate::model::root().join("functions/result/openapi.json");
    serde_json::from_str(&fs::read_to_string(path).expect("the description")).expect("JSON")
}

fn routes(template: &Template) -> BTreeSet<(String, String)> {
    let functions = template.functions();
    let events = functions.iter().flat_map(|(_, function)| events(function));
    let api = events.filter(|event| event["Type"] == "Api").map(|event| &event["Properties"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    api.map(|route| (text(&route["Method"]).to_lowercase(), text(&route["Path"]))).collect()
}

fn described_is_routed(template: &Template) -> Vec<String> {
    let description = description();
    let paths = description["paths"].as_object().into_iter().flatten();
    let described: BTreeSet<(String, String)> = paths
        .flat_map(|(path, methods)| {
            methods.as_object().into_iter().flatten().map(|(method, _)| (method.clone(), path.clone()))
        })
        .collect();
    let routes = routes(template);
    let missing = described.difference(&routes);
    let missing = missing.filter(|(method, _)| method != "get");
    let missing = missing.map(|(method, path)| format!("{method} {path} is described and leads nowhere"));
    // HEAD has no description of its own: it answers as GET.
    let surplus = routes.difference(&described).filter(|(method, path)| method != "head" && path != REST);
    missing.chain(surplus.map(|(method, path)| format!("{method} {path} is described nowhere"))).collect()
}

#[test]
fn every_route_is_described_and_every_description_is_routed() {
    let finds = finder(described_is_routed);
    finds(remove("/Resources/CheckoutFunction/Properties/Events/Evaluate"), "authority/evaluate is described");
    let renamed =
        crate::patch::set("/Resources/ResultFunction/Properties/Events/Health/Properties/Path", "/healthy".into());
    finds(renamed, "get /healthy is described nowhere");
}

/// Pages, and documents for machines, answer HEAD as GET.
fn pages_answer_head(template: &Template) -> Vec<String> {
    let routes = routes(template);
    let pages = routes.iter().filter(|(method, path)| method == "get" && !path.starts_with("/api/") && path != "/mcp");
    let silent = pages.filter(|(_, path)| !routes.contains(&("head".to_owned(), path.clone())));
    silent.map(|(_, path)| format!("head {path} leads nowhere")).collect()
}

#[test]
fn every_page_answers_head() {
    let page = remove("/Resources/ResultFunction/Properties/Events/PageHead");
    assert_rule(pages_answer_head, page, "head /oracle/result leads nowhere");
}
