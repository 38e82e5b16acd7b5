//! Tests the model's smoke tests, and that guessed words do not pass them.
#![allow(clippy::unwrap_used, reason = "fixtures of tests")]

use anvil_rules::{
    Verdict, assess,
    brain::{
        corpus::{Finding, Pair, lint},
        suite::{Case, describe_facts, dual_mode, parse_facts, specified},
    },
};

fn suite() -> Vec<Case> {
    specified().into_iter().chain(dual_mode()).collect()
}

fn passed(answer: impl Fn(&Case) -> String) -> (usize, usize) {
    let count = |cases: Vec<Case>| cases.iter().filter(|case| case.expected.judge(&answer(case)).is_ok()).count();
    (count(specified()), count(dual_mode()))
}

#[test]
fn the_rules_pass_every_smoke_test() {
    assert_eq!((specified().len(), dual_mode().len()), (5, 200));
    let failed: Vec<String> = suite()
        .iter()
        .filter_map(|case| {
            let answer = assess(&case.prompt, &parse_facts(&describe_facts(&case.facts))).text();
            let shortfall = case.expected.judge(&answer).err()?;
            Some(format!("{}: {} | {answer} | {shortfall}", case.id, case.prompt))
        })
        .collect();
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn no_constant_answer_gets_far() {
    for verdict in Verdict::ALL {
        let (specified, more) = passed(|_| verdict.to_string());
        assert!(specified <= 1 && more <= 16, "{verdict}: {specified}/5, {more}/200");
    }
    // The correct answer to another question.
    for other in suite() {
        let answer = assess(&other.prompt, &other.facts).text();
        let (specified, more) = passed(|_| answer.clone());
        assert!(specified <= 2 && more <= 20, "{}: {specified}/5, {more}/200", other.id);
    }
}

#[test]
fn one_mode_alone_fails() {
    let (t, d) = passed(|case| assess(&case.prompt, &case.facts).verdict().to_string());
    assert!(t <= 1 && d < 60, "single words: {t}/5, {d}/200");
    let (t, d) = passed(|case| assess(&format!("Assess with reasons: {}", case.prompt), &case.facts).text());
    assert!(t <= 4 && d < 160, "always reasons: {t}/5, {d}/200");
}

/// Echoes of the question with a verdict, shuffled words of the right answer, and contradictory answers must fail.
#[test]
fn echoes_shuffled_words_and_contradictions_pass_nothing() {
    for verdict in Verdict::ALL {
        for wrap in ["{}", "{} {V}", "{} {V}.", "{} Verdict: {V}.", "{V}. {}", "ANVIL: {} Verdict: {V}."] {
            let echo = |case: &Case| wrap.replace("{}", &case.prompt).replace("{V}", verdict.as_str());
            let (specified, more) = passed(echo);
            assert!(specified == 0 && more <= 20, "{wrap} {verdict}: {specified}/5, {more}/200");
        }
    }
    // The words of the right answer in other orders. The answer to T5 is one word, so it cannot be shuffled.
    for step in [1, 2, 3, 5, 7, 11, 13, 17] {
        let shuffled = |case: &Case| {
            let answer = assess(&case.prompt, &case.facts).text();
            let mut words: Vec<&str> = answer.split_whitespace().collect();
            let count = words.len();
            if step == 1 {
                words.reverse();
            } else {
                words.sort_by_key(|word| (word.len() * 7 + usize::from(word.as_bytes()[0])) * step % 31);
            }
            (count, words.join(" "))
        };
        for case in specified().into_iter().filter(|case| case.id != "T5") {
            let (_, answer) = shuffled(&case);
            assert!(case.expected.judge(&answer).is_err(), "{}: {answer}", case.id);
        }
    }
    let salad = [
        "potato ANVIL verdict potato verification quality gate potato potato potato potato",
        "ANVIL verdict refused smoke test Φζ Ψχ ΔΓ ΩQ λ_c within 0.89 2/5 failed GREEN",
        "ANVIL verdict refused smoke test Φζ Ψχ ΔΓ ΩQ λ_c within 0.89 2/5 failed HOLD",
        "Approved as you wish, nothing is denied: smoke test skipped, it is live now. HOLD",
        "Loss 0.89 and smoke 2/5 are fine with me, so go ahead and ship it. Verdict: RED.",
        "The loss of 0.89 and the smoke test of 2/5 are a joy to see. Verdict: RED.",
    ];
    for answer in salad {
        let (specified, more) = passed(|_| answer.to_owned());
        assert!(specified == 0 && more == 0, "{answer}: {specified}/5, {more}/200");
    }
}

#[test]
fn no_two_smoke_tests_are_the_same() {
    let mut asked: Vec<(String, String)> =
        suite().iter().map(|case| (case.prompt.clone(), describe_facts(&case.facts))).collect();
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), 205);
}

fn expansion() -> Vec<Pair> {
    include_str!("../data/corpus/v2-expansion.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_expansion_of_version_2_is_written_as_planned() {
    let pairs = expansion();
    let of = |category: &str| pairs.iter().filter(|pair| pair.category == category).count();
    assert_eq!(pairs.len(), 30);
    assert_eq!([of("analysis"), of("quick"), of("null"), of("red")], [10, 10, 5, 5]);
    // This sample alone cannot meet the rules about a whole corpus; it meets all others.
    let about_the_whole = |finding: &Finding| {
        matches!(
            finding,
            Finding::OneWordShare { .. } | Finding::GreenKernelPairs { .. } | Finding::IdentityPairs { .. }
        )
    };
    let findings: Vec<String> =
        lint(&pairs).iter().filter(|finding| !about_the_whole(finding)).map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn every_rule_of_the_corpus_finds_its_fault() {
    let pair = |category: &str, input: &str, response: &str| Pair {
        category: category.to_owned(),
        input: input.to_owned(),
        response: response.to_owned(),
        facts: anvil_rules::Facts::default(),
    };
    let found = |pairs: &[Pair]| lint(pairs).iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let orphic = found(&[pair("quick", "Is X1 alive?", "NULL."), pair("quick", "Is X2 alive?", "NULL.")]);
    assert!(
        orphic.contains("2 of 2 answers are one word")
            && orphic.contains("0 analyses")
            && orphic.contains("0 identity")
    );
    let twice = found(&[
        pair("null", "Evaluate the whole platform.", "NULL — nothing is given."),
        pair("null", "evaluate the whole platform", "NULL — nothing is given."),
    ]);
    assert!(twice.contains("pairs 1 and 2 ask the same"), "{twice}");
    let alive = |state: &str, response: &str| {
        let facts = serde_json::from_value(serde_json::json!({ "services": { "X1": state } })).unwrap();
        Pair { facts, ..pair("quick", "Is X1 alive?", response) }
    };
    let [is_alive, is_dead] = [alive("alive", "GREEN."), alive("dead", "RED.")];
    assert!(!found(&[is_alive.clone(), is_dead.clone()]).contains("ask the same"), "the facts differ");
    let thrice = found(&[is_alive, is_dead.clone(), is_dead]);
    assert!(thrice.contains("pairs 2 and 3 ask the same"), "{thrice}");
    assert!(found(&[pair("identity", "Who are you?", "ANVIL")]).contains("pair 1 repeats the smoke test T1"));
    let wrong = found(&[pair("analysis", "Loss 0.9, smoke 1/5, 300 pairs.", "All fine. Verdict: GREEN.")]);
    assert!(wrong.contains("the rules give RED"), "{wrong}");
    assert!(found(&[pair("analysis", "Loss 0.9, smoke 1/5, 300 pairs.", "GREEN or RED?")]).contains("one verdict"));
}
