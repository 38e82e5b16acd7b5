//! POST /api/checkout: requests that are refused before a call to Stripe, and the calls that reach Stripe.

use crate::world::{CANARY, Reply, World, question};
use serde_json::{Value, json};
use tests::unique;

/// Checks that a refusal names the error for people and for programs.
fn assert_refused(reply: &Reply, status: u16, code: &str) {
    reply.assert_code(status, code);
    assert!(reply.json()["error"].as_str().is_some_and(|error| !error.is_empty()), "{}", reply.text);
}

#[tokio::test]
async fn what_cannot_be_sold_is_refused_by_name_and_stripe_is_not_asked() {
    let world = World::alone().await;
    let too_long = "a".repeat(20_001);
    let too_long_in_bytes_too = "🍁".repeat(20_001);
    for (order, code) in [
        (json!({ "query": "x" }), "tier_invalid"),
        (json!({ "tier": null, "query": "x" }), "tier_invalid"),
        (json!({ "tier": "", "query": "x" }), "tier_invalid"),
        (json!({ "tier": "premium", "query": "x" }), "tier_invalid"),
        (json!({ "tier": "Quick", "query": "x" }), "tier_invalid"),
        (json!({ "tier": "quick ", "query": "x" }), "tier_invalid"),
        (json!({ "tier": ["quick"], "query": "x" }), "tier_invalid"),
        (json!({ "tier": 1, "query": "x" }), "tier_invalid"),
        (json!({ "tier": "quick" }), "query_invalid"),
        (json!({ "tier": "quick", "query": "" }), "query_invalid"),
        (json!({ "tier": "quick", "query": " \n\t\u{3000}" }), "query_invalid"),
        (json!({ "tier": "quick", "query": 1 }), "query_invalid"),
        (json!({ "tier": "quick", "query": { "a": "x" } }), "query_invalid"),
        (json!({ "tier": "quick", "query": too_long }), "query_invalid"),
        (json!({ "tier": "quick", "query": too_long_in_bytes_too }), "query_invalid"),
        (json!({ "tier": "quick", "query": "x", "referral_code": 5 }), "referral_code_invalid"),
        (json!([{ "tier": "quick", "query": "x" }]), "malformed_json"),
        (json!("quick"), "malformed_json"),
    ] {
        assert_refused(&world.checkout(order.to_string()).await, 400, code);
    }
    for body in ["", "tier=quick&query=x", "{\"tier\":\"quick\",\"query\":\"x\"", "{'tier':'quick'}"] {
        assert_refused(&world.checkout(body).await, 400, "malformed_json");
    }
    assert_eq!(world.calls("stripe", "").await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_body_over_256_kib_is_too_large() {
    let world = World::beside_others().await;
    let body = json!({ "tier": "quick", "query": "a".repeat(300 * 1024) }).to_string();
    assert_refused(&world.checkout(body).await, 413, "too_large");
}

/// The longest question fits, even if every character has its longest escape.
#[tokio::test]
async fn the_longest_question_is_sold() {
    let world = World::beside_others().await;
    // A text without a letter or a number is not sold.
    let escaped = format!(r#"{{"tier":"quick","query":"a{}"}}"#, "\\ud83c\\udf41".repeat(19_999));
    let reply = world.checkout(escaped).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let session = reply.json()["session_id"].as_str().expect("a session id").to_owned();
    assert_eq!(chunks(&world, &session).await.concat(), "a".to_owned() + &"🍁".repeat(19_999));
}

/// The question's chunks as Stripe recorded them, in order.
async fn chunks(world: &World, session: &str) -> Vec<String> {
    let calls = world.calls("stripe", "/v1/checkout/sessions").await;
    let created = calls.iter().find(|call| call["reply"]["body"]["id"] == *session).expect("the call that created it");
    let metadata = &created["reply"]["body"]["metadata"];
    let count: usize = metadata["qn"].as_str().expect("qn").parse().expect("a number");
    let chunk = |index: usize| metadata[format!("q{index}")].as_str().expect("a chunk").to_owned();
    assert_eq!(metadata.as_object().expect("metadata").len(), count + 2, "tier, qn and the chunks");
    (0..count).map(chunk).collect()
}

#[tokio::test]
async fn the_session_says_what_is_bought() {
    let world = World::beside_others().await;
    for (tier, cents, name) in
        [("quick", 100, "Quick Take"), ("full", 500, "Full Breakdown"), ("strategy", 2500, "Strategy Session")]
    {
        let question = question();
        let session = world.order(tier, &question).await;
        let mark = question.rsplit(' ').next().expect("words");
        let calls = world.calls("stripe", mark).await;
        assert_eq!(calls.len(), 1, "one call opens one session");
        let (call, created) = (&calls[0], &calls[0]["reply"]["body"]);
        assert_eq!(
            (&created["id"], &created["amount_total"], &created["currency"]),
            (&json!(session), &json!(cents), &json!("cad"))
        );
        assert_eq!((&created["metadata"]["tier"], &created["mode"]), (&json!(tier), &json!("payment")));
        let sent = call["request_body"].to_string();
        assert!(sent.contains(name), "{sent}");
        let success = format!("{}/oracle/result?session_id={{CHECKOUT_SESSION_ID}}", world.stack.site);
        assert_eq!(created["success_url"], success);
        assert!(call["headers"]["idempotency-key"].as_str().is_some_and(|key| key.len() >= 16), "{}", call["headers"]);
        assert!(call["headers"]["stripe-version"].is_string(), "{}", call["headers"]);
    }
}

#[tokio::test]
async fn the_reply_names_the_session_and_its_pay_page() {
    let world = World::beside_others().await;
    let reply = world.checkout(json!({ "tier": "full", "query": question() }).to_string()).await;
    let body = reply.json();
    let session = body["session_id"].as_str().expect("a session id");
    let pay_page = format!("{}/stripe/pay/{session}", world.stack.sandbox);
    assert_eq!((reply.status, body["url"].as_str()), (200, Some(&*pay_page)));
    assert_eq!(body.as_object().expect("an object").len(), 2);
}

#[tokio::test]
async fn a_failing_stripe_is_said_plainly() {
    let world = World::alone().await;
    let final_failure = json!({ "status": 500, "headers": { "Stripe-Should-Retry": "false" } });
    let refusal =
        json!({ "status": 400, "body": { "error": { "type": "card_error", "message": "NOT FOR CUSTOMERS" } } });
    for fault in [final_failure, refusal] {
        world.stack.faults("stripe", json!([fault])).await;
        let reply = world.checkout(json!({ "tier": "quick", "query": question() }).to_string()).await;
        assert_refused(&reply, 502, "payment_unavailable");
        assert!(!reply.text.contains("NOT FOR CUSTOMERS"), "{}", reply.text);
        world.faults_are_used_up().await;
    }
}

/// The reply to creating a session got lost: a retry with the same idempotency key opens no second session.
#[tokio::test]
async fn a_lost_reply_opens_one_session() {
    let world = World::alone().await;
    world.stack.faults("stripe", json!([{ "drop": true }])).await;
    let question = question();
    let session = world.order("quick", &question).await;
    let calls = world.calls("stripe", question.rsplit(' ').next().expect("words")).await;
    assert_eq!(calls.len(), 2, "the lost call and the one that took its place");
    assert_eq!(calls[0]["headers"]["idempotency-key"], calls[1]["headers"]["idempotency-key"]);
    for call in &calls {
        assert_eq!(call["reply"]["body"]["id"], *session);
    }
    world.faults_are_used_up().await;
}

#[tokio::test]
async fn a_referral_code_takes_its_share_off() {
    let world = World::beside_others().await;
    for code in ["FRIEND20", "friend20", " FRIEND20 "] {
        let question = question();
        let order = json!({ "tier": "full", "query": question, "referral_code": code });
        let reply = world.checkout(order.to_string()).await;
        assert_eq!(reply.status, 200, "{code:?}: {}", reply.text);
        let calls = world.calls("stripe", question.rsplit(' ').next().expect("words")).await;
        assert_eq!(calls.last().expect("a call")["reply"]["body"]["amount_total"], 400, "{code:?}");
    }
    let none = json!({ "tier": "full", "query": question(), "referral_code": "" });
    assert_eq!(world.checkout(none.to_string()).await.status, 200);
}

/// A coupon of 100 % is refused: the session would complete without a payment.
#[tokio::test]
async fn a_coupon_that_leaves_nothing_to_pay_is_refused() {
    let world = World::beside_others().await;
    let body = json!({ "tier": "quick", "query": question(), "referral_code": "FREE100" });
    let reply = world.checkout(body.to_string()).await;
    reply.assert_code(400, "referral_code_unusable");
    assert!(reply.json()["url"].is_null() && reply.json()["session_id"].is_null(), "{}", reply.text);
}

#[tokio::test]
async fn an_unknown_referral_code_is_refused_before_any_session_exists() {
    let world = World::alone().await;
    for code in ["NOSUCHCODE", "EXPIRED1", "FRIEND20&active=false", "💰", &"A".repeat(500)] {
        let order = json!({ "tier": "quick", "query": question(), "referral_code": code });
        assert_refused(&world.checkout(order.to_string()).await, 400, "referral_code_unknown");
    }
    let opened = world.calls("stripe", "/v1/checkout/sessions").await;
    assert_eq!(opened, Vec::<Value>::new());
}

/// A unique question of this many characters, made of `unit`.
fn long_question(unit: &str, characters: usize) -> String {
    let beginning = format!("{CANARY} {} ", unique());
    let rest = characters - beginning.chars().count();
    beginning + &unit.chars().cycle().take(rest).collect::<String>()
}

/// Every length around the chunk limits, with one to four bytes per character: the chunks that Stripe recorded, joined,
/// are the question, and the page and the model get the same text.
#[tokio::test]
async fn questions_survive_the_way_through_stripe_unchanged() {
    let world = World::beside_others().await;
    let mut sales = Vec::new();
    for (characters, count, unit) in [
        (489, 1, "a"),
        (490, 1, "é"),
        (491, 2, "語"),
        (980, 2, "🍁"),
        (981, 3, "a🍁é語"),
        (981, 3, "e\u{301}\u{200d}👩\u{200d}🌾\u{202e}"),
        (1470, 3, "\"\\<&>'%+=[]\n\t"),
    ] {
        let question = long_question(unit, characters);
        let sale = world.open("quick", question).await;
        let chunks = chunks(&world, &sale.session).await;
        assert_eq!((chunks.len(), &chunks.concat()), (count, &sale.question), "{characters} of {unit:?}");
        world.pay(&sale, 1).await;
        sales.push(sale);
    }
    for sale in sales {
        let page = world.delivered(&sale).await;
        // The page shows no character that changes the direction of a text.
        assert_eq!(page["query"], sale.question.replace('\u{202e}', " "));
        let asked = world.calls("gemini", sale.question.split(' ').nth(1).expect("words")).await;
        let turn = asked[0]["request_body"]["contents"][0]["parts"][0]["text"].as_str().expect("a turn");
        let turn: Value = serde_json::from_str(turn).expect("the submission as JSON");
        assert_eq!(turn, json!({ "submission": sale.question }), "the customer's words are data, whole and alone");
    }
}

/// A question that is refused leaves one record, with its state and without its text.
#[tokio::test]
async fn a_declined_question_is_on_record_without_its_text() {
    let world = World::beside_others().await;
    let mark = unique();
    let query = format!("Can I give my son two of my warfarin tablets, {mark}?");
    assert_refused(&world.checkout(json!({ "tier": "quick", "query": query }).to_string()).await, 422, "blocked");
    let mut all = Vec::new();
    for number in 1..=8 {
        all.extend(world.function_records(&format!("checkout-{number}"), "authority_evaluated").await);
    }
    let blocked = |record: &&Value| {
        let decided = &record["authority"];
        (&decided["state"], &decided["domain"], &record["endpoint"])
            == (&json!("BLOCKED"), &json!("medicine"), &json!("/api/checkout"))
    };
    let found: Vec<_> = all.iter().filter(blocked).collect();
    assert!(!found.is_empty(), "{all:?}");
    for record in all {
        assert!(record["question_tag"].as_str().is_some_and(|tag| tag.starts_with("hmac-sha256:")));
        assert!(!record.to_string().contains(&mark), "{record}");
    }
}
