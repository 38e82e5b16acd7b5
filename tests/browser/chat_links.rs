//! How the chat's page loads, and what becomes of a sign-in link. The test answers for the server.

use crate::chat_faults::open;
use serde_json::json;

/// On a slow network the page says that it loads, also after "Try again", and not while it shows something else.
#[tokio::test]
async fn a_page_that_loads_says_so() {
    let held = "window.replies['GET /api/chat/me'] = () => new Promise((answer) => { window.answer = answer; });";
    let browser = open(held).await;
    assert_eq!(browser.text("#loading").await, "One moment");
    browser.assert_accessible("chat-loading").await;
    browser.run("window.answer([503, {}]); return null").await;
    browser.see("#broken").await;
    assert!(!browser.sees("#loading").await);
    browser.click("#broken-again").await;
    browser.see("#loading").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "loading-title", "the button that hid itself");
    browser.run("window.answer([401, {}]); return null").await;
    browser.see("#sign-in-form").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "sign-in-title", "the title that hid itself");
    // The customer has signed in in another tab: the form stays until the conversation can take its place.
    let signed_in = "window.answer([200, { plan: 'chat', free_left: 0 }]); return null";
    browser.run("window.look(); return null").await;
    browser.run(signed_in).await;
    browser.becomes("window.asked.filter((name) => name === 'GET /api/chat/me').length", json!(4)).await;
    assert!(browser.sees("#sign-in-form").await && !browser.sees("#loading").await);
    browser.run(signed_in).await;
    browser.see("#talk").await;
    assert!(!browser.sees("#loading").await);
    browser.close().await;
}

/// A browser that blocks cookies drops the one of the link that it asks for, and no link works.
#[tokio::test]
async fn a_browser_that_blocks_cookies_is_told_so() {
    let blocked = "Object.defineProperty(navigator, 'cookieEnabled', { get: () => location.hash !== '#blocked' }); \
                   window.replies['GET /api/chat/me'] = [401, {}]; \
                   window.replies['POST /api/chat/session'] = [401, { code: 'link_unusable' }];";
    let browser = open(blocked).await;
    let problem = "Your browser blocks cookies, and signing in needs one. Please allow them for this site, then ask for \
                   a link here.";
    for path in ["/chat#blocked", "/chat?token=abc#blocked"] {
        browser.visit("/").await;
        browser.visit(path).await;
        assert_eq!(browser.text("#sign-in-problem").await, problem, "{path}");
    }
    browser.visit("/chat?token=abc").await;
    assert!(browser.text("#sign-in-problem").await.starts_with("This link does not work any more"));
    browser.close().await;
}

/// The reply to a sign-in is lost, or is not ours. The link is not lost: trying again uses it.
#[tokio::test]
async fn a_link_whose_reply_is_lost_is_used_again() {
    let replies = "window.replies['POST /api/chat/session'] = \
         { '#down': [503, {}], '#limited': [429, {}], '#refused': [403, { message: 'Forbidden' }] }[location.hash];";
    let browser = open(replies).await;
    for trouble in ["", "#down", "#limited", "#refused"] {
        browser.visit(&format!("/chat?token=abc{trouble}")).await;
        browser.see("#broken").await;
        assert_eq!(browser.run("return window.asked").await, json!(["POST /api/chat/session"]), "{trouble}");
        assert_eq!(browser.run("return location.search").await, "", "the token is not left in the address");
        let works = "window.replies['POST /api/chat/session'] = ({ body }) => { window.sent = body; return [200, {}]; }; \
                     return null";
        browser.run(works).await;
        browser.click("#broken-again").await;
        browser.see("#talk").await;
        assert_eq!(browser.run("return JSON.parse(window.sent).token").await, "abc", "{trouble}");
    }
    browser.close().await;
}
