//! The Bridge on the chat's page: a customer reads and accepts the agreement with the keyboard, writes, and sees a
//! closed thread.

use crate::before_payment::{shows_only_who_helps, speak};
use crate::browser::Browser;
use crate::chat::sign_in;
use crate::stack::{poll, program, unique};
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

pub(crate) fn oracle(browser: &Browser, arguments: &[&str]) -> Value {
    let mut command = program();
    command.args(arguments).arg("--json").arg("--stack").arg(browser.stack.directory.join("stack.json"));
    let output = command.output().expect("the command runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The digits of the Bridge that was accepted last; the index may lag behind the table.
async fn newest(browser: &Browser, before: usize) -> String {
    let found = poll(SOON, async || {
        let rows = oracle(browser, &["bridge", "list"]);
        let rows = rows.as_array()?;
        let newest = rows.iter().max_by_key(|row| row["accepted_at"].to_string())?;
        (rows.len() > before).then(|| newest["bridge"].as_str().map(str::to_owned))?
    });
    found.await.expect("a Bridge")
}

fn in_a_month() -> String {
    domain::Timestamp::from_seconds(jiff::Timestamp::now().as_second() + 30 * 86_400).to_date()
}

#[tokio::test]
async fn the_agreement_is_accepted_and_the_thread_is_used() {
    let browser = Browser::open().await;
    speak(&browser, "en-CA").await;
    let address = sign_in(&browser).await;
    let before = oracle(&browser, &["bridge", "list"]).as_array().expect("rows").len();
    browser.see("#bridge-read").await;
    assert!(!browser.sees("#bridge-say").await, "nothing can be posted yet");
    browser.run("document.getElementById('bridge-read').focus(); return null").await;
    browser.press("\u{e007}").await;
    assert!(browser.text("#agreement-text").await.contains("Non-Disclosure Agreement"));
    browser.assert_accessible("chat-bridge-agreement").await;
    browser.click("#agreement-send").await;
    browser.see("#agreement-error").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "agreement-name");
    browser.assert_accessible("chat-bridge-refused").await;
    browser.type_into("#agreement-name", "Sam Example").await;
    browser.submit("#agreement-email", &address, "#agreement-send").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "agreement-yes", "the box is needed");
    browser.press(" ").await;
    assert_eq!(browser.run("return document.getElementById('agreement-yes').checked").await, true);
    browser.click("#agreement-send").await;
    let accepted = poll(SOON, async || (!browser.sees("#agreement").await).then_some(())).await;
    assert!(accepted.is_some(), "{}", browser.text("#bridge").await);
    assert!(browser.text("#bridge-text").await.contains("You have accepted"));

    let digits = newest(&browser, before).await;
    let decision = ["--by", "dana", "--reason", "asked for by mail", "--yes"];
    oracle(&browser, &[&["bridge", "grant", &digits, "--expires", &in_a_month()][..], &decision].concat());
    browser.visit("/chat").await;
    browser.see("#bridge-say").await;
    assert_eq!(browser.text("#plan").await, "You have access to the Bridge.");
    browser.click("#bridge-send").await;
    browser.see("#bridge-error").await;
    let mark = unique();
    browser.submit("#bridge-message", &format!("May we speak about the lease? <b>{mark}</b>"), "#bridge-send").await;
    browser.see("#bridge-thread .own").await;
    assert!(browser.text("#bridge-thread").await.contains(&format!("<b>{mark}</b>")), "shown as text");
    let file = std::env::temp_dir().join(format!("oracle-bridge-{mark}.txt"));
    std::fs::write(&file, "Yes. Please send us the lease.").expect("a file");
    let path = file.to_str().expect("a path");
    let shown = oracle(&browser, &["bridge", "show", &digits]);
    let read = shown["messages"][0]["id"].as_str().expect("the message's id");
    oracle(&browser, &[&["bridge", "reply", &digits, "--to", read, "--file", path][..], &decision].concat());
    std::fs::remove_file(&file).expect("its end");
    browser.visit("/chat#bridge").await;
    browser.see("#bridge-thread .said:not(.own)").await;
    let thread = browser.text("#bridge-thread").await;
    assert!(thread.contains("42 Sisters AI") && !thread.contains("dana"), "{thread}");
    browser.assert_accessible("chat-bridge-thread").await;

    // A person reads a disclosure in the thread; the page shows who helps.
    browser.submit("#bridge-message", "I want to kill myself", "#bridge-send").await;
    browser.see("#care").await;
    shows_only_who_helps(&browser).await;
    browser.click("#care-back").await;
    browser.see("#bridge-thread").await;
    // The page shows who helps before it has read the thread again.
    let posted = poll(SOON, async || browser.text("#bridge-thread").await.contains("kill myself").then_some(())).await;
    assert!(posted.is_some(), "a person reads it");
    assert_eq!(browser.run("return document.getElementById('bridge-message').value").await, "");

    oracle(&browser, &[&["bridge", "revoke", &digits][..], &decision].concat());
    browser.submit("#bridge-message", "One more thing.", "#bridge-send").await;
    let closed = poll(SOON, async || (!browser.sees("#bridge-say").await).then_some(())).await;
    assert!(closed.is_some() && browser.text("#bridge-text").await.contains("no access"));
    assert_eq!(browser.text("#bridge-unsent-text").await, "One more thing.", "it can be copied");
    browser.assert_accessible("chat-bridge-closed").await;
    let count = browser.run("return document.querySelectorAll('#bridge-thread .said').length").await;
    assert_eq!(count, json!(3), "nothing was posted after the revocation");
    browser.close().await;
}
