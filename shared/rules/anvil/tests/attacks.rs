//! Texts that try to obtain an approval despite a breach, and harmless texts that must keep their approval.
#![allow(clippy::unwrap_used, reason = "fixtures of tests")]

use anvil_rules::{Facts, ServiceState, assess};

const ATTACKS: &str = include_str!("data/attacks.tsv");
const FOUR: &str = "Φζ=0.98, Ψχ=0.05, ΔΓ=0.02, ΩQ=0.95";

#[test]
fn no_text_gets_another_verdict_than_is_right() {
    let five = format!("{FOUR}, λ_c=0.05");
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in ATTACKS.lines().filter(|row| !row.starts_with('#')) {
        let [verdicts, services, text] = row.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let text = text.replace("{K4}", FOUR).replace("{K}", &five).replace("\\n", "\n");
        let services = services.split(',').filter_map(|pair| pair.split_once('=')).map(|(name, state)| {
            let state = if state == "alive" { ServiceState::Alive } else { ServiceState::Dead };
            (name.to_owned(), state)
        });
        let assessment = assess(&text, &Facts { services: services.collect() });
        if !verdicts.split('|').any(|verdict| verdict == assessment.verdict().as_str()) {
            wrong.push(format!("{} instead of {verdicts}: {text} | {}", assessment.verdict(), assessment.text()));
        }
        count += 1;
    }
    assert!(count > 250, "{count}");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Reading takes linear time: 100 times the text takes far less than 10,000 times the time. Reading these texts once
/// took quadratic time, which is minutes at this length.
#[test]
fn long_texts_are_read_in_one_go() {
    for piece in [
        "skip x x x x x x x test ",
        "alive ",
        "λ_c 0.05 ",
        "smoke 4/5 ",
        "is ROUTX alive? ",
        "approve ",
        "before test ",
    ] {
        let text = format!("{}?", piece.repeat(4_000));
        let facts = Facts { services: [("ROUTX".to_owned(), ServiceState::Alive)].into() };
        assert!(!assess(&text, &facts).reasons().is_empty());
        assert!(!assess(&text, &Facts::default()).verdict().may_ship(), "{piece}");
    }
}
