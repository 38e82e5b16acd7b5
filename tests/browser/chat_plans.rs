//! The chat's plans in the browser: from the offer to the payment page and back, the portal, and the two views of Pro.

use crate::browser::Browser;
use crate::chat::{ask_for_link, say};
use crate::stack::unique;
use serde_json::json;

/// Signs in.
async fn enter(browser: &Browser) {
    browser.visit(&ask_for_link(browser).await).await;
    browser.see("#talk").await;
}

/// Waits until the page names the plan, and says until when it is paid.
async fn plan_becomes(browser: &Browser, plan: &str) {
    let expression = "document.getElementById('plan').textContent.replace(/ until .* 20\\d\\d\\.$/, ' until DAY.')";
    browser.becomes(expression, json!(format!("{plan} Your subscription is paid until DAY."))).await;
}

/// Opens the offer before the free exchanges are used.
async fn offer(browser: &Browser) {
    // From another page: a change of the fragment alone does not load the page.
    browser.visit("/").await;
    browser.visit("/chat#subscribe").await;
    browser.see("#offer").await;
}

/// Pays on the payment page, which the browser shows now, and comes back.
async fn pay(browser: &Browser) {
    browser.arrive(&format!("{}/stripe", browser.stack.sandbox)).await;
    browser.submit("input[name=email]", &format!("payer-{}@example.com", unique()), "#pay").await;
    browser.arrive(&format!("{}/chat", browser.stack.site)).await;
    browser.see("#talk").await;
}

/// The fourth message gets the offer. Its button leads to the payment page that came with the reply.
#[tokio::test]
async fn the_offer_is_paid_and_the_plan_is_managed_in_the_portal() {
    let browser = Browser::open().await;
    enter(&browser).await;
    for replies in 1..=3 {
        say(&browser, "Should we open a second bakery by the harbour?", replies).await;
    }
    browser.submit("#message", "What should we look at first?", "#send").await;
    browser.becomes("document.activeElement.id", json!("offer-title")).await;
    browser.click("#subscribe-chat").await;
    pay(&browser).await;
    plan_becomes(&browser, "You are subscribed.").await;
    assert!(!browser.sees("#offer").await && !browser.sees("#confirming").await);
    assert_eq!(browser.run("return location.search").await, "", "a reload does not ask for a confirmation again");
    browser.assert_accessible("chat-subscribed").await;
    say(&browser, "What should we look at first?", 4).await;
    browser.click("#portal").await;
    browser.arrive(&format!("{}/stripe/portal/", browser.stack.sandbox)).await;
    browser.look("chat-portal").await;
    browser.click("#back").await;
    browser.arrive(&format!("{}/chat", browser.stack.site)).await;
    plan_becomes(&browser, "You are subscribed.").await;
    browser.close().await;
}

/// Pro's views are below each other on a phone, and side by side on a laptop.
#[tokio::test]
async fn pro_shows_two_views() {
    let browser = Browser::open().await;
    enter(&browser).await;
    offer(&browser).await;
    browser.click("#subscribe-pro").await;
    pay(&browser).await;
    plan_becomes(&browser, "You are subscribed to Pro.").await;
    say(&browser, "Should we open a second bakery by the harbour?", 2).await;
    let names = "return [...document.querySelectorAll('.views h2')].map((name) => name.textContent)";
    assert_eq!(browser.run(names).await, json!(["First view", "Second view"]));
    let beside = "const [first, second] = [...document.querySelectorAll('.views .said')].map((view) => view.getBoundingClientRect()); \
                  return [first.top === second.top, first.right <= second.left, first.bottom <= second.top]";
    for (viewport, is_beside) in [((360, 780), false), ((1280, 900), true)] {
        browser.viewport(viewport).await;
        assert_eq!(browser.run(beside).await, json!([is_beside, is_beside, !is_beside]), "{viewport:?}");
    }
    browser.assert_accessible("chat-pro").await;
    browser.close().await;
}

/// Delays Stripe's report of the payment until `isReported`: the plan stays free and a message is answered with the
/// offer. On `#impatient`, the page's minute passes at once.
const UNREPORTED: &str = r#"
  window.isReported = false;
  const real = window.fetch;
  const later = window.setTimeout;
  window.fetch = async (path, request) => {
    if (window.isReported) return real(path, request);
    const free = { plan: 'free', free_left: 0 };
    if (path === '/api/chat/me') {
      const { account } = await (await real(path, request)).json();
      return Response.json({ ...free, account });
    }
    if (path === '/api/chat/exchanges') return Response.json({ code: 'subscribe', url: location.href }, { status: 402 });
    return real(path, request);
  };
  window.setTimeout = (act, time) => later(act, location.hash === '#impatient' ? 0 : time);"#;

/// The customer is back before the payment is reported. Nothing is offered to them until the plan is there.
#[tokio::test]
async fn a_payment_is_confirmed_on_the_way_back() {
    let browser = Browser::open().await;
    enter(&browser).await;
    offer(&browser).await;
    browser.click("#subscribe-chat").await;
    pay(&browser).await;
    plan_becomes(&browser, "You are subscribed.").await;

    browser.before_every_page(UNREPORTED).await;
    browser.visit("/chat?subscribed=1").await;
    assert_eq!(browser.text("#confirming").await, "Your payment is being confirmed.");
    assert_eq!(browser.exact_text("#live").await, "Your payment is being confirmed.");
    assert!(!browser.sees("#offer").await);
    browser.assert_accessible("chat-confirming").await;
    browser.submit("#message", "Should we open a second bakery by the harbour?", "#send").await;
    let refused = browser.text("#message-error").await;
    assert_eq!(refused, "Your payment is being confirmed. Please send this again in a moment.");
    assert!(!browser.sees("#offer").await, "a customer who has paid sees no offer");
    let kept = "return document.getElementById('message').value";
    assert_eq!(browser.run(kept).await, "Should we open a second bakery by the harbour?");
    browser.run("window.isReported = true; return null").await;
    plan_becomes(&browser, "You are subscribed.").await;
    assert!(!browser.sees("#confirming").await && !browser.sees("#offer").await);
    assert_eq!(browser.run("return location.search").await, "");

    // No report within the minute.
    browser.visit("/chat?subscribed=1#impatient").await;
    let is_unconfirmed =
        "document.getElementById('confirming').textContent.startsWith('Your payment is not confirmed yet.')";
    browser.becomes(is_unconfirmed, json!(true)).await;
    assert!(browser.exact_text("#live").await.starts_with("Your payment is not confirmed yet."));
    assert!(!browser.sees("#offer").await);
    browser.close().await;
}

/// The customer leaves the payment page: the chat says once that nothing was charged.
#[tokio::test]
async fn a_payment_page_that_was_left_is_named() {
    let browser = Browser::open().await;
    enter(&browser).await;
    browser.visit("/chat?canceled=1").await;
    let sentence = "You left the payment page and nothing was charged.";
    assert_eq!(browser.text("#canceled").await, sentence);
    assert_eq!(browser.exact_text("#live").await, sentence);
    assert_eq!(browser.run("return location.search").await, "");
    browser.visit("/chat").await;
    browser.see("#talk").await;
    assert!(!browser.sees("#canceled").await);
    browser.close().await;
}

/// The front page leads to the chat, from its text and from its footer.
#[tokio::test]
async fn the_front_page_links_to_the_chat() {
    let browser = Browser::open().await;
    for link in ["main a[href='/chat']", ".foot a[href='/chat']"] {
        browser.visit("/").await;
        browser.click(link).await;
        browser.see("#sign-in-form").await;
    }
    browser.close().await;
}
