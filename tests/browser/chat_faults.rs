//! The chat's page when replies fail, come late, or differ from those before. The test answers for the server.
//!
//! The file has more than 300 lines because each fault of a reply or of the network is a short story in the page.

use crate::browser::Browser;
use serde_json::{Value, json};

/// Answers what a test puts into `replies`, by method and path, as status and body; without a body, it is lost on the way.
/// An entry may be a function of the request. Without an entry the connection is lost. `asked` has all requests; `read`
/// those whose reply the page has read and acted on.
const SERVER: &str = r#"
  window.agreement = { version: 2, sha256: "aa", text: "The second text." };
  window.replies = {
    "GET /api/chat/me": [200, { plan: "bridge", free_left: 3 }],
    "GET /api/chat/memory": [200, { events: [], earlier: false }],
    "GET /api/chat/bridge": [200, { state: "offered", agreement: window.agreement }],
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
    const [status, body] = reply;
    const response = body === undefined ? new Response(null, { status }) : Response.json(body, { status });
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
pub(crate) async fn open(prepare: &str) -> Browser {
    let browser = Browser::open().await;
    browser.before_every_page(&format!("{SERVER}\n{prepare}")).await;
    browser.visit("/chat").await;
    browser
}

/// Waits until the page has acted on so many replies.
pub(crate) async fn reads(browser: &Browser, name: &str, count: u32) {
    browser.becomes(&format!("window.read.filter((name) => name === '{name}').length"), json!(count)).await;
}

/// One exchange in the memory, and access to the Bridge.
pub(crate) const MEMBER: &str = "
  const said = { asked: 'Should we?', replies: [{ voice: 'AETHER', text: 'Count first.' }] };
  window.replies['GET /api/chat/memory'] =
    [200, { events: [{ key: 'k', payload: { kind: 'EXCHANGE', payload: said } }], earlier: false }];
  window.replies['GET /api/chat/bridge'] = [200, { state: 'granted', expires: '2027-01-01T00:00:00Z', agreement: window.agreement }];";

/// The text of a field.
async fn value_of(browser: &Browser, id: &str) -> Value {
    browser.run(&format!("return byId('{id}').value")).await
}

/// A message is refused after its customer has begun the next one: both are in the box.
#[tokio::test]
async fn a_message_that_is_refused_joins_what_was_written_meanwhile() {
    let browser = open("").await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    let held = "window.replies['POST /api/chat/exchanges'] = ({ body }) => { window.sent = JSON.parse(body).text; \
                return new Promise((answer) => { window.answer = answer; }); }; return null";
    browser.run(held).await;
    browser.run("byId('message').value = 'Should\\u000bwe?'; return null").await;
    browser.click("#send").await;
    browser.becomes("window.sent", json!("Should\nwe?")).await;
    browser.type_into("#message", "And when?").await;
    browser.run("window.answer([400, { code: 'text_invalid' }]); return null").await;
    let refused = "This message has characters that we cannot read. Please type it anew.";
    assert_eq!(browser.text("#message-error").await, refused);
    assert_eq!(value_of(&browser, "message").await, "Should\nwe?\n\nAnd when?");
    assert_eq!(browser.exact_text("#thread").await, "");
    browser.close().await;
}

#[tokio::test]
async fn a_memory_that_cannot_be_read_is_not_shown_as_an_empty_one() {
    let browser = open("window.replies['GET /api/chat/memory'] = [503, {}];").await;
    assert!(browser.text("#unread").await.contains("They are kept."));
    assert_eq!(browser.exact_text("#live").await, browser.exact_text("#unread").await, "also to screen readers");
    assert!(!browser.sees("#empty").await);
    browser.assert_accessible("chat-unread").await;
    browser.close().await;
}

/// An erasure forgets what waits to be sent, happens once however often its button is pressed, and takes nothing that is
/// written after it.
#[tokio::test]
async fn an_erasure_forgets_what_waits_and_leaves_what_comes_after() {
    let browser = open(MEMBER).await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    let waiting = "for (const name of ['pending', 'bridge']) \
                   sessionStorage.setItem(`oracle.chat.${name}`, JSON.stringify({ id: 'i', text: 'Not sent.' })); \
                   window.replies['DELETE /api/chat/memory'] = () => new Promise((answer) => { window.erased = answer; }); \
                   window.replies['GET /api/chat/bridge'] = () => new Promise((answer) => { window.looked = answer; }); \
                   window.replies['POST /api/chat/exchanges'] = \
                     [200, { replies: [{ voice: 'AETHER', text: 'Count anew.' }] }]; \
                   return null";
    browser.run(waiting).await;
    browser.click("#memory-erase").await;
    browser.click("#memory-yes").await;
    browser.run("byId('memory-yes').click(); return null").await;
    let deletions = "return window.asked.filter((name) => name === 'DELETE /api/chat/memory').length";
    assert_eq!(browser.run(deletions).await, 1);
    browser.run("window.erased([202, { status: 'erased' }]); return null").await;
    browser.becomes("[byId('thread').textContent, byId('memory-sure').hidden]", json!(["", true])).await;
    let kept = "return ['pending', 'bridge'].map((name) => sessionStorage.getItem(`oracle.chat.${name}`))";
    assert_eq!(browser.run(kept).await, json!([null, null]));

    // The next message is written before the page has read the Bridge again.
    browser.submit("#message", "And now?", "#send").await;
    let said = "[...document.querySelectorAll('#thread .prose')].map((words) => words.textContent)";
    browser.becomes(said, json!(["And now?", "Count anew."])).await;
    browser.becomes("typeof window.looked", json!("function")).await;
    browser.run("window.looked([200, { state: 'offered', agreement: window.agreement }]); return null").await;
    reads(&browser, "GET /api/chat/bridge/messages", 2).await;
    browser.becomes(said, json!(["And now?", "Count anew."])).await;
    assert!(!browser.sees("#memory-problem").await);
    browser.close().await;
}

/// Trying again at once does not help whom a limit refuses.
#[tokio::test]
async fn an_erasure_that_a_limit_refused_is_shown_as_such() {
    let browser = open(MEMBER).await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    for (status, problem) in
        [(429, "That is a lot at once. Please try again later."), (503, "It could not be erased. Please try again.")]
    {
        browser.run(&format!("window.replies['DELETE /api/chat/memory'] = [{status}, {{}}]; return null")).await;
        browser.click("#memory-erase").await;
        assert!(!browser.sees("#memory-subscription").await, "there is none");
        browser.click("#memory-yes").await;
        browser.becomes("byId('memory-problem').textContent", json!(problem)).await;
        assert!(browser.sees("#thread .said").await, "{status}");
    }
    browser.close().await;
}

/// The first try arrives and its reply is lost; a limit or the firewall refuses the next one. The customer sends the same
/// words again: they are still one message.
#[tokio::test]
async fn a_message_keeps_its_id_after_it_was_refused() {
    let browser = open("").await;
    for (status, problem) in [
        (429, "That is a lot at once. Please try again later."),
        (403, "This message could not be answered yet. Please send it again: it counts once."),
    ] {
        browser.visit("/chat").await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        let tries = format!(
            "window.ids = []; \
             window.replies['POST /api/chat/exchanges'] = ({{ body }}) => {{ \
               window.ids.push(JSON.parse(body).id); \
               if (window.ids.length === 1) return undefined; \
               if (window.ids.length === 2) return [{status}, {{}}]; \
               return [200, {{ replies: [{{ voice: 'AETHER', text: 'Count first.' }}] }}]; \
             }}; \
             return null"
        );
        browser.run(&tries).await;
        browser.submit("#message", "Should we?", "#send").await;
        assert_eq!(browser.text("#message-error").await, problem);
        assert_eq!(value_of(&browser, "message").await, "Should we?");
        browser.click("#send").await;
        browser.becomes("byId('thread').textContent.includes('Count first.')", json!(true)).await;
        assert_eq!(browser.run("return [window.ids.length, new Set(window.ids).size]").await, json!([3, 1]));
    }
    browser.close().await;
}

/// The first try arrives and its reply is lost; a limit refuses the next one, and the customer deletes the text. The next
/// page does not send it.
#[tokio::test]
async fn a_message_that_its_customer_deletes_is_given_up() {
    let tries =
        "const tries = [undefined, [429, {}]]; window.replies['POST /api/chat/exchanges'] = () => tries.shift();";
    let browser = open(tries).await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    browser.submit("#message", "Should we?", "#send").await;
    browser.see("#message-error").await;
    let deleted = "byId('message').value = ''; byId('message').dispatchEvent(new Event('input')); return null";
    browser.run(deleted).await;
    browser.visit("/chat").await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    assert_eq!(browser.run("return window.asked.includes('POST /api/chat/exchanges')").await, false);
    browser.close().await;
}

/// The first try arrives and its reply is lost; the next reply says what became of the message. No later page sends it.
#[tokio::test]
async fn a_message_that_is_settled_is_not_kept() {
    let browser = open("").await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    for status in [400, 402, 409, 410] {
        let tries = format!(
            "const tries = [undefined, [{status}, {{}}]]; \
             window.replies['POST /api/chat/exchanges'] = () => tries.shift(); \
             byId('message').value = 'Should we?'; return null"
        );
        browser.run(&tries).await;
        browser.click("#send").await;
        browser.becomes("byId('send').getAttribute('aria-disabled')", json!("false")).await;
        assert_eq!(value_of(&browser, "message").await, "Should we?", "{status}");
        assert_eq!(browser.run("return sessionStorage.getItem('oracle.chat.pending')").await, Value::Null, "{status}");
    }
    browser.close().await;
}

/// The first try arrives and its reply is lost; then the session has ended. Whoever wrote the message signs in again, in
/// another tab: the page sends it under its id, and it is not in the box, too. What was written after it is.
#[tokio::test]
async fn a_message_keeps_its_id_after_its_session_has_ended() {
    let tries = "window.ids = []; \
                 window.replies['POST /api/chat/exchanges'] = ({ body }) => { \
                   window.ids.push(JSON.parse(body).id); \
                   if (window.ids.length === 1) return undefined; \
                   if (window.ids.length === 2) return new Promise((answer) => { window.end = () => answer([401, {}]); }); \
                   return [200, { replies: [{ voice: 'AETHER', text: 'Count first.' }] }]; \
                 };";
    let browser = open(tries).await;
    for written in ["", "And when?"] {
        browser.visit("/chat").await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        browser.submit("#message", "Should we?", "#send").await;
        browser.becomes("window.ids.length", json!(2)).await;
        if !written.is_empty() {
            browser.type_into("#message", written).await;
        }
        browser.run("window.end(); return null").await;
        browser.see("#sign-in-form").await;
        browser.run("window.look(); return null").await;
        browser.becomes("byId('thread').textContent.includes('Count first.')", json!(true)).await;
        assert_eq!(browser.run("return [window.ids.length, new Set(window.ids).size]").await, json!([3, 1]));
        assert_eq!(value_of(&browser, "message").await, written);
    }
    browser.close().await;
}

/// A message without a reply is sent again by the next page. Its text is not in the box, too, and a text that only
/// begins with the same letters keeps them.
#[tokio::test]
async fn a_text_in_the_box_loses_only_the_message_that_is_sent_again() {
    let browser = open("window.replies['POST /api/chat/exchanges'] = () => new Promise(() => {});").await;
    for (draft, left) in [("Not sure yet.", "Not sure yet."), ("No", ""), ("No\n\nNot yet.", "Not yet.")] {
        let kept = format!(
            "sessionStorage.setItem('oracle.chat.pending', JSON.stringify({{ id: 'i', text: 'No' }})); \
             sessionStorage.setItem('oracle.chat.draft', JSON.stringify({})); return null",
            json!({ "text": draft })
        );
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        browser.run(&kept).await;
        browser.visit("/chat").await;
        reads(&browser, "GET /api/chat/bridge/messages", 1).await;
        assert_eq!(value_of(&browser, "message").await, left, "{draft}");
        assert_eq!(browser.exact_text("#thread .own .prose").await, "No", "{draft}");
    }
    browser.close().await;
}

/// The sources of help are lost on the way: the page asks again until it has them.
#[tokio::test]
async fn a_declined_message_whose_reply_is_lost_is_sent_again() {
    let browser = open("").await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    let lost = "const care = { error: 'Please talk to somebody.', crisis: true }; \
                const replies = [[422], [422, care]]; \
                window.replies['POST /api/chat/exchanges'] = () => replies.shift(); return null";
    browser.run(lost).await;
    browser.submit("#message", "I cannot go on.", "#send").await;
    assert_eq!(browser.text("#care-text").await, "Please talk to somebody.");
    let left = "return [byId('message').value, byId('send').getAttribute('aria-disabled')]";
    assert_eq!(browser.run(left).await, json!(["", "false"]));
    browser.close().await;
}

/// A limit refuses the first try. The next page does not send a message that its customer may have given up.
#[tokio::test]
async fn a_message_that_a_limit_refused_at_once_is_not_sent_by_itself() {
    let browser = open("window.replies['POST /api/chat/exchanges'] = [429, {}];").await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    browser.submit("#message", "Should we?", "#send").await;
    assert_eq!(browser.text("#message-error").await, "That is a lot at once. Please try again later.");
    assert_eq!(value_of(&browser, "message").await, "Should we?");
    assert_eq!(browser.run("return sessionStorage.getItem('oracle.chat.pending')").await, Value::Null);
    // What others of the network have used up has a sentence of its own.
    let full = "window.replies['POST /api/chat/exchanges'] = [429, { code: 'network_full', error: 'Many people.' }]; \
                return null";
    browser.run(full).await;
    browser.click("#send").await;
    browser.becomes("byId('message-error').textContent", json!("Many people.")).await;
    browser.visit("/chat").await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    assert_eq!(value_of(&browser, "message").await, "Should we?");
    assert_eq!(browser.run("return window.asked.includes('POST /api/chat/exchanges')").await, false);
    browser.close().await;
}

/// A subscriber whose card failed is not told that free exchanges are used, and can still reach the portal.
#[tokio::test]
async fn a_lapsed_subscription_is_shown_and_can_be_managed() {
    let browser =
        open("window.replies['GET /api/chat/me'] = [200, { plan: 'free', free_left: 0, lapsed: true }];").await;
    browser.see("#offer").await;
    assert_eq!(browser.text("#offer-title").await, "Your subscription is not active");
    let plan = "Your subscription has ended, or its last payment failed. No free exchanges are left.";
    assert_eq!(browser.text("#plan").await, plan);
    assert!(browser.sees("#portal").await);
    browser.assert_accessible("chat-lapsed").await;
    browser
        .before_every_page(
            "window.replies['GET /api/chat/me'] = [200, { plan: 'bridge', free_left: 0, lapsed: true }];",
        )
        .await;
    browser.visit("/chat").await;
    browser.see("#portal").await;
    assert_eq!(browser.text("#plan").await, "You have access to the Bridge.");
    browser.close().await;
}

/// The page says until when the subscription is paid, and that an erasure leaves it.
#[tokio::test]
async fn a_subscription_is_shown_with_its_end() {
    let paid = "[200, { plan: 'chat', free_left: 0, paid_until: '2026-12-01T12:00:00.000Z' }]";
    let browser = open(&format!("window.replies['GET /api/chat/me'] = {paid};")).await;
    browser.see("#portal").await;
    let plan = "You are subscribed. Your subscription is paid until December 1, 2026.";
    assert_eq!(browser.text("#plan").await, plan);
    browser.click("#memory-erase").await;
    assert!(browser.text("#memory-subscription").await.contains("manage it with the button above"));
    browser.assert_accessible("chat-erase-subscribed").await;
    browser.close().await;
}

#[tokio::test]
async fn a_subscription_that_lapses_while_the_page_is_open_is_shown() {
    let browser = open("window.replies['GET /api/chat/me'] = [200, { plan: 'chat', free_left: 0 }];").await;
    reads(&browser, "GET /api/chat/bridge/messages", 1).await;
    let lapsed = "window.replies['GET /api/chat/me'] = [200, { plan: 'free', free_left: 0, lapsed: true }]; \
                  window.replies['POST /api/chat/exchanges'] = [402, { code: 'subscribe' }]; return null";
    browser.run(lapsed).await;
    browser.submit("#message", "Should we?", "#send").await;
    assert_eq!(browser.text("#offer-title").await, "Your subscription is not active");
    assert!(browser.sees("#portal").await);
    browser.close().await;
}

/// Stripe is slow: a click on the other plan does not take the place of the first, and a limit is told as one.
#[tokio::test]
async fn one_plan_is_asked_for_at_a_time() {
    let browser = open("window.replies['GET /api/chat/me'] = [200, { plan: 'free', free_left: 0 }];").await;
    browser.see("#offer").await;
    let held = "window.plans = []; \
                window.replies['POST /api/chat/subscribe'] = ({ body }) => { window.plans.push(JSON.parse(body).plan); \
                return new Promise((answer) => { window.answer = answer; }); }; return null";
    browser.run(held).await;
    browser.click("#subscribe-pro").await;
    browser.click("#subscribe-chat").await;
    assert_eq!(browser.run("return window.plans").await, json!(["pro"]));
    browser.run("window.answer([429, {}]); return null").await;
    assert_eq!(browser.text("#offer-problem").await, "That is a lot at once. Please try again later.");
    assert_eq!(browser.run("return byId('subscribe-chat').getAttribute('aria-disabled')").await, "false");
    browser.close().await;
}

/// The customer was deleted at Stripe, and every subscription with it.
#[tokio::test]
async fn a_subscription_that_is_gone_is_not_offered_to_be_managed() {
    let browser = open(
        "window.replies['GET /api/chat/me'] = [200, { plan: 'free', free_left: 0, lapsed: true }]; \
         window.replies['POST /api/chat/portal'] = [404, { code: 'not_subscribed' }];",
    )
    .await;
    browser.click("#portal").await;
    let gone = "There is no subscription any more, and nothing will be charged.";
    assert_eq!(browser.text("#portal-problem").await, gone);
    assert!(!browser.sees("#portal").await);
    assert_eq!(browser.run("return document.activeElement.id").await, "talk-title");
    browser.close().await;
}
