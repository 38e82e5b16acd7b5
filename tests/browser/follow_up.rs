//! The follow-up of a Strategy Session on its result page.

use crate::before_payment::{description, shows_only_who_helps, speak};
use crate::browser::{Browser, VERDICT};
use crate::result_page::{strategy, verdict};
use crate::stack::{poll, unique};
use serde_json::{Value, json};

#[tokio::test]
async fn asked_in_its_box_both_verdicts_are_shown_with_their_dates() {
    let browser = Browser::open().await;
    speak(&browser, "en-CA").await;
    let email = format!("strategist-{}@example.com", unique());
    let first = "Demand is real, and nobody is named to run it.";
    browser.stack.next_verdict(verdict("AMBER", first)).await;
    let question = format!("Should we open a second bakery by the harbour? ({})", unique());
    let id = browser.stack.sell_by_payment_link("strategy", &question, &email).await;
    browser.visit_result(&id).await;
    browser.see_within("#follow-up-form", VERDICT).await;
    browser.stack.mail_to(&email).await;
    assert!(!browser.sees("#first-title").await && !browser.sees("#follow-up-verdict").await);
    browser.assert_accessible("follow-up-box").await;

    // The page shows the error beside the box, and a failed attempt does not use up the follow-up.
    browser.click("#follow-up-send").await;
    assert_eq!(browser.text("#follow-up-error").await, "Please write your follow-up first.");
    browser.submit("#follow-up-query", "Can I give my son two of my warfarin tablets?", "#follow-up-send").await;
    browser.see("#follow-up-lines").await;
    assert!(browser.text("#follow-up-error").await.contains("could do harm"));
    let lines = browser.exact_text("#follow-up-lines").await;
    assert!(lines.ends_with("Your follow-up is still yours to use."), "{lines}");
    assert!(description(&browser, "#follow-up-query").await.contains(&lines), "what to do instead is read aloud");
    browser.assert_accessible("follow-up-refusal").await;

    // A disclosure leaves nothing on the page but who helps, and does not use up the follow-up either.
    browser.run("document.getElementById('follow-up-query').value = ''").await;
    browser.submit("#follow-up-query", "I want to kill myself", "#follow-up-send").await;
    browser.see("#care").await;
    shows_only_who_helps(&browser).await;
    assert!(!browser.sees("#result").await);
    assert_eq!(browser.run("return document.activeElement.id").await, "care");
    assert_eq!(browser.run(&kept_of(&id)).await, Value::Null);
    browser.assert_accessible("follow-up-who-helps").await;
    browser.click("#care-back").await;
    browser.see("#follow-up-form").await;
    assert_eq!(browser.run("return document.getElementById('follow-up-query').value").await, "");

    let asked = format!("And if my sister runs it from May on? <b>{}</b>", unique());
    browser.run("document.getElementById('follow-up-query').value = ''").await;
    browser.type_into("#follow-up-query", &asked).await;
    // Each lasts until the call is given up: time enough to look at the page.
    browser.stack.faults("gemini", json!([{ "delay_ms": 8000 }, { "delay_ms": 8000 }])).await;
    browser.click("#follow-up-send").await;
    assert!(browser.text("#follow-up-state").await.starts_with("Your follow-up is being worked on."));
    assert!(!browser.sees("#follow-up-form").await && browser.sees("#summary").await);
    browser.look("follow-up-pending").await;
    browser.see_within("#follow-up-verdict article", VERDICT).await;

    let (_, reply) = browser.stack.verdict(&id).await;
    let followup = &reply["followup"];
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let own = |part: &str| format!("#follow-up-verdict [data-part={part}]");
    assert_eq!(browser.exact_text(&own("query")).await, asked);
    assert_eq!(browser.exact_text(&own("summary")).await, text(&followup["verdict"]["summary"]));
    assert_eq!(
        (browser.exact_text("#query").await, browser.exact_text("#summary").await),
        (question, first.to_owned())
    );
    assert_eq!(browser.text("#follow-up-verdict h2:has(+ [data-part=query])").await, "Your follow-up");
    assert_eq!(browser.text(&own("tier")).await, "Strategy Session, follow-up");
    assert_eq!(browser.text("#first-title").await, "Your first verdict");
    assert!(!browser.sees("#follow-up").await, "there is one");
    // Each verdict has its own date, in a readable and in a machine-readable form.
    for (selector, cached_at) in [("#date", &reply["cached_at"]), (own("date").as_str(), &followup["cached_at"])] {
        let date = browser.run(&format!("return document.querySelector('{selector}').dateTime")).await;
        assert_eq!(&date, cached_at, "{selector}");
        assert!(browser.text(selector).await.contains("20"), "{selector}");
    }
    assert!(browser.exact_text("#live").await.starts_with("The verdict on your follow-up is ready: "));
    browser.assert_accessible("follow-up-both-verdicts").await;

    let second = poll(VERDICT, async || {
        let (_, mails) = browser.stack.get(&format!("{}/control/mails", browser.stack.sandbox)).await;
        let body = |mail: &Value| mail["body"].as_str().unwrap_or_default().to_owned();
        let own = |mail: &&Value| mail["to"].to_string().contains(&email);
        mails.as_array()?.iter().filter(own).map(body).find(|body| body.contains("FOLLOW-UP"))
    });
    assert!(second.await.is_some(), "the mail with both");
    browser.close().await;
}

/// The text of a session's follow-up that a reload brings back.
fn kept_of(session_id: &str) -> String {
    format!("return sessionStorage.getItem('oracle.followup.{session_id}')")
}

/// Makes the page's clock run ahead by `late` milliseconds, and notes how long the page waits before each look.
const LATE: &str = "
  window.late = 0;
  window.waits = [];
  const now = Date.now;
  const later = window.setTimeout;
  Date.now = () => now() + window.late;
  window.setTimeout = (act, time) => { window.waits.push(time); return later(act, time); };";

/// A long verdict is read for twenty minutes before the follow-up is asked, and the page is reloaded meanwhile. Its
/// verdict is looked for every three seconds, not once a minute.
#[tokio::test]
async fn a_follow_up_that_is_sent_late_is_not_waited_for_longer() {
    let reply = strategy();
    let server = format!(
        "window.followUp = 'available'; \
         window.fetch = async (path) => {{ \
           if (path !== '/api/followup') return Response.json({{ ...{reply}, followup_status: window.followUp }}); \
           window.followUp = 'pending'; \
           return Response.json({{ status: 'pending' }}, {{ status: 202 }}); \
         }};"
    );
    let browser = Browser::at_result("cs_test_late", &format!("{LATE}{server}")).await;
    browser.see("#follow-up-form").await;
    browser.print_media(true).await;
    assert!(!browser.sees("#follow-up").await, "a follow-up that was not asked is not printed");
    assert!(browser.sees("#summary").await);
    browser.print_media(false).await;
    browser.type_into("#follow-up-query", "And in May?").await;
    browser.visit_result("cs_test_late").await;
    browser.see("#follow-up-form").await;
    assert_eq!(browser.run("return byId('follow-up-query').value").await, "And in May?");
    browser.run("window.late = 20 * 60 * 1000; return null").await;
    browser.click("#follow-up-send").await;
    browser.see("#follow-up-state").await;
    assert_eq!(browser.run("return window.waits[0]").await, 3000);
    assert_eq!(browser.run("return document.activeElement.id").await, "follow-up-state", "the form is hidden");
    assert!(!browser.sees("#follow-up-unsent").await);
    assert_eq!(browser.run(&kept_of("cs_test_late")).await, Value::Null);
    browser.close().await;
}

/// The box has no counter: its error says the limit.
#[tokio::test]
async fn a_follow_up_that_is_too_long_is_told_the_limit() {
    let mut reply = strategy();
    reply["followup_status"] = json!("available");
    let server = format!("window.fetch = async () => Response.json({reply})");
    let browser = Browser::at_result("cs_test_long", &server).await;
    browser.see("#follow-up-form").await;
    browser.run("byId('follow-up-query').value = 'a'.repeat(20001); return null").await;
    browser.click("#follow-up-send").await;
    assert_eq!(browser.text("#follow-up-error").await, "Please shorten your follow-up to 20,000 characters.");
    browser.close().await;
}

/// Another follow-up was sent by mail, and its verdict is there when this one is sent from the page. The whole form is
/// hidden, the focus goes to the title, and the text that was not sent can be copied.
#[tokio::test]
async fn a_form_that_leaves_with_the_focus_passes_it_on() {
    let first = strategy();
    let server = format!(
        "window.reply = {{ ...{first}, followup_status: 'available' }}; \
         window.fetch = async (path) => {{ \
           if (path !== '/api/followup') return Response.json(window.reply); \
           window.reply = {{ ...{first}, followup_status: 'delivered', followup: {first} }}; \
           return Response.json({{ error: 'It is used.', code: 'followup_used' }}, {{ status: 409 }}); \
         }};"
    );
    let browser = Browser::at_result("cs_test_twice", &server).await;
    browser.submit("#follow-up-query", "And in May?", "#follow-up-send").await;
    browser.see("#follow-up-verdict article").await;
    let focused = "const { tagName, textContent } = document.activeElement; return [tagName, textContent]";
    assert_eq!(browser.run(focused).await, json!(["H1", "Your verdict"]));
    assert_eq!(browser.text("#follow-up-unsent-text").await, "And in May?");
    browser.assert_accessible("follow-up-unsent").await;
    browser.close().await;
}

/// A person reads every reply to the mails once a note about a regenerated verdict was ordered: its page names only its
/// box.
#[tokio::test]
async fn a_regenerated_verdict_offers_no_follow_up_by_mail() {
    let reply = strategy();
    let server = format!(
        "window.fetch = async (path) => \
           Response.json({{ ...{reply}, followup_status: 'available', regen: path.includes('again') || undefined }});"
    );
    let browser = Browser::at_result("cs_test_once", &server).await;
    for (session_id, is_by_mail) in [("cs_test_once", true), ("cs_test_again", false)] {
        browser.visit_result(session_id).await;
        let offer = browser.text("#follow-up-form p").await;
        assert!(offer.contains("Ask it here") && offer.contains("cannot be changed"), "{offer}");
        assert_eq!(offer.contains("reply to your verdict email"), is_by_mail, "{offer}");
    }
    browser.close().await;
}

/// The verdict is being made again when its follow-up is sent: the text stays in its form, with what the site says. Then
/// the money went back: the form is hidden, and the text can be copied.
#[tokio::test]
async fn a_follow_up_that_is_not_offered_now_stays_in_its_form() {
    let first = strategy();
    let server = format!(
        "window.reply = () => Response.json({{ ...{first}, followup_status: 'available' }}); \
         window.next = () => Response.json({{ status: 'pending' }}, {{ status: 202 }}); \
         window.fetch = async (path) => {{ \
           if (path !== '/api/followup') return window.reply(); \
           window.reply = window.next; \
           return Response.json({{ error: 'Not offered.', code: 'followup_not_offered' }}, {{ status: 409 }}); \
         }};"
    );
    let browser = Browser::at_result("cs_test_not_offered", &server).await;
    browser.submit("#follow-up-query", "And in May?", "#follow-up-send").await;
    assert_eq!(browser.text("#follow-up-error").await, "Not offered.");
    assert!(!browser.sees("#follow-up-unsent").await && browser.sees("#follow-up-form").await);
    assert_eq!(browser.run("return byId('follow-up-query').value").await, "And in May?");
    browser.run(&format!("window.next = () => Response.json({first}); return null")).await;
    browser.click("#follow-up-send").await;
    assert_eq!(browser.text("#follow-up-unsent-text").await, "And in May?");
    assert!(!browser.sees("#follow-up-form").await);
    browser.close().await;
}

/// While the follow-up is pending the page asks for it without rewriting the first verdict: a reader keeps the selection, and
/// a screen reader its place.
#[tokio::test]
async fn a_pending_follow_up_leaves_the_first_verdict_alone() {
    let mut reply = strategy();
    reply["followup_status"] = json!("pending");
    let server = format!(
        "window.asked = 0; window.fetch = async (path) => {{ window.asked += 1; window.path = path; \
           return Response.json({reply}); }};"
    );
    let browser = Browser::at_result("cs_test_reading", &server).await;
    browser.see("#follow-up-state").await;
    browser.run("window.read = document.querySelector('#dimensions .dimension').firstChild; return null").await;
    // The page asks for the third time after it has shown the second reply.
    browser.becomes("window.asked >= 3", json!(true)).await;
    assert_eq!(browser.run("return window.read.isConnected").await, true, "the dimensions are rewritten");
    assert_eq!(browser.run("return window.path.endsWith('&only=followup')").await, true, "a poll is no retrieval");
    browser.close().await;
}

/// The follow-up is taken, and the look after it fails. The page says nevertheless what becomes of it.
#[tokio::test]
async fn a_follow_up_that_is_taken_is_shown_as_sent_although_the_look_after_it_fails() {
    let reply = strategy();
    let server = format!(
        "const replies = [ \
           Response.json({{ ...{reply}, followup_status: 'available' }}), \
           Response.json({{ status: 'pending' }}, {{ status: 202 }}), \
         ]; \
         window.fetch = async () => replies.shift() ?? Response.json({{ message: 'Error' }}, {{ status: 500 }});"
    );
    let browser = Browser::at_result("cs_test_taken", &server).await;
    browser.submit("#follow-up-query", "And in May?", "#follow-up-send").await;
    assert!(browser.text("#follow-up-state").await.starts_with("Your follow-up is being worked on."));
    assert!(!browser.sees("#follow-up-form").await && browser.sees("#summary").await);
    browser.close().await;
}

/// The page asks for the verdict again when a disclosure is sent, because the look before it failed. Who helps stays until
/// its reader leaves it, whether the look is under way or due; then the page asks again.
#[tokio::test]
async fn a_look_leaves_who_helps() {
    let reply = strategy();
    let server = format!(
        "const verdict = (followup_status) => Response.json({{ ...{reply}, followup_status }}); \
         const looks = [verdict('available'), Response.json({{ message: 'Error' }}, {{ status: 500 }})]; \
         const posts = [ \
           Response.json({{ error: 'It is used.', code: 'followup_used' }}, {{ status: 409 }}), \
           Response.json({{ error: 'Help.', crisis: true }}, {{ status: 422 }}), \
         ]; \
         window.asked = 0; \
         window.fetch = async (path) => {{ \
           if (path === '/api/followup') return posts.shift(); \
           window.asked += 1; \
           if (window.asked !== 3 || !location.search.endsWith('held')) return looks.shift() ?? verdict('pending'); \
           return new Promise((answer) => {{ window.answer = () => answer(verdict('pending')); }}); \
         }};"
    );
    let browser = Browser::open().await;
    browser.before_every_page(&server).await;
    for (session_id, is_held) in [("cs_test_due", false), ("cs_test_held", true)] {
        browser.visit_result(session_id).await;
        browser.submit("#follow-up-query", "I cannot go on.", "#follow-up-send").await;
        browser.see("#follow-up-error").await;
        if is_held {
            browser.becomes("typeof window.answer", json!("function")).await;
        }
        browser.click("#follow-up-send").await;
        browser.see("#care").await;
        // Longer than the wait until a look that is due.
        let later = "window.answer?.(); return new Promise((done) => setTimeout(done, 6000, null))";
        browser.run(later).await;
        assert!(browser.sees("#care").await && !browser.sees("#result").await, "{session_id}");
        assert_eq!(browser.run("return window.asked").await, if is_held { 3 } else { 2 }, "{session_id}");
        browser.click("#care-back").await;
        assert!(browser.text("#follow-up-state").await.starts_with("Your follow-up is being worked on."));
    }
    browser.close().await;
}
