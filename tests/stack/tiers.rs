//! Every tier in both flows: the page, the mail, and the link between them.

use crate::world::{Sale, World, question};
use serde_json::Value;

const COLOURS: [&str; 4] = ["GREEN", "AMBER", "RED", "NULL"];
const DIMENSIONS: [&str; 5] = ["Change Rate", "Completion", "Curvature", "Stability", "Turbulence"];
const EMOJI: [(&str, &str); 4] = [("GREEN", "🟢"), ("AMBER", "🟡"), ("RED", "🔴"), ("NULL", "⚫")];

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn names(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Checks that the verdict has all blocks of its tier and no others.
fn assert_form_of(tier: &str, verdict: &Value) {
    let blocks: &[&str] = match tier {
        "quick" => &["summary", "verdict"],
        "full" => &["breakdown", "summary", "verdict"],
        _ => &["breakdown", "strategy", "summary", "verdict"],
    };
    assert_eq!(names(verdict), blocks, "{verdict}");
    assert!(COLOURS.contains(&verdict["verdict"].as_str().expect("a colour")) && is_text(&verdict["summary"]));
    if tier != "quick" {
        assert_eq!(names(&verdict["breakdown"]), DIMENSIONS);
        for name in DIMENSIONS {
            let dimension = &verdict["breakdown"][name];
            assert!(COLOURS.contains(&dimension["verdict"].as_str().expect("a colour")), "{name}: {dimension}");
            assert!(is_text(&dimension["analysis"]), "{name}: {dimension}");
        }
    }
    if tier == "strategy" {
        let strategy = &verdict["strategy"];
        assert_eq!(names(strategy), ["alternative", "next_step", "tests"]);
        assert!(is_text(&strategy["next_step"]) && is_text(&strategy["alternative"]));
        let tests = strategy["tests"].as_array().expect("tests");
        assert!(tests.len() == 3 && tests.iter().all(is_text), "{strategy}");
    }
}

/// All texts of a verdict.
fn texts(verdict: &Value) -> Vec<String> {
    match verdict {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

async fn assert_delivered(world: &World, tier: &str, sale: &Sale) {
    let page = world.delivered(sale).await;
    assert_eq!((page["tier"].as_str(), page["query"].as_str()), (Some(tier), Some(&*sale.question)), "{page}");
    let sold: Vec<&str> = names(&page).into_iter().filter(|name| *name != "followup_status").collect();
    assert_eq!(sold, ["cached_at", "query", "tier", "verdict"], "a first verdict has no notice");
    assert_eq!(page["followup_status"].as_str(), (tier == "strategy").then_some("available"));
    let cached_at = page["cached_at"].as_str().expect("a time");
    assert!(cached_at.len() == 24 && cached_at.ends_with('Z'), "{cached_at}");
    assert_form_of(tier, &page["verdict"]);

    let mails = world.mails(&sale.email).await;
    assert_eq!(mails.len(), 1, "{mails:?}");
    let mail = &mails[0];
    assert_eq!((&mail["to"], &mail["subject"]), (&sale.email.clone().into(), &"Your 42 Sisters AI Verdict".into()));
    assert_eq!(mail["content_type"], "text");
    let body = mail["body"].as_str().expect("a body");
    let (title, strategy) = match tier {
        "quick" => ("ORACLE VERDICT — QUICK TAKE\n", false),
        "full" => ("ORACLE VERDICT — FULL BREAKDOWN\n", false),
        _ => ("ORACLE VERDICT — STRATEGY SESSION\n", true),
    };
    assert!(body.starts_with(title), "{body}");
    assert!(body.contains(&format!("\nYOUR SUBMISSION:\n{}\n", sale.question)), "{body}");
    let colour = page["verdict"]["verdict"].as_str().expect("a colour");
    let emoji = EMOJI.iter().find(|(name, _)| *name == colour).expect("an emoji").1;
    assert!(body.contains(&format!("\nVERDICT: {emoji} {colour}\n")), "{body}");
    for text in texts(&page["verdict"]) {
        assert!(body.contains(&text), "the mail lacks {text:?}:\n{body}");
    }
    assert_eq!(body.contains("\nBREAKDOWN\n"), tier != "quick", "{body}");
    assert_eq!(body.contains("\nSTRATEGIC RECOMMENDATIONS\n"), strategy, "{body}");
    assert_eq!(body.contains("Reply to this email with your follow-up question."), strategy, "{body}");

    let path = format!("/oracle/result?session_id={}", sale.session);
    assert!(body.contains(&format!("{}{path}\n", world.stack.site)), "{body}");
    let linked = world.get(&path).await;
    assert_eq!((linked.status, linked.header("content-type")), (200, "text/html; charset=utf-8"));
    let short = world.get(&format!("/result/{}", sale.session)).await;
    assert!((300..400).contains(&short.status), "{}", short.status);
    assert_eq!(short.header("location"), path);
    assert_eq!(world.model_calls(sale).await, 1);
}

#[tokio::test]
async fn every_tier_is_bought_on_the_site() {
    let world = World::beside_others().await;
    for tier in ["quick", "full", "strategy"] {
        let sale = world.buy(tier).await;
        assert_delivered(&world, tier, &sale).await;
    }
}

#[tokio::test]
async fn every_tier_is_bought_by_payment_link() {
    let world = World::beside_others().await;
    for tier in ["quick", "full", "strategy"] {
        let sale = world.buy_by_link(tier).await;
        assert_delivered(&world, tier, &sale).await;
    }
}

/// A verdict of NULL is delivered like any other.
#[tokio::test]
async fn a_verdict_of_null_is_delivered_too() {
    let world = World::alone().await;
    let reply =
        serde_json::json!({ "verdict": "NULL", "summary": "The submission does not say what is to be decided." });
    world.stack.next_verdict(reply.clone()).await;
    let sale = world.buy("quick").await;
    let page = world.delivered(&sale).await;
    assert_eq!(page["verdict"], reply);
    let mails = world.mails(&sale.email).await;
    assert!(mails[0]["body"].as_str().expect("a body").contains("VERDICT: ⚫ NULL"), "{mails:?}");
    assert_eq!(world.count(&sale.session, "webhook", "OK").await, 1);
    world.faults_are_used_up().await;
}

/// A question of several lines that imitates our mails: in the mail every line of it is quoted, and no address in it is a
/// link.
#[tokio::test]
async fn a_question_that_imitates_our_mails_is_quoted() {
    let world = World::beside_others().await;
    let forged = [
        "VERDICT: 🟢 GREEN",
        "We could not give you a verdict, so we have refunded your payment in full. You don't have to do anything.",
        "Your result page:",
        "https://evil.example/pay",
    ];
    let question = format!("Is this fund sound?\n\n{}\n\n{}", forged.join("\n"), question());
    let sale = world.buy_with("quick", question).await;
    world.delivered(&sale).await;
    let mails = world.mails(&sale.email).await;
    let body = mails[0]["body"].as_str().expect("a body");
    let (_, rest) = body.split_once("\nYOUR SUBMISSION:\n").expect("our heading");
    let (echo, _) = rest.split_once("\n\nVERDICT: ").expect("our verdict");
    assert!(echo.lines().count() > forged.len() && echo.lines().all(|line| line.starts_with('>')), "{body}");
    for part in ["> VERDICT: (green) GREEN", "> We could not give you", "> https[:]//evil[.]example/pay", sale.mark()] {
        assert!(echo.contains(part), "{part}: {body}");
    }
    assert_eq!(body.lines().filter(|line| line.starts_with("VERDICT: ")).count(), 1, "{body}");
    assert_eq!(body.matches("://").count(), 1, "one link, ours: {body}");
}
