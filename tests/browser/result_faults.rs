//! The result page without a connection, or with replies that are not ours. The test answers for the server.

use crate::browser::{Browser, VERDICT};
use crate::result_page::strategy;
use serde_json::json;

/// A page that cannot reach the site shows that and continues by itself.
#[tokio::test]
async fn a_lost_connection_is_survived() {
    let server = "window.fetch = async () => { if (!window.isBack) throw new TypeError('lost'); \
                  return Response.json({ status: 'in_review' }, { status: 202 }); };";
    let browser = Browser::at_result("cs_test_offline", server).await;
    let lost = "The connection was lost. This page tries again by itself.";
    assert_eq!(browser.text("#offline").await, lost);
    assert_eq!(browser.exact_text("#live").await, lost);
    browser.run("window.isBack = true; return null").await;
    browser.see("#review").await;
    assert!(!browser.sees("#offline").await);
    // It is said during a review, too.
    browser.run("window.isBack = false; document.dispatchEvent(new Event('visibilitychange')); return null").await;
    browser.see("#offline").await;
    assert_eq!(browser.exact_text("#live").await, lost);
    assert!(browser.sees("#review").await);
    browser.close().await;
}

/// The network changes between the head and the body of a reply: the page asks again.
#[tokio::test]
async fn a_reply_whose_body_is_lost_is_asked_for_again() {
    let server = "
      const lost = () => new ReadableStream({ start: (body) => body.error(new TypeError('lost')) });
      const replies = [
        new Response(lost(), { status: 202 }),
        Response.json({ status: 'in_review' }, { status: 202 }),
      ];
      window.fetch = async () => replies.shift();";
    let browser = Browser::at_result("cs_test_cut", server).await;
    browser.see("#review").await;
    browser.close().await;
}

/// No policy refunds a customer who has the verdict by mail, nor one to whom it was given.
#[tokio::test]
async fn a_review_with_a_sentence_of_the_api_promises_no_refund() {
    let server = "
      window.fetch = async () => Response.json(
        window.isPaid ? { status: 'in_review' } : { status: 'in_review', message: 'Someone reads it.' },
        { status: 202 });";
    let browser = Browser::at_result("cs_test_served", server).await;
    browser.see("#review").await;
    let text = browser.text("#review").await;
    assert!(text.contains("Someone reads it.") && !text.contains("refunded"), "{text}");
    assert!(!text.contains("Your payment has arrived"), "{text}");
    assert!(!browser.exact_text("#live").await.contains("refunded"));
    // A dispute that is won makes the promise true.
    browser.run("window.isPaid = true; document.dispatchEvent(new Event('visibilitychange')); return null").await;
    browser.see("#review-promise").await;
    assert!(!browser.sees("#review-message").await);
    browser.close().await;
}

/// The gateway answers instead of our function, as while more calls come than the function may run, or something between
/// answers. That says nothing about the sale: the page asks again.
#[tokio::test]
async fn a_reply_that_is_not_ours_passes() {
    let server = "
      window.fetch = async (path) => {
        if (window.isBack) return Response.json({ status: 'in_review' }, { status: 202 });
        return {
          throttled: Response.json({ message: 'Internal server error' }, { status: 500 }),
          refused: Response.json({ message: 'Forbidden' }, { status: 403 }),
          limited: new Response(null, { status: 429 }),
          html: new Response('<html>', { status: 200 }),
          nothing: Response.json(null, { status: 202 }),
          empty: Response.json({}),
        }[path.split('cs_test_')[1]];
      };";
    let browser = Browser::open().await;
    browser.before_every_page(server).await;
    for reply in ["throttled", "refused", "limited", "html", "nothing", "empty"] {
        browser.visit_result(&format!("cs_test_{reply}")).await;
        browser.see("#problem").await;
        assert_eq!(browser.text("#problem-title").await, "Not available right now", "{reply}");
        assert!(browser.sees("#problem-passing").await, "{reply}");
        browser.run("window.isBack = true; return null").await;
        browser.see("#review").await;
    }
    browser.close().await;
}

/// Such replies come while a follow-up is pending: its verdict still appears, and the first one stays meanwhile.
#[tokio::test]
async fn a_reply_that_is_not_ours_leaves_the_verdict_on_the_page() {
    let first = strategy();
    let server = format!(
        "const reply = (followup_status, followup) => Response.json({{ ...{first}, followup_status, followup }}); \
         const replies = [ \
           reply('pending'), \
           Response.json({{ message: 'Internal server error' }}, {{ status: 500 }}), \
           new Response('<html>', {{ status: 403 }}), \
         ]; \
         window.hidden = 0; \
         new MutationObserver(() => {{ window.hidden += byId('result').hidden && !byId('problem').hidden; }}) \
           .observe(document, {{ subtree: true, attributeFilter: ['hidden'] }}); \
         window.fetch = async () => replies.shift() ?? reply('delivered', {first});"
    );
    let browser = Browser::at_result("cs_test_pending", &server).await;
    browser.see("#follow-up-state").await;
    browser.see_within("#follow-up-verdict article", VERDICT).await;
    assert_eq!(browser.run("return window.hidden").await, 0, "the first verdict gave way to a problem");
    browser.close().await;
}

/// "Try again" has the focus, and the page asks by itself and finds no network. The focus does not fall to the top.
#[tokio::test]
async fn a_problem_that_gives_way_to_a_lost_connection_leaves_the_focus_to_the_title() {
    let server = "window.fetch = async () => { if (window.isLost) throw new TypeError('lost'); \
                  return Response.json({ error: 'Later.' }, { status: 503 }); };";
    let browser = Browser::at_result("cs_test_focus", server).await;
    browser.see("#again").await;
    let lost = "byId('again').focus(); window.isLost = true; \
                document.dispatchEvent(new Event('visibilitychange')); return null";
    browser.run(lost).await;
    browser.see("#offline").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "pending-title");
    assert_eq!(browser.text("#pending-title").await, "One moment");
    browser.close().await;
}

/// The page of a declined question that people may still approve asks again, and gets the same reply. The focus stays on
/// the number that its customer is about to call.
#[tokio::test]
async fn a_problem_that_stays_the_same_leaves_the_focus_on_its_numbers() {
    let resources = json!([{ "name": "Your physician", "contact": "811" }]);
    let reply = json!({ "error": "No verdict.", "code": "declined", "resources": resources, "crisis": false });
    let server = format!(
        "window.asked = 0; window.fetch = async () => {{ window.asked += 1; \
         return Response.json({reply}, {{ status: 422, headers: {{ 'retry-after': '60' }} }}); }};"
    );
    let browser = Browser::at_result("cs_test_same", &server).await;
    browser.see("#problem-help a").await;
    browser.run("window.number = document.querySelector('#problem-help a'); window.number.focus(); return null").await;
    // The page asks for the third time after it has shown the second reply.
    let asked = "(document.dispatchEvent(new Event('visibilitychange')), window.asked >= 3)";
    browser.becomes(asked, json!(true)).await;
    assert_eq!(browser.run("return document.activeElement === window.number").await, true);
    browser.close().await;
}

/// A request that hangs, as after a change of the network, ends after a while, and the page asks again. The test ends it.
#[tokio::test]
async fn a_connection_that_hangs_is_survived() {
    let hanging = "
      window.asked = 0;
      AbortSignal.timeout = () => {
        const limit = new AbortController();
        window.end = () => limit.abort();
        return limit.signal;
      };
      window.fetch = (path, { signal }) => {
        window.asked += 1;
        if (window.asked > 1) return Promise.resolve(Response.json({ status: 'in_review' }, { status: 202 }));
        return new Promise((done, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
      };";
    let browser = Browser::at_result("cs_test_hanging", hanging).await;
    browser.see("#pending").await;
    assert_eq!(browser.run("window.end(); return window.asked").await, 1);
    browser.see("#review").await;
    browser.close().await;
}
