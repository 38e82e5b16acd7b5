//! The chat's page with the keyboard only, and on a slow network that fails temporarily.

use crate::browser::{Browser, Network, VERDICT};
use crate::chat::link;
use crate::stack::{poll, unique};
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

async fn replies(browser: &Browser, count: usize) {
    let script = "const said = document.querySelectorAll('#thread .said:not(.own)').length; \
                  return [said, document.getElementById('thread').hasAttribute('aria-busy')]";
    let there = poll(VERDICT, async || (browser.run(script).await == json!([count, false])).then_some(())).await;
    assert!(there.is_some(), "reply {count}: {}", browser.text("#talk").await);
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
    replies(&browser, 1).await;
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
    let address = format!("traveller-{}@example.com", unique());
    browser.visit("/chat").await;
    browser.type_into("#email", &address).await;
    browser.click("#email-send").await;
    browser.see("#sent").await;
    browser.network(Network::Slow).await;
    browser.visit(&link(&browser, &address).await).await;
    browser.see_within("#talk", VERDICT).await;

    browser.network(Network::Off).await;
    browser.type_into("#message", "Should we open a second bakery by the harbour?").await;
    browser.click("#send").await;
    let lost = "return document.getElementById('waiting-text').textContent.startsWith('The connection was lost')";
    let told = poll(VERDICT, async || (browser.run(lost).await == true).then_some(())).await;
    assert!(told.is_some(), "the page says that it is offline: {}", browser.text("#talk").await);
    browser.look("chat-offline").await;
    // Sending again while the reply is pending does nothing.
    browser.click("#send").await;
    browser.network(Network::Slow).await;
    replies(&browser, 1).await;
    assert_eq!(browser.run("return document.querySelectorAll('#thread .own').length").await, 1);
    assert_eq!(browser.text("#plan").await, "Two free exchanges are left.", "counted once");
    assert!(!browser.sees("#waiting").await);

    // The reply is lost: the page is left before it arrives, and the reloaded page sends the message again under its
    // id.
    browser.type_into("#message", "And if my sister runs it from May on?").await;
    browser.click("#send").await;
    browser.visit("/chat").await;
    browser.see_within("#talk", VERDICT).await;
    replies(&browser, 2).await;
    assert_eq!(browser.run("return document.querySelectorAll('#thread .own').length").await, 2);
    assert_eq!(browser.text("#plan").await, "One free exchange is left.");
    browser.network(Network::Plain).await;
    browser.visit("/chat").await;
    browser.see("#thread .own").await;
    replies(&browser, 2).await;
    assert_eq!(browser.text("#plan").await, "One free exchange is left.");
    browser.close().await;
}

/// Holds every reply of a path back until the test releases it, and counts those that the page has read.
const HELD: &str = r#"
  const plain = window.fetch;
  window.held = {};
  window.read = 0;
  window.fetch = async (path, options) => {
    const reply = await plain(path, options);
    if (path !== "/api/chat/bridge" && path !== "/api/chat/exchanges") return reply;
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
    let script = format!("if (!window.held['{path}']) return false; window.held['{path}'](); return true");
    assert!(poll(VERDICT, async || (browser.run(&script).await == true).then_some(())).await.is_some(), "{path}");
    let all = poll(VERDICT, async || (browser.run("return window.read").await == json!(read)).then_some(()));
    assert!(all.await.is_some(), "{path} is read");
}

/// A quick customer writes before the page has loaded everything.
#[tokio::test]
async fn a_message_sent_while_the_page_loads_is_shown_once() {
    let browser = Browser::open().await;
    let address = format!("quick-{}@example.com", unique());
    browser.visit("/chat").await;
    browser.type_into("#email", &address).await;
    browser.click("#email-send").await;
    browser.see("#sent").await;
    let link = link(&browser, &address).await;
    browser.before_every_page(HELD).await;
    browser.visit(&link).await;
    browser.see("#talk").await;
    browser.type_into("#message", "Should we open a second bakery by the harbour?").await;
    browser.click("#send").await;
    // The rest of the page is there before the reply.
    release(&browser, "/api/chat/bridge", 1).await;
    let bridge = poll(VERDICT, async || (!browser.text("#bridge-text").await.is_empty()).then_some(()));
    assert!(bridge.await.is_some());
    let messages =
        "return performance.getEntriesByName(new URL('/api/chat/bridge/messages', location).href).length > 0";
    assert!(poll(VERDICT, async || (browser.run(messages).await == true).then_some(())).await.is_some());
    release(&browser, "/api/chat/exchanges", 2).await;
    replies(&browser, 1).await;
    assert_eq!(browser.run("return document.querySelectorAll('#thread .own').length").await, 1);
    assert_eq!(browser.text("#plan").await, "Two free exchanges are left.");
    browser.close().await;
}
