use super::{DIMENSIONS, Phrases, write};
use crate::gemini::request::TierSchema;

fn phrases() -> Phrases {
    toml::from_str(include_str!("../../../data/verdicts.toml")).unwrap()
}

fn strategy() -> TierSchema {
    TierSchema { breakdown: true, strategy: true, dimension_null: false, reply: false }
}

fn colour(question: &str) -> String {
    let verdict = write(&phrases(), question, "", &strategy());
    verdict["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn every_list_of_phrases_is_filled() {
    let phrases = phrases();
    for by_colour in phrases.dimension.values().chain([&phrases.summary]) {
        assert_eq!(by_colour.len(), 4);
        assert!(by_colour.values().all(|choices| !choices.is_empty()));
    }
    let mut names: Vec<&str> = phrases.dimension.keys().map(String::as_str).collect();
    let mut expected = DIMENSIONS;
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert!(phrases.strategy.tests.len() >= 3);
    assert!(!phrases.strategy.next_step.is_empty() && !phrases.strategy.alternative.is_empty());
}

#[test]
fn questions_without_substance_are_null() {
    for question in [
        "",
        "?",
        "hi",
        "test test test",
        "Is this a good idea?",
        "asdf qwer zxcv",
        "xkcdfg hjklm bvnrt",
        "aaaaaa bbbbbb",
        "12345",
        "Evaluate the system.",
        "Should I quit?",
    ] {
        assert_eq!(colour(question), "NULL", "{question}");
    }
}

#[test]
fn real_questions_are_not() {
    for question in [
        "Should I quit my job to start this business?",
        "Launch a subscription newsletter about AI for executives",
        "Acquire a failing restaurant and convert to ghost kitchen",
        "Devrais-je ouvrir une boulangerie à Montréal ?",
        "我应该辞职创业吗",
        "open a café",
    ] {
        assert_ne!(colour(question), "NULL", "{question}");
    }
}

#[test]
fn all_colours_occur_and_the_majority_of_dimensions_agrees() {
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..200 {
        let question = format!("Should we open a bakery in town number {number}?");
        let verdict = write(&phrases(), &question, "", &strategy());
        assert_eq!(verdict, write(&phrases(), &question, "", &strategy()));
        let colour = verdict["verdict"].as_str().unwrap().to_owned();
        let breakdown = verdict["breakdown"].as_object().unwrap();
        let agreeing = breakdown.values().filter(|dimension| dimension["verdict"] == colour.as_str()).count();
        assert!(agreeing >= 3, "{verdict}");
        assert!(breakdown.values().all(|dimension| !dimension["analysis"].as_str().unwrap().is_empty()));
        let tests = verdict["strategy"]["tests"].as_array().unwrap();
        assert_eq!(tests.len(), 3);
        assert!(tests[0] != tests[1] && tests[1] != tests[2] && tests[0] != tests[2]);
        seen.insert(colour);
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}

#[test]
fn words_are_quoted_unless_they_must_not_be() {
    let full = write(&phrases(), "Should I quit my job to start this business?", "", &strategy());
    assert!(full.to_string().contains("quit my job to start"), "{full}");
    let internal = write(&phrases(), "Is gamma coherence a business?", "", &strategy());
    assert!(!internal.to_string().to_lowercase().contains("gamma"), "{internal}");
}

#[test]
fn no_phrase_holds_an_internal_word() {
    let text = include_str!("../../../data/verdicts.toml").to_lowercase();
    let spoken: String = text
        .lines()
        .filter(|line| !line.starts_with("unquotable") && !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n");
    let words: Vec<&str> = spoken.split(|letter: char| !letter.is_alphanumeric()).collect();
    for term in phrases().words.unquotable {
        assert!(!words.contains(&term.as_str()), "{term}");
    }
    assert!(spoken.is_ascii());
}

#[test]
fn a_text_has_one_of_each_list_of_words_that_the_prompt_requires() {
    let phrases = phrases();
    let system = "Name who should be asked, with one of these words: \"lawyer\", \"attorney\"; and with one of these \
                  words: \"cpa\", \"broker\".";
    let verdict = write(&phrases, "What does 'force majeure' mean?", system, &strategy());
    let referral = " Before you act, ask for help with this: lawyer, cpa.";
    assert!(verdict["summary"].as_str().unwrap().ends_with(referral), "{verdict}");
    let content = serde_json::json!({ "message": "What does 'force majeure' mean?" }).to_string();
    assert!(super::reply(&phrases, &content, system)["reply"].as_str().unwrap().ends_with(referral));
}

#[test]
fn a_reply_of_a_conversation_is_one_text_about_the_message() {
    let tier = TierSchema { breakdown: false, strategy: false, dimension_null: false, reply: true };
    let phrases = phrases();
    let said = |text: &str, view: &str| {
        let content = serde_json::json!({ "memory": {}, "message": text }).to_string();
        super::reply(&phrases, &content, view)["reply"].as_str().unwrap().to_owned()
    };
    let question = "Should we open a second bakery in Halifax?";
    assert!(said(question, "").len() > 20 && tier.reply);
    assert_eq!(said(question, ""), said(question, ""));
    assert_ne!(said(question, "second view"), said(question, ""));
}
