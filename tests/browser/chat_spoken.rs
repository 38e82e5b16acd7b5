//! What the chat says to screen readers. The test answers for the server.

use crate::chat_faults::{MEMBER, open, reads};
use serde_json::json;

/// Collects what the region says, one text for each change.
const LISTEN: &str = "
  window.spoken = [];
  addEventListener('DOMContentLoaded', () => new MutationObserver(() => window.spoken.push(byId('live').textContent))
    .observe(byId('live'), { childList: true }));";

/// The conversation itself is busy and grows by sentences, so it says nothing. The reply leaves the page with its
/// customer.
#[tokio::test]
async fn a_reply_is_said_once_and_whole() {
    let replies = "
      const [first, second] = ['Count first. Then ask.', 'Wait.'];
      const replies = [{ voice: 'first view', text: first }, { voice: 'second view', text: second }];
      window.replies['POST /api/chat/exchanges'] = [200, { replies, notice: 'In general.', free_left: 1 }];
      window.replies['DELETE /api/chat/session'] = [200, {}];";
    let browser = open(&format!("{LISTEN}{replies}")).await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    browser.submit("#message", "Should we?", "#send").await;
    browser.becomes("byId('thread').textContent.includes('Then ask.')", json!(true)).await;
    let whole = "First view: Count first. Then ask. Second view: Wait. In general. One free exchange is left.";
    assert_eq!(browser.run("return window.spoken").await, json!(["AETHER is writing.", whole]));
    assert_eq!(browser.run("return byId('thread').getAttribute('aria-live')").await, "off");
    browser.click("#sign-out").await;
    browser.see("#sign-in-form").await;
    assert_eq!(browser.exact_text("#live").await, "");
    browser.close().await;
}

/// A reply of the chat arrives after a disclosure on the Bridge.
#[tokio::test]
async fn nothing_is_said_beside_who_helps() {
    let held = "
      window.replies['POST /api/chat/exchanges'] = () => new Promise((answer) => { window.answer = answer; });
      window.replies['POST /api/chat/bridge/messages'] = [422, { error: 'Help.', crisis: true }];";
    let browser = open(&format!("{MEMBER}{held}")).await;
    browser.submit("#message", "Should we?", "#send").await;
    browser.submit("#bridge-message", "I cannot go on.", "#bridge-send").await;
    browser.see("#care").await;
    assert_eq!(browser.exact_text("#live").await, "");
    let reply = "{ replies: [{ voice: 'AETHER', text: 'Count first.' }], free_left: 1 }";
    browser.run(&format!("window.answer([200, {reply}]); return null")).await;
    browser.becomes("byId('send').getAttribute('aria-disabled')", json!("false")).await;
    assert!(browser.sees("#care").await);
    assert_eq!(browser.exact_text("#live").await, "");
    browser.close().await;
}

/// Sent with the keyboard, the box has the focus already, and no screen reader says its description again.
#[tokio::test]
async fn the_numbers_to_call_are_said() {
    let declined = "
      const resources = [{ name: 'Emergency', contact: '911' }, { name: 'Health line', contact: '811' }];
      const declined = { error: 'Please call.', emergency: true, suggested_actions: ['Do not wait.'], resources };
      window.replies['POST /api/chat/exchanges'] = [422, declined];";
    let browser = open(declined).await;
    browser.type_into("#message", "He cannot breathe.").await;
    // Ctrl and Enter.
    let send = "byId('message').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true })); \
                return null";
    browser.run(send).await;
    assert_eq!(browser.text("#message-error").await, "Please call.");
    assert_eq!(browser.exact_text("#live").await, "Do not wait. Emergency: 911. Health line: 811.");
    browser.assert_accessible("chat-emergency").await;
    browser.close().await;
}
