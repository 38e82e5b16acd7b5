//! `oracle doctor` on a deployed stack whose accounts are set up wrongly in every way that it can detect.

use crate::{operators::asked, world::World};
use serde_json::{Value, json};

/// Findings about the local stack itself: its topics have no subscriptions, and the emulator has its own quota.
const OF_THE_EMULATOR: [&str; 3] = ["ops topic", "critical topic", "Lambda concurrency"];

fn examined(world: &World) -> (Option<i32>, Vec<Value>) {
    let (code, all) = asked(world, &["doctor"]);
    let findings = all["findings"].as_array().cloned().unwrap_or_default().into_iter();
    let ours = findings.filter(|it| !OF_THE_EMULATOR.iter().any(|subject| it["subject"] == *subject));
    (code, ours.collect())
}

async fn with(world: &World, change: Value) -> Vec<Value> {
    world.stack.control("configure", change).await;
    let (code, found) = examined(world);
    let right = json!({ "stripe_webhook_endpoints": null, "stripe_payment_links": [],
        "stripe_portal": {}, "graph_scopes": ["Mail.ReadWrite", "Mail.Send"] });
    world.stack.control("configure", right).await;
    assert_eq!(code, Some(1), "{found:?}");
    assert!(found.iter().all(|it| it["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty())), "{found:?}");
    found
}

fn expect_problem(found: &[Value], subject: &str, problem: &str) {
    let is_told =
        |it: &Value| it["subject"] == subject && it["problem"].as_str().is_some_and(|it| it.contains(problem));
    assert!(found.iter().any(is_told), "{subject}: {problem}: {found:?}");
}

#[tokio::test]
async fn accounts_as_they_must_be_are_no_finding() {
    let world = World::alone().await;
    assert_eq!(examined(&world).1, Vec::<Value>::new());
}

#[tokio::test]
async fn whatever_is_set_up_wrongly_is_found() {
    let world = World::alone().await;
    let url = format!("{}/api/webhook", world.stack.site);
    let endpoint = "Stripe webhook endpoint";
    let found = with(&world, json!({ "stripe_webhook_endpoints": [] })).await;
    expect_problem(&found, endpoint, &format!("no endpoint has the address {url}"));
    let found = with(&world, json!({ "stripe_webhook_endpoints": [
        { "url": url, "status": "disabled", "api_version": "2020-08-27", "enabled_events": ["charge.refunded", "invoice.created"] },
        { "url": url },
    ] }))
    .await;
    for problem in [
        "2 endpoints",
        "disabled",
        "2020-08-27",
        "does not deliver charge.dispute.closed",
        "nothing reads: invoice.created",
    ] {
        expect_problem(&found, endpoint, problem);
    }
    let dear = json!({ "metadata": { "tier": "quick" }, "line_items": [{ "price": { "unit_amount": 10_000 } }] });
    let found = with(&world, json!({ "stripe_payment_links": [{ "metadata": { "tier": "gold" } }, dear] })).await;
    for problem in ["the tier \"gold\"", "without asking anything", "verdict's page", "customers pay 10000 cents cad"] {
        expect_problem(&found, "Stripe payment links", problem);
    }
    let portal = json!({ "subscription_update": { "enabled": true }, "payment_method_update": { "enabled": false },
        "subscription_cancel": { "enabled": true, "mode": "immediately" } });
    let found = with(&world, json!({ "stripe_portal": portal })).await;
    for problem in ["may switch plans", "cannot cancel at the end", "cannot update their payment method"] {
        expect_problem(&found, "Stripe customer portal", problem);
    }
    let refunds = world.aws.secret("stripe-refund").await;
    world.aws.set_secret("stripe-refund", &json!({ "secret_key": "rk_live_x" })).await;
    let (_, found) = examined(&world);
    world.aws.set_secret("stripe-refund", &refunds).await;
    expect_problem(&found, "Stripe keys", "live: stripe-refund; test: stripe and stripe-checkout");
    let found = with(&world, json!({ "graph_scopes": ["Mail.Send", "Files.Read.All"] })).await;
    expect_problem(&found, "mailbox permissions", "not consented to: Mail.ReadWrite");
    expect_problem(&found, "mailbox permissions", "without need: Files.Read.All");
    world.stack.faults("gemini", json!([{ "status": 404 }])).await;
    let (_, found) = examined(&world);
    expect_problem(&found, "Gemini models", "is not served");
    let moved = json!({ "status": 308, "headers": { "location": "http://www.facilitator.example/supported" } });
    world.stack.faults("facilitator", json!([moved, moved])).await;
    let (_, found) = examined(&world);
    expect_problem(&found, "x402 facilitator", "a redirect to www.facilitator.example/supported");
}

/// Correct links are no finding, and a vendor that is down is reported as unknown.
#[tokio::test]
async fn a_link_as_the_guide_says_is_right_and_silence_is_not_health() {
    let world = World::alone().await;
    let link = json!({
        "metadata": { "tier": "full" },
        "line_items": [{ "price": { "unit_amount": 500 } }],
        "custom_fields": [{ "key": "idea", "type": "text", "optional": false }],
        "after_completion": { "type": "redirect", "redirect": {
            "url": format!("{}/oracle/result?session_id={{CHECKOUT_SESSION_ID}}", world.stack.site) } },
    });
    world.stack.control("configure", json!({ "stripe_payment_links": [link] })).await;
    let (_, found) = examined(&world);
    world.stack.control("configure", json!({ "stripe_payment_links": [] })).await;
    assert_eq!(found, Vec::<Value>::new());
    let down = json!({ "status": 400 });
    world.stack.faults("stripe", json!([down, down, down])).await;
    let (code, found) = examined(&world);
    assert_eq!((code, found.len()), (Some(1), 3), "{found:?}");
    assert!(found.iter().all(|it| it["unknown"] == true), "{found:?}");
    let busy = json!({ "status": 503 });
    world.stack.faults("facilitator", json!([busy, busy])).await;
    let (_, found) = examined(&world);
    assert!(matches!(&found[..], [one] if one["unknown"] == true), "{found:?}");
}
