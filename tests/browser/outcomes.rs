//! The result page of sales that did not go the usual way: retried, failed, refunded, erased, declined after payment.

use crate::bridge::oracle;
use crate::browser::{Browser, VERDICT};
use crate::result_page::{buyer, unpaid};
use crate::stack::{eventually, unique};
use serde_json::json;

const FAILED: &str = "Analysis failed. Please contact oracle@42sisters.ai for a refund.";
const UNAVAILABLE: &str = "Analysis temporarily unavailable. Please try again in a few minutes.";

/// Checks the exact sentence that the page shows instead of a verdict.
async fn shows_instead(browser: &Browser, id: &str, sentence: &str, name: &str) {
    browser.see_within("#problem", VERDICT).await;
    assert_eq!(browser.text("#problem-sentence").await, sentence);
    assert_eq!(browser.text("#problem-id").await, id[id.len() - 8..]);
    assert!(browser.exact_text("#live").await.contains(sentence));
    browser.inspect(name).await;
}

/// Refunds a sale at Stripe, and waits until the site knows it.
async fn refund(browser: &Browser, id: &str) {
    let payment = id.replacen("cs_test_link", "pi_link", 1);
    browser.stack.control("stripe/refund", json!({ "payment_intent": payment })).await;
    eventually("the refund to be known", VERDICT, async || {
        browser.stack.verdict(id).await.1["refunded_at"].is_string().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_failed_analysis_says_so() {
    let browser = Browser::open().await;
    browser.stack.faults("gemini", json!([{ "status": 400 }])).await;
    let id = browser.stack.sell_by_payment_link("quick", &format!("Will it? ({})", unique()), &buyer()).await;
    browser.visit_result(&id).await;
    shows_instead(&browser, &id, FAILED, "error-500").await;
    browser.close().await;
}

/// A paid session without a tier: the page asks for what is missing, as the mail does.
#[tokio::test]
async fn a_session_that_is_unusable_asks_for_what_is_missing() {
    let browser = Browser::open().await;
    let id = browser.stack.sell_by_payment_link("premium", "Will it?", &buyer()).await;
    browser.visit_result(&id).await;
    let sentence = "We received your payment, but something was missing. This is our error. Please reply to the email we \
                    sent you with your question and your tier, or say that you want a refund. No email? Write to \
                    oracle@42sisters.ai.";
    shows_instead(&browser, &id, sentence, "unusable").await;
    assert_eq!(browser.text("#problem-title").await, "Your question did not reach us");
    browser.close().await;
}

/// A refund that Stripe has not confirmed: the page does not tell its customer to ask for one. It asks again, at once when
/// they come back to it, and shows the date.
#[tokio::test]
async fn a_refund_that_is_on_its_way_is_not_asked_for() {
    let reply = json!({ "error": domain::texts::FAILED_AND_RETURNED });
    let done = json!({ "error": domain::texts::FAILED_AND_REFUNDED, "refunded_at": "2026-11-20T12:00:00Z" });
    let browser = Browser::open().await;
    browser
        .before_every_page(&format!(
            "window.isBack = false; window.fetch = async () => window.isBack ? Response.json({done}, {{ status: 500 }}) \
             : Response.json({reply}, {{ status: 500, headers: {{ 'retry-after': '60' }} }});"
        ))
        .await;
    let id = "cs_test_refund_on_its_way";
    browser.visit_result(id).await;
    shows_instead(&browser, id, domain::texts::FAILED_AND_RETURNED, "refund-on-its-way").await;
    assert!(!browser.sees("#problem-refund").await);
    browser.run("window.isBack = true; document.dispatchEvent(new Event('visibilitychange')); return null").await;
    assert!(browser.text("#problem-refund").await.starts_with("Your payment was refunded on November 20, 2026."));
    assert_eq!(browser.text("#problem-sentence").await, domain::texts::FAILED_AND_REFUNDED);
    assert!(!browser.sees("#again").await);
    browser.close().await;
}

/// After the refund the page needs no request for it: it shows the refund's date, with the verdict and without one.
#[tokio::test]
async fn a_refund_is_shown_with_its_date() {
    let browser = Browser::open().await;
    let question = format!("Will it? ({})", unique());
    let delivered = browser.stack.sell_by_payment_link("quick", &question, &buyer()).await;
    browser.visit_result(&delivered).await;
    browser.see_within("#result", VERDICT).await;
    assert!(!browser.sees("#refund").await);
    browser.stack.faults("gemini", json!([{ "status": 400 }])).await;
    let failed = browser.stack.sell_by_payment_link("quick", &question, &buyer()).await;
    browser.visit_result(&failed).await;
    browser.see_within("#problem", VERDICT).await;
    assert!(!browser.sees("#problem-refund").await);
    for (id, section, sentence, name) in
        [(&delivered, "#result", "#refund", "refunded"), (&failed, "#problem", "#problem-refund", "failed-refunded")]
    {
        refund(&browser, id).await;
        browser.visit_result(id).await;
        browser.see_within(section, VERDICT).await;
        let text = browser.text(sentence).await;
        assert!(text.starts_with("Your payment was refunded on ") && text.contains(", 20"), "{text}");
        browser.inspect(name).await;
    }
    assert_eq!(browser.text("#problem-sentence").await, "Analysis failed. Your payment was returned.");
    browser.close().await;
}

/// The session is unknown so far, and the payment service, which could identify it, does not answer.
#[tokio::test]
async fn an_unavailable_analysis_can_be_asked_for_again() {
    let browser = Browser::open().await;
    let id = browser.stack.plant(&unpaid("Shall I?", "open")).await;
    let down = json!([{ "status": 500, "headers": { "Stripe-Should-Retry": "false" } }]);
    browser.stack.faults("stripe", down).await;
    browser.visit_result(&id).await;
    shows_instead(&browser, &id, UNAVAILABLE, "error-503").await;
    assert!(browser.text("#problem-passing").await.contains("If you have paid, nothing is lost"));
    browser.click("#again").await;
    eventually("the page to ask again", VERDICT, async || {
        let title = browser.exact_text("#problem-title").await;
        (title == "The payment is not complete").then_some(())
    })
    .await;
    assert!(!browser.sees("#problem-passing").await);
    assert_eq!(browser.run("return document.activeElement.id").await, "problem-title", "the button that hid itself");
    browser.close().await;
}

/// A throttled model, whose delay outlasts the first look at the page, and a failing next one: the page says that the
/// verdict is retried, and then shows it.
#[tokio::test]
async fn a_verdict_that_is_tried_again_is_waited_for() {
    let browser = Browser::open().await;
    let info = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "25s" });
    let error = json!({ "code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED", "details": [info] });
    let down = json!({ "status": 503 });
    let faults = json!([{ "status": 429, "body": { "error": error } }, down, down]);
    browser.stack.faults("gemini", faults).await;
    let email = buyer();
    let id = browser.stack.sell_by_payment_link("quick", &format!("Shall we wait? ({})", unique()), &email).await;
    browser.visit_result(&id).await;
    browser.see_within("#delayed", VERDICT).await;
    assert_eq!(browser.text("h1#pending-title").await, "Your verdict takes longer than usual");
    let message = browser.text("#delayed-message").await;
    assert!(message.contains("We keep trying by ourselves") && message.contains("email it to you"), "{message}");
    browser.see_within("#next-attempt", VERDICT).await;
    let next = browser.text("#next-attempt").await;
    let time = next.strip_prefix("The next attempt is at ").expect(&next);
    assert!(time.len() == "15:05.".len() && time.ends_with('.'), "{next}");
    assert!(!browser.sees("#pending-details").await, "the usual promise does not hold");
    browser.inspect("tried-again").await;
    browser.see_within("#result", VERDICT).await;
    assert!(!browser.sees("#delayed").await);
    browser.stack.mail_to(&email).await;
    browser.close().await;
}

#[tokio::test]
async fn an_erased_verdict_is_gone() {
    let browser = Browser::open().await;
    let email = buyer();
    let id = browser.stack.sell_by_payment_link("full", &format!("Forget me? ({})", unique()), &email).await;
    browser.visit_result(&id).await;
    browser.see_within("#result", VERDICT).await;
    browser.stack.mail_to(&email).await;
    oracle(&browser, &["erase", &id, "--by", "dana", "--reason", "asked for by mail", "--yes"]);
    browser.visit_result(&id).await;
    browser.see("#problem").await;
    assert_eq!(browser.text("#problem-title").await, "This verdict was erased");
    assert_eq!(browser.text("#problem-sentence").await, domain::texts::ERASED);
    for absent in ["#again", "#problem-reference", "#problem-help", "#problem-refund", "#result"] {
        assert!(!browser.sees(absent).await, "{absent}");
    }
    browser.inspect("erased").await;
    browser.close().await;
}

/// A question that the authority gate declines after payment: the page says who helps, and that the money is returned.
#[tokio::test]
async fn a_declined_question_names_help_and_the_refund() {
    let browser = Browser::open().await;
    let question = format!("Can I give my son two of my warfarin tablets? ({})", unique());
    let id = browser.stack.sell_by_payment_link("quick", &question, &buyer()).await;
    browser.visit_result(&id).await;
    browser.see_within("#problem", VERDICT).await;
    let sentence = browser.text("#problem-sentence").await;
    assert!(sentence.starts_with(domain::texts::DECLINED) && sentence.contains("Your payment"), "{sentence}");
    assert!(browser.sees("#problem-help").await && browser.text("#problem-help").await.contains(": "));
    assert!(!browser.sees("#again").await, "the same question is declined again");
    browser.inspect("declined").await;
    refund(&browser, &id).await;
    browser.visit_result(&id).await;
    assert!(browser.text("#problem-refund").await.starts_with("Your payment was refunded on "));
    assert!(browser.text("#problem-sentence").await.ends_with(domain::texts::MONEY_IS_BACK));
    browser.inspect("declined-refunded").await;
    browser.close().await;
}
