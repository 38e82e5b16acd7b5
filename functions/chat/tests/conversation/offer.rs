//! The offer after three free exchanges, and subscribing.

use super::*;

/// Every tab gets the same checkout session of the plan `chat`, so that a customer pays once.
#[test]
fn the_offer_is_one_checkout_session_for_all_tabs() {
    let (world, cookie) = used_up();
    let offers: BTreeSet<_> = (4..=9).map(|n| body(&ask(&world, n, QUESTION, &cookie))["url"].to_string()).collect();
    let bought = submit(&world, "/api/chat/subscribe", &json!({ "plan": "chat" }), &cookie);
    assert_eq!(offers, BTreeSet::from([body(&bought)["url"].to_string()]));
    let state = world.state();
    let [sold] = state.subscribing.as_slice() else { panic!("{:?}", state.subscribing) };
    assert_eq!((&sold.subscriber, sold.plan), (&subscriber("someone@example.com"), PaidPlan::Chat));
}

/// A failure of Stripe, or of a count, changes neither the reply nor its code: the page has an offer of its own.
#[test]
fn an_offer_without_stripe_is_the_one_of_the_page() {
    for name in ["subscriptions.subscribe", "subscribers.load", "sign_ins.take"] {
        let (world, cookie) = used_up();
        world.plan(Plan::none().whenever(name, Fault::Fail));
        let fourth = ask(&world, 4, QUESTION, &cookie);
        assert_eq!((fourth.status(), &body(&fourth)["code"]), (402, &json!("subscribe")), "{name}");
        assert_eq!(body(&fourth)["url"], "https://oracle.example/chat#subscribe", "{name}");
        world.plan(Plan::none());
        assert_eq!(body(&ask(&world, 4, QUESTION, &cookie))["url"], "https://pay.example/cs_test_sub_0", "{name}");
    }
}

/// Others of the customer's network may have used up its free exchanges: the reply says so, and when they come back.
#[test]
fn a_network_without_free_exchanges_has_a_reply_of_its_own() {
    let (world, cookie) = customer();
    let settings = Settings { per_network: 1, ..settings() };
    let ask = |n| run(handle(ports(&world), &settings, asking(n, QUESTION, &cookie))).unwrap();
    assert_eq!(ask(1).status(), 200);
    let refused = ask(2);
    assert_eq!(code(&refused), (429, "network_full".to_owned()));
    assert!(refused.header_value("retry-after").is_some());
    assert_eq!(ask(1).status(), 200, "an answered message gets its reply again");
}

/// Messages and pages cost nothing, and Stripe's limit is everybody's: one subscriber causes few calls an hour.
#[test]
fn one_subscriber_causes_few_calls_to_stripe_within_an_hour() {
    let (world, cookie) = used_up();
    let calls = |name| world.state().boundaries.iter().filter(|found| **found == name).count();
    let of_page = "https://oracle.example/chat#subscribe";
    let urls: Vec<_> = (4..=33).map(|n| body(&ask(&world, n, QUESTION, &cookie))["url"].clone()).collect();
    assert_eq!(urls.iter().filter(|url| **url == of_page).count(), 20);
    assert_eq!(calls("subscriptions.subscribe"), 10);
    // The page's own button is not used up by the messages.
    let post = |path: &str| submit(&world, path, &json!({ "plan": "chat" }), &cookie);
    let statuses: Vec<_> = (0..30).map(|_| post("/api/chat/subscribe").status()).collect();
    assert_eq!((statuses.iter().filter(|status| **status == 200).count(), statuses[29]), (20, 429));
    assert_eq!(calls("subscriptions.subscribe"), 30);
    assert_eq!(post("/api/chat/portal").status(), 404, "who never subscribed costs no call and is not counted");
    grant(&world, "someone@example.com", PaidPlan::Chat);
    assert_eq!(post("/api/chat/portal").status(), 404, "an invoice alone names no customer");
    assert_eq!(calls("subscriptions.portal"), 0);
    world.advance(Duration::from_secs(3600));
    assert_eq!(post("/api/chat/subscribe").status(), 200);
}

/// A subscriber whose payment is overdue pays the invoice in the portal instead of a second subscription.
#[test]
fn an_overdue_subscriber_is_offered_the_portal() {
    let (world, cookie) = used_up();
    let who = subscriber("someone@example.com");
    let mut known = Subscriber::new(who.clone());
    let object = |text: &str| ObjectId::parse(text).unwrap();
    let (customer, plan, status) = (object("cus_1"), PaidPlan::Chat, SubscriptionStatus::PastDue);
    let state = SubscriptionState { customer, plan, status, ends_at: None, at: Timestamp::from_seconds(NOW) };
    known.billing_mut().record_report(&BillingReport::Subscription { id: object("sub_1"), state });
    world.state().subscribers.insert(who, (known, 1));
    let fourth = ask(&world, 4, QUESTION, &cookie);
    assert_eq!((fourth.status(), &body(&fourth)["url"]), (402, &json!("https://portal.example/cus_1")));
    assert!(world.state().subscribing.is_empty());
    let portal = || submit(&world, "/api/chat/portal", &json!({}), &cookie);
    assert_eq!(portal().status(), 200);
    world.state().deleted_customers.insert(object("cus_1"));
    let deleted = portal();
    assert_eq!((deleted.status(), &body(&deleted)["code"]), (404, &json!("not_subscribed")));
}

/// A subscription is paid at Stripe. Access changes by Stripe's events, never by this call.
#[test]
fn subscribing_answers_where_to_pay_and_gives_nothing_yet() {
    let (world, cookie) = customer();
    let post = |path: &str, cookie: &str, body: serde_json::Value| submit(&world, path, &body, cookie);
    assert_eq!(post("/api/chat/subscribe", "", json!({ "plan": "chat" })).status(), 401);
    assert_eq!(post("/api/chat/portal", "", json!({})).status(), 401);
    for plan in [json!("free"), json!("bridge"), json!(7), json!(null)] {
        assert_eq!(post("/api/chat/subscribe", &cookie, json!({ "plan": plan })).status(), 400);
    }
    for plan in PaidPlan::ALL {
        let reply = post("/api/chat/subscribe", &cookie, json!({ "plan": plan.key() }));
        assert_eq!((reply.status(), body(&reply)["url"].is_string()), (200, true));
    }
    assert_eq!(post("/api/chat/portal", &cookie, json!({})).status(), 404);
    assert_eq!(body(&get(&world, "/api/chat/me", &cookie))["plan"], "free");
}
