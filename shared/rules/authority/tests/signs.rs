//! Weighed signs (`data/*_signs.toml`): several together decide, one does not, and each is explained.

use authority::{Evaluation, State, evaluate};

/// The deciding rules whose reason is a sign, with their places.
fn signs(evaluation: &Evaluation) -> Vec<(String, String)> {
    let rules = evaluation.deciding_rules().into_iter().filter(|rule| rule.why.starts_with("a sign"));
    rules.map(|rule| (rule.rule, rule.place)).collect()
}

#[test]
fn signs_decide_together_and_each_is_explained_with_its_line() {
    let evaluation = evaluate("My brother called crying, he is on the roof and hung up.", None);
    assert_eq!(evaluation.state(), State::Blocked);
    assert!(evaluation.override_prohibited());
    let signs = signs(&evaluation);
    assert!(signs.len() > 1, "{signs:?}");
    for (rule, place) in signs {
        let (file, line) = place.split_once(':').expect("a place is file:line");
        assert_eq!(file, "self_harm_signs.toml", "{rule}");
        let data = include_str!("../data/self_harm_signs.toml");
        let index = line.parse::<usize>().expect("a line number") - 1;
        let id = rule.split('/').next_back().unwrap_or_default();
        assert_eq!(data.lines().nth(index), Some(format!("id = \"{id}\"").as_str()));
    }
}

#[test]
fn one_sign_decides_nothing() {
    for text in ["My brother is on the roof, cleaning the gutters.", "I was crying at the end of the movie."] {
        assert_eq!(evaluate(text, None).state(), State::Authorized, "{text}");
    }
}

#[test]
fn a_term_of_a_trade_weighs_against_signs_only_in_their_sentence() {
    let crisis = "I gave away my records and the date is fixed, I won't see another birthday.";
    assert_eq!(evaluate(crisis, None).state(), State::Blocked);
    let with_trade = format!("Our bakery has two locations. {crisis}");
    assert_eq!(evaluate(&with_trade, None).state(), State::Blocked);
    let of_a_trade = "Our customers gave away vouchers, the date is fixed, we won't see another season.";
    assert_eq!(evaluate(of_a_trade, None).state(), State::Authorized);
}

#[test]
fn a_negation_cancels_a_sign() {
    let text = |verb: &str| format!("My uncle {verb} stabbed, drive him?");
    assert_eq!(evaluate(&text("was"), None).state(), State::Blocked);
    assert_eq!(evaluate(&text("was never"), None).state(), State::Authorized);
}
