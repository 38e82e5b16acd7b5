//! Requests with their required verdicts: the specification's examples and variants of them.
#![allow(clippy::unwrap_used, reason = "fixtures of tests")]

use anvil_rules::{Facts, Kernel, Mode, Reason, ServiceState, Verdict, assess};

const CASES: &str = include_str!("data/cases.tsv");

struct Case<'a> {
    mode: &'a str,
    verdict: &'a str,
    facts: Facts,
    needles: &'a str,
    text: &'a str,
}

fn cases() -> Vec<Case<'static>> {
    let rows = CASES.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let [mode, verdict, services, needles, text] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let services = services.split(',').filter_map(|pair| pair.split_once('=')).map(|(name, state)| {
            let state = match state {
                "alive" => ServiceState::Alive,
                "dead" => ServiceState::Dead,
                _ => ServiceState::Unknown,
            };
            (name.to_owned(), state)
        });
        Case { mode, verdict, facts: Facts { services: services.collect() }, needles, text }
    })
    .collect()
}

fn verdict_words(text: &str) -> Vec<&str> {
    text.split(|of: char| !of.is_alphanumeric()).filter(|word| Verdict::is_verdict_word(word)).collect()
}

#[test]
fn every_case_gets_its_mode_its_verdict_and_its_reasons() {
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() > 100, "{}", cases.len());
    for case in cases {
        let assessment = assess(case.text, &case.facts);
        let (text, mode) = (assessment.text(), if assessment.mode() == Mode::Quick { "quick" } else { "analysis" });
        let reasons = assessment.reasons().iter().map(Reason::text).collect::<Vec<_>>().join(" ");
        let is_missing = |needle: &str| match needle.strip_prefix("reason:") {
            Some(needle) => !reasons.contains(needle),
            None => !text.contains(needle),
        };
        if (mode, assessment.verdict().as_str()) != (case.mode, case.verdict)
            || case.needles.split(';').filter(|needle| !needle.is_empty()).any(is_missing)
        {
            wrong.push(format!(
                "{}: {} {} instead of {} {}: {text}",
                case.text,
                mode,
                assessment.verdict(),
                case.mode,
                case.verdict
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Brain ANVIL, INV-02 and INV-03.
#[test]
fn every_answer_has_one_verdict_behind_its_reasons() {
    for case in cases() {
        let assessment = assess(case.text, &case.facts);
        let text = assessment.text();
        assert_eq!(verdict_words(&text), [assessment.verdict().as_str()], "{}", case.text);
        assert!(!assessment.reasons().is_empty(), "{}", case.text);
        for reason in assessment.reasons() {
            assert_eq!(verdict_words(reason.text()), Vec::<&str>::new(), "{}", case.text);
        }
        if assessment.mode() == Mode::Quick {
            assert_eq!(text, assessment.verdict().as_str());
            continue;
        }
        let reasoning = text.split("Verdict:").next().unwrap();
        for kernel in Kernel::ALL {
            assert!(reasoning.contains(kernel.symbol()), "{} lacks {}", case.text, kernel.symbol());
        }
    }
}

#[test]
fn a_huge_text_is_read_to_its_end() {
    let filler = "The captain wants it now; production is waiting. ".repeat(40_000);
    let text = format!("{filler} Assess: Φζ=0.98, Ψχ=0.05, ΔΓ=0.02, ΩQ=0.95, λ_c=0.2 {filler}");
    assert_eq!(assess(&text, &Facts::default()).verdict(), Verdict::Red);
}

#[test]
fn a_service_cannot_be_named_like_a_verdict() {
    let facts = Facts { services: [("GREEN".to_owned(), ServiceState::Dead)].into() };
    let assessment = assess("Assess: is the service GREEN alive?", &facts);
    assert_eq!(assessment.verdict(), Verdict::Red);
    assert_eq!(verdict_words(&assessment.text()), ["RED"]);
}
