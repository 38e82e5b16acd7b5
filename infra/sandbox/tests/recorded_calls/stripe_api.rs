//! Stripe's interface over HTTP: valid calls, refused calls, and the errors.

use crate::support::{NOW, SESSION, World, ok, read, session_with, world};
use serde_json::{Value, json};

#[tokio::test]
async fn a_session_is_created_open_and_unpaid() {
    let world = world().await;
    let session = world.session().await;
    let id = session["id"].as_str().unwrap();
    assert!(id.starts_with("cs_test_") && id.len() >= 48, "{id}");
    assert!(id["cs_test_".len()..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_eq!(session["status"], "open");
    assert_eq!(session["payment_status"], "unpaid");
    assert_eq!(session["payment_intent"], Value::Null);
    assert_eq!(session["amount_total"], 100);
    assert_eq!(session["currency"], "cad");
    assert_eq!(session["adaptive_pricing"], json!({"enabled": false}));
    assert_eq!(session["created"], NOW);
    assert_eq!(session["livemode"], false);
    assert_eq!(session["metadata"], json!({"tier": "quick", "q0": "Should I open a bakery?", "qn": "1"}));
    let url = session["url"].as_str().unwrap();
    assert_eq!(url, world.url(&format!("/stripe/pay/{id}")));
    let (status, found) = read(world.stripe_get(&format!("checkout/sessions/{id}"))).await;
    assert_eq!((status, found), (200, session));
}

#[tokio::test]
async fn calls_without_the_right_key_are_refused() {
    let world = world().await;
    let url = world.url("/stripe/v1/promotion_codes");
    let (status, body) = read(world.client.get(&url)).await;
    assert_eq!(status, 401);
    assert_eq!(body["error"]["type"], "invalid_request_error");
    let (status, body) = read(world.client.get(&url).bearer_auth("sk_test_other")).await;
    assert_eq!(status, 401);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("********ther") && !message.contains("sk_test_other"));
}

#[tokio::test]
async fn bad_parameters_are_refused_and_named() {
    let world = world().await;
    let long = "x".repeat(501);
    let key = format!("metadata[{}]", "k".repeat(41));
    for (name, value, code, param) in [
        ("colour", "red", "parameter_unknown", "colour"),
        ("line_items[0][colour]", "red", "parameter_unknown", "line_items[0][colour]"),
        ("mode", "-", "parameter_missing", "mode"),
        ("mode", "gift", "", "mode"),
        ("success_url", "-", "parameter_missing", "success_url"),
        ("success_url", "/oracle", "url_invalid", "success_url"),
        ("line_items[0][quantity]", "-", "parameter_missing", "line_items[0][quantity]"),
        ("line_items[0][quantity]", "0", "parameter_invalid_integer", "line_items[0][quantity]"),
        (
            "line_items[0][price_data][unit_amount]",
            "1.5",
            "parameter_invalid_integer",
            "line_items[0][price_data][unit_amount]",
        ),
        (
            "line_items[0][price_data][product_data][name]",
            "",
            "parameter_invalid_empty",
            "line_items[0][price_data][product_data][name]",
        ),
        ("adaptive_pricing[enabled]", "off", "", "adaptive_pricing[enabled]"),
        ("adaptive_pricing[colour]", "red", "parameter_unknown", "adaptive_pricing[colour]"),
        ("line_items[0][price_data][currency]", "xyz", "", "line_items[0][price_data][currency]"),
        ("customer_email", "nobody", "email_invalid", "customer_email"),
        ("metadata[q0]", &long, "", "metadata[q0]"),
        (&key, "v", "", "metadata"),
        ("metadata[a[b]]", "v", "", "metadata[a[b]]"),
        ("discounts[0][promotion_code]", "promo_nothing", "resource_missing", "discounts[0][promotion_code]"),
        ("discounts[0][promotion_code]", "promo_sandbox_expired1", "", "discounts[0][promotion_code]"),
        ("expires_at", "1", "", "expires_at"),
    ] {
        let fields = session_with(name, value);
        let (status, body) = read(world.stripe_post("checkout/sessions", &fields)).await;
        let error = &body["error"];
        assert_eq!(status, 400, "{name}={value}: {body}");
        assert_eq!(error["type"], "invalid_request_error", "{name}={value}");
        assert_eq!(error["code"].as_str().unwrap_or(""), code, "{name}={value}");
        assert_eq!(error["param"], param, "{name}={value}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    let (_, list) = read(world.stripe_get("checkout/sessions")).await;
    assert_eq!(list["data"], json!([]));
}

#[tokio::test]
async fn metadata_holds_fifty_keys_of_forty_characters_with_five_hundred() {
    let world = world().await;
    let value = "é".repeat(500);
    let names: Vec<String> = (0..48).map(|index| format!("metadata[{index:k>40}]")).collect();
    let mut fields: Vec<(&str, &str)> = SESSION.to_vec();
    fields.extend(names[..47].iter().map(|name| (name.as_str(), value.as_str())));
    let body = ok(read(world.stripe_post("checkout/sessions", &fields))).await;
    assert_eq!(body["metadata"].as_object().unwrap().len(), 50);
    fields.push((&names[47], "one too many"));
    let (status, body) = read(world.stripe_post("checkout/sessions", &fields)).await;
    assert_eq!((status, &body["error"]["param"]), (400, &json!("metadata")));
}

#[tokio::test]
async fn only_forms_are_read() {
    let world = world().await;
    let request = world
        .client
        .post(world.url("/stripe/v1/checkout/sessions"))
        .bearer_auth("sk_test_sandbox")
        .json(&json!({"mode": "payment"}));
    let (status, body) = read(request).await;
    assert_eq!(status, 400);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("application/x-www-form-urlencoded"), "{message}");
    let version = world.stripe_get("promotion_codes").header("Stripe-Version", "latest");
    let (status, body) = read(version).await;
    assert_eq!(status, 400);
    assert_eq!(body["error"]["message"], "Invalid Stripe API version: latest");
    for (version, expected) in [("2019-02-30", 400), ("2024-01-01.acacia", 400), ("2026-07-29.dahlia", 200)] {
        let asked = world.stripe_get("promotion_codes").header("Stripe-Version", version);
        assert_eq!(read(asked).await.0, expected, "{version}");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_missing() {
    let world = world().await;
    for (path, code) in [
        ("checkout/sessions/cs_test_nothing", "resource_missing"),
        ("payment_intents/pi_nothing", "resource_missing"),
        ("refunds/re_nothing", "resource_missing"),
        ("promotion_codes/promo_nothing", "resource_missing"),
        ("horses", ""),
    ] {
        let (status, body) = read(world.stripe_get(path)).await;
        assert_eq!(status, 404, "{path}");
        assert_eq!(body["error"]["code"].as_str().unwrap_or(""), code, "{path}");
    }
}

#[tokio::test]
async fn promotion_codes_are_found_by_code_and_state() {
    let world = world().await;
    let found = async |query: &str| -> usize {
        let body = ok(read(world.stripe_get(&format!("promotion_codes?{query}")))).await;
        body["data"].as_array().unwrap().len()
    };
    assert_eq!(found("code=FRIEND20&active=true").await, 1);
    assert_eq!(found("code=friend20").await, 1);
    assert_eq!(found("code=EXPIRED1&active=true").await, 0);
    assert_eq!(found("code=EXPIRED1").await, 1);
    assert_eq!(found("code=NOBODY").await, 0);
    let (status, body) = read(world.stripe_get("promotion_codes?active=maybe")).await;
    assert_eq!(status, 400, "{body}");
    let (status, body) = read(world.stripe_get("promotion_codes?colour=red")).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!("parameter_unknown")));
}

#[tokio::test]
async fn a_discount_lowers_the_total() {
    let world = world().await;
    let fields = session_with("discounts[0][promotion_code]", "promo_sandbox_friend20");
    let body = ok(read(world.stripe_post("checkout/sessions", &fields))).await;
    assert_eq!(body["amount_subtotal"], 100);
    assert_eq!(body["amount_total"], 80);
    assert_eq!(body["total_details"]["amount_discount"], 20);
    let mut small = session_with("line_items[0][price_data][unit_amount]", "60");
    small.push(("discounts[0][promotion_code]", "promo_sandbox_friend20"));
    let (status, body) = read(world.stripe_post("checkout/sessions", &small)).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!("amount_too_small")));
}

async fn paid(world: &World) -> Value {
    let session = world.session().await;
    let body = json!({"session_id": session["id"], "deliveries": 0});
    let body = ok(world.control("stripe/pay", body)).await;
    body["session"].clone()
}

#[tokio::test]
async fn a_payment_is_refunded_once() {
    let world = world().await;
    let session = paid(&world).await;
    let intent_id = session["payment_intent"].as_str().unwrap();
    let intent = ok(read(world.stripe_get(&format!("payment_intents/{intent_id}")))).await;
    assert_eq!(intent["status"], "succeeded");
    assert_eq!(intent["amount_received"], 100);
    assert_eq!(intent["metadata"], json!({"tier": "quick"}));
    let part = [("payment_intent", intent_id), ("amount", "30")];
    let refund = ok(read(world.stripe_post("refunds", &part))).await;
    assert_eq!((&refund["amount"], &refund["status"]), (&json!(30), &json!("succeeded")));
    let much = [("payment_intent", intent_id), ("amount", "71")];
    assert_eq!(read(world.stripe_post("refunds", &much)).await.0, 400);
    let charge = intent["latest_charge"].as_str().unwrap();
    let rest = [("charge", charge), ("reason", "requested_by_customer")];
    let (status, refund) = read(world.stripe_post("refunds", &rest)).await;
    assert_eq!((status, &refund["amount"]), (200, &json!(70)));
    let (status, body) = read(world.stripe_post("refunds", &rest)).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!("charge_already_refunded")));
    let (_, list) = read(world.stripe_get(&format!("refunds?payment_intent={intent_id}"))).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 2);
    let id = refund["id"].as_str().unwrap();
    assert_eq!(read(world.stripe_get(&format!("refunds/{id}"))).await, (200, refund));
}

#[tokio::test]
async fn bad_refunds_are_refused() {
    let world = world().await;
    for (fields, code) in [
        (vec![], "parameter_missing"),
        (vec![("payment_intent", "pi_nothing")], "resource_missing"),
        (vec![("charge", "ch_nothing")], "resource_missing"),
        (vec![("payment_intent", "pi_x"), ("reason", "regret")], ""),
        (vec![("payment_intent", "pi_x"), ("colour", "red")], "parameter_unknown"),
    ] {
        let (status, body) = read(world.stripe_post("refunds", &fields)).await;
        assert_eq!(status, 400, "{fields:?}");
        assert_eq!(body["error"]["code"].as_str().unwrap_or(""), code, "{fields:?}");
    }
}

#[tokio::test]
async fn lists_are_paged_newest_first() {
    let world = world().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, world.session().await["id"].as_str().unwrap().to_owned());
        world.advance(1);
    }
    let page = async |query: &str| -> (Vec<String>, bool) {
        let body = ok(read(world.stripe_get(&format!("checkout/sessions?{query}")))).await;
        let data = body["data"].as_array().unwrap();
        let ids = data.iter().map(|item| item["id"].as_str().unwrap().to_owned());
        (ids.collect(), body["has_more"].as_bool().unwrap())
    };
    assert_eq!(page("limit=2").await, (ids[..2].to_vec(), true));
    let after = format!("limit=2&starting_after={}", ids[1]);
    assert_eq!(page(&after).await, (ids[2..4].to_vec(), true));
    let after = format!("limit=2&starting_after={}", ids[3]);
    assert_eq!(page(&after).await, (ids[4..].to_vec(), false));
    let before = format!("limit=2&ending_before={}", ids[3]);
    assert_eq!(page(&before).await, (ids[1..3].to_vec(), true));
    let since = format!("created%5Bgte%5D={}", NOW + 3);
    assert_eq!(page(&since).await, (ids[..2].to_vec(), false));
    assert_eq!(page("status=complete").await, (vec![], false));
    for query in ["limit=101", "limit=0", "status=paid", "starting_after=cs_x", "page=2"] {
        assert_eq!(read(world.stripe_get(&format!("checkout/sessions?{query}"))).await.0, 400, "{query}");
    }
}

#[tokio::test]
async fn a_session_expires_after_a_day_or_on_request() {
    let world = world().await;
    let first = world.session().await;
    let id = first["id"].as_str().unwrap();
    let path = format!("checkout/sessions/{id}/expire");
    let (status, body) = read(world.stripe_post(&path, &[])).await;
    assert_eq!((status, &body["status"]), (200, &json!("expired")));
    assert_eq!(read(world.stripe_post(&path, &[])).await.0, 400);
    let second = world.session().await;
    world.advance(24 * 3600);
    let id = second["id"].as_str().unwrap();
    let (_, body) = read(world.stripe_get(&format!("checkout/sessions/{id}"))).await;
    assert_eq!((&body["status"], &body["url"]), (&json!("expired"), &Value::Null));
    assert_eq!(world.control("stripe/pay", json!({"session_id": id})).await.0, 409);
}

#[tokio::test]
async fn objects_are_put_in_where_asked_for() {
    let world = world().await;
    let session = paid(&world).await;
    let id = session["id"].as_str().unwrap();
    let path = format!("checkout/sessions/{id}?expand[]=line_items&expand[]=payment_intent");
    let body = ok(read(world.stripe_get(&path))).await;
    assert_eq!(body["line_items"]["data"][0]["description"], "Quick Take");
    assert_eq!(body["payment_intent"]["id"], session["payment_intent"]);
    let (_, items) = read(world.stripe_get(&format!("checkout/sessions/{id}/line_items"))).await;
    assert_eq!(items["data"][0]["amount_total"], 100);
}
