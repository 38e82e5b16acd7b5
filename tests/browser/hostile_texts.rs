//! Texts that try to inject markup or code, and a customer's words that pages must not show.

use crate::browser::{Browser, VERDICT};
use crate::chat_faults::{MEMBER, open};
use crate::result_page::{buyer, verdict};
use crate::stack::unique;
use serde_json::json;

#[tokio::test]
async fn texts_stay_texts() {
    // Different English sentences, because a verdict in no language, or with one text twice, counts as hollow.
    let hostile = |sentence: &str| {
        format!(
            "{sentence} <script>window.owned = 1</script><img src=x onerror=\"window.owned = 2\">&lt;b&gt; \
             </blockquote><a href=\"javascript:window.owned=3\">click</a>"
        )
    };
    let [summary, analysis, test] = [
        "This plan is sound, and the shop can open.",
        "The costs are covered by noon.",
        "Sell ten cakes at full price.",
    ]
    .map(hostile);
    let browser = Browser::open().await;
    let email = buyer();
    let question = format!("{summary} ({})", unique());
    let mut reply = verdict("AMBER", &summary);
    reply["breakdown"]["Stability"]["analysis"] = json!(analysis);
    reply["strategy"]["tests"][0] = json!(test);
    browser.stack.next_verdict(reply).await;
    let id = browser.stack.sell_by_payment_link("strategy", &question, &email).await;
    browser.visit_result(&id).await;
    browser.see_within("#result", VERDICT).await;
    assert_eq!(browser.exact_text("#query").await, question);
    for (place, text) in [("#summary", summary), ("#dimensions .prose", analysis), ("#tests li", test)] {
        assert_eq!(browser.exact_text(place).await, text, "{place}");
    }
    assert_eq!(browser.run("return document.querySelectorAll('#result img, #result script').length").await, 0);
    assert_eq!(browser.run("return typeof window.owned").await, "undefined");
    browser.inspect("hostile-texts").await;
    browser.stack.mail_to(&email).await;
    browser.close().await;
}

/// A question in Arabic is shown from right to left, with its question mark at its end.
#[tokio::test]
async fn a_text_has_the_direction_of_its_language() {
    let reply = json!({
        "tier": "quick",
        "query": "هل نفتح مخبزا ثانيا؟",
        "verdict": { "verdict": "AMBER", "summary": "Only with a lease." },
        "cached_at": "2026-11-20T21:14:03Z",
    });
    let server = format!("window.fetch = async () => Response.json({reply});");
    let browser = Browser::at_result("cs_test_arabic", &server).await;
    browser.see("#query").await;
    // How far the text is from either side of its box.
    let distances = |selector: &str| {
        format!(
            "const box = document.querySelector('{selector}'); const range = document.createRange(); \
             range.selectNodeContents(box); const [text, all] = [range, box].map((it) => it.getBoundingClientRect()); \
             return text.left - all.left > all.right - text.right"
        )
    };
    assert_eq!(browser.run(&distances("#query")).await, true, "the question begins at the right");
    assert_eq!(browser.run(&distances("#summary")).await, false, "the verdict begins at the left");
    browser.close().await;
}

/// The languages that are declared for all elements of a selector.
fn languages(selector: &str) -> String {
    format!("[...document.querySelectorAll('{selector}')].map((words) => words.closest('[lang]').lang)")
}

/// A customer's own words are not declared English: screen readers read them in their user's own voice, and spelling
/// checks use their user's own language.
#[tokio::test]
async fn a_customers_words_have_no_declared_language() {
    let verdict = json!({ "verdict": "AMBER", "summary": "Only with a lease." });
    let reply = json!({ "tier": "strategy", "query": "Et si on ouvrait ?", "verdict": verdict });
    let server = format!("window.fetch = async () => Response.json({{ ...{reply}, followup: {reply} }});");
    let browser = Browser::at_result("cs_test_french", &server).await;
    browser.becomes(&languages("textarea, .submission"), json!(["", "", "", ""])).await;
    browser.becomes(&languages("#summary"), json!(["en-CA"])).await;
    browser.visit("/").await;
    browser.becomes(&languages("textarea"), json!([""])).await;
    browser.close().await;

    let browser = open(MEMBER).await;
    browser.becomes(&languages("textarea, .submission, .own .prose"), json!(["", "", "", ""])).await;
    browser.becomes(&languages(".said:not(.own) .prose"), json!(["en-CA"])).await;
    browser.close().await;
}

/// Tests the policy itself, not only the absence of mistakes: a script that was injected does not run.
#[tokio::test]
async fn the_policy_stops_injected_code() {
    let browser = Browser::open().await;
    for path in ["/", "/oracle/result?session_id=cs_test_policy"] {
        browser.visit(path).await;
        let attempt = "const done = []; \
            document.addEventListener('securitypolicyviolation', (e) => done.push(e.effectiveDirective)); \
            const script = document.createElement('script'); \
            try { script.text = 'window.owned = 1'; } catch { done.push('trusted-types'); } \
            script.appendChild(document.createTextNode('window.owned = 1')); document.body.append(script); \
            const style = document.createElement('style'); style.textContent = 'body{display:none}'; \
            document.head.append(style); \
            return typeof window.owned + ' ' + getComputedStyle(document.body).display";
        assert_eq!(browser.run(attempt).await, "undefined flex", "{path}");
    }
    // The console contains the violations that the test caused, so this test does not require an empty console.
}

/// A customer's own words may contain a term that pages must not show; the verdict is delivered nevertheless.
#[tokio::test]
async fn a_submission_that_must_not_be_repeated_is_named_by_its_reference() {
    let browser = Browser::open().await;
    let email = buyer();
    let question = format!("Is the CSDM worth reading about? ({})", unique());
    browser.stack.next_verdict(json!({ "verdict": "AMBER", "summary": "Only with a good summary at hand." })).await;
    let id = browser.stack.sell_by_payment_link("quick", &question, &email).await;
    browser.visit_result(&id).await;
    browser.see_within("#result", VERDICT).await;
    assert_eq!(browser.text("#summary").await, "Only with a good summary at hand.");
    let reference = &id[id.len() - 8..];
    assert!(browser.text("#withheld").await.contains(reference));
    assert!(!browser.sees("#query").await);
    let document = browser.run("return document.documentElement.outerHTML").await.to_string();
    assert!(!document.contains("CSDM"), "the page repeats the submission");
    browser.look("withheld").await;
    let mail = browser.stack.mail_to(&email).await["body"].to_string();
    assert!(mail.contains(reference) && !mail.contains("CSDM"), "{mail}");
    browser.close().await;
}
