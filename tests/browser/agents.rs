//! The page for agents: prices and examples, on a phone and a laptop.

use crate::browser::{Browser, VIEWPORTS};

const EXAMPLES: [&str; 3] = ["with-curl", "with-typescript", "with-rust"];

#[tokio::test]
async fn it_is_accessible_on_a_phone_and_a_laptop_in_both_colour_schemes() {
    let browser = Browser::at("/agents").await;
    browser.assert_accessible("agents").await;
    browser.close().await;
}

#[tokio::test]
async fn it_names_the_prices_and_examples_that_are_copied_whole() {
    let browser = Browser::at("/agents").await;
    let page = browser.text("main").await;
    for (path, price) in [("/query", "0.05"), ("/query/full", "0.25"), ("/query/premium", "1.00"), ("/analyze", "0.25")]
    {
        assert!(page.contains(&format!("POST {path} {price} USDC")), "{path}: {page}");
    }
    for viewport in VIEWPORTS {
        browser.viewport(viewport).await;
        for example in EXAMPLES {
            let selector = format!("pre[aria-labelledby={example}]");
            // Selects the example in the page as a reader does. The copy must include the text that its box cuts off.
            let script = format!(
                "const selection = getSelection(); selection.selectAllChildren(document.querySelector('{selector} code')); \
                 return selection.toString()"
            );
            let copied = browser.run(&script).await.as_str().unwrap_or_default().to_owned();
            assert_eq!(copied.trim_end(), browser.exact_text(&selector).await.trim_end(), "{example}");
            assert!(copied.contains(&browser.stack.site) && !copied.contains("oracle.example"), "{example}: {copied}");
            let reach = format!(
                "const box = document.querySelector('{selector}'); box.focus(); \
                 return document.activeElement === box && getComputedStyle(box).overflowX === 'auto'"
            );
            assert_eq!(browser.run(&reach).await, true, "{example}: long lines are scrolled to by keyboard");
        }
    }
    for link in ["/openapi.json", "/llms.txt"] {
        let script =
            format!("return fetch(document.querySelector('main a[href=\"{link}\"]').href).then(reply => reply.status)");
        assert_eq!(browser.run(&script).await, 200, "{link}");
    }
    browser.close().await;
}
