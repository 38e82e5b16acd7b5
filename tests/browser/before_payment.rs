//! What the front page does with a question that is not sold, or sold with a notice: nothing is charged before the
//! customer has seen it.

use crate::browser::Browser;
use serde_json::json;

/// Asks a question on the front page.
async fn ask(browser: &Browser, question: &str) {
    browser.visit("/").await;
    browser.submit("#query", question, "#submit").await;
}

/// Gives the browser a language. Its region selects the country of the resources.
pub(crate) async fn speak(browser: &Browser, language: &str) {
    let script = format!("Object.defineProperty(navigator, 'language', {{ get: () => '{language}' }});");
    browser.before_every_page(&script).await;
}

/// The draft that the browser keeps for the way to the payment page and back.
async fn draft(browser: &Browser) -> String {
    let draft = browser.run("return JSON.parse(sessionStorage.getItem('oracle.draft') ?? '{}').query ?? ''").await;
    draft.as_str().unwrap_or_default().to_owned()
}

/// The visible text of the page in lower case.
async fn shown(browser: &Browser) -> String {
    browser.run("return document.body.innerText").await.as_str().unwrap_or_default().to_lowercase()
}

/// What a screen reader says of a field after its name.
pub(crate) async fn description(browser: &Browser, field: &str) -> String {
    let script = format!(
        "const ids = document.querySelector('{field}').getAttribute('aria-describedby').split(' '); \
         return ids.map((id) => document.getElementById(id).textContent).join(' ')"
    );
    browser.run(&script).await.as_str().unwrap_or_default().to_owned()
}

/// Checks that the page shows who helps, no word of a sale, and nothing of the text "I want to kill myself".
pub(crate) async fn shows_only_who_helps(browser: &Browser) {
    let resources = browser.text("#care-resources").await;
    assert!(resources.contains("9-8-8") && resources.contains("911"), "{resources}");
    for number in ["988", "911"] {
        assert!(browser.sees(&format!("#care-resources a[href='tel:{number}']")).await, "{number} can be tapped");
    }
    assert!(!browser.sees("#care-actions").await);
    let page = shown(browser).await;
    for word in ["verdict", "$", "payment", "charged", "quick take", "strategy", "refund", "buy", "subscri", "free"] {
        assert!(!page.contains(word), "{word}: {page}");
    }
    assert!(!page.contains("kill"), "the text is not repeated: {page}");
}

#[tokio::test]
async fn a_blocked_question_shows_who_helps_and_keeps_the_question() {
    let browser = Browser::open().await;
    speak(&browser, "en-CA").await;
    let question = "Can I give my son two of my warfarin tablets?";
    ask(&browser, question).await;
    browser.see("#care").await;
    assert!(browser.text("#care-text").await.contains("Nothing was charged"));
    assert!(browser.text("#care-resources").await.contains("1-844-POISON-X"));
    assert!(!browser.text("#care-actions").await.is_empty());
    assert!(!browser.sees("#offer").await);
    assert_eq!(
        browser.run("return [document.activeElement.id, document.title]").await,
        json!(["care", "Please talk to somebody"])
    );
    browser.inspect("care-blocked").await;
    browser.click("#care-back").await;
    assert_eq!(browser.run("return document.getElementById('query').value").await, question);
    browser.close().await;
}

#[tokio::test]
async fn a_crisis_shows_the_resources_without_a_word_of_a_sale_and_forgets_the_text() {
    let browser = Browser::open().await;
    speak(&browser, "en-CA").await;
    ask(&browser, "I want to kill myself").await;
    browser.see("#care").await;
    shows_only_who_helps(&browser).await;
    assert_eq!(draft(&browser).await, "");
    assert_eq!(browser.exact_text("#query-count").await, "0 / 20,000 characters", "of the text that is gone");
    browser.inspect("care-crisis").await;
    browser.visit("/").await;
    assert_eq!(browser.run("return document.getElementById('query').value").await, "");
    browser.close().await;
}

#[tokio::test]
async fn the_browsers_language_selects_the_country_of_the_resources() {
    let browser = Browser::open().await;
    speak(&browser, "en-US").await;
    ask(&browser, "I want to kill myself").await;
    let resources = browser.text("#care-resources").await;
    assert!(resources.contains("988 Suicide & Crisis Lifeline") && !resources.contains("9-8-8"), "{resources}");
    assert!(browser.sees("#care-resources a[href='sms:741741?&body=HOME']").await, "a message is written with one tap");
    browser.close().await;
    // A Canadian's browser may be British.
    let browser = Browser::open().await;
    speak(&browser, "en-GB").await;
    ask(&browser, "I want to kill myself").await;
    let resources = browser.text("#care-resources").await;
    assert!(resources.contains("Samaritans (United Kingdom)") && resources.contains("9-8-8"), "{resources}");
    browser.close().await;
}

/// Numbers are dialled, numbers for text messages get one, and sites are opened. The text of a contact stays as it is.
#[tokio::test]
async fn every_number_and_site_of_a_contact_is_a_link() {
    let data = include_str!("../../shared/rules/authority/data/general.toml");
    let contacts: Vec<&str> =
        data.lines().filter_map(|line| line.strip_prefix("contact = \"")?.strip_suffix('"')).collect();
    let browser = Browser::at("/").await;
    let line = async |contact: &str| {
        let reply = json!({ "resources": [{ "name": "Help", "contact": contact }] });
        let script = format!(
            "const [line] = helpers({reply}); \
             return [line.textContent, [...line.children].map((link) => [link.getAttribute('href'), link.textContent])]"
        );
        browser.run(&script).await
    };
    assert!(contacts.len() > 40, "the list was read");
    for contact in contacts {
        let shown = line(contact).await;
        assert_eq!(shown[0], json!(format!("Help: {contact}")));
        let is_place = !contact.contains(|c: char| c.is_ascii_digit() || c == '.');
        assert_eq!(shown[1] == json!([]), is_place, "{contact}: {shown}");
    }
    for (contact, links) in [
        ("Call or text 9-8-8", json!([["tel:988", "9-8-8"]])),
        ("Text HOME to 741741", json!([["sms:741741?&body=HOME", "741741"]])),
        ("116 123", json!([["tel:116123", "116 123"]])),
        (
            "1-844-POISON-X (1-844-764-7669), in Quebec 1-800-463-5060",
            json!([["tel:18447647669", "1-844-764-7669"], ["tel:18004635060", "1-800-463-5060"]]),
        ),
        ("1-800-668-6868, or text 686868", json!([["tel:18006686868", "1-800-668-6868"], ["sms:686868", "686868"]])),
        ("findahelpline.com", json!([["//findahelpline.com", "findahelpline.com"]])),
    ] {
        assert_eq!(line(contact).await[1], links, "{contact}");
    }
    browser.close().await;
}

#[tokio::test]
async fn missing_facts_are_asked_for_beside_the_text_and_it_is_evaluated_again() {
    let browser = Browser::open().await;
    let question = "Can I record this phone call?";
    ask(&browser, question).await;
    let missing = browser.text("#query-missing").await;
    assert!(missing.contains("law should apply?"), "a question in plain words: {missing}");
    assert!(browser.text("#query-error").await.contains("Nothing was charged"));
    assert!(description(&browser, "#query").await.contains("law should apply?"), "what is missing is read aloud");
    assert_eq!(
        browser.run("return [document.activeElement.id, document.getElementById('query').value]").await,
        json!(["query", question])
    );
    assert_eq!(draft(&browser).await, question);
    browser.inspect("front-missing").await;
    browser.type_into("#query", " We are both in Ontario, Canada.").await;
    assert!(!browser.sees("#query-missing").await, "the list is of the earlier text");
    browser.click("#submit").await;
    browser.see("#with-notice").await;
    assert!(browser.text("#notice-text").await.contains("not legal advice"));
    browser.close().await;
}

/// A question that lacks a fact may be urgent.
#[tokio::test]
async fn who_helps_stands_beside_what_is_missing() {
    let browser = Browser::open().await;
    speak(&browser, "en-CA").await;
    ask(&browser, "How much ibuprofen should I give my son for his fever?").await;
    browser.see("#query-missing a[href='tel:18447647669']").await;
    browser.close().await;
}

/// What is missing stands under its sentence only, not under the next one.
#[tokio::test]
async fn a_later_error_takes_the_place_of_what_is_missing() {
    let browser = Browser::open().await;
    ask(&browser, "Can I record this phone call?").await;
    browser.see("#query-missing").await;
    browser.run("window.fetch = async () => { throw new TypeError('lost') }; return null").await;
    browser.click("#submit").await;
    browser.see("#form-error").await;
    assert!(!browser.sees("#query-missing").await);
    browser.close().await;
}

#[tokio::test]
async fn a_notice_is_shown_before_the_payment_and_costs_one_click() {
    let browser = Browser::open().await;
    ask(&browser, "What does 'force majeure' mean?").await;
    browser.see("#with-notice").await;
    assert!(browser.text("#notice-text").await.contains("not legal advice"));
    assert!(browser.address().await.starts_with(&browser.stack.site), "the payment page is not opened yet");
    browser.inspect("notice").await;
    browser.click("#notice-back").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "query");
    browser.click("#submit").await;
    browser.see("#with-notice").await;
    // The keyboard reaches the button with one Tab.
    browser.press("\u{e004}").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "notice-continue");
    browser.press("\u{e007}").await;
    browser.arrive(&browser.stack.sandbox).await;
    browser.see("#pay").await;
    browser.run("history.back(); return null").await;
    browser.see("#offer").await;
    assert!(!browser.sees("#with-notice").await);
    browser.close().await;
}
