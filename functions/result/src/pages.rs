//! The pages that customers see. Each is assembled once into a single response: the style sheet and the script are
//! inlined, and the page's Content-Security-Policy names them by their hash, so that nothing else can run or be loaded.
//!
//! The texts are in `pages/`: `layout.html` holds what all pages share; each page's file holds its head (title and meta
//! elements), an empty line, and its content. They contain no customer data. The page's own script fetches what differs
//! between sales and inserts it as text. `help.js` precedes the scripts of the pages that take a customer's text.

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

const STYLE: &str = include_str!("../pages/site.css");
const LAYOUT: &str = include_str!("../pages/layout.html");

/// A page, with the policy that must be sent with it.
#[derive(Debug)]
pub struct Page {
    /// The whole document.
    pub html: String,
    /// The value of the `Content-Security-Policy` header: it matches this document only.
    pub content_security_policy: String,
}

/// The front page (`GET /`): sells the three tiers and takes the question.
pub fn front() -> &'static Page {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| {
        let script = Some(concat!(include_str!("../pages/help.js"), include_str!("../pages/front.js")));
        assemble(include_str!("../pages/front.html"), script, Frame::Wide)
    })
}

/// The result page (`GET /oracle/result`): waits for the verdict and shows it (Verdict Pipeline, outputs 2).
pub fn result() -> &'static Page {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| {
        let script = Some(concat!(include_str!("../pages/help.js"), include_str!("../pages/result.js")));
        assemble(include_str!("../pages/result.html"), script, Frame::Narrow)
    })
}

/// The chat (`GET /chat`): signing in, the conversation, the memory.
pub fn chat() -> &'static Page {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| {
        let script = Some(concat!(include_str!("../pages/help.js"), include_str!("../pages/chat.js")));
        assemble(include_str!("../pages/chat.html"), script, Frame::Narrow)
    })
}

/// The page for every other address, sent with status 404.
pub fn not_found() -> &'static Page {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| assemble(include_str!("../pages/not_found.html"), None, Frame::Narrow))
}

/// How a page's header and footer look.
#[derive(Clone, Copy)]
pub(crate) enum Frame {
    /// One column.
    Narrow,
    /// The full width, with links to the chat and for agents in the footer.
    Wide,
}

/// Puts a page's file into the layout, inlines style sheet and script, and derives the policy. Trusted Types make the
/// browser itself refuse any script that would insert text as markup.
pub(crate) fn assemble(page: &str, script: Option<&str>, frame: Frame) -> Page {
    let (head, main) = page.split_once("\n\n").unwrap_or(("", page));
    let (width, footer_link) = match frame {
        Frame::Narrow => ("wrap narrow", ""),
        Frame::Wide => {
            ("wrap", "<p><a href=\"/chat\">Sisters Chat</a></p>\n<p><a href=\"/agents\">For agents</a></p>\n")
        }
    };
    let script_element = script.map_or_else(String::new, |script| format!("<script>{script}</script>\n"));
    let places = [
        ("{{head}}", head),
        ("{{style}}", STYLE),
        ("{{width}}", width),
        ("{{footer_link}}", footer_link),
        ("{{script}}", script_element.as_str()),
        ("{{main}}", main),
    ];
    let html = places.into_iter().fold(LAYOUT.to_owned(), |html, (place, text)| html.replace(place, text));
    let script_source = script.map_or_else(|| "'none'".to_owned(), hash_source);
    let style_source = hash_source(STYLE);
    let content_security_policy = format!(
        "default-src 'none'; script-src {script_source}; style-src {style_source}; img-src data:; \
         connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    );
    Page { html, content_security_policy }
}

/// The Content-Security-Policy source that allows exactly this inlined text.
fn hash_source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        Colour, Tier,
        chat::{FREE_EXCHANGES, LINKS_AN_HOUR, LONGEST_MESSAGE, PaidPlan},
        verdict::DIMENSIONS,
    };

    fn pages() -> [(&'static str, &'static Page); 5] {
        static AGENTS: OnceLock<Page> = OnceLock::new();
        let agents = AGENTS.get_or_init(|| crate::agents::page("https://oracle.example", Some("Base")));
        [("front", front()), ("result", result()), ("chat", chat()), ("not found", not_found()), ("agents", agents)]
    }

    /// The content between the first `<name>` and `</name>`.
    fn element<'a>(html: &'a str, name: &str) -> Option<&'a str> {
        let (_, rest) = html.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    }

    /// The document without its style sheet and script.
    fn markup(page: &Page) -> String {
        let mut html = page.html.clone();
        for name in ["style", "script"] {
            if let Some(text) = element(&page.html, name) {
                html = html.replace(text, "");
            }
        }
        html
    }

    /// Every tag of the markup, without its angle brackets.
    fn tags(markup: &str) -> Vec<&str> {
        markup.split('<').skip(1).map(|tag| tag.split_once('>').expect("a tag is not closed").0).collect()
    }

    /// The visible text, with tags replaced by line ends.
    fn visible_text(markup: &str) -> String {
        markup.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect::<Vec<_>>().join("\n")
    }

    /// The texts between double quotes, one per line: attribute values, a script's sentences.
    fn quoted(text: &str) -> String {
        text.split('"').skip(1).step_by(2).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_policy_names_exactly_the_inlined_texts() {
        for (name, page) in pages() {
            let policy = &page.content_security_policy;
            for kind in ["style", "script"] {
                assert!(page.html.matches(&format!("<{kind}")).count() <= 1, "{name}: one {kind} element");
                let source = element(&page.html, kind).map_or_else(|| "'none'".to_owned(), hash_source);
                assert!(policy.contains(&format!("{kind}-src {source};")), "{name}: {policy}");
            }
            assert!(policy.starts_with("default-src 'none';"), "{name}");
            assert!(!policy.contains("unsafe"), "{name}");
            assert!(!page.html.contains("{{"), "{name}: a place was not filled");
        }
    }

    #[test]
    fn a_hash_source_is_what_browsers_compute() {
        // The example of the CSP Level 3 recommendation, section "Usage of hash-source".
        assert_eq!(hash_source("doSomething();"), "'sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc='");
    }

    #[test]
    fn nothing_that_the_policy_would_block() {
        for (name, page) in pages() {
            for tag in tags(&markup(page)) {
                for attribute in tag.split_ascii_whitespace().skip(1) {
                    assert!(!attribute.starts_with("style="), "{name}: {tag}");
                    assert!(!attribute.starts_with("on"), "{name}: {tag}");
                    assert!(!attribute.starts_with("src="), "{name}: {tag}");
                    assert!(!attribute.starts_with("action="), "{name}: {tag}");
                }
            }
        }
    }

    #[test]
    fn nothing_from_third_parties() {
        for (name, page) in pages() {
            // The namespace of the icon's SVG is a name, not an address that is loaded.
            let html = page.html.replace("http://www.w3.org/2000/svg", "");
            // Addresses in the examples for copying are text.
            let without_end = |part: &str| part.split_once("</pre>").map_or(part, |(_, rest)| rest).to_owned();
            let html: String = html.split("<pre ").map(without_end).collect();
            for forbidden in ["http://", "https://", "@import", "url(", "src=\"//", "href=\"//"] {
                assert!(!html.contains(forbidden), "{name}: {forbidden}");
            }
        }
    }

    #[test]
    fn scripts_insert_text_only_as_text() {
        for (name, page) in pages() {
            let script = element(&page.html, "script").unwrap_or_default();
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "<!--"]
            {
                assert!(!script.contains(forbidden), "{name}: {forbidden}");
            }
        }
    }

    #[test]
    fn documents_are_well_formed() {
        const VOID: [&str; 5] = ["meta", "link", "input", "br", "!doctype"];
        for (name, page) in pages() {
            let markup = markup(page);
            let mut open = Vec::new();
            let mut ids = std::collections::BTreeSet::new();
            for tag in tags(&markup) {
                let element = tag.split_ascii_whitespace().next().unwrap_or_default();
                if let Some(closed) = element.strip_prefix('/') {
                    assert_eq!(open.pop(), Some(closed), "{name}: </{closed}>");
                } else if !VOID.contains(&element) {
                    open.push(element);
                }
                if let Some((_, id)) = tag.split_once(" id=\"") {
                    let id = id.split('"').next().unwrap_or_default();
                    assert!(ids.insert(id), "{name}: id {id} twice");
                }
            }
            assert!(open.is_empty(), "{name}: {open:?} left open");
            assert!(markup.starts_with("<!doctype html>\n<html lang=\"en-CA\">"), "{name}");
            assert!(markup.contains("name=\"viewport\""), "{name}");
            assert!(markup.contains("oracle@42sisters.ai"), "{name}");
        }
    }

    #[test]
    fn scripts_find_every_element_they_name() {
        for (name, page) in [("front", front()), ("result", result()), ("chat", chat())] {
            let script = element(&page.html, "script").unwrap_or_default();
            for call in ["byId(\"", "setText(\"", "fillList(\""] {
                for rest in script.split(call).skip(1) {
                    let id = rest.split('"').next().unwrap_or_default();
                    assert!(page.html.contains(&format!("id=\"{id}\"")), "{name}: {id}");
                }
            }
        }
    }

    /// What a page says where its script does not run, or not to its end, is hidden by the script's last statement.
    #[test]
    fn a_page_whose_script_does_not_run_says_what_to_do() {
        for (name, page) in [("front", front()), ("result", result()), ("chat", chat())] {
            let markup = markup(page);
            let (_, fallback) = markup.split_once(" id=\"fallback\">").expect(name);
            let text = visible_text(fallback.split_once("\n\n").map_or(fallback, |(first, _)| first));
            assert!(text.contains("browser") && text.contains("oracle@42sisters.ai"), "{name}: {text}");
            let script = element(&page.html, "script").unwrap_or_default();
            assert!(script.trim_end().ends_with("byId(\"fallback\").hidden = true;\n}"), "{name}");
        }
    }

    /// Phones that get no new browser are in use for years: the scripts do without what theirs lacks.
    #[test]
    fn scripts_need_nothing_that_five_year_old_browsers_lack() {
        for (name, page) in pages() {
            let script = element(&page.html, "script").unwrap_or_default();
            for missing in [
                ".replaceChildren(",
                ".requestSubmit(",
                ".at(",
                ".replaceAll(",
                ".findLast(",
                ".toSorted(",
                "structuredClone(",
                "Object.hasOwn(",
                "AbortSignal.timeout(",
                "||=",
                "&&=",
                "??=",
                "(?<=",
                "(?<!",
            ] {
                assert!(!script.contains(missing), "{name}: {missing}");
            }
        }
    }

    #[test]
    fn the_front_page_sells_the_tiers_at_their_prices() {
        let html = &front().html;
        for tier in Tier::ALL {
            let price = format!("${}.{:02}", tier.price_cents() / 100, tier.price_cents() % 100);
            let input = format!("value=\"{}\" data-price=\"{price} CAD\"", tier.key());
            assert!(html.contains(&input), "{input}");
            let card = format!(
                "<span class=\"tier-name\">{}</span> <span class=\"tier-price\">{price} <small>CAD</small></span>",
                tier.name()
            );
            assert!(html.contains(&card), "{card}");
        }
        assert_eq!(html.matches("type=\"radio\"").count(), Tier::ALL.len());
        assert!(html.contains(&format!("MAX_CHARACTERS = {};", domain::query::MAX_CHARACTERS)));
    }

    #[test]
    fn the_chat_offers_the_plans_at_their_prices_and_counts_as_the_server_does() {
        let html = &chat().html;
        for plan in PaidPlan::ALL {
            let price =
                format!("${}.{:02} CAD a month", plan.price_cents_a_month() / 100, plan.price_cents_a_month() % 100);
            assert!(html.contains(&price), "{price}");
            assert!(html.contains(&format!("id=\"subscribe-{}\"", plan.key())), "{}", plan.key());
        }
        assert!(html.contains(&format!("MAX_CHARACTERS = {LONGEST_MESSAGE};")));
        assert_eq!(FREE_EXCHANGES, 3, "the page says three");
        assert!(html.contains("After five within an hour, please wait an hour."));
        assert_eq!(LINKS_AN_HOUR, 5, "the page says five");
    }

    /// Operators can read a memory, and each look is recorded with its reason (infra/decisions/chat.md, Audit).
    #[test]
    fn the_chat_says_who_reads_a_memory() {
        let html = &chat().html;
        assert!(html.contains("A person at 42 Sisters AI reads it only for a reason that is recorded."));
        assert!(!html.contains("for you alone"));
    }

    #[test]
    fn the_result_page_knows_every_colour_dimension_and_tier() {
        let html = &result().html;
        for colour in Colour::ALL {
            assert!(html.contains(&format!("{}: \"", colour.word())), "{}", colour.word());
        }
        for (word, value) in [("green", "#34d399"), ("amber", "#f5c842"), ("red", "#ff4444"), ("null", "#555")] {
            assert!(html.contains(&format!("--{word}: {value};")), "{word}");
            assert!(html.contains(&format!(".{word} {{ background: var(--{word}); }}")), "{word}");
        }
        let mut rest = html.as_str();
        for dimension in DIMENSIONS {
            let at = rest.find(&format!("{dimension}: \"")).or_else(|| rest.find(&format!("\"{dimension}\": \"")));
            rest = &rest[at.expect("a dimension is missing or out of order")..];
        }
        for tier in Tier::ALL {
            assert!(html.contains(&format!("{}: \"{}\"", tier.key(), tier.name())));
        }
    }

    /// After a possible disclosure of self-harm a page shows this step alone.
    #[test]
    fn the_step_that_says_who_helps_sells_nothing() {
        for (name, page) in [("front", front()), ("result", result()), ("chat", chat())] {
            let (_, step) = page.html.split_once(" id=\"care\"").expect(name);
            let text = visible_text(step.split_once("</section>").expect(name).0).to_lowercase();
            assert!(text.contains("please talk to somebody"), "{name}: {text}");
            for word in ["verdict", "$", "pay", "charge", "free", "subscri", "follow-up", "order", "buy"] {
                assert!(!text.contains(word), "{name}: {word}: {text}");
            }
        }
    }

    /// The content filter's block list also applies to our own texts (content filter, invariant 1).
    #[test]
    fn texts_pass_the_content_filter() {
        let filter = filter::Filter::embedded();
        for (name, page) in pages() {
            let markup = markup(page);
            let script = element(&page.html, "script").unwrap_or_default();
            let read = [visible_text(&markup), quoted(&markup), quoted(script)];
            for text in read {
                let checked = filter.check(&text);
                let found: Vec<_> = checked.hits.iter().map(|hit| hit.term.as_str()).collect();
                assert_eq!(checked.outcome, filter::Outcome::Pass, "{name}: {found:?}");
            }
        }
        assert_ne!(filter.check("This verdict was written by MNEMOS.").outcome, filter::Outcome::Pass);
    }

    #[test]
    fn visible_text_is_extracted() {
        assert_eq!(visible_text("<p>a <b>c</b></p>"), "\na \nc\n\n");
        assert!(visible_text(&markup(front())).contains("Ask one question."));
    }
}
