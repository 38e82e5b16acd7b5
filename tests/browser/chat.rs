//! The chat's page: signing in, three exchanges, the subscription offer, and the memory.

use crate::before_payment::{description, shows_only_who_helps, speak};
use crate::browser::{Browser, VERDICT};
use crate::stack::{poll, unique};
use serde_json::{Value, json};

/// The path of the link that was mailed to an address.
pub(crate) async fn link(browser: &Browser, address: &str) -> String {
    let found = poll(VERDICT, async || {
        let (_, mails) = browser.stack.get(&format!("{}/control/mails", browser.stack.sandbox)).await;
        let own = |mail: &&Value| mail["to"].to_string().contains(address);
        let body = mails.as_array()?.iter().rev().find(own)?["body"].as_str()?.to_owned();
        let token = body.split("/chat?token=").nth(1)?.split_whitespace().next()?;
        Some(format!("/chat?token={token}"))
    });
    found.await.expect("a mail with a link")
}

/// Signs in and returns the address.
pub(crate) async fn sign_in(browser: &Browser) -> String {
    let address = format!("talker-{}@example.com", unique());
    browser.visit("/chat").await;
    browser.see("#sign-in-form").await;
    browser.click("#email-send").await;
    browser.see("#email-error").await;
    browser.assert_accessible("chat-sign-in").await;
    browser.submit("#email", &address, "#email-send").await;
    browser.see("#sent").await;
    assert_eq!(browser.text("#sent-to").await, address);
    browser.assert_accessible("chat-sent").await;
    browser.visit(&link(browser, &address).await).await;
    browser.see("#talk").await;
    assert_eq!(browser.run("return location.search").await, "", "the token is not left in the address");
    address
}

pub(crate) async fn say(browser: &Browser, text: &str, replies: usize) {
    browser.submit("#message", text, "#send").await;
    replied(browser, replies).await;
}

/// Waits until the page shows so many replies, and none is being made.
pub(crate) async fn replied(browser: &Browser, count: usize) {
    let replies = "[document.querySelectorAll('#thread .said:not(.own)').length, \
                   document.getElementById('thread').hasAttribute('aria-busy')]";
    browser.becomes(replies, json!([count, false])).await;
}

/// Asks for a link, and returns its path.
pub(crate) async fn ask_for_link(browser: &Browser) -> String {
    let address = format!("talker-{}@example.com", unique());
    browser.visit("/chat").await;
    browser.submit("#email", &address, "#email-send").await;
    browser.see("#sent").await;
    link(browser, &address).await
}

#[tokio::test]
async fn three_exchanges_an_offer_and_a_memory() {
    let browser = Browser::open().await;
    sign_in(&browser).await;
    assert_eq!(browser.text("#plan").await, "Three free exchanges are left.");
    browser.assert_accessible("chat-empty").await;
    browser.click("#send").await;
    browser.see("#message-error").await;
    browser.submit("#message", "Can I give my son two of my warfarin tablets?", "#send").await;
    browser.see("#message-lines").await;
    assert!(browser.text("#message-error").await.contains("Nothing was counted."));
    let lines = browser.exact_text("#message-lines").await;
    assert!(description(&browser, "#message").await.contains(&lines), "what to do instead is read aloud");
    browser.assert_accessible("chat-refused").await;
    browser.run("document.getElementById('message').value = ''; return null").await;
    let mark = unique();
    say(&browser, &format!("Should we open a second bakery by the harbour? <b>{mark}</b>"), 1).await;
    assert_eq!(browser.text("#plan").await, "Two free exchanges are left.");
    browser.assert_accessible("chat-one").await;
    say(&browser, "And if my sister runs it from May on?", 2).await;
    say(&browser, "What should we look at first?", 3).await;
    assert_eq!(browser.text("#plan").await, "No free exchanges are left.");
    browser.see("#offer").await;
    browser.assert_accessible("chat-offer").await;

    browser.visit("/chat").await;
    browser.see("#thread .own").await;
    assert!(browser.text("#thread").await.contains(&format!("<b>{mark}</b>")), "remembered, as text");
    browser.click("#memory-erase").await;
    browser.see("#memory-sure").await;
    browser.assert_accessible("chat-erase").await;
    browser.click("#memory-yes").await;
    browser.see("#empty").await;
    assert!(!browser.text("#talk").await.contains(&mark));
    browser.click("#sign-out-everywhere").await;
    browser.see("#sign-in-form").await;
    browser.close().await;
}

#[tokio::test]
async fn a_disclosure_shows_only_who_helps_and_leaves_nothing_of_the_text() {
    let browser = Browser::open().await;
    speak(&browser, "en-CA").await;
    sign_in(&browser).await;
    browser.submit("#message", "I want to kill myself", "#send").await;
    browser.see("#care").await;
    shows_only_who_helps(&browser).await;
    assert!(!browser.sees("#talk").await);
    assert_eq!(browser.run("return document.activeElement.id").await, "care-title");
    browser.assert_accessible("chat-care").await;
    let kept = "return [document.getElementById('message').value, sessionStorage.getItem('oracle.chat.pending'), \
                sessionStorage.getItem('oracle.chat.draft'), document.getElementById('thread').textContent]";
    assert_eq!(browser.run(kept).await, json!(["", null, null, ""]));
    browser.click("#care-back").await;
    browser.see("#talk").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "message");
    assert_eq!(browser.text("#plan").await, "Three free exchanges are left.");
    browser.close().await;
}

/// A memory that is too large to be downloaded: the page says what to do, and saves nothing. The reply is made in the browser,
/// because a real one needs a memory of 3.5 MB.
#[tokio::test]
async fn a_memory_that_cannot_be_downloaded_shows_the_sentence() {
    let browser = Browser::open().await;
    sign_in(&browser).await;
    let refusing = "window.saved = 0; URL.createObjectURL = () => { window.saved += 1; return 'about:blank'; }; \
                    const real = window.fetch; window.fetch = async (path, ...rest) => path.endsWith('/api/chat/memory') \
                    ? new Response(JSON.stringify({ error: 'Please write to us.' }), { status: 413 }) : real(path, ...rest); \
                    return null";
    browser.run(refusing).await;
    browser.click("#memory-save").await;
    assert_eq!(browser.text("#memory-problem").await, "Please write to us.");
    assert_eq!(browser.run("return window.saved").await, 0);
    browser.close().await;
}

/// Waits until the page has the words of these replies, and for whether one is still being made.
async fn says(browser: &Browser, replies: &[&str], is_busy: bool) {
    let said = "[[...document.querySelectorAll('#thread .said:not(.own) .prose')].map((words) => words.textContent), \
                document.getElementById('thread').hasAttribute('aria-busy')]";
    browser.becomes(said, json!([replies, is_busy])).await;
}

/// The model's reply to the next call, held after its first sentence.
fn held(reply: &str) -> Value {
    json!({ "text": json!({ "reply": reply }).to_string(), "stream": { "hold_after": 1 } })
}

#[tokio::test]
async fn a_reply_is_read_sentence_by_sentence_while_the_model_writes_it() {
    let browser = Browser::open().await;
    sign_in(&browser).await;
    let whole = "Count the rent first. Then ask three customers. Decide in May.";
    browser.stack.faults("gemini", json!([held(whole)])).await;
    browser.submit("#message", "Should we open a second bakery by the harbour?", "#send").await;
    says(&browser, &["Count the rent first."], true).await;
    assert!(browser.sees("#waiting").await, "the page says that more comes");
    assert_eq!(browser.exact_text("#live").await, "AETHER is writing.", "also to screen readers");
    browser.stack.control("release", json!({})).await;
    says(&browser, &[whole], false).await;
    assert_eq!(browser.exact_text("#live").await, format!("AETHER: {whole} Two free exchanges are left."));
    assert!(!browser.sees("#waiting").await);
    browser.assert_accessible("chat-streamed").await;

    // The first reply is rejected after its first sentence was read; the second one takes its place.
    let rejected = "Count the rent first. The CSDM says so. Ask now.";
    let second = json!({ "text": json!({ "reply": "Ask your sister first. Then decide." }).to_string() });
    browser.stack.faults("gemini", json!([held(rejected), second])).await;
    browser.submit("#message", "And if my sister runs it from May on?", "#send").await;
    says(&browser, &[whole, "Count the rent first."], true).await;
    browser.stack.control("release", json!({})).await;
    says(&browser, &[whole, "Ask your sister first. Then decide."], false).await;
    assert_eq!(browser.text("#plan").await, "One free exchange is left.", "a rejected reply is not counted");
    browser.close().await;
}

/// The link is requested without this browser's cookies, as another browser would do.
#[tokio::test]
async fn a_link_of_another_browser_signs_nobody_in() {
    let browser = Browser::open().await;
    let address = format!("talker-{}@example.com", unique());
    browser.visit("/chat").await;
    browser.see("#sign-in-form").await;
    let ask = format!(
        "fetch('/api/chat/login', {{ method: 'POST', credentials: 'omit', body: JSON.stringify({{ email: '{address}' }}) }}); \
         return null"
    );
    browser.run(&ask).await;
    browser.visit(&link(&browser, &address).await).await;
    browser.see("#sign-in-problem").await;
    assert!(!browser.sees("#talk").await);
    browser.look("chat-other-browser").await;
    browser.close().await;
}
