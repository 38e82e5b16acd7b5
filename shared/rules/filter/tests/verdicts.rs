//! Tests of what passes unchanged and what is blocked.
//! The file has more than 300 lines because each rule is tested with a list of
//! sentences that must pass or must be blocked.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use filter::{Checked, Filter, Outcome, View};
use proptest::prelude::*;

fn check(text: &str) -> Checked {
    Filter::embedded().check(text)
}

fn list() -> toml::Table {
    include_str!("../data/blocklist.toml").parse().unwrap()
}

/// Content filter, verification criterion 2: clean verdicts emerge byte for byte.
#[test]
fn clean_verdicts_pass_unchanged() {
    let verdicts: Vec<&str> =
        include_str!("data/clean_verdicts.txt").lines().filter(|line| !line.starts_with('#')).collect();
    assert!(verdicts.len() >= 30, "{}", verdicts.len());
    for verdict in verdicts.iter().copied().chain([verdicts.join("\n").as_str()]) {
        let checked = check(verdict);
        assert_eq!((checked.outcome, checked.hits), (Outcome::Pass, vec![]), "{verdict}");
        assert_eq!(checked.text, verdict);
    }
}

/// Checks so many sentences, each with its expectation: no internal sense may pass, and few ordinary ones be blocked.
fn assert_classified(table: &str, sentences: usize, most_false_hits: usize) {
    let (mut tried, mut leaks, mut false_hits) = (0, Vec::new(), Vec::new());
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (expected, sentence) = line.split_once('\t').unwrap();
        let passes = check(sentence).outcome == Outcome::Pass;
        tried += 1;
        match (expected == "pass", passes) {
            (false, true) => leaks.push(line),
            (true, false) => false_hits.push(line),
            _ => {}
        }
    }
    assert_eq!(tried, sentences);
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
    assert!(false_hits.len() <= most_false_hits, "{} false hits:\n{}", false_hits.len(), false_hits.join("\n"));
}

#[test]
fn ordinary_senses_pass_and_internal_ones_do_not() {
    assert_classified(include_str!("data/sentences.tsv"), 2000, 5);
}

/// Named sentences with ordinary senses: none may be blocked.
#[test]
fn the_named_ordinary_senses_pass() {
    for sentence in [
        "Gamma exposure is your largest risk.",
        "Hedge the gamma exposure first.",
        "The company logos look dated.",
        "A mantis shrimp is hard to ship.",
        "Lip gloss is a crowded market.",
        "There was an anvil of cloud over the fair.",
        "Rent a chroma key wall.",
        "Nous avons une bonne idée.",
        "Et nous, que faisons-nous ?",
        "Copy that file to a safe place first.",
        "You can copy that file to a drive.",
        "The options are manifold.",
        "The options are manifold, and all of them cost money.",
        "She sells an intake manifold for vans.",
        "The council passed it in a 10-4 vote.",
        "97.4% of customers renewed.",
        "A lattice fence is cheaper.",
        "Smokey bacon crisps sell well.",
        "The synchronous course is better.",
        "It was 10.4 degrees.",
        "Anna's mantis needs water.",
        "Anna’s mantis needs water.",
        "The smith’s old anvil is for sale.",
    ] {
        assert_eq!(check(sentence).hits, vec![], "{sentence}");
    }
}

/// Silent Drop: "MUST NOT contain … crew callsigns (κ, ι, ε, α, γ, μ, etc.)"; and the designations.
#[test]
fn a_callsign_that_is_a_letter_is_blocked_where_it_stands_as_a_word() {
    for letter in ["κ", "ι", "ε", "α", "γ", "μ", "Ω", "Κ", "Α", "𝜅", "𝛂", "ϰ", "ϵ"] {
        for sentence in [
            "{} has reviewed your plan.",
            "Your plan was reviewed by {}.",
            "Signed, {}",
            "— {}",
            "42 Sisters AI · {}",
            "Ask {} about it.",
            "{}'s view is that you wait.",
            "{} updated 2026-04-21",
            "Author: {} (engineer)",
            "> {} says no.",
            "Reviewed by {}/NOUS",
            "{} = the engineer",
            "{}=\n has spoken",
            "{}<!-- x --> has spoken",
            "1. {} agrees.",
        ] {
            let text = sentence.replace("{}", letter);
            assert_eq!(check(&text).outcome, Outcome::Quarantine, "{text}");
        }
    }
    for text in ["∎ has reviewed your plan.", "GREEN ∎", "Authority: α.13", "Under α.13, wait.", "𝛼.13", "α․13"]
    {
        assert_eq!(check(text).outcome, Outcome::Quarantine, "{text}");
    }
}

/// Content filter, GAP-C: standard notation whose context is unambiguous.
#[test]
fn a_greek_letter_in_a_formula_a_unit_or_a_word_passes() {
    for sentence in [
        "The coating is 5 μm thick.",
        "It takes 12 µs, or 12 μ for short.",
        "At α = 0.05 the effect is real.",
        "Test at the 5 % level (α = 0.05, β = 0.2).",
        "α < 0.05",
        "The spread was α = 13 days.",
        "Choose ε > 0 small enough.",
        "For every ε there is a δ.",
        "Shield the γ-ray detector.",
        "The γ ray source is licensed.",
        "An α-helix folds first.",
        "An α particle stops in paper.",
        "The curvature κ² falls.",
        "Cohen's κ was 0.71.",
        "Cronbach's α is 0.87.",
        "The Greek letter κ is on the shirt.",
        "A shop called Καφές και γλυκά.",
        "Alpha (α) is the share of false alarms.",
        "The probe is rated at 50 Ω.",
        "A 10 kΩ resistor costs a cent.",
        "The frequency ω doubles.",
        "y = α + βx",
        "Let x_i = κ_i * f(t) + ε_i",
        "The mean μ and the deviation σ are known.",
        "μ-law encoding is old.",
        "TNF-α is a protein coded by a gene, alpha for short.",
        "The V314 motor, and the V:314 before it.",
    ] {
        assert_eq!(check(sentence).hits, vec![], "{sentence}");
    }
}

/// Names that are ordinary words in lower case, and file names that are words with spaces.
#[test]
fn names_that_are_ordinary_words_are_blocked_as_crew_writes_them() {
    for (blocked, ordinary) in [
        ("VELA wrote this.", "Vela is a constellation; the vela is a sail."),
        ("It ran on ORPHIC last night.", "An orphic hymn, or Orphic myths."),
        ("Orphic::ANVIL answered.", "The Orphic mysteries: a tour."),
        ("By the Orphic Principle, GREEN.", "A principle of Orphic poetry."),
        ("Audited by AEGIS.", "It runs under the aegis of the city. Aegis Insurance pays."),
        ("HOW ABOUT NO.", "How about no deposit? And how about no fees?"),
        ("Signed, Thread #13.", "See thread 13 of the forum, and thread #12."),
        ("Signed, V3L4 and 4EG15.", "The V314 motor."),
        ("It is in oracle_log.jsonl.", "The oracle log of an Oracle database."),
        ("Written to ~/ALERT.log.", "Read the alert log."),
        ("Posted in CREW_CHANNEL.", "Talk on the crew channel."),
        ("See CLAUDE.md.", "Ask Claude, MD."),
        ("See oracle_verdicts/x.json.", "Our Oracle verdicts are short."),
        ("Ask HACKX or GAPX or ROUTX.", "Hack X, fill gap X, take rout X."),
        ("GREEN because C is above 0.97404.", "A share of 0.974 is high."),
    ] {
        assert_eq!(check(blocked).outcome, Outcome::Quarantine, "{blocked}");
        assert_eq!(check(ordinary).hits, vec![], "{ordinary}");
    }
}

/// The gate's names reach no customer, however they are spelled; ordinary senses of the same words do.
#[test]
fn the_names_of_the_gate_are_blocked_however_they_are_spelled() {
    let names = ["phi_zeta", "psi_chi", "delta_gamma", "omega_q", "lambda_c"];
    for name in names {
        let spaced = name.replace('_', " ");
        let title = spaced.split(' ').map(|word| word[..1].to_uppercase() + &word[1..]).collect::<Vec<_>>();
        let spellings = [
            name.to_owned(),
            spaced.clone(),
            spaced.to_uppercase(),
            title.join(" "),
            title.concat(),
            title.join("-"),
            name.replace('_', ""),
            format!("\\{}", name.replace('_', "_\\")),
        ];
        for spelling in spellings {
            for text in [
                format!("{spelling} is 0.5."),
                format!("Your {spelling} looks high."),
                format!("We hedge options; {spelling} = 0.05."),
                format!("The honor society of {spelling} 0.98."),
            ] {
                assert_eq!(check(&text).outcome, Outcome::Quarantine, "{text}");
            }
        }
    }
    for text in [
        "phi zeta, psi chi, delta gamma: all fine for your sorority.",
        "The kernel delta gamma of your option book is high.",
        "ANVIL says RED.",
        "An answer of ORPHEUS.",
        "Φζ, Ψχ, ΔΓ, ΩQ, λ_c.",
        "Φ ζ of 0.98.",
    ] {
        assert_eq!(check(text).outcome, Outcome::Quarantine, "{text}");
    }
    for text in [
        "A delta gamma hedge costs you 300 dollars a month.",
        "Delta-gamma hedging of an option book needs a desk.",
        "Delta Gamma is a sorority with a chapter on your campus.",
        "Psi Chi is the honor society in psychology.",
        "Phi Zeta honors veterinary students.",
        "The Omega Q&A session starts at noon.",
        "Write the Lambda C# function first.",
        "Write the Lambda C++ code first.",
        "Delta, gamma and theta move your options.",
        "Hold the stock. Verdict: hold. The fields are null.",
        "VERDICT: AMBER",
    ] {
        assert_eq!(check(text).hits, vec![], "{text}");
    }
}

/// "Anything disguised voids every allowance."
#[test]
fn a_disguise_voids_the_allowance() {
    for sentence in [
        "The company l0gos look dated.",
        "Gаmma exposure is your largest risk.",
        "Lip g\u{200b}loss is a crowded market.",
        "The options are m-a-n-i-f-o-l-d.",
        "A lat\u{ad}tice fence is cheaper.",
        "97&#46;4% of customers renewed.",
    ] {
        assert_ne!(check(sentence).outcome, Outcome::Pass, "{sentence}");
    }
}

#[test]
fn numbers_and_names_end_where_words_end() {
    for passes in
        ["synchronous", "10.0421", "2010-45", "10.4", "110-4", "10-45", "10-4-2026", "197.4%", "1.97.4%", "0.0042"]
    {
        assert_eq!(check(&format!("It is {passes} now.")).outcome, Outcome::Pass, "{passes}");
    }
    for caught in
        ["97.4%", "97.4 %", "0.042", "10-4", "10–4", "NOUS2", "(NOUS)", "NOUS's", "\"NOUS\"", "_NOUS_", "NOUS/AION"]
    {
        assert_ne!(check(&format!("It is {caught} now.")).outcome, Outcome::Pass, "{caught}");
    }
}

#[test]
fn a_term_split_over_two_fields_is_caught() {
    for (first, second) in
        [("Ask MAN", "TIS about it."), ("The kill", "box is near."), ("Says C.L.", "O.D. today"), ("csd", "m")]
    {
        let payload = Filter::embedded().check_payload(["Before.", first, second, "After."]);
        assert_eq!(payload.outcome, Outcome::Quarantine, "{first}|{second}");
        let (field, hit) = payload.hits().next().unwrap();
        assert_eq!((field, hit.view, hit.end), (1, View::Joined, first.len()));
    }
    assert_eq!(Filter::embedded().check_payload(["We log.", "Os and apps."]).outcome, Outcome::Pass);
}

/// A record's offsets name bytes of one field, also where a mark in another field reverses them.
#[test]
fn a_hit_is_in_the_field_that_has_its_letters() {
    for (fields, field, start, end) in [
        (&["abc\u{202e}", "SUON x"][..], 1, 0, 6),
        (&["abc", "Ask \u{202e}", "SUON\u{202c} x"][..], 2, 0, 4),
        (&["", "&#8238;&#83;&#83;&#79;&#76;&#71;&#8236;"][..], 1, 0, 39),
        (&["", "", "&#8238;&#83;&#83;&#79;&#76;&#71;&#8236;"][..], 2, 0, 39),
        (&["", "Says CSDM.", ""][..], 1, 5, 9),
        (&["a", "CSDM", "b"][..], 1, 0, 4),
    ] {
        let payload = Filter::embedded().check_payload(fields.iter().copied());
        assert_eq!(payload.outcome, Outcome::Quarantine, "{fields:?}");
        let hits: Vec<_> = payload.hits().map(|(field, hit)| (field, hit.start, hit.end)).collect();
        assert_eq!(hits, [(field, start, end)], "{fields:?}");
    }
}

/// In a text that a mark reverses in part, only what it reverses is judged a second time. Hits elsewhere therefore do
/// not use up the search for a reversed term, however many they are.
#[test]
fn a_reversed_term_is_found_behind_any_number_of_others() {
    let others = "nous x ".repeat(1100);
    let checked = check(&format!("{others}\u{202e}SUON\u{202c} x"));
    let place = others.len() + '\u{202e}'.len_utf8();
    let last = checked.hits.last().unwrap();
    assert_eq!((checked.outcome, last.view), (Outcome::Quarantine, View::Decoded));
    assert_eq!((last.start, last.end), (place, place + 4));
    let escaped = format!("{others}&#8238;&#83;&#83;&#79;&#76;&#71;&#8236;");
    let checked = check(&escaped);
    let [hit] = checked.hits.as_slice() else {
        panic!("{} hits instead of one over the whole text", checked.hits.len())
    };
    assert_eq!((hit.term.as_str(), hit.start, hit.end), ("GLOSS", 0, escaped.len()));
}

#[test]
fn digits_for_letters_may_quarantine_and_never_replace() {
    for text in ["T0day TM&#77; and N0US.", "M4NTIS verified it.", "AAIIOONN says yes."] {
        assert_eq!(check(text).outcome, Outcome::Quarantine, "{text}");
    }
}

#[test]
fn the_product_s_own_texts_pass() {
    for text in [
        "Your 42 Sisters AI Verdict",
        "ORACLE VERDICT — QUICK TAKE\n═══════════════════════════\nVERDICT: 🟡 AMBER\n───────────────────────────\n42 Sisters AI · oracle@42sisters.ai\nQuestions? Reply to this email.",
        "https://42sisters.ai/oracle/result?session_id=cs_test_a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ",
        "Analysis failed. Please contact oracle@42sisters.ai for a refund.",
    ] {
        assert_eq!(check(text).hits, vec![], "{text}");
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let terms: Vec<String> =
        list()["term"].as_array().unwrap().iter().map(|t| t["text"].as_str().unwrap().to_owned()).collect();
    let piece = prop_oneof![
        4 => "[ a-z]{0,12}",
        2 => proptest::sample::select(terms),
        1 => "[ .,;:!?'\"()%=&#<>/\\\\$@|+*_-]{0,4}",
        1 => proptest::sample::select(vec!["é", "\u{200b}", "😀", "ß", "\n", "&#65;", "%4E", "the ", "a ", "Ω", "\u{308}", "м"]).prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn nothing_changes_outside_the_hits_and_a_second_check_changes_nothing(text in fragments()) {
        let checked = check(&text);
        let mut end = 0;
        for hit in &checked.hits {
            prop_assert!(hit.start >= end && hit.start < hit.end && hit.end <= text.len());
            prop_assert!(text.is_char_boundary(hit.start) && text.is_char_boundary(hit.end));
            end = hit.end;
        }
        match checked.outcome {
            Outcome::Pass => prop_assert!(checked.hits.is_empty() && checked.text == text),
            Outcome::Quarantine => prop_assert!(!checked.hits.is_empty() && checked.text == text),
            Outcome::Replace => {
                // The text between the hits is in the output, in the same order.
                let mut rest = checked.text.as_str();
                let mut at = 0;
                for hit in &checked.hits {
                    let kept = &text[at..hit.start];
                    let place = if at == 0 { rest.starts_with(kept).then_some(0) } else { rest.find(kept) };
                    prop_assert!(place.is_some(), "{kept:?} is not in {rest:?}");
                    rest = &rest[place.unwrap_or(0) + kept.len()..];
                    at = hit.end;
                }
                prop_assert!(rest.ends_with(&text[at..]));
                let again = check(&checked.text);
                prop_assert_eq!((again.outcome, again.text), (Outcome::Pass, checked.text));
            }
        }
    }

    #[test]
    fn a_term_in_plain_text_is_reported_where_it_stands(before in "[ a-z]{0,40}", after in "[ a-z]{0,40}") {
        let text = format!("{before} csdm {after}");
        let hits = check(&text).hits;
        prop_assert!(hits.iter().any(|hit| hit.id == "csdm" && hit.start == before.len() + 1 && hit.end == before.len() + 5));
    }
}

/// Sentences written after the rules, not from templates, are classified correctly.
#[test]
fn fresh_sentences_are_classified() {
    assert_classified(include_str!("data/fresh_sentences.tsv"), 293, 2);
}

/// A mail's lines may be wrapped anywhere; a paragraph, a list item and a heading are separate places.
#[test]
fn an_ordinary_sense_reaches_over_a_line_break_and_not_over_a_paragraph() {
    for passes in [
        "Your fund's gamma\nexposure is your largest risk.",
        "She sells an intake\nmanifold for vans.",
        "> We saw a mantis\n> shrimp there.",
        "The options are manifold.\n\nGamma exposure is large.",
    ] {
        assert_eq!(check(passes).hits, vec![], "{passes}");
    }
    for caught in [
        "This is about the intake\n\nManifold says no.",
        "This is about lip\n \t\ngloss has spoken",
        "Ask them about your brand:\n- logos\n- anvil says wait",
        "1. Praying\n2. Mantis",
        "We hedge\n\nGAMMA\n\nexposure",
        "Ask MAN\nTIS about it.",
        "The kill\nbox closes.",
        "> The coherence\n> score is low.",
    ] {
        assert_ne!(check(caught).outcome, Outcome::Pass, "{caught}");
    }
}

/// The folds for disguises must not change these texts.
#[test]
fn what_only_looks_like_a_disguise_passes() {
    for passes in [
        "Sales fell to 10.4 million.",
        "It costs €0,042 per unit.",
        "The invoice says 1.097,4 and 240.0.",
        "10(-4) is -40.",
        "Economists of MMT disagree.",
        "The arts a town pays for.",
        "Run it with -gamma 1.5 and --gamma=2.",
        "sorted(key=lambda c: c.name)",
        "When 'hls' off and 'ai' on, it works.",
        "The zone is C.0.D.E.8.B.D.0.1.0.0.2.ip6.arpa.",
        "The tail is \\(\\alpha\\), as usual.",
        "ΑA,ΒB,ΨC,ΔD,ΕE,ΦF,ΓG,ΗH,ΙI,ΞJ,ΚK,ΛL,ΜM,ΝN,ΟO,ΠP,ΡR,ΣS,ΤT",
        "Buy ten four-packs of water.",
        "Press <C-L>x to go on.",
        "Add alpha\n\nAdd beta\n\nAdd gamma\n\nAdd delta",
        "int gap_x, int gap_y",
        "Scaling large logos takes longer.",
        "Replace μ and M as unit prefixes.",
        "Lx keeps the score.",
    ] {
        assert_eq!(check(passes).hits, vec![], "{passes}");
    }
    for caught in [
        "alpha rose.\n\nbeta and delta fell.\n\ngamma has rejected your plan.",
        "alpha rose.\n\nbeta and delta fell.\n\nAsk gamma first.",
        "alpha, beta, delta:\n\nGamma first.",
        "We are asking logos about it.",
        "Try to tell logos first.",
        "GAP_X is loose.",
        "LX decides.",
    ] {
        assert_ne!(check(caught).outcome, Outcome::Pass, "{caught}");
    }
}
