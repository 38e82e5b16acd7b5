//! How the chat's page begins and ends a session. The test answers for the server.

use crate::chat_faults::{MEMBER, open, reads};
use serde_json::json;

/// The session has expired, or was ended in another tab: every call leads to the sign-in, and the conversation leaves the page.
#[tokio::test]
async fn whatever_finds_that_the_session_has_ended_asks_to_sign_in() {
    let browser = open(MEMBER).await;
    for (call, act) in [
        ("GET /api/chat/bridge", "window.look()"),
        ("POST /api/chat/exchanges", "byId('say').requestSubmit()"),
        ("POST /api/chat/subscribe", "byId('subscribe-chat').click()"),
        ("POST /api/chat/portal", "byId('portal').click()"),
        ("POST /api/chat/bridge/messages", "byId('bridge-say').requestSubmit()"),
        (
            "POST /api/chat/bridge/acceptance",
            "byId('agreement-name').value = 'Sam'; byId('agreement-email').value = 'sam@example.com'; \
             byId('agreement-yes').checked = true; byId('agreement').requestSubmit()",
        ),
        ("DELETE /api/chat/memory", "byId('memory-yes').click()"),
    ] {
        browser.visit("/chat").await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        browser.see("#thread .said").await;
        browser.run("for (const id of ['message', 'bridge-message']) byId(id).value = 'Not sent.'; return null").await;
        browser.run(&format!("window.replies['{call}'] = [401, {{ code: 'signed_out' }}]; {act}; return null")).await;
        assert_eq!(browser.text("#sign-in-problem").await, "You are signed out. Please sign in again.", "{call}");
        assert_eq!(browser.exact_text("#thread").await, "", "{call}");
        let texts = browser.run("return ['message', 'bridge-message'].map((id) => byId(id).value)").await;
        assert_eq!(texts, json!(["Not sent.", "Not sent."]), "{call}");
    }
    browser.close().await;
}

#[tokio::test]
async fn a_sign_out_that_fails_is_said_and_one_that_succeeds_leaves_no_text() {
    let browser = open(MEMBER).await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    browser.type_into("#message", "Not sent.").await;
    browser.type_into("#bridge-message", "Not sent either.").await;
    browser.click("#sign-out").await;
    assert_eq!(browser.text("#memory-problem").await, "You may still be signed in. Please try again.");
    browser.run("window.replies['DELETE /api/chat/session'] = [200, {}]; return null").await;
    browser.click("#sign-out").await;
    browser.see("#sign-in-form").await;
    let left = "return ['message', 'bridge-message'].map((id) => byId(id).value).concat(byId('thread').textContent)";
    assert_eq!(browser.run(left).await, json!(["", "", ""]));
    browser.close().await;
}

#[tokio::test]
async fn a_sign_out_everywhere_that_fails_is_said() {
    let browser = open(MEMBER).await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    browser.click("#sign-out-everywhere").await;
    let failed = "You may still be signed in, here or elsewhere. Please try again.";
    assert_eq!(browser.text("#memory-problem").await, failed);
    let reply = "({ body }) => { window.sent = body; return [200, {}]; }";
    browser.run(&format!("window.replies['DELETE /api/chat/session'] = {reply}; return null")).await;
    browser.click("#sign-out-everywhere").await;
    browser.see("#sign-in-form").await;
    assert_eq!(browser.run("return JSON.parse(window.sent)").await, json!({ "everywhere": true }));
    browser.close().await;
}

/// The session of this browser has ended before. A plain "You are signed out" would hide that others may have not.
#[tokio::test]
async fn a_sign_out_everywhere_without_a_session_says_that_it_ended_none() {
    let browser = open(MEMBER).await;
    browser.run("window.replies['DELETE /api/chat/session'] = [401, {}]; return null").await;
    browser.click("#sign-out-everywhere").await;
    browser.see("#sign-in-form").await;
    let said = browser.text("#sign-in-problem").await;
    assert!(said.ends_with("others may still be signed in. Please sign in, then sign out everywhere."), "{said}");
    browser.close().await;
}

/// The reply takes long. A second request would get 401, and the page would doubt what the first one did.
#[tokio::test]
async fn a_sign_out_is_asked_for_once() {
    let browser = open(MEMBER).await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    let held = "window.replies['DELETE /api/chat/session'] = () => new Promise((answer) => { window.answer = answer; }); \
                return null";
    browser.run(held).await;
    browser.click("#sign-out-everywhere").await;
    browser.run("for (const id of ['sign-out-everywhere', 'sign-out']) byId(id).click(); return null").await;
    let requests = "return window.asked.filter((name) => name === 'DELETE /api/chat/session').length";
    assert_eq!(browser.run(requests).await, 1);
    browser.run("window.answer([200, {}]); return null").await;
    browser.see("#sign-in-form").await;
    assert!(!browser.sees("#sign-in-problem").await);
    let states = "return ['sign-out', 'sign-out-everywhere'].map((id) => byId(id).getAttribute('aria-disabled'))";
    assert_eq!(browser.run(states).await, json!(["false", "false"]));
    browser.close().await;
}

/// Somebody else signs in without a reload, and their Bridge cannot be read. Nothing of the customer before is left.
#[tokio::test]
async fn a_sign_in_after_a_sign_out_begins_with_a_page_of_its_own() {
    let used = "window.replies['GET /api/chat/me'] = [200, { plan: 'free', free_left: 0 }];";
    let browser = open(&format!("{MEMBER}{used}")).await;
    browser.see("#offer").await;
    browser.see("#bridge-say").await;
    let erased = "window.replies['DELETE /api/chat/memory'] = [202, { status: 'erased' }]; \
                  window.replies['DELETE /api/chat/session'] = [200, {}]; return null";
    browser.run(erased).await;
    browser.click("#memory-erase").await;
    browser.click("#memory-yes").await;
    browser.becomes("byId('memory-text').textContent.startsWith('Your memory is erased.')", json!(true)).await;
    browser.click("#memory-erase").await;
    browser.click("#sign-out").await;
    browser.see("#sign-in-form").await;
    let other = "window.replies['GET /api/chat/me'] = [200, { plan: 'free', free_left: 3 }]; \
                 window.replies['GET /api/chat/bridge'] = [503, {}]; window.look(); return null";
    browser.run(other).await;
    browser.becomes("byId('bridge-text').textContent.startsWith('The Bridge could not be read.')", json!(true)).await;
    assert_eq!(browser.text("#plan").await, "Three free exchanges are left.");
    assert!(browser.text("#memory-text").await.starts_with("What you say here is remembered"));
    for id in ["#offer", "#memory-sure", "#bridge-say", "#bridge-keep"] {
        assert!(!browser.sees(id).await, "{id}");
    }
    browser.close().await;
}

/// A message is on its way when its customer signs out. It is not sent again, and its text does not come back. Only who
/// helps is still shown.
#[tokio::test]
async fn a_sign_out_drops_the_message_on_its_way() {
    let browser = open("window.replies['DELETE /api/chat/session'] = [200, {}];").await;
    let held = "window.replies['POST /api/chat/exchanges'] = () => \
                new Promise((answer) => { window.answer = answer; }); return null";
    for (reply, is_crisis) in [("[429, {}]", false), ("", false), ("[422, { error: 'Help.', crisis: true }]", true)] {
        browser.visit("/chat").await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        browser.run(held).await;
        browser.submit("#message", "Not yours.", "#send").await;
        browser.becomes("typeof window.answer", json!("function")).await;
        browser.click("#sign-out").await;
        browser.see("#sign-in-form").await;
        assert!(!browser.sees("#waiting").await);
        // Longer than the pause between two tries.
        let later = format!("window.answer({reply}); return new Promise((done) => setTimeout(done, 3000, null))");
        browser.run(&later).await;
        assert_eq!(browser.sees("#care").await, is_crisis, "{reply}");
        let left = "return [byId('message').value, byId('message-error').hidden, byId('sign-in-problem').hidden, \
                    window.asked.filter((name) => name === 'POST /api/chat/exchanges').length]";
        assert_eq!(browser.run(left).await, json!(["", true, true, 1]), "{reply}");
        assert_eq!(browser.run("return byId('send').getAttribute('aria-disabled')").await, "false", "{reply}");
    }
    browser.close().await;
}

/// The sources of help arrive before the reply to a sign-out. They stay.
#[tokio::test]
async fn a_sign_out_that_ends_late_leaves_who_helps() {
    let held = "window.answers = []; \
                const hold = () => new Promise((answer) => { window.answers.push(answer); }); \
                for (const name of ['POST /api/chat/exchanges', 'DELETE /api/chat/session']) window.replies[name] = hold;";
    let browser = open(held).await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    browser.submit("#message", "I cannot go on.", "#send").await;
    browser.click("#sign-out").await;
    browser.becomes("window.answers.length", json!(2)).await;
    browser.run("window.answers[0]([422, { error: 'Help.', crisis: true }]); return null").await;
    browser.see("#care").await;
    browser.run("window.answers[1]([200, {}]); return null").await;
    reads(&browser, "DELETE /api/chat/session", 1).await;
    assert!(browser.sees("#care").await && !browser.sees("#sign-in-form").await);
    browser.close().await;
}

/// The mailed link opens in another tab. The tab in which it was asked for goes on when its customer comes back.
#[tokio::test]
async fn a_tab_goes_on_after_a_sign_in_in_another_one() {
    let browser = open("window.replies['GET /api/chat/me'] = [401, {}];").await;
    browser.see("#sign-in-form").await;
    browser.run("window.look(); return null").await;
    reads(&browser, "GET /api/chat/me", 2).await;
    assert!(browser.sees("#sign-in-form").await);
    browser
        .run("window.replies['GET /api/chat/me'] = [200, { plan: 'chat', free_left: 0 }]; window.look(); return null")
        .await;
    browser.see("#talk").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "talk-title");
    browser.close().await;
}

/// Two messages have no reply, and a third is being written, when the page is left and the session ends. If the same
/// account signs in next, the page sends the first and shows the others in their boxes. If another account signs in, it
/// drops all.
#[tokio::test]
async fn what_waits_to_be_sent_belongs_to_its_writer() {
    let held = "
      const me = (account) => [200, { plan: 'bridge', free_left: 0, account }];
      window.signIn = (account) => { window.replies['GET /api/chat/me'] = me(account); window.look(); };
      window.sent = [];
      window.replies['GET /api/chat/me'] = location.search === '?ended' ? [401, {}] : me('one');
      const hold = ({ body }) => {
        const { id, text } = JSON.parse(body);
        window.sent.push(text);
        if (location.search === '?ended') return [200, { id, replies: [{ voice: 'AETHER', text: 'Good.' }] }];
        return new Promise(() => {});
      };
      window.replies['POST /api/chat/exchanges'] = hold;
      window.replies['POST /api/chat/bridge/messages'] = hold;";
    let browser = open(&format!("{MEMBER}{held}")).await;
    for (account, sent, box_texts) in
        [("one", json!(["Not yours."]), json!(["Nor that.", "Nor this."])), ("two", json!([]), json!(["", ""]))]
    {
        browser.visit("/chat").await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        let write = "byId('message').value = 'Not yours.'; byId('say').requestSubmit(); \
                     byId('bridge-message').value = 'Nor this.'; byId('bridge-say').requestSubmit(); return null";
        browser.run(write).await;
        browser.becomes("window.sent", json!(["Not yours.", "Nor this."])).await;
        browser.type_into("#message", "Nor that.").await;
        browser.visit("/chat?ended").await;
        browser.see("#sign-in-form").await;
        browser.run(&format!("window.signIn('{account}'); return null")).await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        browser.becomes("window.sent", sent).await;
        let texts = browser.run("return ['message', 'bridge-message'].map((id) => byId(id).value)").await;
        assert_eq!(texts, box_texts, "{account}");
    }
    browser.close().await;
}

/// The session ends while texts are in the boxes. The page keeps them for the same account and drops them for another.
#[tokio::test]
async fn a_text_that_was_not_sent_stays_for_its_writer_only() {
    let accounts = "
      window.signIn = (account) => {
        window.replies['GET /api/chat/me'] = [200, { plan: 'bridge', free_left: 0, account }];
        window.look();
      };
      window.replies['GET /api/chat/me'] = [200, { plan: 'bridge', free_left: 0, account: 'one' }];";
    let browser = open(&format!("{MEMBER}{accounts}")).await;
    for (account, left) in [("one", "Not sent."), ("two", "")] {
        browser.visit("/chat").await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        let end = "for (const id of ['message', 'bridge-message']) byId(id).value = 'Not sent.'; \
                   window.granted = window.replies['GET /api/chat/bridge']; \
                   window.replies['GET /api/chat/bridge'] = [401, {}]; window.look(); return null";
        browser.run(end).await;
        browser.see("#sign-in-form").await;
        let next =
            format!("window.replies['GET /api/chat/bridge'] = window.granted; window.signIn('{account}'); return null");
        browser.run(&next).await;
        reads(&browser, "GET /api/chat/bridge/messages", 2).await;
        let texts = browser.run("return ['message', 'bridge-message'].map((id) => byId(id).value)").await;
        assert_eq!(texts, json!([left, left]), "{account}");
    }
    browser.close().await;
}

/// Another account signs in from another tab, and no call of this tab has failed. The page drops the previous account's
/// conversation and texts before it shows the new account's.
#[tokio::test]
async fn a_tab_forgets_its_customer_once_somebody_else_has_signed_in_in_another_one() {
    let accounts = "
      window.become = (account) => {
        const plan = location.search === '' ? 'bridge' : 'free';
        window.replies['GET /api/chat/me'] = [200, { plan, free_left: 0, account }];
      };
      window.become('one');";
    let browser = open(&format!("{MEMBER}{accounts}")).await;
    let left = "[...['message', 'bridge-message'].map((id) => byId(id).value), byId('thread').textContent === '']";
    // The last one waits until its payment is confirmed, and finds it by itself.
    for (page, account, act, text) in [
        ("/chat", "one", "window.look();", "Not sent."),
        ("/chat", "two", "window.look();", ""),
        ("/chat?subscribed=1", "two", "", ""),
    ] {
        browser.visit(page).await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        browser.see("#thread .said").await;
        let next = format!(
            "for (const id of ['message', 'bridge-message']) byId(id).value = 'Not sent.'; \
             window.replies['GET /api/chat/memory'] = [200, {{ events: [], earlier: false }}]; \
             window.become('{account}'); {act} return null"
        );
        browser.run(&next).await;
        reads(&browser, "GET /api/chat/bridge/messages", 2).await;
        browser.becomes(left, json!([text, text, text.is_empty()])).await;
        assert!(!browser.sees("#confirming").await, "{page}");
    }
    browser.close().await;
}
