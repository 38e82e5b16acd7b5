//! GET /api/verdict in every state of a sale.

use crate::world::{World, by_link, question};
use serde_json::{Value, json};
use tests::unique;

const FAILED: &str = "Analysis failed. Please contact oracle@42sisters.ai for a refund.";
const UNAVAILABLE: &str = "Analysis temporarily unavailable. Please try again in a few minutes.";

#[tokio::test]
async fn an_unpaid_session_is_402_and_nothing_is_made_of_it() {
    let world = World::beside_others().await;
    let (_, mut object) = by_link("quick");
    object["payment_status"] = json!("unpaid");
    object["status"] = json!("open");
    let planted = world.stack.plant(&object).await;
    let opened = world.order("quick", &question()).await;
    for session in [planted, opened.clone()] {
        let reply = world.verdict(&session).await;
        assert_eq!(reply.status, 402, "{}", reply.text);
        assert!(reply.json()["error"].is_string(), "{}", reply.text);
        assert_eq!(world.aws.document(&session, "SALE").await, None);
    }
    // An open session links back to Stripe's page, even for two requests in quick succession.
    for _ in 0..2 {
        let address = world.verdict(&opened).await.json()["payment_url"].clone();
        assert_eq!(address, world.stripe_session(&opened).await["url"]);
        assert!(address.is_string());
    }
}

/// The reply does not show whether an id could exist.
#[tokio::test]
async fn unknown_and_malformed_ids_get_the_same_404() {
    let world = World::beside_others().await;
    let unknown = world.verdict(&format!("cs_test_unknown{}", unique())).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text);
    let long = format!("cs_test_{}", "a".repeat(3000));
    for id in [
        "",
        "cs_",
        "nonsense",
        "../../etc/passwd",
        "%00",
        "%ff",
        "cs_test_%00",
        "cs_test_a%0d%0ab",
        "SESSION%23x",
        "pi_1",
        &long,
    ] {
        let reply = world.verdict(id).await;
        assert_eq!((reply.status, &reply.text), (404, &unknown.text), "{id}");
    }
    let missing = world.get("/api/verdict").await;
    assert_eq!((missing.status, &missing.text), (404, &unknown.text));
}

/// On AWS a group of networks may ask about three unknown ids a minute. Everybody on a local stack has one network.
#[tokio::test]
async fn a_local_stack_has_no_limit_for_unknown_ids_and_codes() {
    let world = World::beside_others().await;
    for _ in 0..12 {
        assert_eq!(world.verdict(&format!("cs_test_unknown{}", unique())).await.status, 404);
        let body = json!({ "tier": "quick", "query": question(), "referral_code": unique().to_string() });
        world.checkout(body.to_string()).await.assert_code(400, "referral_code_unknown");
    }
}

#[tokio::test]
async fn a_sale_in_work_is_pending_and_says_when_to_ask_again() {
    let world = World::alone().await;
    let sale = world.buy_despite("gemini", json!([{ "delay_ms": 3750 }]), "quick").await;
    let reply = world.verdict(&sale.session).await;
    assert_eq!((reply.status, reply.json()), (202, json!({ "status": "pending" })));
    assert!(reply.header("retry-after").parse::<u32>().is_ok_and(|seconds| (1..=30).contains(&seconds)));
    world.delivered(&sale).await;
    assert_eq!(world.model_calls(&sale).await, 1, "asking does not order again");
    world.faults_are_used_up().await;
}

/// No webhook or other function has reported the sale; its page finds that it is paid and orders it.
#[tokio::test]
async fn a_lost_webhook_is_made_up_for_by_the_page() {
    let world = World::alone().await;
    let sale = world.open("full", question()).await;
    world.pay(&sale, 0).await;
    let first = world.verdict(&sale.session).await;
    assert_eq!((first.status, first.json()), (202, json!({ "status": "pending" })));
    world.delivered(&sale).await;
    world.drained().await;
    assert_eq!((world.model_calls(&sale).await, world.mails(&sale.email).await.len()), (1, 1));
}

#[tokio::test]
async fn a_model_that_fails_for_good_is_500_with_the_fixed_sentence() {
    let world = World::alone().await;
    let sale = world.buy_despite("gemini", json!([{ "status": 400 }]), "full").await;
    let reply = world.answered(&sale.session).await;
    assert_eq!((reply.status, reply.json()), (500, json!({ "error": FAILED })));
    world.drained().await;
    assert_eq!(world.model_calls(&sale).await, 1, "a refusal for good is not repeated");
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
    assert_eq!(world.aws.document(&sale.session, "VERDICT").await, None);
    assert_eq!(world.count(&sale.session, "webhook", "ERROR").await, 1);
    assert_eq!(world.verdict(&sale.session).await.status, 500, "the end stays the end");
    world.faults_are_used_up().await;
}

#[tokio::test]
async fn without_stripe_and_without_a_record_the_page_asks_for_patience() {
    let world = World::alone().await;
    let (_, mut object) = by_link("quick");
    object["payment_status"] = json!("unpaid");
    let session = world.stack.plant(&object).await;
    let down = json!([{ "status": 500, "headers": { "Stripe-Should-Retry": "false" } }]);
    world.stack.faults("stripe", down).await;
    let reply = world.verdict(&session).await;
    assert_eq!((reply.status, reply.json()), (503, json!({ "error": UNAVAILABLE })));
    assert!(!reply.header("retry-after").is_empty());
    world.faults_are_used_up().await;
    assert_eq!(world.verdict(&session).await.status, 402, "and knows once Stripe is back");
}

/// A delivered verdict is read from our own records: Stripe may be down.
#[tokio::test]
async fn a_delivered_verdict_needs_nobody_else() {
    let world = World::alone().await;
    let sale = world.buy("quick").await;
    let page = world.delivered(&sale).await;
    let before = world.calls("stripe", "").await.len();
    for _ in 0..3 {
        assert_eq!(world.verdict(&sale.session).await.json(), page);
    }
    assert_eq!(world.calls("stripe", "").await.len(), before);
    assert_eq!(world.model_calls(&sale).await, 1);
}
