//! Paying, webhooks, planted sessions and the pay page.

use crate::support::{NOW, Receiver, World, ok, read, receiver, world, world_with};
use sandbox::Config;
use serde_json::{Value, json};

async fn world_and_receiver(statuses: &[u16]) -> (World, Receiver) {
    let receiver = receiver(statuses).await;
    let config = Config {
        webhook_url: Some(receiver.url.clone()),
        webhook_secret: "whsec_test_secret".to_owned(),
        webhook_retry_pauses_ms: vec![0, 0],
        ..Config::default()
    };
    (world_with(config).await, receiver)
}

async fn stored(world: &World, id: &Value) -> Value {
    let id = id.as_str().unwrap();
    ok(read(world.stripe_get(&format!("checkout/sessions/{id}")))).await
}

#[tokio::test]
async fn paying_completes_the_session_and_delivers_a_signed_event() {
    let (world, mut receiver) = world_and_receiver(&[]).await;
    let session = world.session().await;
    let body = json!({"session_id": session["id"], "email": "ada@example.com", "deliveries": 3});
    let body = ok(world.control("stripe/pay", body)).await;
    let delivery = json!({"status": 200, "body": {"received": true}});
    assert_eq!(body["deliveries"], json!([delivery, delivery, delivery]));
    let stored = stored(&world, &session["id"]).await;
    assert_eq!(stored["status"], "complete");
    assert_eq!(stored["payment_status"], "paid");
    assert_eq!(stored["customer_details"]["email"], "ada@example.com");
    assert!(stored["payment_intent"].as_str().unwrap().starts_with("pi_"));
    let mut bodies = Vec::new();
    for _ in 0..3 {
        let received = receiver.received.recv().await.unwrap();
        assert!(received.signature.starts_with(&format!("t={NOW},v1=")));
        bodies.push(received.body);
    }
    assert!(bodies[0] == bodies[1] && bodies[1] == bodies[2]);
    let event: Value = serde_json::from_str(&bodies[0]).unwrap();
    assert_eq!(event["type"], "checkout.session.completed");
    assert_eq!(event["object"], "event");
    assert_eq!(event["id"], body["event"]);
    assert_eq!(event["data"]["object"], stored);
    assert_eq!(world.control("stripe/pay", json!({"session_id": session["id"]})).await.0, 409);
    assert_eq!(world.control("stripe/pay", json!({"session_id": "cs_test_nothing"})).await.0, 404);
}

#[tokio::test]
async fn a_refused_webhook_comes_again_until_it_is_accepted() {
    let (world, mut receiver) = world_and_receiver(&[503, 500]).await;
    let session = world.session().await;
    let (_, body) = world.control("stripe/pay", json!({"session_id": session["id"]})).await;
    assert_eq!(body["deliveries"][0]["status"], 503);
    for _ in 0..3 {
        let received = receiver.received.recv().await.unwrap();
        let event: Value = serde_json::from_str(&received.body).unwrap();
        assert_eq!(event["id"], body["event"]);
    }
    let mut record = world.look("deliveries").await;
    while record.as_array().unwrap().len() < 3 {
        tokio::task::yield_now().await;
        record = world.look("deliveries").await;
    }
    let statuses: Vec<&Value> = record.as_array().unwrap().iter().map(|attempt| &attempt["status"]).collect();
    assert_eq!(statuses, [503, 500, 200]);
    assert_eq!(record[2]["attempt"], 3);
}

#[tokio::test]
async fn without_a_webhook_address_the_delivery_says_so() {
    let world = world().await;
    let session = world.session().await;
    let body = ok(world.control("stripe/pay", json!({"session_id": session["id"]}))).await;
    let delivery = &body["deliveries"][0];
    assert_eq!(delivery["status"], Value::Null);
    let error = delivery["error"].as_str().unwrap();
    assert!(error.contains("/control/configure"), "{error}");
}

#[tokio::test]
async fn the_webhook_address_can_be_set_later() {
    let world = world().await;
    let mut receiver = receiver(&[]).await;
    let site = receiver.url.trim_end_matches("/api/webhook");
    let (status, body) = world.control("configure", json!({"site": site})).await;
    assert_eq!((status, &body["webhook_url"]), (200, &json!(receiver.url)));
    let event = json!({"type": "charge.refunded", "data": {"object": {"id": "ch_1", "object": "charge"}}});
    let (status, body) = world.control("stripe/event", event).await;
    assert_eq!((status, body), (200, json!({"status": 200, "body": {"received": true}})));
    let received = receiver.received.recv().await.unwrap();
    assert!(received.body.contains("charge.refunded"));
    for wrong in [json!({"colour": "red"}), json!({"site": "ftp://x"}), json!({"webhook_secret": "x"})] {
        assert_eq!(world.control("configure", wrong.clone()).await.0, 400, "{wrong}");
    }
}

#[tokio::test]
async fn an_event_plants_an_unknown_session_and_updates_a_known_one() {
    let (world, mut receiver) = world_and_receiver(&[]).await;
    let object = json!({"id": "cs_test_unknown", "object": "checkout.session", "payment_status": "unpaid",
                        "status": "complete", "metadata": {"tier": "full"}});
    let event = |kind: &str, object: &Value| json!({"id": "evt_7", "type": kind, "data": {"object": object}});
    assert_eq!(world.control("stripe/event", event("checkout.session.completed", &object)).await.0, 200);
    let received = receiver.received.recv().await.unwrap();
    let delivered: Value = serde_json::from_str(&received.body).unwrap();
    assert_eq!(delivered["id"], "evt_7");
    let session = &delivered["data"]["object"];
    assert!(object.as_object().unwrap().iter().all(|(field, value)| session[field] == *value), "{session}");
    assert_eq!(
        (&session["mode"], &session["customer_details"]),
        (&json!("payment"), &Value::Null),
        "what is missing is filled in"
    );
    let planted = stored(&world, &object["id"]).await;
    assert_eq!(planted["payment_status"], "unpaid");
    let paid = json!({"id": "cs_test_unknown", "object": "checkout.session", "payment_status": "paid",
                      "payment_intent": "pi_late", "metadata": {"tier": "other"}});
    world.control("stripe/event", event("checkout.session.async_payment_succeeded", &paid)).await;
    let updated = stored(&world, &object["id"]).await;
    assert_eq!(updated["payment_status"], "paid");
    assert_eq!(updated["metadata"], json!({"tier": "full"}));
    assert_eq!(read(world.stripe_get("payment_intents/pi_late")).await.0, 200);
    for wrong in [json!({}), json!({"type": "x"}), json!([1])] {
        assert_eq!(world.control("stripe/event", wrong.clone()).await.0, 400, "{wrong}");
    }
}

#[tokio::test]
async fn an_unreachable_webhook_is_reported() {
    let config = Config {
        webhook_url: Some("http://127.0.0.1:1/".to_owned()),
        webhook_retry_pauses_ms: vec![],
        ..Config::default()
    };
    let world = world_with(config).await;
    let event = json!({"type": "charge.refunded", "data": {"object": {"id": "ch_1"}}});
    let (status, body) = world.control("stripe/event", event).await;
    assert_eq!((status, &body["status"]), (502, &Value::Null));
}

#[tokio::test]
async fn a_session_is_planted_as_given() {
    let world = world().await;
    let given = json!({"id": "cs_live_link", "payment_status": "paid", "amount_total": 500, "customer_details": null,
                       "custom_fields": [{"key": "idea", "text": {"value": "Open a bakery"}}]});
    let planted = ok(world.control("stripe/session", given)).await;
    assert_eq!(planted["status"], "complete");
    assert_eq!(planted["object"], "checkout.session");
    assert_eq!(stored(&world, &json!("cs_live_link")).await, planted);
    let intent = planted["payment_intent"].as_str().unwrap();
    let refund = [("payment_intent", intent)];
    let (status, refund) = read(world.stripe_post("refunds", &refund)).await;
    assert_eq!((status, &refund["amount"]), (200, &json!(500)));
    // A refund or a dispute names the payment, by which its sale is found.
    world.session().await;
    for (payment, expected) in [(intent, vec![&planted]), ("pi_unknown", vec![])] {
        let query = format!("checkout/sessions?payment_intent={payment}&limit=1");
        let found = ok(read(world.stripe_get(&query))).await;
        assert_eq!(found["data"].as_array().unwrap().iter().collect::<Vec<_>>(), expected);
    }
}

/// The types of the received events, with the status of their objects.
async fn deliveries(receiver: &mut Receiver, count: usize) -> Vec<(String, String)> {
    let mut received = Vec::new();
    for _ in 0..count {
        let event: Value = serde_json::from_str(&receiver.received.recv().await.unwrap().body).unwrap();
        let status = event["data"]["object"]["status"].as_str().unwrap().to_owned();
        received.push((event["type"].as_str().unwrap().to_owned(), status));
    }
    received
}

fn words(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(kind, status)| (kind.as_str(), status.as_str())).collect()
}

#[tokio::test]
async fn refunds_tell_of_themselves_and_of_what_became_of_them() {
    let (world, mut receiver) = world_and_receiver(&[]).await;
    let (_, planted) = world.control("stripe/session", json!({"payment_status": "paid", "amount_total": 500})).await;
    let payment = planted["payment_intent"].as_str().unwrap();
    assert_eq!(world.control("configure", json!({"stripe_refund_status": "pending"})).await.0, 200);
    let (_, made) = read(world.stripe_post("refunds", &[("payment_intent", payment)])).await;
    assert_eq!(
        words(&deliveries(&mut receiver, 2).await),
        [("refund.created", "pending"), ("charge.refunded", "succeeded")]
    );
    let (status, failed) = world.control("stripe/refund", json!({"id": made["id"], "status": "failed"})).await;
    assert_eq!((status, &failed["status"]), (200, &json!("failed")));
    assert_eq!(words(&deliveries(&mut receiver, 2).await), [("refund.updated", "failed"), ("refund.failed", "failed")]);
    // A bounced refund can be made again, here from the dashboard.
    let (status, again) = world.control("stripe/refund", json!({"payment_intent": payment})).await;
    assert_eq!((status, &again["amount"], &again["status"]), (200, &json!(500), &json!("succeeded")));
    assert_eq!(words(&deliveries(&mut receiver, 2).await)[0], ("refund.created", "succeeded"));
    for wrong in [json!({}), json!({"id": "re_nothing"}), json!({"id": made["id"], "status": "lost"})] {
        assert_eq!(world.control("stripe/refund", wrong.clone()).await.0, 400, "{wrong}");
    }
}

#[tokio::test]
async fn disputes_are_opened_updated_listed_and_sent_as_events() {
    let (world, mut receiver) = world_and_receiver(&[]).await;
    let (_, planted) = world.control("stripe/session", json!({"payment_status": "paid", "amount_total": 500})).await;
    let payment = &planted["payment_intent"];
    let (status, inquiry) =
        world.control("stripe/dispute", json!({"payment_intent": payment, "status": "warning_needs_response"})).await;
    assert_eq!((status, &inquiry["is_charge_refundable"], &inquiry["amount"]), (200, &json!(true), &json!(500)));
    // Each call's events are delivered beside those of the next one.
    let mut next_event = async || deliveries(&mut receiver, 1).await.remove(0);
    let event = |kind: &str, status: &str| (kind.to_owned(), status.to_owned());
    assert_eq!(next_event().await, event("charge.dispute.created", "warning_needs_response"));
    let escalated = json!({"id": inquiry["id"], "status": "needs_response", "due_by": 1_900_000_000});
    assert_eq!(world.control("stripe/dispute", escalated).await.0, 200);
    assert_eq!(next_event().await, event("charge.dispute.updated", "needs_response"));
    let (status, refused) = read(world.stripe_post("refunds", &[("payment_intent", payment.as_str().unwrap())])).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("charge_disputed")));
    assert_eq!(world.control("stripe/dispute", json!({"id": inquiry["id"], "status": "won"})).await.0, 200);
    assert_eq!(next_event().await, event("charge.dispute.closed", "won"));
    let lost = json!({"id": inquiry["id"], "status": "lost", "lost": true});
    assert_eq!(world.control("stripe/dispute", lost).await.0, 200);
    let (_, list) = read(world.stripe_get("disputes?limit=100&created[gte]=0")).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    assert_eq!(list["data"][0]["evidence_details"]["due_by"], 1_900_000_000);
    let (status, one) = read(world.stripe_get(&format!("disputes/{}", inquiry["id"].as_str().unwrap()))).await;
    assert_eq!((status, &one["status"]), (200, &json!("lost")));
    let (_, methods) = read(world.stripe_get("payment_method_configurations?limit=100")).await;
    assert_eq!(methods["data"][0]["card"]["display_preference"]["value"], "on");
}

#[tokio::test]
async fn the_items_of_a_payment_link_are_listed_apart() {
    let world = world().await;
    let given =
        json!([{ "metadata": { "tier": "full" }, "line_items": [{ "price": { "unit_amount": 250 }, "quantity": 2 }] }]);
    ok(world.control("configure", json!({ "stripe_payment_links": given }))).await;
    let links = ok(read(world.stripe_get("payment_links?active=true&limit=100"))).await;
    let link = &links["data"][0];
    assert!(link.get("line_items").is_none(), "{link}");
    let path = format!("payment_links/{}/line_items?limit=100", link["id"].as_str().unwrap());
    let items = ok(read(world.stripe_get(&path))).await;
    let item = &items["data"][0];
    assert_eq!((&item["amount_total"], &item["currency"]), (&json!(500), &json!("cad")), "{items}");
    assert_eq!(read(world.stripe_get("payment_links/plink_1/line_items")).await.0, 404);
}

#[tokio::test]
async fn the_pay_page_shows_the_order_and_takes_the_payment() {
    let (world, mut receiver) = world_and_receiver(&[]).await;
    let session = world.session().await;
    let url = session["url"].as_str().unwrap();
    let page = world.client.get(url).send().await.unwrap();
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let page = page.text().await.unwrap();
    for part in [
        "<title>Checkout (sandbox)</title>",
        "Quick Take",
        "CA$1.00",
        "4242\u{a0}4242",
        "name=\"email\"",
        "id=\"cancel\" href=\"http://127.0.0.1:1/\"",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    let post = |email: &str| {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("email", email);
        world.client.post(url).header("Content-Type", "application/x-www-form-urlencoded").body(form.finish())
    };
    let (status, page) = read(post("\"><script>")).await;
    assert_eq!(status, 400);
    let page = page.as_str().unwrap();
    assert!(page.contains("complete e-mail address") && !page.contains("<script>"));
    let response = post("ada@example.com").send().await.unwrap();
    assert_eq!(response.status().as_u16(), 303);
    let id = session["id"].as_str().unwrap();
    assert_eq!(response.headers()["location"], format!("http://127.0.0.1:1/oracle/result?session_id={id}").as_str());
    let received = receiver.received.try_recv().unwrap();
    assert!(received.body.contains("ada@example.com"));
    let page = ok(read(world.client.get(url))).await;
    assert!(page.as_str().unwrap().contains("has been paid"));
    assert_eq!(read(post("ada@example.com")).await.0, 409);
    assert_eq!(read(world.client.get(world.url("/stripe/pay/cs_test_nothing"))).await.0, 404);
}
