//! The chat's page: signing in, three exchanges, the offer, the memory.

use crate::browser::{Browser, VERDICT};
use crate::result_page::ACCESSIBILITY;
use crate::stack::{poll, unique};
use serde_json::{Value, json};

async fn is_accessible(browser: &Browser, what: &str) {
    for scheme in ["dark", "light"] {
        browser.colour_scheme(scheme).await;
        assert_eq!(browser.run(ACCESSIBILITY).await, json!([]), "{what}, {scheme}");
        browser.look(&format!("chat-{what}-{scheme}")).await;
    }
}

/// The link that was mailed to an address, without the site.
async fn link(browser: &Browser, address: &str) -> String {
    let found = poll(VERDICT, async || {
        let (_, mails) = browser.stack.get(&format!("{}/control/mails", browser.stack.sandbox)).await;
        let own = |mail: &&Value| mail["to"].to_string().contains(address);
        let body = mails.as_array()?.iter().rev().find(own)?["body"].as_str()?.to_owned();
        let token = body.split("/chat?token=").nth(1)?.split_whitespace().next()?;
        Some(format!("/chat?token={token}"))
    });
    found.await.expect("a mail with a link")
}

async fn sign_in(browser: &Browser) {
    let address = format!("talker-{}@example.com", unique());
    browser.visit("/chat").await;
    browser.see("#sign-in-form").await;
    browser.click("#email-send").await;
    browser.see("#email-error").await;
    is_accessible(browser, "sign-in").await;
    browser.type_into("#email", &address).await;
    browser.click("#email-send").await;
    browser.see("#sent").await;
    assert_eq!(browser.text("#sent-to").await, address);
    is_accessible(browser, "sent").await;
    browser.visit(&link(browser, &address).await).await;
    browser.see("#talk").await;
    assert_eq!(browser.run("return location.search").await, "", "the token is not left in the address");
}

async fn say(browser: &Browser, text: &str, replies: usize) {
    browser.type_into("#message", text).await;
    browser.click("#send").await;
    let script = "return document.querySelectorAll('#thread .said:not(.own)').length";
    let there = poll(VERDICT, async || (browser.run(script).await == json!(replies)).then_some(()));
    assert!(there.await.is_some(), "reply {replies}: {}", browser.text("#talk").await);
    let done = "return document.getElementById('thread').hasAttribute('aria-busy')";
    assert!(poll(VERDICT, async || (browser.run(done).await == false).then_some(())).await.is_some());
}

#[tokio::test]
async fn three_exchanges_an_offer_and_a_memory() {
    let browser = Browser::open().await;
    sign_in(&browser).await;
    assert_eq!(browser.text("#plan").await, "Three free exchanges are left.");
    is_accessible(&browser, "empty").await;
    browser.click("#send").await;
    browser.see("#message-error").await;
    browser.type_into("#message", "Can I give my son two of my warfarin tablets?").await;
    browser.click("#send").await;
    browser.see("#message-lines").await;
    is_accessible(&browser, "refused").await;
    browser.run("document.getElementById('message').value = ''; return null").await;
    let mark = unique();
    say(&browser, &format!("Should we open a second bakery by the harbour? <b>{mark}</b>"), 1).await;
    assert_eq!(browser.text("#plan").await, "Two free exchanges are left.");
    is_accessible(&browser, "one").await;
    say(&browser, "And if my sister runs it from May on?", 2).await;
    say(&browser, "What should we look at first?", 3).await;
    assert_eq!(browser.text("#plan").await, "No free exchanges are left.");
    browser.see("#offer").await;
    is_accessible(&browser, "offer").await;

    browser.visit("/chat").await;
    browser.see("#thread .own").await;
    assert!(browser.text("#thread").await.contains(&format!("<b>{mark}</b>")), "remembered, as text");
    browser.click("#memory-erase").await;
    browser.see("#memory-sure").await;
    is_accessible(&browser, "erase").await;
    browser.click("#memory-yes").await;
    browser.see("#empty").await;
    assert!(!browser.text("#talk").await.contains(&mark));
    browser.click("#sign-out").await;
    browser.see("#sign-in-form").await;
    browser.close().await;
}

/// The link is asked for without this browser's cookies, as another browser does.
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
