//! Every state of the result page.

use crate::browser::{Browser, VERDICT};
use crate::stack::{eventually, payment_link_session, unique};
use serde_json::{Value, json};

pub(crate) fn buyer() -> String {
    format!("reader-{}@example.com", unique())
}

/// A model's verdict with all blocks.
pub(crate) fn verdict(colour: &str, summary: &str) -> Value {
    let dimension = |verdict: &str, analysis: &str| json!({ "verdict": verdict, "analysis": analysis });
    json!({
        "verdict": colour,
        "summary": summary,
        "breakdown": {
            "Stability": dimension("AMBER", "The demand is there; the lease is not."),
            "Turbulence": dimension("AMBER", "Two competitors moved in last year."),
            "Change Rate": dimension("GREEN", "Little changes from month to month."),
            "Completion": dimension("AMBER", "Nobody is named to run it."),
            "Curvature": dimension("AMBER", "A second shop costs less than the first."),
        },
        "strategy": {
            "next_step": "Work out the costs at half of the expected sales.",
            "alternative": "Rent a stall for one summer.",
            "tests": ["Sell on ten Saturdays.", "Ask twenty cafés.", "Read the lease."],
        },
    })
}

/// The API's reply about a Strategy Session.
pub(crate) fn strategy() -> Value {
    json!({
        "tier": "strategy",
        "query": "Shall we?",
        "verdict": verdict("AMBER", "It can be done, in another order."),
        "cached_at": "2026-11-20T21:14:03Z",
    })
}

/// An unpaid session of a Payment Link, in one of Stripe's states.
pub(crate) fn unpaid(query: &str, status: &str) -> Value {
    let mut session = payment_link_session("quick", query, &buyer());
    session["payment_status"] = json!("unpaid");
    session["status"] = json!(status);
    session
}

#[tokio::test]
async fn every_colour_has_its_dot_and_its_word() {
    let colours = [
        ("GREEN", "rgba(52, 211, 153, 1)"),
        ("AMBER", "rgba(245, 200, 66, 1)"),
        ("RED", "rgba(255, 68, 68, 1)"),
        ("NULL", "rgba(85, 85, 85, 1)"),
    ];
    let browser = Browser::open().await;
    for (word, colour) in colours {
        let email = buyer();
        let summary = "What was given settles the matter as far as it goes.";
        browser.stack.next_verdict(json!({ "verdict": word, "summary": summary })).await;
        let id = browser.stack.sell_by_payment_link("quick", &format!("Shall we? ({})", unique()), &email).await;
        browser.visit_result(&id).await;
        browser.see_within("#result", VERDICT).await;
        assert_eq!(browser.text("#word").await, word);
        assert_eq!(browser.style("#dot", "background-color").await, colour);
        assert_eq!(browser.text("#summary").await, summary);
        assert!(!browser.sees("#problem").await);
        browser.assert_accessible(&format!("verdict-{}", word.to_lowercase())).await;
        browser.stack.mail_to(&email).await;
    }
    browser.close().await;
}

#[tokio::test]
async fn a_verdict_that_is_being_written_is_waited_for() {
    let browser = Browser::open().await;
    let email = buyer();
    // Each lasts until the call is given up: time enough to look at the page.
    browser.stack.faults("gemini", json!([{ "delay_ms": 8000 }, { "delay_ms": 8000 }])).await;
    let id = browser.stack.sell_by_payment_link("full", &format!("Is it soup? ({})", unique()), &email).await;
    browser.visit_result(&id).await;
    browser.see("#pending-details").await;
    assert_eq!(browser.text("h1#pending-title").await, "Your verdict is being written");
    let promise = browser.text("#pending").await;
    for part in ["Your payment has arrived.", "email address you gave", "you can close this page"] {
        assert!(promise.contains(part), "{promise}");
    }
    let spoken = browser.exact_text("#live").await;
    assert_eq!(spoken, "Your verdict is being written. It appears here by itself.");
    browser.inspect("pending").await;
    browser.see_within("#result", VERDICT).await;
    assert!(!browser.sees("#pending").await);
    assert!(browser.exact_text("#live").await.starts_with("Your verdict is ready: "));
    browser.stack.mail_to(&email).await;
    browser.close().await;
}

/// After a minute and a half the page says, also to screen readers, that nothing is lost.
#[tokio::test]
async fn a_verdict_that_takes_longer_than_usual_is_said() {
    let server = "const now = Date.now; window.skipped = 0; Date.now = () => now() + window.skipped; \
                  window.fetch = async () => Response.json({ status: 'pending' }, { status: 202 });";
    let browser = Browser::at_result("cs_test_slow", server).await;
    browser.see("#pending-details").await;
    assert!(!browser.sees("#slow").await);
    let later = "window.skipped = 95000; document.dispatchEvent(new Event('visibilitychange')); return null";
    browser.run(later).await;
    assert!(browser.text("#slow").await.starts_with("This is taking longer than usual. Nothing is lost"));
    assert_eq!(browser.exact_text("#live").await, browser.exact_text("#slow").await);
    browser.close().await;
}

#[tokio::test]
async fn nothing_moves_for_those_who_ask_for_less_motion() {
    let browser = Browser::at_result("cs_test_waiting", "window.fetch = () => new Promise(() => {})").await;
    let moving = "return document.getAnimations().length";
    browser.see("#pending").await;
    assert!(browser.run(moving).await.as_u64() > Some(0), "the waiting page breathes");
    browser.reduced_motion().await;
    assert_eq!(browser.run(moving).await, 0);
    browser.close().await;
}

/// The page never shows what the filter found, or that it found anything.
#[tokio::test]
async fn a_held_verdict_says_that_a_person_is_looking() {
    let browser = Browser::open().await;
    let blocked = "The CSDM says that the numbers carry it.";
    browser.stack.next_verdict(json!({ "verdict": "GREEN", "summary": blocked })).await;
    let id = browser.stack.sell_by_payment_link("quick", &format!("Do they? ({})", unique()), &buyer()).await;
    browser.visit_result(&id).await;
    browser.see_within("#review", VERDICT).await;
    let text = browser.text("body").await;
    assert!(text.contains("delivered, or your payment refunded, within 24 hours"), "{text}");
    for word in ["CSDM", "blocked", "filter", "quarantine", "numbers carry it"] {
        assert!(!text.to_lowercase().contains(&word.to_lowercase()), "{word}: {text}");
    }
    browser.inspect("in-review").await;
    browser.close().await;
}

#[tokio::test]
async fn an_unpaid_session_gets_the_apis_sentence() {
    let browser = Browser::open().await;
    let id = browser.stack.plant(&unpaid("Shall I pay?", "expired")).await;
    let (status, reply) = browser.stack.verdict(&id).await;
    assert_eq!(status, 402, "{reply}");
    browser.visit_result(&id).await;
    browser.see("#problem").await;
    assert_eq!(reply["error"], browser.exact_text("#problem-sentence").await);
    assert!(!browser.sees("#again").await && !browser.sees("#pay").await, "it is over");
    browser.look("error-402").await;
    browser.close().await;
}

/// A bank debit takes days: the page says so, and has the verdict once the payment is confirmed.
#[tokio::test]
async fn a_payment_in_process_is_waited_for() {
    let browser = Browser::open().await;
    let mut session = unpaid("Shall I pay by debit?", "complete");
    let id = browser.stack.plant(&session).await;
    browser.visit_result(&id).await;
    browser.see("#problem").await;
    assert_eq!(browser.text("#problem-title").await, "Your payment is on its way");
    let sentence = browser.text("#problem-sentence").await;
    assert!(sentence.contains("pay again only if your bank tells you"), "{sentence}");
    assert!(browser.sees("#again").await && !browser.sees("#pay").await);
    browser.look("payment-in-process").await;
    session["payment_status"] = json!("paid");
    browser.stack.plant(&session).await;
    let paid = json!({ "type": "checkout.session.async_payment_succeeded", "data": { "object": session } });
    let answer = browser.stack.control("stripe/event", paid).await;
    assert_eq!(answer["status"], 200, "{answer}");
    // The page asks every minute, or at once if its customer wants to. One that asks too early waits for its next minute.
    let known = async || (browser.stack.verdict(&id).await.0 != 402).then_some(());
    eventually("the payment to be known", VERDICT, known).await;
    browser.click("#again").await;
    browser.see_within("#result", VERDICT).await;
    assert_eq!(browser.problems().await, json!([]));
    browser.close().await;
}

/// There was nothing to pay, and an operator may give the verdict away: the page does not send its customer away.
#[tokio::test]
async fn a_session_with_nothing_to_pay_can_be_looked_at_again() {
    let browser = Browser::open().await;
    let mut session = unpaid("Shall I pay nothing?", "complete");
    session["payment_status"] = json!("no_payment_required");
    let id = browser.stack.plant(&session).await;
    browser.visit_result(&id).await;
    assert_eq!(browser.text("#problem-sentence").await, domain::texts::NOTHING_TO_PAY);
    assert!(browser.sees("#again").await && !browser.sees("#pay").await);
    browser.close().await;
}

/// A customer who left the payment page gets a link back to it.
#[tokio::test]
async fn a_session_that_is_still_open_leads_back_to_the_payment() {
    let browser = Browser::open().await;
    let id = browser.stack.plant(&unpaid("Shall I pay after all?", "open")).await;
    let (status, reply) = browser.stack.verdict(&id).await;
    assert_eq!(status, 402, "{reply}");
    let address = reply["payment_url"].as_str().expect("an address to pay at").to_owned();
    browser.visit_result(&id).await;
    browser.see("#pay").await;
    assert_eq!(browser.text("#problem-sentence").await, reply["error"]);
    browser.inspect("error-402-open").await;
    browser.click("#pay").await;
    eventually("the payment page", VERDICT, async || (browser.address().await == address).then_some(())).await;
    browser.close().await;
}

#[tokio::test]
async fn an_unknown_session_gets_the_apis_sentence() {
    let browser = Browser::open().await;
    let id = format!("cs_test_unknown{}", unique());
    let (status, reply) = browser.stack.verdict(&id).await;
    assert_eq!(status, 404, "{reply}");
    browser.visit_result(&id).await;
    browser.see("#problem").await;
    assert_eq!(reply["error"], browser.exact_text("#problem-sentence").await);
    assert!(!browser.sees("#problem-passing").await);
    browser.look("error-404").await;
    // The page does not repeat an id from an invented address.
    browser.visit_result("Call+1-800-SCAM+now").await;
    browser.see("#problem").await;
    assert!(!browser.text("body").await.contains("SCAM"));
    browser.visit("/oracle/result").await;
    browser.see("#problem").await;
    browser.look("error-no-session").await;
    browser.close().await;
}

#[tokio::test]
async fn a_notice_is_shown_word_by_word() {
    let notice = "Prepared a second time; the wording may differ.";
    let mut reply = strategy();
    reply["notice"] = json!(notice);
    let server = format!("window.fetch = async () => Response.json({reply})");
    let browser = Browser::at_result("cs_test_notice", &server).await;
    assert_eq!(browser.text("#notice").await, notice);
    browser.assert_accessible("notice").await;
    browser.close().await;
}

/// The front page's draft is the question that this verdict is about, or the customer's next one: only the first is removed.
#[tokio::test]
async fn a_verdict_removes_only_the_draft_of_its_own_order() {
    let server = format!("window.fetch = async () => Response.json({})", strategy());
    let browser = Browser::at_result("cs_test_first", &server).await;
    for (ordered, left) in [("cs_test_first", ""), ("cs_test_second", "And the next one?")] {
        browser.visit("/").await;
        let answer = json!({ "url": format!("{}/#payment", browser.stack.site), "session_id": ordered });
        browser.run(&format!("window.fetch = async () => Response.json({answer}); return null")).await;
        browser.run("byId('query').value = ''; return null").await;
        browser.submit("#query", "And the next one?", "#submit").await;
        browser.arrive(&format!("{}/#payment", browser.stack.site)).await;
        browser.visit_result("cs_test_first").await;
        browser.see("#result").await;
        browser.visit("/").await;
        assert_eq!(browser.run("return byId('query').value").await, left, "{ordered}");
        // A question that went to the payment page is not offered again without the way to its own page.
        assert_eq!(browser.sees("#ordered").await, !left.is_empty(), "{ordered}");
    }
    let link = "return byId('ordered-link').getAttribute('href')";
    assert_eq!(browser.run(link).await, "/oracle/result?session_id=cs_test_second");
    // What is written after the order is not what was ordered.
    browser.type_into("#query", " Or none?").await;
    browser.visit_result("cs_test_second").await;
    browser.see("#result").await;
    browser.visit("/").await;
    assert_eq!(browser.run("return byId('query').value").await, "And the next one? Or none?");
    assert!(!browser.sees("#ordered").await, "another question was not ordered");
    browser.close().await;
}
