//! Purchases of each tier in both flows, as a customer makes them.

use crate::browser::{Browser, VERDICT};
use crate::stack::unique;
use serde_json::{Value, json};

const TIERS: [(&str, &str, &str); 3] = [
    ("quick", "Quick Take", "$1.00 CAD"),
    ("full", "Full Breakdown", "$5.00 CAD"),
    ("strategy", "Strategy Session", "$25.00 CAD"),
];
const DIMENSIONS: [&str; 5] = ["Stability", "Turbulence", "Change Rate", "Completion", "Curvature"];

/// An address that only this sale uses.
fn buyer() -> String {
    format!("buyer-{}@example.com", unique())
}

/// The session id in the address of a result page.
fn session_of(address: &str) -> String {
    address.split_once("session_id=").expect("the address names a session").1.to_owned()
}

/// Fills in the hosted payment page, which the browser shows now.
async fn pay(browser: &Browser, email: &str) {
    browser.arrive(&browser.stack.sandbox).await;
    browser.submit("input[name=email]", email, "#pay").await;
}

/// Checks that the page shows the API's verdict, and that the mail contains the same.
async fn page_and_mail_agree(browser: &Browser, session_id: &str, tier: &str, question: &str, email: &str) {
    browser.see_within("#result", VERDICT).await;
    let (status, sale) = browser.stack.verdict(session_id).await;
    assert_eq!((status, &sale["tier"], &sale["query"]), (200, &json!(tier), &json!(question)), "{sale}");
    let verdict = &sale["verdict"];
    let text = |value: &Value| value.as_str().expect("a text").to_owned();

    let (_, name, _) = TIERS.into_iter().find(|(key, ..)| *key == tier).expect("a tier");
    assert_eq!(browser.text("#tier").await, name);
    assert_eq!(browser.text("#word").await, text(&verdict["verdict"]));
    assert_eq!(browser.exact_text("#summary").await, text(&verdict["summary"]));
    assert_eq!(browser.exact_text("#query").await, question);

    assert_eq!(browser.sees("#breakdown").await, tier != "quick", "the five dimensions of {tier}");
    if tier != "quick" {
        for (index, dimension) in DIMENSIONS.into_iter().enumerate() {
            let row = format!("#dimensions .dimension:nth-child({})", index + 1);
            let stated = &verdict["breakdown"][dimension];
            assert_eq!(browser.text(&format!("{row} h3")).await, dimension);
            assert_eq!(browser.text(&format!("{row} .word")).await, text(&stated["verdict"]));
            assert_eq!(browser.exact_text(&format!("{row} .prose")).await, text(&stated["analysis"]));
        }
    }
    assert_eq!(browser.sees("#strategy").await, tier == "strategy", "the strategy block of {tier}");
    assert_eq!(browser.sees("#follow-up").await, tier == "strategy", "the follow-up of {tier}");
    if tier == "strategy" {
        let stated = &verdict["strategy"];
        assert_eq!(browser.exact_text("#next-step").await, text(&stated["next_step"]));
        assert_eq!(browser.exact_text("#alternative").await, text(&stated["alternative"]));
        for (index, test) in stated["tests"].as_array().expect("tests").iter().enumerate() {
            assert_eq!(browser.exact_text(&format!("#tests li:nth-child({})", index + 1)).await, text(test));
        }
    }

    let mail = browser.stack.mail_to(email).await;
    assert_eq!(mail["subject"], "Your 42 Sisters AI Verdict");
    let body = text(&mail["body"]);
    for part in [question, &text(&verdict["verdict"]), &text(&verdict["summary"]), session_id] {
        assert!(body.contains(part), "the mail lacks {part:?}:\n{body}");
    }
}

#[tokio::test]
async fn every_tier_is_bought_on_the_site() {
    for (tier, _, price) in TIERS {
        let browser = Browser::at("/").await;
        let (email, question) = (buyer(), format!("Should I open a bakery on the corner? ({})", unique()));
        browser.type_into("#query", &question).await;
        browser.click(&format!("label.tier:has([value={tier}])")).await;
        assert_eq!(browser.text("#total").await, price);
        browser.click("#submit").await;
        pay(&browser, &email).await;
        let address = browser.arrive(&format!("{}/oracle/result?session_id=", browser.stack.site)).await;
        page_and_mail_agree(&browser, &session_of(&address), tier, &question, &email).await;
        let draft = browser.run("return sessionStorage.getItem('oracle.draft')").await;
        assert_eq!(draft, Value::Null, "the order's draft is removed");
        browser.look(&format!("bought-{tier}")).await;
        browser.close().await;
    }
}

#[tokio::test]
async fn every_tier_is_bought_by_payment_link() {
    for (tier, ..) in TIERS {
        let browser = Browser::open().await;
        let (email, question) = (buyer(), format!("Launch a subscription newsletter for executives ({})", unique()));
        let id = browser.stack.sell_by_payment_link(tier, &question, &email).await;
        browser.visit_result(&id).await;
        page_and_mail_agree(&browser, &id, tier, &question, &email).await;
        browser.look(&format!("payment-link-{tier}")).await;
        browser.close().await;
    }
}

#[tokio::test]
async fn bought_with_the_keyboard_alone() {
    const TAB: &str = "\u{e004}";
    const ENTER: &str = "\u{e007}";
    const DOWN: &str = "\u{e015}";
    let browser = Browser::open().await;
    let focus = async |expected: &str| {
        let focused = browser.run("const e = document.activeElement; return e.name || e.id || e.className").await;
        assert_eq!(focused, expected, "where the keyboard's focus is");
        let ring = "let e = document.activeElement; if (e.type === 'radio') e = e.closest('label'); \
                    return parseFloat(getComputedStyle(e).outlineWidth)";
        assert!(browser.run(ring).await.as_f64() >= Some(2.0), "{expected}: the focus cannot be seen");
    };
    let (email, question) = (buyer(), format!("Is it wise to sell the boat? ({})", unique()));

    browser.visit("/").await;
    browser.press(TAB).await;
    focus("skip").await;
    browser.press(TAB).await;
    focus("brand").await;
    browser.press(TAB).await;
    focus("query").await;
    browser.press(&question).await;
    browser.press(TAB).await;
    focus("tier").await;
    browser.press(DOWN).await;
    focus("tier").await;
    assert_eq!(browser.text("#total").await, "$5.00 CAD");
    browser.press(TAB).await;
    focus("referral_code").await;
    browser.press(TAB).await;
    focus("submit").await;
    browser.press(ENTER).await;

    // The payment page is not ours: the test only types into its field.
    browser.arrive(&browser.stack.sandbox).await;
    browser.type_into("input[name=email]", &email).await;
    browser.press(ENTER).await;

    let address = browser.arrive(&format!("{}/oracle/result?session_id=", browser.stack.site)).await;
    page_and_mail_agree(&browser, &session_of(&address), "full", &question, &email).await;
    browser.close().await;
}

#[tokio::test]
async fn the_short_address_leads_to_the_result_page() {
    let browser = Browser::open().await;
    let (email, question) = (buyer(), format!("Should we move the office? ({})", unique()));
    let id = browser.stack.sell_by_payment_link("quick", &question, &email).await;
    browser.visit(&format!("/result/{id}")).await;
    browser.arrive(&format!("{}/oracle/result?session_id={id}", browser.stack.site)).await;
    page_and_mail_agree(&browser, &id, "quick", &question, &email).await;
    browser.close().await;
}
