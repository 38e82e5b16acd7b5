//! The front page: which input it refuses, where it shows the error, and what it stores.

use crate::browser::Browser;
use serde_json::json;

#[tokio::test]
async fn it_is_accessible_in_both_colour_schemes() {
    let browser = Browser::at("/").await;
    browser.assert_accessible("front").await;
    browser.click("#submit").await;
    browser.see("#query-error").await;
    browser.assert_accessible("front-with-an-error").await;
    browser.close().await;
}

/// Larger text by the browser's settings on a phone, and the spacing of WCAG 1.4.12 in the narrowest window of 1.4.10.
#[tokio::test]
async fn larger_and_wider_text_fits_into_a_phone() {
    let browser = Browser::at("/").await;
    for (width, style) in [
        (320, ""),
        (320, "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }"),
        (360, "html { font-size: 20px; }"),
        (360, "html { font-size: 24px; }"),
        (360, "html { font-size: 32px; }"),
    ] {
        browser.viewport((width, 780)).await;
        let restyle = format!(
            "const sheet = new CSSStyleSheet(); sheet.replaceSync('{style}'); document.adoptedStyleSheets = [sheet]; \
             return document.documentElement.scrollWidth"
        );
        assert_eq!(browser.run(&restyle).await, width, "{style}");
    }
    browser.close().await;
}

#[tokio::test]
async fn an_empty_question_is_refused_beside_the_field() {
    let browser = Browser::at("/").await;
    browser.submit("#query", "  \n ", "#submit").await;
    assert_eq!(browser.text("#query-error").await, "Please write your question first.");
    assert_eq!(browser.run("return document.activeElement.id").await, "query");
    browser.look("front-empty").await;
    browser.type_into("#query", "Now there is one").await;
    assert!(!browser.sees("#query-error").await, "the error stays although it was mended");
    browser.close().await;
}

/// Characters are Unicode code points, as the server counts them, and a pasted text is never cut without a message.
#[tokio::test]
async fn the_counter_counts_code_points() {
    let browser = Browser::at("/").await;
    let fill = async |script: &str| {
        let set = format!("const q = document.getElementById('query'); q.value = {script}; ");
        browser.run(&(set + "q.dispatchEvent(new Event('input', { bubbles: true })); return null")).await;
        browser.text("#query-count").await
    };
    assert_eq!(fill("''").await, "0 / 20,000 characters");
    assert_eq!(fill("'🍁é'").await, "2 / 20,000 characters");
    assert_eq!(fill("'🍁'.repeat(20000)").await, "20,000 / 20,000 characters");
    assert_eq!(fill("'🍁'.repeat(20001)").await, "1 over the limit of 20,000");
    browser.click("#submit").await;
    assert_eq!(browser.text("#query-error").await, "Please shorten your question.");
    browser.look("front-too-long").await;
    browser.close().await;
}

#[tokio::test]
async fn an_unknown_referral_code_is_refused_beside_its_field() {
    let browser = Browser::at("/").await;
    browser.type_into("#query", "Should I open a bakery?").await;
    browser.submit("#referral_code", "NO-SUCH-CODE", "#submit").await;
    assert!(!browser.text("#referral_code-error").await.is_empty());
    assert!(browser.address().await.starts_with(&browser.stack.site), "no payment page may be opened");
    browser.look("front-referral-code").await;
    browser.close().await;
}

/// A coupon that leaves nothing to pay is refused beside its field, too.
#[tokio::test]
async fn a_referral_code_that_leaves_nothing_to_pay_is_refused_beside_its_field() {
    let browser = Browser::at("/").await;
    browser.type_into("#query", "Should I open a bakery?").await;
    browser.submit("#referral_code", "FREE100", "#submit").await;
    let error = browser.text("#referral_code-error").await;
    assert_eq!(error, "This referral code leaves nothing to pay, so it cannot be used here.");
    assert!(browser.address().await.starts_with(&browser.stack.site), "no payment page may be opened");
    browser.inspect("front-free-coupon").await;
    browser.close().await;
}

#[tokio::test]
async fn a_failing_payment_service_is_said_above_the_form() {
    let browser = Browser::at("/").await;
    let down = "window.fetch = async () => new Response('{\"error\":\"Payments are down.\",\"code\":\"stripe\"}', \
                { status: 502 }); return null";
    browser.run(down).await;
    browser.submit("#query", "Should I open a bakery?", "#submit").await;
    assert_eq!(browser.text("#form-error").await, "Payments are down.");
    browser.look("front-payment-down").await;
    // A lost connection, and replies that are not ours: the gateway's, and one without an address.
    for reply in [
        "throw new TypeError('lost')",
        "return Response.json({ message: 'Internal server error' }, { status: 500 })",
        "return Response.json({})",
    ] {
        let server =
            format!("window.asked = 0; window.fetch = async () => {{ window.asked += 1; {reply}; }}; return null");
        browser.run(&server).await;
        browser.click("#submit").await;
        let lost = "We could not reach the payment page. Nothing was charged. Please try again.";
        browser.becomes("[window.asked, byId('form-error').textContent]", json!([1, lost])).await;
    }
    browser.close().await;
}

/// What nobody sees and the server refuses is not sent: control characters of a pasted text, and half an emoji.
#[tokio::test]
async fn a_pasted_question_is_sent_without_what_the_server_refuses() {
    let browser = Browser::at("/").await;
    let paste = "window.fetch = async (path, request) => { window.sent = request.body; throw new TypeError('lost'); }; \
                 document.getElementById('query').value = 'Should I open\\u000ba \\u001bbakery?\\tOr two\\n\\ud83d'; return null";
    browser.run(paste).await;
    browser.click("#submit").await;
    browser.see("#form-error").await;
    let sent = browser.run("return JSON.parse(window.sent).query").await;
    assert_eq!(sent, "Should I open\na bakery?\tOr two\n\u{fffd}");
    browser.close().await;
}

#[tokio::test]
async fn the_draft_survives_a_cancelled_payment() {
    let browser = Browser::open().await;
    let question = "Should I open a bakery?\nWith <b>two</b> ovens & a café?";
    browser.visit("/").await;
    browser.type_into("#query", question).await;
    browser.click("label.tier:has([value=strategy])").await;
    browser.click("#submit").await;
    browser.arrive(&browser.stack.sandbox).await;
    browser.click("#cancel").await;
    browser.arrive(&browser.stack.site).await;
    assert!(browser.text("#canceled").await.contains("nothing was charged. Your question is still here."));
    assert!(!browser.sees("#ordered").await, "nothing was ordered");
    assert_eq!(browser.run("return document.getElementById('query').value").await, question);
    assert_eq!(browser.text("#total").await, "$25.00 CAD");
    browser.look("front-cancelled").await;
    browser.close().await;
}

/// A script that cannot run to its end, as in an old browser, leaves the sentence that says what to do.
#[tokio::test]
async fn a_page_whose_script_fails_says_what_to_do() {
    let browser = Browser::open().await;
    for path in ["/", "/oracle/result?session_id=cs_test_old_browser", "/chat"] {
        browser.visit(path).await;
        assert_eq!(browser.run("return document.getElementById('fallback').hidden").await, true, "{path}");
    }
    browser.before_every_page("document.getElementById = () => { throw new TypeError('old'); };").await;
    for (path, sentence) in [
        ("/", "This form needs a current browser"),
        ("/oracle/result?session_id=cs_test_old_browser", "Your verdict also comes by email"),
        ("/chat", "The chat needs a current browser"),
    ] {
        browser.visit(path).await;
        assert!(browser.text("#fallback").await.contains(sentence), "{path}");
    }
    // The console contains the scripts' own errors, so this test does not require an empty console.
}

/// Where there is no draft, as when storage is off, the page does not promise one.
#[tokio::test]
async fn a_cancelled_payment_without_a_draft_promises_none() {
    let browser = Browser::at("/?canceled=1").await;
    assert_eq!(browser.text("#canceled").await, "You left the payment page and nothing was charged.");
    browser.close().await;
}

/// The customer stops the payment page while it loads. The test shortens the wait, and its payment page is a place on this page.
#[tokio::test]
async fn the_button_works_again_after_a_payment_page_was_stopped() {
    let browser = Browser::at("/").await;
    let stopped = "window.setTimeout = (act) => queueMicrotask(act); \
                   window.fetch = async () => Response.json({ url: `${location.origin}/#payment` }); return null";
    browser.run(stopped).await;
    browser.submit("#query", "Should I open a bakery?", "#submit").await;
    browser.arrive(&format!("{}/#payment", browser.stack.site)).await;
    assert_eq!(browser.run("return byId('submit').getAttribute('aria-disabled')").await, "false");
    browser.close().await;
}

#[tokio::test]
async fn a_link_can_choose_the_tier() {
    let browser = Browser::open().await;
    for (tier, price) in [("full", "$5.00 CAD"), ("strategy", "$25.00 CAD"), ("nonsense", "$1.00 CAD")] {
        browser.run("sessionStorage.clear(); return null").await;
        browser.visit(&format!("/?tier={tier}")).await;
        assert_eq!(browser.text("#total").await, price, "{tier}");
    }
    browser.close().await;
}

#[tokio::test]
async fn an_address_that_names_no_order_says_so() {
    let browser = Browser::open().await;
    for address in ["/no/such/page", "/result/not-an-order"] {
        browser.visit(address).await;
        assert_eq!(browser.text("h1").await, "There is no page at this address", "{address}");
    }
    browser.inspect("not-found").await;
    // The console contains the page's own 404 and nothing else, so this test does not require an empty console.
}
