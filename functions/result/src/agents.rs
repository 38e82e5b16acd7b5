//! The pages that agents read before they buy: `/agents`, and `/llms.txt` for models.

use crate::pages::{Frame, Page, assemble};
use domain::toll::Offer;

/// The examples on the page. The deployed tests run them as served.
const EXAMPLES: [(&str, &str); 3] = [
    ("{{example_curl}}", include_str!("../pages/agents/buy.sh")),
    ("{{example_typescript}}", include_str!("../pages/agents/buy.ts")),
    ("{{example_rust}}", include_str!("../pages/agents/buy.rs")),
];

/// The site's address in the examples.
const EXAMPLE_SITE: &str = "https://oracle.example";

/// The page (`GET /agents`): prices, the steps of a purchase, and three examples for this site. `sells_on` is the network
/// on which USDC is accepted; without one the page says that nothing is sold.
pub(crate) fn page(site: &str, sells_on: Option<&str>) -> Page {
    let Some(network) = sells_on else {
        return assemble(include_str!("../pages/agents/closed.html"), None, Frame::Narrow);
    };
    let offers: Vec<String> = Offer::ALL.into_iter().map(row).collect();
    let filled = include_str!("../pages/agents.html").replace("{{offers}}", &offers.join("\n"));
    let filled = filled.replace("{{network}}", &escaped(network));
    let filled = EXAMPLES.into_iter().fold(filled, |page, (place, example)| {
        page.replace(place, &escaped(example.trim_end().replace(EXAMPLE_SITE, site).as_str()))
    });
    assemble(&filled, None, Frame::Narrow)
}

fn row(offer: Offer) -> String {
    let (path, description) = (offer.path(), escaped(offer.description()));
    let longest = grouped(offer.longest());
    format!(
        "<div><dt><code>POST {path}</code> <span class=\"nowrap\">{} USDC</span></dt>\
         <dd>{description} Up to {longest} characters.</dd></div>",
        dollars(offer)
    )
}

fn dollars(offer: Offer) -> String {
    format!("{:.2}", offer.dollars())
}

/// A number with a comma between the thousands and the rest.
fn grouped(number: usize) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// `GET /llms.txt` (llmstxt.org): a short version for models.
pub(crate) fn llms_txt(site: &str, sells_on: Option<&str>) -> String {
    let Some(network) = sells_on else {
        return include_str!("../pages/agents/closed.txt").replace(EXAMPLE_SITE, site);
    };
    let offer = |offer: Offer| {
        format!(
            "- `POST {site}{}`, {} USDC, up to {} characters: {}\n",
            offer.path(),
            dollars(offer),
            grouped(offer.longest()),
            offer.description()
        )
    };
    let offers: String = Offer::ALL.into_iter().map(offer).collect();
    let text = include_str!("../pages/agents/llms.txt").replace("{{network}}", network);
    text.replace("{{offers}}\n", &offers).replace(EXAMPLE_SITE, site)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "https://verdicts.example";

    #[test]
    fn the_page_names_every_offer_with_its_price_and_this_site() {
        let html = page(SITE, Some("Base")).html;
        assert!(html.contains("pays for it in USDC on Base, over x402"));
        for (path, price) in
            [("/query", "0.05"), ("/query/full", "0.25"), ("/query/premium", "1.00"), ("/analyze", "0.25")]
        {
            let row = format!("<dt><code>POST {path}</code> <span class=\"nowrap\">{price} USDC</span></dt>");
            assert!(html.contains(&row), "{row}");
        }
        assert_eq!(html.matches("https://verdicts.example/query").count(), 2, "TypeScript and Rust");
        assert!(html.contains("ORACLE=https://verdicts.example\n"));
        assert!(!html.contains("oracle.example") && !html.contains("{{"));
        assert!(html.contains("-&gt; Result&lt;(), Box&lt;dyn std::error::Error&gt;&gt;"), "an example is text");
    }

    #[test]
    fn a_model_reads_the_same_offers() {
        let text = llms_txt(SITE, Some("Base"));
        assert!(text.starts_with("# Oracle by 42 Sisters AI\n\n> "));
        assert_eq!(text.lines().filter(|line| line.starts_with("- `POST https://verdicts.example/")).count(), 4);
        assert!(text.contains("/analyze`, 0.25 USDC, up to 20,000 characters: "));
        assert!(!text.contains("oracle.example") && !text.contains("{{"));
        assert_eq!(filter::Filter::embedded().check(&text).outcome, filter::Outcome::Pass);
    }

    /// Without a recipient every call of an offer is a 404.
    #[test]
    fn what_is_not_sold_is_not_offered() {
        for text in [page(SITE, None).html, llms_txt(SITE, None)] {
            assert!(text.contains("Nothing is sold for USDC here"), "{text}");
            assert!(!text.contains("POST /") && !text.contains("{{"), "{text}");
            assert!(!text.contains("oracle.example"), "{text}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([grouped(5), grouped(4_000), grouped(20_050)], ["5", "4,000", "20,050"]);
    }
}
