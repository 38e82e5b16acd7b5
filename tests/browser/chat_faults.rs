//! The chat's page when replies fail, come late, or differ from those before. The test answers for the server.

use crate::browser::{Browser, VERDICT};
use crate::stack::poll;
use serde_json::{Value, json};

/// Answers what a test puts into `replies`, by method and path, as status and body. An entry may be a function of the
/// request. Without an entry the connection is lost. `asked` has all requests; `read` those whose reply the page has read
/// and acted on.
const SERVER: &str = r#"
  const agreement = { version: 2, sha256: "aa", text: "The second text." };
  window.replies = {
    "GET /api/chat/me": [200, { plan: "bridge", free_left: 3 }],
    "GET /api/chat/memory": [200, { events: [], earlier: false }],
    "GET /api/chat/bridge": [200, { state: "offered", agreement }],
    "GET /api/chat/bridge/messages": [200, { messages: [] }],
  };
  window.asked = [];
  window.read = [];
  window.fetch = async (path, request = {}) => {
    const name = `${request.method ?? "GET"} ${path.split("?")[0]}`;
    window.asked.push(name);
    const found = window.replies[name];
    const reply = await (typeof found === "function" ? found(request) : found);
    if (reply === undefined) throw new TypeError("lost");
    const response = Response.json(reply[1], { status: reply[0] });
    const parse = response.json.bind(response);
    response.json = async () => {
      const parsed = await parse();
      setTimeout(() => window.read.push(name));
      return parsed;
    };
    return response;
  };
  window.look = () => document.dispatchEvent(new Event("visibilitychange"));"#;

/// Opens the chat of a customer who is signed in. `prepare` changes the server's replies.
async fn open(prepare: &str) -> Browser {
    let browser = Browser::open().await;
    browser.before_every_page(&format!("{SERVER}\n{prepare}")).await;
    browser.visit("/chat").await;
    browser
}

/// Waits until a script returns a value.
async fn becomes(browser: &Browser, script: &str, value: Value) {
    let script = format!("return {script}");
    let there = poll(VERDICT, async || (browser.run(&script).await == value).then_some(())).await;
    assert!(there.is_some(), "{script}: {}", browser.run(&script).await);
}

/// Waits until the page has acted on so many replies.
async fn reads(browser: &Browser, name: &str, count: u32) {
    becomes(browser, &format!("window.read.filter((name) => name === '{name}').length"), json!(count)).await;
}

/// A release replaces the agreement while a customer has ticked that they have read it.
#[tokio::test]
async fn the_tick_under_an_agreement_does_not_hold_for_the_next_one() {
    let browser = open("").await;
    browser.click("#bridge-read").await;
    browser.click("#agreement-yes").await;
    browser.run("window.node = document.getElementById('agreement-text').firstChild; window.look(); return null").await;
    reads(&browser, "GET /api/chat/bridge/messages", 2).await;
    assert_eq!(browser.run("return window.node.isConnected").await, true, "the same text is left alone");
    let changed = "const current = { version: 3, sha256: 'bb', text: 'The third text.' }; \
                   window.replies['GET /api/chat/bridge'] = [200, { state: 'offered', agreement: current }]; \
                   window.look(); return null";
    browser.run(changed).await;
    assert_eq!(browser.text("#agreement-error").await, "The agreement has changed. Please read it again.");
    assert_eq!(browser.text("#agreement-text").await, "The third text.");
    assert_eq!(browser.run("return document.getElementById('agreement-yes').checked").await, false);
    browser.close().await;
}
