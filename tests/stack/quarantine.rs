//! The content filter on deployed sales: what it holds and what it replaces.

use crate::world::{Sale, World, question};
use serde_json::{Value, json};

fn dimension(analysis: &str) -> Value {
    json!({ "verdict": "GREEN", "analysis": analysis })
}

/// A Full Breakdown with this summary and this first dimension.
fn full(summary: &str, stability: &str) -> Value {
    json!({
        "verdict": "GREEN",
        "summary": summary,
        "breakdown": {
            "Stability": dimension(stability),
            "Turbulence": dimension("Few competitors move quickly here."),
            "Change Rate": dimension("Little changes from month to month."),
            "Completion": dimension("Most of the pieces exist."),
            "Curvature": dimension("A second one costs less than the first."),
        },
    })
}

async fn assert_held(world: &World, sale: &Sale, reply: &Value) {
    let held = world.answered(&sale.session).await;
    assert_eq!((held.status, held.json()), (202, json!({ "status": "in_review" })));
    world.drained().await;
    world.faults_are_used_up().await;
    assert_eq!(world.model_calls(sale).await, 1);
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new(), "nothing is mailed");
    assert_eq!(world.aws.document(&sale.session, "VERDICT").await, None, "nothing is cached");
    assert_eq!(world.aws.keys("ArchiveBucket", &sale.session).await, Vec::<String>::new(), "nothing is archived");

    let keys = world.aws.keys("QuarantineBucket", &sale.session).await;
    assert_eq!(keys.len(), 1, "{keys:?}");
    let payload: Value = serde_json::from_str(&world.aws.text("QuarantineBucket", &keys[0]).await).expect("JSON");
    assert_eq!(&payload["payload"], reply, "the raw payload, for the operator who decides");
    assert!(!payload.to_string().contains(&sale.email), "{payload}");

    let records = world.records(&sale.session).await;
    let runs: Vec<&Value> = records.iter().filter(|record| record["event"] == "content_filter").collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!((&runs[0]["gate"], &runs[0]["outcome"]), (&json!(1), &json!("QUARANTINE")));
    assert!(runs[0]["hits"].as_array().is_some_and(|hits| !hits.is_empty()), "{}", runs[0]);
    assert_eq!(world.count(&sale.session, "webhook", "OK").await, 0);
    assert_eq!(world.count(&sale.session, "webhook", "ERROR").await, 1);
    assert_eq!(world.verdict(&sale.session).await.json(), json!({ "status": "in_review" }), "until somebody decides");
}

#[tokio::test]
async fn a_term_without_a_substitute_holds_the_verdict() {
    let quick = json!({ "verdict": "GREEN", "summary": "The CSDM leaves no doubt about it." });
    let deep = full("Go ahead, on a fixed budget.", "The CSDM leaves no doubt about it.");
    for (tier, reply) in [("quick", quick), ("full", deep)] {
        let world = World::alone().await;
        world.stack.next_verdict(reply.clone()).await;
        let sale = world.buy(tier).await;
        assert_held(&world, &sale, &reply).await;
    }
}

/// More than three replacements in one payload count as contamination.
#[tokio::test]
async fn four_replacements_hold_the_verdict_and_three_do_not() {
    let world = World::alone().await;
    let reply = full("TMM says yes and TMM knows.", "TMM again, and TMM once more.");
    world.stack.next_verdict(reply.clone()).await;
    let sale = world.buy("full").await;
    assert_held(&world, &sale, &reply).await;

    world.stack.next_verdict(full("TMM says yes and TMM knows.", "TMM again, and that is all.")).await;
    let sale = world.buy("full").await;
    let page = world.delivered(&sale).await;
    assert!(!page.to_string().replace(&sale.session, "").contains("TMM"), "{page}");
}

#[tokio::test]
async fn a_term_with_a_substitute_is_replaced_on_page_and_in_mail() {
    let world = World::alone().await;
    world.stack.next_verdict(full("Go ahead: the TMM is clear.", "MNEMOS remembers three such cases.")).await;
    let sale = world.buy("full").await;
    let page = world.delivered(&sale).await;
    let summary = page["verdict"]["summary"].as_str().expect("a summary").to_owned();
    let stability = page["verdict"]["breakdown"]["Stability"]["analysis"].as_str().expect("an analysis").to_owned();
    assert_eq!(summary, "Go ahead: the analysis is clear.");
    assert!(stability.to_lowercase().contains("our knowledge base remembers three such cases."), "{stability}");
    assert_eq!(page["verdict"]["breakdown"]["Turbulence"]["analysis"], "Few competitors move quickly here.");

    let mails = world.mails(&sale.email).await;
    let body = mails[0]["body"].as_str().expect("a body");
    assert!(body.contains(&summary) && body.contains(&stability), "{body}");
    let stored = world.aws.text("ArchiveBucket", &world.aws.keys("ArchiveBucket", &sale.session).await[0]).await;
    for (place, text) in [("page", page.to_string()), ("mail", body.to_owned()), ("archive", stored)] {
        // The link has the session, whose random letters can be any.
        let said = text.replace(&sale.session, "");
        assert!(!said.contains("TMM") && !said.contains("MNEMOS"), "{place}: {text}");
    }
    let records = world.records(&sale.session).await;
    let run = records.iter().find(|record| record["event"] == "content_filter" && record["gate"] == 1).expect("a run");
    assert_eq!((&run["outcome"], run["hits"].as_array().map(Vec::len)), (&json!("REPLACE"), Some(2)), "{run}");
    assert_eq!(world.aws.keys("QuarantineBucket", &sale.session).await, Vec::<String>::new());
}

/// A customer's own words may contain a term: they are not repeated, and the verdict is delivered nevertheless.
#[tokio::test]
async fn a_question_with_a_blocked_term_is_answered_and_not_echoed() {
    let world = World::beside_others().await;
    let sale = world.buy_with("quick", format!("Is CSDM worth it? {}", question())).await;
    let page = world.delivered(&sale).await;
    let reference = &sale.session[sale.session.len() - 8..];
    let mail = world.mails(&sale.email).await[0]["body"].as_str().expect("a body").to_owned();
    for text in [page["query"].as_str().expect("a line"), &mail] {
        assert!(text.contains(reference) && !text.contains("CSDM"), "{text}");
    }
    assert!(world.aws.keys("QuarantineBucket", &sale.session).await.is_empty());
}
