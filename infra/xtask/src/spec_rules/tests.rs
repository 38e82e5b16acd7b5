use super::{list::Specification, *};

fn list() -> List {
    let rule = |rule: &str, kept: &[&str]| Rule {
        tests: Vec::new(),
        rule: rule.to_owned(),
        says: "It holds.".to_owned(),
        kept: kept.iter().map(|place| (*place).to_owned()).collect(),
        otherwise: None,
        why: None,
    };
    let rules = vec![rule("invariant 4", &["shared/a"]), rule("GAP-L", &[]), rule("severity levels", &[])];
    List { specification: vec![Specification { name: "Sample spec".to_owned(), rules }] }
}

fn unlisted(source: &str) -> Vec<String> {
    unlisted_citations(&list(), source).into_iter().collect()
}

fn unknown(comment: &str) -> Vec<String> {
    unknown_citations(&list(), comment).into_iter().collect()
}

fn nameless(comment: &str) -> Vec<String> {
    nameless_citations(&list(), comment).into_iter().collect()
}

#[test]
fn listed_citations_pass() {
    for source in ["// (sample spec, invariant 4)", "/// Sample spec,\n/// invariant 4: kept.", "// sample spec GAP-L."]
    {
        assert_eq!(unlisted(source), Vec::<String>::new(), "{source}");
    }
    assert_eq!(unlisted("// The sample spec reads it. Invariants are elsewhere."), Vec::<String>::new());
}

#[test]
fn unlisted_citations_are_named() {
    assert_eq!(unlisted("// (sample spec, invariants 4 and 5)"), ["Sample spec, invariant 5"]);
    assert_eq!(unlisted("//! Sample spec, GAP-Z and more"), ["Sample spec, GAP-Z"]);
    assert_eq!(
        unlisted("// (Sample spec, invariants 2, 4)\n// (sample spec, failure mode 1)"),
        ["Sample spec, failure mode 1", "Sample spec, invariant 2"]
    );
}

#[test]
fn every_kind_of_rule_is_looked_up() {
    for (cited, rules) in [
        ("input 4", &["input 4"] as &[_]),
        ("output 3", &["output 3"]),
        ("outputs 1 and 2", &["output 1", "output 2"]),
        ("section 4.5, \"Bytes\"", &["section 4.5"]),
        ("sections 2, 3 and 9", &["section 2", "section 3", "section 9"]),
        ("example 1: byte for byte", &["example 1"]),
        ("stage 4", &["stage 4"]),
        ("invariants 1 to 3", &["invariant 1", "invariant 2", "invariant 3"]),
        ("G2 and G6", &["G2", "G6"]),
        ("V1", &["V1"]),
        ("V9 to V11", &["V10", "V11", "V9"]),
        ("INV-02, FM-03 and VC-9", &["FM-03", "INV-02", "VC-9"]),
        ("VER-03", &["VER-03"]),
        ("HEALTH-GAP-05", &["HEALTH-GAP-05"]),
        ("RFC-0006 and RFC-0007", &["RFC-0006", "RFC-0007"]),
        ("EB-012", &["EB-012"]),
        ("HL-005, RR-002, PC-006", &["HL-005", "PC-006", "RR-002"]),
        ("ORC-C-002", &["ORC-C-002"]),
        ("ALERT-GAP-06", &["ALERT-GAP-06"]),
        ("CROSSCHECK-GAP-02", &["CROSSCHECK-GAP-02"]),
        ("Appendix F", &["Appendix F"]),
        ("output 4 and invariants 2, 4, 8", &["invariant 2", "invariant 8", "output 4"]),
        ("severity levels; failure mode 2", &["failure mode 2"]),
    ] {
        let expected: Vec<String> = rules.iter().map(|rule| format!("Sample spec, {rule}")).collect();
        assert_eq!(unlisted(&format!("/// (Sample spec, {cited})")), expected, "{cited}");
        assert_eq!(unknown(&format!("(Sample spec, {cited})")), [""; 0], "{cited}");
        assert_eq!(nameless(&format!("Kept (Sample spec, {cited}).")), [""; 0], "{cited}");
        assert_eq!(nameless(&format!("Kept ({cited}).")).is_empty(), cited.starts_with("stage"), "{cited}");
    }
}

#[test]
fn citations_of_an_unknown_kind_are_named() {
    assert_eq!(unknown("Kept (Sample spec, clause 3)."), ["Sample spec, clause 3"]);
    assert_eq!(unknown("Sample spec, tertiary output: kept."), ["Sample spec, tertiary output"]);
    assert_eq!(unknown("Kept (another; sample spec, X1)."), ["Sample spec, X1"]);
    assert_eq!(unknown("Kept (Sample spec, invariant 4 and Q-7)."), ["Sample spec, Q-7"]);
    assert_eq!(unknown("Kept (Sample spec Q-7)."), ["Sample spec, Q-7"]);
    for prose in ["By the sample spec, which is short, it holds.", "(Sample spec, severity levels)", "(Sample spec)"] {
        assert_eq!(unknown(prose), [""; 0], "{prose}");
    }
}

#[test]
fn citations_without_the_name_of_a_specification_are_named() {
    assert_eq!(nameless("Kept (invariant 6, GAP-E)."), ["GAP-E", "invariant 6"]);
    assert_eq!(
        nameless("Verification criteria 1 and 5: kept."),
        ["verification criterion 1", "verification criterion 5"]
    );
    assert_eq!(nameless("V3."), ["V3"]);
    assert_eq!(nameless("Kept (Sample spec, invariant 4). And G2."), ["G2"]);
    assert_eq!(nameless("Kept (spec 002, section 6)."), ["section 6", "specification 002"]);
    assert_eq!(nameless("Kept (003)."), ["specification 003"]);
    for other in [
        "RFC 3834, section 2.",
        "For example 5, and for example 6.",
        "Between \"V3.1A\" and V3.1.",
        "Gives `invariant 4`.",
        "The invariants and the output of 3 runs.",
        "EV-ORC-001 and EIP-712.",
    ] {
        assert_eq!(nameless(other), [""; 0], "{other}");
    }
}

#[test]
fn comments_are_distinguished_from_code() {
    let comments = |file: &str, source: &str| super::comments(Path::new(file), source);
    let source =
        "//! A rule\n//! of two lines.\n\nconst V1: &str = \"G2\"; // Behind.\n    /// Inside.\nlet a;\n// Last.";
    assert_eq!(comments("a.rs", source), ["A rule of two lines.", "Behind.", "Inside.", "Last."]);
    assert_eq!(comments("a.toml", "# One\n# two.\nkey = \"V1\" # Three."), ["One two.", "Three."]);
    assert_eq!(comments("a.md", "One\ntwo.\n\nThree."), ["One two.", "", "Three."]);
}

#[test]
fn absent_places_doubles_and_empty_sentences_are_named() {
    let mut list = list();
    list.specification[0].rules.push(Rule {
        rule: "GAP-L".to_owned(),
        says: " ".to_owned(),
        kept: Vec::new(),
        otherwise: None,
        why: None,
        tests: Vec::new(),
    });
    let violations = list_violations(&list, |place| place != "shared/a");
    assert_eq!(
        violations,
        [
            "infra/spec/rules.toml: (Sample spec, invariant 4) names shared/a, which is not there",
            "infra/spec/rules.toml: (Sample spec, GAP-L) is listed twice",
            "infra/spec/rules.toml: (Sample spec, GAP-L) has no sentence",
        ]
    );
}

#[test]
fn a_listed_rule_can_be_cited_by_its_name() {
    let mut list = list();
    list.specification[0].rules[0].rule = "inputs 4".to_owned();
    assert_eq!(
        list_violations(&list, |_| true),
        ["infra/spec/rules.toml: (Sample spec, inputs 4) cannot be cited by this name"]
    );
}

#[test]
fn a_deviation_names_its_decision() {
    let list = |text: &str| -> List { toml::from_str(text).unwrap() };
    let rule = |fields: &str| {
        let rule = format!(r#"{{ rule = "GAP-L", says = "It holds.", kept = []{fields} }}"#);
        list_violations(&list(&format!("[[specification]]\nname = \"S\"\nrules = [{rule}]")), |place| {
            place == "infra/decisions/x.md" || place == "infra/runbook.md"
        })
    };
    let whole = r#", otherwise = "Later.", why = "decisions/x.md""#;
    assert_eq!(rule(whole), [""; 0]);
    for (fields, problem) in [
        (r#", otherwise = "Later.""#, "needs both"),
        (r#", why = "decisions/x.md""#, "needs both"),
        (r#", otherwise = " ", why = "decisions/x.md""#, "needs both"),
        (r#", otherwise = "Later.", why = "decisions/y.md""#, "which is no decision"),
        (r#", otherwise = "Later.", why = "runbook.md""#, "which is no decision"),
    ] {
        let violations = rule(fields);
        assert!(violations.len() == 1 && violations[0].contains(problem), "{fields}: {violations:?}");
    }
}
