//! The Bridge on the chat's page when replies fail, come late, or differ from those before. The test answers for the server.

use crate::browser::Browser;
use crate::chat_faults::{MEMBER, open, reads};
use serde_json::{Value, json};

/// A thread of one message, by its text.
const THREAD: &str = "
  window.thread = (text) =>
    [200, { messages: [{ id: text, text, from: 'you', at: '2026-12-01T00:00:00Z' }] }];
  window.replies['GET /api/chat/bridge/messages'] = window.thread('First.');";

/// The texts of the Bridge's thread.
async fn bridge_shows(browser: &Browser, texts: &[&str]) {
    let script = "[...document.querySelectorAll('#bridge-thread .prose')].map((words) => words.textContent)";
    browser.becomes(script, json!(texts)).await;
}

/// A release replaces the agreement while a customer reads it, or after they have ticked that they have read it.
#[tokio::test]
async fn the_tick_under_an_agreement_does_not_hold_for_the_next_one() {
    let browser = open("").await;
    for is_ticked in [true, false] {
        browser.visit("/chat").await;
        browser.click("#bridge-read").await;
        if is_ticked {
            browser.click("#agreement-yes").await;
        }
        let look = "window.node = document.getElementById('agreement-text').firstChild; window.look(); return null";
        browser.run(look).await;
        reads(&browser, "GET /api/chat/bridge/messages", 2).await;
        assert_eq!(browser.run("return window.node.isConnected").await, true, "the same text is left alone");
        assert!(!browser.sees("#agreement-error").await);
        let changed = "const current = { version: 3, sha256: 'bb', text: 'The third text.' }; \
                       window.replies['GET /api/chat/bridge'] = [200, { state: 'offered', agreement: current }]; \
                       window.look(); return null";
        browser.run(changed).await;
        assert_eq!(browser.text("#agreement-error").await, "The agreement has changed. Please read it again.");
        assert_eq!(browser.text("#agreement-text").await, "The third text.");
        assert_eq!(browser.run("return document.getElementById('agreement-yes').checked").await, false);
    }
    browser.close().await;
}

/// The reply to a message on the Bridge is lost. The next page has the text, until the thread shows that it has arrived.
#[tokio::test]
async fn an_unconfirmed_message_on_the_bridge_survives_a_reload() {
    let browser = open(MEMBER).await;
    browser.submit("#bridge-message", "May we speak?", "#bridge-send").await;
    assert_eq!(browser.text("#bridge-error").await, "It could not be sent. Please try again.");
    browser.visit("/chat").await;
    browser.becomes("byId('bridge-message').value", json!("May we speak?")).await;
    let arrived = "const { id, text } = JSON.parse(sessionStorage.getItem('oracle.chat.bridge')); \
                   const message = { id, text, from: 'you', at: '2026-12-01T00:00:00Z' }; \
                   window.replies['GET /api/chat/bridge/messages'] = [200, { messages: [message] }]; \
                   window.look(); return null";
    browser.run(arrived).await;
    assert!(browser.text("#bridge-thread").await.contains("May we speak?"));
    let left = "[byId('bridge-message').value, sessionStorage.getItem('oracle.chat.bridge')]";
    browser.becomes(left, json!(["", null])).await;
    browser.close().await;
}

/// A message is in the thread before its reply is lost: nobody is asked to send it again.
#[tokio::test]
async fn a_lost_reply_to_a_message_that_the_thread_shows_is_no_failure() {
    let browser = open(MEMBER).await;
    let arrived = "window.replies['POST /api/chat/bridge/messages'] = ({ body }) => { \
                     const message = { ...JSON.parse(body), from: 'you', at: '2026-12-01T00:00:00Z' }; \
                     window.replies['GET /api/chat/bridge/messages'] = [200, { messages: [message] }]; \
                     return new Promise((answer) => { window.answer = answer; }); \
                   }; \
                   return null";
    browser.run(arrived).await;
    browser.submit("#bridge-message", "May we speak?", "#bridge-send").await;
    browser.becomes("typeof window.answer", json!("function")).await;
    browser.run("window.look(); return null").await;
    bridge_shows(&browser, &["May we speak?"]).await;
    browser.run("window.answer(); return null").await;
    browser.becomes("byId('live').textContent", json!("Your message is sent.")).await;
    assert!(!browser.sees("#bridge-error").await);
    assert_eq!(browser.run("return byId('bridge-message').value").await, "");
    browser.close().await;
}

/// The reply to a message is lost, and its customer gives the message up: it does not come back.
#[tokio::test]
async fn an_unconfirmed_message_that_is_deleted_stays_deleted() {
    let browser = open(MEMBER).await;
    browser.submit("#bridge-message", "May we speak?", "#bridge-send").await;
    browser.see("#bridge-error").await;
    let emptied = "byId('bridge-message').value = ''; byId('bridge-message').dispatchEvent(new Event('input')); \
                   window.look(); return sessionStorage.getItem('oracle.chat.bridge')";
    assert_eq!(browser.run(emptied).await, Value::Null);
    reads(&browser, "GET /api/chat/bridge/messages", 2).await;
    assert_eq!(browser.run("return byId('bridge-message').value").await, "");
    browser.close().await;
}

/// A look finds that access has ended: what was written, or not confirmed before a reload, can be copied.
#[tokio::test]
async fn what_is_not_sent_when_a_look_finds_the_bridge_closed_can_be_copied() {
    let browser = open(MEMBER).await;
    browser.type_into("#bridge-message", "One more thing.").await;
    let closed = "window.replies['GET /api/chat/bridge'] = [200, { state: 'revoked', agreement: window.agreement }];";
    browser.run(&format!("{closed} window.look(); return null")).await;
    assert_eq!(browser.text("#bridge-unsent-text").await, "One more thing.");
    assert!(!browser.sees("#bridge-say").await);

    browser.visit("/chat").await;
    browser.submit("#bridge-message", "May we speak?", "#bridge-send").await;
    browser.see("#bridge-error").await;
    browser.before_every_page(closed).await;
    browser.visit("/chat").await;
    assert_eq!(browser.text("#bridge-unsent-text").await, "May we speak?");
    let left = "return [byId('bridge-message').value, sessionStorage.getItem('oracle.chat.bridge')]";
    assert_eq!(browser.run(left).await, json!(["", null]));
    browser.close().await;
}

/// Access has ended since the page was opened: the form goes, and the text can still be copied.
#[tokio::test]
async fn a_message_on_a_closed_bridge_can_be_copied() {
    let browser = open(MEMBER).await;
    browser.type_into("#bridge-message", "One more thing.").await;
    let closed = "window.replies['POST /api/chat/bridge/messages'] = [403, { code: 'bridge_closed' }]; \
                  window.replies['GET /api/chat/bridge'] = [200, { state: 'revoked', agreement: window.agreement }]; return null";
    browser.run(closed).await;
    browser.click("#bridge-send").await;
    assert_eq!(browser.text("#bridge-unsent-text").await, "One more thing.");
    browser.becomes("byId('bridge-say').hidden", json!(true)).await;
    assert!(browser.text("#bridge-unsent").await.contains("was not sent"));
    assert_eq!(browser.run("return sessionStorage.getItem('oracle.chat.bridge')").await, Value::Null);
    let ended = "You have no access to the Bridge now. Anything that was written stays here until you erase it.";
    assert_eq!(browser.text("#bridge-text").await, ended, "also to whom access was never given");
    // Nor does an acceptance promise access.
    let accepted = "const { agreement } = window; \
                    window.replies['GET /api/chat/bridge'] = [200, { state: 'accepted', agreement }]; \
                    window.look(); return null";
    browser.run(accepted).await;
    let waits = "You have accepted the agreement. We look at it within 24 hours and write to you. If we give you access, \
                 you find this thread open here.";
    browser.becomes("byId('bridge-text').textContent", json!(waits)).await;
    browser.close().await;
}

/// The box has no counter: its error says the limit.
#[tokio::test]
async fn a_message_on_the_bridge_that_is_too_long_is_told_the_limit() {
    let browser = open(MEMBER).await;
    browser.see("#bridge-say").await;
    browser.run("byId('bridge-message').value = 'a'.repeat(4001); return null").await;
    browser.click("#bridge-send").await;
    assert_eq!(browser.text("#bridge-error").await, "Please shorten your message to 4,000 characters.");
    browser.close().await;
}

/// The firewall refuses a message. Its 403 is not ours, and access has not ended.
#[tokio::test]
async fn a_message_that_the_firewall_refuses_stays_in_its_box() {
    let browser = open(MEMBER).await;
    let refused = "window.replies['POST /api/chat/bridge/messages'] = [403, { message: 'Forbidden' }]; return null";
    browser.run(refused).await;
    browser.submit("#bridge-message", "May we speak?", "#bridge-send").await;
    assert_eq!(browser.text("#bridge-error").await, "It could not be sent. Please try again.");
    assert!(!browser.sees("#bridge-unsent").await);
    assert_eq!(browser.run("return byId('bridge-message').value").await, "May we speak?");
    browser.close().await;
}

#[tokio::test]
async fn a_look_that_fails_leaves_the_thread_of_the_bridge() {
    let browser = open(&format!("{MEMBER}{THREAD}")).await;
    bridge_shows(&browser, &["First."]).await;
    let path = "GET /api/chat/bridge/messages";
    browser.run(&format!("window.replies['{path}'] = [503, {{}}]; window.look(); return null")).await;
    reads(&browser, path, 2).await;
    bridge_shows(&browser, &["First."]).await;
    assert!(browser.sees("#bridge-thread").await && browser.sees("#bridge-say").await);

    // What was never read is not told as if there were no access.
    browser.before_every_page("window.replies['GET /api/chat/bridge'] = [503, {}];").await;
    browser.visit("/chat").await;
    browser.becomes("byId('bridge-text').textContent.startsWith('The Bridge could not be read.')", json!(true)).await;
    browser.close().await;
}

#[tokio::test]
async fn an_erasure_takes_the_bridge_off_the_page_although_it_cannot_be_read_again() {
    let browser = open(&format!("{MEMBER}{THREAD}")).await;
    bridge_shows(&browser, &["First."]).await;
    let erased = "window.replies['DELETE /api/chat/memory'] = [202, { status: 'erased' }]; \
                  window.replies['GET /api/chat/bridge'] = [503, {}]; return null";
    browser.run(erased).await;
    browser.click("#memory-erase").await;
    browser.click("#memory-yes").await;
    browser.becomes("byId('bridge-text').textContent.startsWith('The Bridge could not be read.')", json!(true)).await;
    bridge_shows(&browser, &[]).await;
    assert!(!browser.sees("#bridge-thread").await && !browser.sees("#bridge-say").await);
    browser.close().await;
}

/// Two looks overlap, or a look and a message. The older look ends last and shows nothing.
#[tokio::test]
async fn an_older_look_does_not_replace_what_is_newer() {
    let browser = open(&format!("{MEMBER}{THREAD}")).await;
    bridge_shows(&browser, &["First."]).await;
    let path = "GET /api/chat/bridge/messages";
    let hold = format!(
        "window.replies['{path}'] = () => new Promise((answer) => {{ window.release = () => answer(window.thread('First.')); }}); \
         window.release = null; window.look(); return null"
    );
    browser.run(&hold).await;
    browser.becomes("window.release !== null", json!(true)).await;
    browser.run(&format!("window.replies['{path}'] = window.thread('Second.'); window.look(); return null")).await;
    bridge_shows(&browser, &["Second."]).await;
    browser.run("window.release(); return null").await;
    reads(&browser, path, 3).await;
    bridge_shows(&browser, &["Second."]).await;

    browser.run(&hold).await;
    browser.becomes("window.release !== null", json!(true)).await;
    let post = "window.replies['POST /api/chat/bridge/messages'] = ({ body }) => { const { id, text } = JSON.parse(body); \
                return [200, { id, text, from: 'you', at: '2026-12-01T00:00:00Z' }]; }; return null";
    browser.run(post).await;
    browser.submit("#bridge-message", "Third.", "#bridge-send").await;
    bridge_shows(&browser, &["Second.", "Third."]).await;
    browser.run("window.release(); return null").await;
    reads(&browser, path, 4).await;
    bridge_shows(&browser, &["Second.", "Third."]).await;
    browser.close().await;
}

/// Screen readers say only what is added to the thread. The customer comes back with and without a new message.
#[tokio::test]
async fn a_look_adds_only_what_is_new_to_the_thread() {
    let browser = open(&format!("{MEMBER}{THREAD}")).await;
    bridge_shows(&browser, &["First."]).await;
    let path = "GET /api/chat/bridge/messages";
    let watch = "window.added = []; window.node = document.querySelector('#bridge-thread .said'); \
                 const added = (changes) => changes.flatMap(({ addedNodes }) => [...addedNodes]).map(({ id }) => id); \
                 new MutationObserver((changes) => window.added.push(...added(changes))) \
                   .observe(byId('bridge-thread'), { childList: true }); \
                 window.look(); return null";
    browser.run(watch).await;
    reads(&browser, path, 2).await;
    let replied = format!(
        "const [first, second] = ['First.', 'Second.'].map((text) => window.thread(text)[1].messages[0]); \
         window.replies['{path}'] = [200, {{ messages: [first, second] }}]; window.look(); return null"
    );
    browser.run(&replied).await;
    bridge_shows(&browser, &["First.", "Second."]).await;
    assert_eq!(browser.run("return [window.added, window.node.isConnected]").await, json!([["bridge-Second."], true]));
    browser.close().await;
}

/// A thread that cannot be downloaded: the page says so, and saves nothing.
#[tokio::test]
async fn a_thread_that_cannot_be_downloaded_shows_the_sentence() {
    let browser = open(&format!("{MEMBER}{THREAD}")).await;
    bridge_shows(&browser, &["First."]).await;
    let refusing = "window.saved = 0; URL.createObjectURL = () => { window.saved += 1; return 'about:blank'; }; \
                    window.fetch = async () => Response.json({ error: 'Please write to us.' }, { status: 503 }); return null";
    browser.run(refusing).await;
    browser.click("#bridge-save").await;
    assert_eq!(browser.text("#bridge-save-problem").await, "Please write to us.");
    assert_eq!(browser.run("return window.saved").await, 0);
    browser.close().await;
}
