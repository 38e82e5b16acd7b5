//! The result page of sales that did not go the usual way: retried, erased, declined after payment.

use crate::bridge::oracle;
use crate::browser::{Browser, VERDICT};
use crate::result_page::buyer;
use crate::stack::{eventually, unique};
use serde_json::json;

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
    assert!(browser.text("#next-attempt").await.starts_with("The next attempt is at "));
    assert!(!browser.sees("#pending-details").await, "the usual promise does not hold");
    assert_eq!(browser.problems().await, json!([]));
    browser.look("tried-again").await;
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
    assert_eq!(browser.problems().await, json!([]));
    browser.look("erased").await;
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
    assert_eq!(browser.problems().await, json!([]));
    browser.look("declined").await;
    let payment = id.replacen("cs_test_link", "pi_link", 1);
    browser.stack.control("stripe/refund", json!({ "payment_intent": payment })).await;
    eventually("the refund to be known", VERDICT, async || {
        browser.stack.verdict(&id).await.1["refunded_at"].is_string().then_some(())
    })
    .await;
    browser.visit_result(&id).await;
    browser.see("#problem-refund").await;
    assert!(browser.text("#problem-refund").await.starts_with("Your payment was refunded on "));
    assert!(browser.text("#problem-sentence").await.ends_with(domain::texts::MONEY_IS_BACK));
    assert_eq!(browser.problems().await, json!([]));
    browser.look("declined-refunded").await;
    browser.close().await;
}
