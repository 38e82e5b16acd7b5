//! Tests of the lists that the build refuses.

use super::{BLOCKLIST, compiled, list};
use crate::Filter;
use crate::compile::list::BlockList;
use crate::compile::validate::validate;

fn refusal(text: &str) -> String {
    let mut list = match BlockList::parse(text) {
        Ok(list) => list,
        Err(error) => return error.to_string(),
    };
    // A short list compiles faster.
    list.terms.retain(|listed| ["tmm", "nous", "cgnt-1"].contains(&listed.term.id.as_str()));
    match compiled(&list) {
        Ok(tables) => validate(&list, &tables).expect_err("the list should be refused").to_string(),
        Err(error) => error.to_string(),
    }
}

fn with(from: &str, to: &str) -> String {
    assert!(BLOCKLIST.contains(from), "{from}");
    BLOCKLIST.replacen(from, to, 1)
}

#[test]
fn the_list_itself_is_accepted() {
    let list = list(BLOCKLIST);
    validate(&list, &Filter::embedded().tables).unwrap();
}

#[test]
fn a_substitute_that_is_itself_blocked_is_refused_by_name() {
    let text = with(
        r#"full = "our analysis", noun = "analysis""#,
        r#"full = "our TMM-derived assessment", noun = "TMM-derived assessment""#,
    );
    let message = refusal(&text);
    assert!(message.contains("\"tmm\"") && message.contains("TMM-derived") && message.contains("blocked"), "{message}");
}

#[test]
fn a_substitute_that_is_blocked_only_in_disguise_is_refused() {
    let text = with(r#"full = "our platform", noun = "platform""#, r#"full = "our n0us platform", noun = "platform""#);
    assert!(refusal(&text).contains("NOUS"));
}

#[test]
fn a_malformed_list_is_refused_with_the_term_that_is_wrong() {
    for (from, to, says) in [
        ("version = \"20", "version = \"16 April 20", "16 April"),
        ("id = \"psi\"", "id = \"phi\"", "\"phi\": the list has this id twice"),
        ("text = \"AION\"", "text = \"astra\"", "the list has this text twice"),
        ("category = 4", "category = 5", "1 to 4"),
        ("reason = \"Captain\"", "reason = \" \"", "\"nous\""),
        ("[\"@determiner\"]", "[\"@article-of-faith\"]", "article-of-faith"),
        ("matching = \"greek\"", "matching = \"fuzzy\"", "fuzzy"),
        ("text = \"κ\"", "text = \"κι\"", "one character"),
        ("text = \"κ\"", "text = \"k\"", "one character"),
        ("noun = \"assessment\"", "noun = \"appraisal\"", "coherence-score"),
        ("after_a = \"structured analysis\"", "after_a = \"analysis\"", "vowel"),
    ] {
        let message = format!("{:?}", refusal_chain(&with(from, to)));
        assert!(message.contains(&says.replace('"', "\\\"")) || message.contains(says), "{from}: {message}");
    }
}

fn refusal_chain(text: &str) -> String {
    match BlockList::parse(text) {
        Err(error) => {
            let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            format!("{error} {source}")
        }
        Ok(_) => String::new(),
    }
}
