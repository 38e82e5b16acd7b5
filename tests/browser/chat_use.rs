//! The chat's page with the keyboard only, and on a slow network that fails temporarily.

use crate::browser::{Browser, Network, VERDICT};
use crate::chat::{ask_for_link, link, replied};
use crate::stack::unique;
use serde_json::json;

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
/// More tab stops than the page has.
const MOST_STOPS: usize = 30;

async fn focused(browser: &Browser) -> String {
    let script = "const e = document.activeElement; return e.id || e.name || e.className || e.tagName";
    browser.run(script).await.as_str().unwrap_or_default().to_owned()
}

/// Presses the tab key until the element has the focus. Each stop on the way must show that it has the focus.
async fn tab_to(browser: &Browser, id: &str) {
    let mut stops = Vec::new();
    for _ in 0..MOST_STOPS {
        browser.press(TAB).await;
        let stop = focused(browser).await;
        let ring = browser.run("return parseFloat(getComputedStyle(document.activeElement).outlineWidth)").await;
        assert!(ring.as_f64() >= Some(2.0), "{stop}: the focus cannot be seen");
        if stop == id {
            return;
        }
        stops.push(stop);
    }
    panic!("the tabulator does not reach {id}: {stops:?}");
}

#[tokio::test]
async fn the_chat_with_the_keyboard_alone() {
    let browser = Browser::open().await;
    let address = format!("typist-{}@example.com", unique());
    browser.visit("/chat").await;
    browser.see("#sign-in-form").await;
    tab_to(&browser, "email").await;
    browser.press(ENTER).await;
    browser.see("#email-error").await;
    assert_eq!(focused(&browser).await, "email", "the focus is where something is missing");
    browser.press(&address).await;
    browser.press(ENTER).await;
    browser.see("#sent").await;
    assert_eq!(focused(&browser).await, "sent-title", "a screen reader hears what is there now");

    browser.visit(&link(&browser, &address).await).await;
    browser.see("#talk").await;
    assert_eq!(focused(&browser).await, "talk-title");
    tab_to(&browser, "message").await;
    browser.press("Should we open a second bakery by the harbour?").await;
    tab_to(&browser, "send").await;
    browser.press(ENTER).await;
    replied(&browser, 1).await;
    assert_eq!(focused(&browser).await, "send", "a reply does not move the focus");

    tab_to(&browser, "memory-erase").await;
    browser.press(ENTER).await;
    browser.see("#memory-sure").await;
    assert_eq!(focused(&browser).await, "memory-question");
    tab_to(&browser, "memory-no").await;
    browser.press(ENTER).await;
    assert!(!browser.sees("#memory-sure").await);
    assert_eq!(focused(&browser).await, "memory-erase");
    browser.press(ENTER).await;
    tab_to(&browser, "memory-yes").await;
    browser.press(ENTER).await;
    browser.see("#empty").await;
    assert_eq!(focused(&browser).await, "memory-erase", "the focus is not lost with the question");
    tab_to(&browser, "sign-out").await;
    browser.press(ENTER).await;
    browser.see("#sign-in-form").await;
    assert_eq!(focused(&browser).await, "sign-in-title");
    browser.close().await;
}

/// A message is counted once, however often the page sends it, as on a train in a tunnel.
#[tokio::test]
async fn a_slow_network_that_fails_costs_one_exchange() {
    let browser = Browser::open().await;
    let link = ask_for_link(&browser).await;
    browser.network(Network::Slow).await;
    browser.visit(&link).await;
    browser.see_within("#talk", VERDICT).await;

    browser.network(Network::Off).await;
    browser.submit("#message", "Should we open a second bakery by the harbour?", "#send").await;
    let is_told = "document.getElementById('waiting-text').textContent.startsWith('The connection was lost')";
    browser.becomes(is_told, json!(true)).await;
    let is_said = "byId('live').textContent === byId('waiting-text').textContent";
    browser.becomes(is_said, json!(true)).await;
    browser.look("chat-offline").await;
    // Sending again while the reply is pending does nothing.
    browser.click("#send").await;
    browser.network(Network::Slow).await;
    replied(&browser, 1).await;
    assert_eq!(browser.run("return document.querySelectorAll('#thread .own').length").await, 1);
    assert_eq!(browser.text("#plan").await, "Two free exchanges are left.", "counted once");
    assert!(!browser.sees("#waiting").await);

    // The reply is lost: the page is left before it arrives, and the reloaded page sends the message again under its
    // id.
    browser.submit("#message", "And if my sister runs it from May on?", "#send").await;
    browser.visit("/chat").await;
    browser.see_within("#talk", VERDICT).await;
    replied(&browser, 2).await;
    assert_eq!(browser.run("return document.querySelectorAll('#thread .own').length").await, 2);
    assert_eq!(browser.text("#plan").await, "One free exchange is left.");
    browser.network(Network::Plain).await;
    browser.visit("/chat").await;
    browser.see("#thread .own").await;
    replied(&browser, 2).await;
    assert_eq!(browser.text("#plan").await, "One free exchange is left.");
    browser.close().await;
}

/// Holds the reply to the first request of a path back until the test releases it, and counts those that the page has
/// read. The page may send a message again.
const HELD: &str = r#"
  const plain = window.fetch;
  const waiting = new Set(["/api/chat/bridge", "/api/chat/exchanges"]);
  window.held = {};
  window.read = 0;
  window.fetch = async (path, options) => {
    const isHeld = waiting.delete(path);
    const reply = await plain(path, options);
    if (!isHeld) return reply;
    await new Promise((release) => { window.held[path] = release; });
    const parse = reply.json.bind(reply);
    reply.json = async () => {
      const parsed = await parse();
      setTimeout(() => { window.read += 1; });
      return parsed;
    };
    return reply;
  };"#;

async fn release(browser: &Browser, path: &str, read: u32) {
    browser.becomes(&format!("typeof window.held['{path}']"), json!("function")).await;
    browser.run(&format!("window.held['{path}'](); return null")).await;
    browser.becomes("window.read", json!(read)).await;
}

/// A quick customer writes before the page has loaded everything.
#[tokio::test]
async fn a_message_sent_while_the_page_loads_is_shown_once() {
    let browser = Browser::open().await;
    let link = ask_for_link(&browser).await;
    browser.before_every_page(HELD).await;
    browser.visit(&link).await;
    browser.see("#talk").await;
    browser.submit("#message", "Should we open a second bakery by the harbour?", "#send").await;
    // The rest of the page is there before the reply.
    release(&browser, "/api/chat/bridge", 1).await;
    browser.see("#bridge-begin").await;
    release(&browser, "/api/chat/exchanges", 2).await;
    replied(&browser, 1).await;
    assert_eq!(browser.run("return document.querySelectorAll('#thread .own').length").await, 1);
    assert_eq!(browser.text("#plan").await, "Two free exchanges are left.");
    browser.close().await;
}
