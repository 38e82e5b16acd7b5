//! Tests of the substitutes: their grammar, and their limit in a payload.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use filter::{Action, Checked, Filter, Outcome};

fn check(text: &str) -> Checked {
    Filter::embedded().check(text)
}

fn list() -> toml::Table {
    include_str!("../data/blocklist.toml").parse().unwrap()
}

/// Content filter, verification criterion 3: the sentence around a substitute stays grammatical.
#[test]
fn substitutes_fit_the_sentence() {
    replaced(&[
        ("The manifold shows risk.", "The system shows risk."),
        ("A manifold like this bends.", "A system like this bends."),
        ("We mapped manifold stress.", "We mapped the system stress."),
        ("A TMM score of 5 is low.", "A structured analysis score of 5 is low."),
        ("TMM says no.", "Our analysis says no."),
        ("Wait. TMM says no.", "Wait. Our analysis says no."),
        ("Your coherence score is 71.", "Your assessment is 71."),
        ("The overall coherence score is 71.", "The overall assessment is 71."),
        ("With coherence scores like these, wait.", "With our assessments like these, wait."),
        ("This clears the coherence threshold.", "This clears the confidence threshold."),
        ("AION agrees.", "Our analysis team agrees."),
        ("We asked AION's opinion.", "We asked our analysis team's opinion."),
        ("An AION review is pending.", "An analysis team review is pending."),
        ("A GAMMA review is pending.", "A specialist team review is pending."),
        ("It is stored by MNEMOS.", "It is stored by our knowledge base."),
        ("MANTIS verified it.", "Our verification layer verified it."),
        ("C.L.O.D. built it.", "Our system built it."),
        ("Built on CGNT-1.", "Built on our platform."),
        ("The value is 0.042 here.", "The value is our stability constant here."),
        ("The 0.042 constant is fixed.", "The stability constant is fixed."),
    ]);
}

/// The noun of a substitute is not said twice, also in the plural.
#[test]
fn a_substitute_does_not_repeat_the_noun_after_it() {
    replaced(&[
        ("The TMM analysis shows risk.", "The structured analysis shows risk."),
        ("Our TMM analysis shows risk.", "Our structured analysis shows risk."),
        ("This TMM analysis shows risk.", "This structured analysis shows risk."),
        ("A TMM analysis shows risk.", "A structured analysis shows risk."),
        ("The TMM analyses show risk.", "The structured analyses show risk."),
        ("TMM analysis suggests waiting.", "Our analysis suggests waiting."),
        ("The coherence score assessment is done.", "The structured assessment is done."),
        ("The AION team agrees.", "The analysis team agrees."),
        ("The AION teams agree.", "The analysis teams agree."),
        ("An AION team agrees.", "An analysis team agrees."),
        ("The 0.042 constants are fixed.", "The stability constants are fixed."),
        ("Our CGNT-1 stack is live.", "Our platform stack is live."),
    ]);
    held(&[
        "The CGNT-1 platform is live.",
        "Our CGNT-1 platforms are live.",
        "A CGNT-1 platform is live.",
        "The CLOD system built it.",
        "The manifold system bends.",
        "An TMM analysis is due.",
        "The coherence scores assessment is late.",
    ]);
}

/// A possessive has either apostrophe, and a contraction is none.
#[test]
fn a_substitute_follows_a_possessive() {
    replaced(&[
        ("Shopify's TMM score is low.", "Shopify's analysis score is low."),
        ("Shopify’s TMM score is low.", "Shopify’s analysis score is low."),
        ("The company’s CGNT-1 stack is old.", "The company’s platform stack is old."),
        ("Your firm’s MANTIS check failed.", "Your firm’s verification layer check failed."),
        ("Zoë’s TMM score is low.", "Zoë’s analysis score is low."),
        ("It’s MANTIS that verified it.", "It’s our verification layer that verified it."),
        ("It's MANTIS that verified it.", "It's our verification layer that verified it."),
        ("It's TMM that says no.", "It's our analysis that says no."),
    ]);
}

/// A name's substitute has no determiner inside a phrase that has one, and none fits where the phrase is unclear.
#[test]
fn a_name_s_substitute_follows_an_adjective() {
    replaced(&[
        ("The new CGNT-1 release is late.", "The new platform release is late."),
        ("A recent MANTIS check failed.", "A recent verification layer check failed."),
        ("Recent MANTIS checks failed.", "Recent verification layer checks failed."),
        ("The latest internal AION review is done.", "The latest internal analysis team review is done."),
        ("The report AION wrote is long.", "The report our analysis team wrote is long."),
        ("This time MANTIS verified it.", "This time our verification layer verified it."),
        ("In 2026 CGNT-1 launched.", "In 2026 our platform launched."),
        ("Your partner asked AION for help.", "Your partner asked our analysis team for help."),
        ("That helped AION decide.", "That helped our analysis team decide."),
        ("Your founder built CGNT-1.", "Your founder built our platform."),
        ("Ask AION.", "Ask our analysis team."),
        ("Various manifold tests failed.", "Various system tests failed."),
    ]);
    held(&[
        "The staging CGNT-1 cluster is down.",
        "The updated CGNT-1 release is late.",
        "Your in-house MANTIS check failed.",
        "Two CLOD builds failed.",
        "12 CLOD builds failed.",
        "Several MANTIS checks failed.",
        "Our lead AION is away.",
        "Captain AION agrees.",
    ]);
}

fn replaced(cases: &[(&str, &str)]) {
    for (sentence, becomes) in cases {
        let checked = check(sentence);
        assert_eq!((checked.outcome, checked.text.as_str()), (Outcome::Replace, *becomes), "{sentence}");
    }
}

/// No wording fits, so the hit is not replaced.
fn held(sentences: &[&str]) {
    for sentence in sentences {
        let checked = check(sentence);
        assert_eq!((checked.outcome, checked.hits[0].action), (Outcome::Quarantine, Action::Quarantine), "{sentence}");
    }
}

#[test]
fn every_substitute_reads_without_two_determiners() {
    let doubled = ["the our", "a our", "an our", "your our", "this our", "the the", "a the", "our our", "your the"];
    let mut substituted = 0;
    for term in list()["term"].as_array().unwrap().iter().filter(|term| term.get("substitute").is_some()) {
        let text = term["text"].as_str().unwrap();
        for frame in [
            "{}",
            "The {} is stable.",
            "It has a {} to show.",
            "Your {} matters.",
            "We rely on {}.",
            "This {} works, and {} too.",
        ] {
            let checked = check(&frame.replace("{}", text));
            assert_eq!(checked.outcome, Outcome::Replace, "{frame} {text}");
            let lower = checked.text.to_lowercase();
            assert!(!doubled.iter().any(|pair| format!(" {lower} ").contains(&format!(" {pair} "))), "{lower}");
            assert!(!lower.contains(" a a") && !lower.contains(" a e"), "{lower}");
            assert!(checked.text.starts_with(char::is_uppercase), "{}", checked.text);
            substituted += 1;
        }
    }
    assert_eq!(substituted, 14 * 6);
}

#[test]
fn more_than_three_replacements_in_a_payload_quarantine_it() {
    let three = "TMM one. TMM two. TMM three.";
    assert_eq!(check(three).outcome, Outcome::Replace);
    let four = check("TMM one. TMM two. TMM three. TMM four.");
    assert_eq!((four.outcome, four.hits.len()), (Outcome::Quarantine, 4));
    assert_eq!(four.text, "TMM one. TMM two. TMM three. TMM four.");
    let fields = Filter::embedded().check_payload(["TMM one.", "TMM two.", "TMM three.", "TMM four."]);
    assert_eq!(fields.outcome, Outcome::Quarantine);
    assert_eq!(fields.hits().map(|(field, _)| field).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn one_quarantined_term_holds_back_every_replacement() {
    let payload = Filter::embedded().check_payload(["Your coherence score is high.", "CSDM agrees."]);
    assert_eq!(payload.outcome, Outcome::Quarantine);
    assert_eq!(payload.fields[0].text, "Your coherence score is high.");
    assert_eq!(payload.fields[0].hits[0].action, Action::Replace);
}
