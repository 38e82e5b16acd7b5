//! Subscriptions on the deployed stack from their first payment to their end, judged by the customer's own view of them.
//!
//! The functions keep the machine's time. So each test first moves the sandbox's clock of subscriptions back, buys, and
//! lets the sandbox play the months until today. The clock is shared: these tests run alone, and end with it at zero.

use crate::{
    chat::{Browser, call},
    world::{World, email},
};
use reqwest::Method;
use serde_json::{Value, json};
use tests::{SOON, eventually};

const DAY: i64 = 24 * 3600;

/// A subscriber, and what Stripe calls their purchase.
struct Subscriber<'w> {
    world: &'w World,
    browser: Browser<'w>,
    /// The paid session.
    session: Value,
}

async fn move_clock(world: &World, days: i64) {
    world.stack.control("clock", json!({ "advance_s": days * DAY })).await;
}

impl<'w> Subscriber<'w> {
    /// Buys a month of the chat on Stripe's page.
    async fn buy(world: &'w World) -> Self {
        let browser = Browser::sign_in(world, &email()).await;
        let body = json!({ "plan": "chat" });
        let offered = call(world, Method::POST, "/api/chat/subscribe", &browser.cookie, body).await;
        assert_eq!(offered.status, 200, "{}", offered.text);
        let url = offered.json()["url"].as_str().expect("an address").to_owned();
        let session = url.split(['/', '?', '#']).find(|part| part.starts_with("cs_")).expect("a session");
        let paid = json!({ "session_id": session, "email": email() });
        let session = world.stack.control("stripe/pay", paid).await["session"].clone();
        Self { world, browser, session }
    }

    /// Plays an action on the subscription, and delivers its events unless they are lost.
    async fn play(&self, act: &str, lost: bool) {
        let played = json!({ "subscription": self.session["subscription"], "do": act, "lost": lost });
        self.world.stack.control("stripe/subscription", played).await;
    }

    /// Waits until the customer sees this plan, and returns the end of the paid period in Unix seconds.
    async fn has(&self, plan: &str, what: &str) -> Option<i64> {
        self.wait_for_plan(plan, what, |_| true).await
    }

    /// Waits until the customer sees this plan with an end of the paid period for which `fits` holds.
    async fn wait_for_plan(&self, plan: &str, what: &str, fits: impl Fn(Option<i64>) -> bool) -> Option<i64> {
        eventually(&format!("{plan}: {what}"), SOON, async || {
            let account = self.browser.get("/api/chat/me").await.json();
            let until = account["paid_until"]
                .as_str()
                .map(|until| until.parse::<jiff::Timestamp>().expect("a time").as_second());
            (account["plan"] == plan && fits(until)).then_some(until)
        })
        .await
    }

    /// Waits until the events of the purchase are processed: only then is there a portal.
    async fn until_known(&self) {
        eventually("the subscriber to be known", SOON, async || {
            let portal = call(self.world, Method::POST, "/api/chat/portal", &self.browser.cookie, json!({})).await;
            (portal.status == 200).then_some(())
        })
        .await;
    }

    /// The payment of the subscription's first invoice.
    async fn payment(&self) -> Value {
        let invoice = self.session["invoice"].as_str().expect("an invoice");
        let payments = self.world.stripe(&format!("v1/invoice_payments?invoice={invoice}")).await;
        payments["data"][0]["payment"]["payment_intent"].clone()
    }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// The first month ended some days ago: the access is the grace of a subscription that continues, so a cancellation ends
/// it, taking the cancellation back restores it, and the renewal pays the month to come.
#[tokio::test]
async fn a_subscription_is_canceled_resumed_and_renewed() {
    let world = World::alone().await;
    move_clock(&world, -34).await;
    let subscriber = Subscriber::buy(&world).await;
    let first = subscriber.has("chat", "the grace after the first month").await.expect("a paid period");
    assert!(first < now() && now() < first + 7 * DAY, "{first}");
    subscriber.play("cancel", false).await;
    subscriber.has("free", "canceled, and its period is over").await;
    // Stripe dates events in whole seconds, and does not order those of one second.
    world.stack.control("clock", json!({ "advance_s": 1 })).await;
    subscriber.play("resume", false).await;
    assert_eq!(subscriber.has("chat", "the cancellation is taken back").await, Some(first));
    move_clock(&world, 34).await;
    let renewed =
        subscriber.wait_for_plan("chat", "renewed", |until| until > Some(first)).await.expect("a paid period");
    assert!((now() + 21 * DAY..now() + 31 * DAY).contains(&renewed), "{renewed}");
    subscriber.play("cancel", false).await;
    move_clock(&world, 40).await;
    eventually("the end at Stripe", SOON, async || {
        let id = subscriber.session["subscription"].as_str().expect("a subscription");
        (world.stripe(&format!("v1/subscriptions/{id}")).await["status"] == "canceled").then_some(())
    })
    .await;
    assert_eq!(subscriber.has("chat", "what is paid lasts to its end").await, Some(renewed));
    world.stack.control("reset", json!({})).await;
}

/// Stripe's retries fail for two weeks and the subscription ends: the grace does not outlive it.
#[tokio::test]
async fn an_invoice_that_nobody_pays_ends_the_access() {
    let world = World::alone().await;
    move_clock(&world, -34).await;
    let subscriber = Subscriber::buy(&world).await;
    let first = subscriber.has("chat", "the grace after the first month").await;
    subscriber.play("fail_invoice", false).await;
    assert_eq!(subscriber.has("chat", "one failed payment does not end the access").await, first);
    move_clock(&world, 34).await;
    assert_eq!(subscriber.has("free", "the last retry failed").await, None);
    world.stack.control("reset", json!({})).await;
}

/// A retry succeeds after the grace. The access returns with Stripe's event, and without it with the daily comparison,
/// although the invoice is older than the three days of which the comparison reads sessions.
#[tokio::test]
async fn a_late_retry_restores_the_access_even_if_its_event_is_lost() {
    let world = World::alone().await;
    move_clock(&world, -40).await;
    let (reported, unreported) = (Subscriber::buy(&world).await, Subscriber::buy(&world).await);
    for subscriber in [&reported, &unreported] {
        subscriber.until_known().await;
        subscriber.has("free", "the grace is over").await;
        subscriber.play("fail_invoice", false).await;
    }
    move_clock(&world, 10).await;
    reported.play("renew", false).await;
    unreported.play("renew", true).await;
    let is_paid = |until: Option<i64>| until > Some(now());
    reported.wait_for_plan("chat", "its event restores the access", is_paid).await;
    unreported.has("free", "its event is lost").await;
    world.aws.invoke("ReconcileFunctionName", &json!({})).await;
    unreported.wait_for_plan("chat", "the comparison restores the access", is_paid).await;
    world.stack.control("reset", json!({})).await;
}

/// Refunds and disputes name a payment, and not a subscription: its invoice leads to the subscriber.
#[tokio::test]
async fn a_refund_and_a_dispute_of_an_invoice_reach_its_subscriber() {
    let world = World::alone().await;
    let (refunded, disputed) = (Subscriber::buy(&world).await, Subscriber::buy(&world).await);
    for subscriber in [&refunded, &disputed] {
        subscriber.wait_for_plan("chat", "paid", |until| until > Some(now())).await;
    }
    let payment = refunded.payment().await;
    world.stack.control("stripe/refund", json!({ "payment_intent": payment })).await;
    refunded.has("free", "refunded in full").await;
    let dispute = json!({ "payment_intent": disputed.payment().await, "status": "needs_response" });
    let dispute = world.stack.control("stripe/dispute", dispute).await;
    disputed.has("free", "the bank has the money").await;
    world.stack.control("stripe/dispute", json!({ "id": dispute["id"], "status": "won" })).await;
    disputed.has("chat", "the dispute is won").await;
    refunded.has("free", "the refund stays").await;
    world.stack.control("reset", json!({})).await;
}
