//! Tests the build's error for a faulty file: it names the file, the line, the rule and the problem.

use crate::compile::{Source, generate};
use crate::tables::FITTED_COLUMNS;

const HEAD: &str = "domain = \"general\"\nevaluator = \"caa_v1\"\n";

fn problem(body: &str) -> String {
    let source = Source { name: "general.toml".to_owned(), text: format!("{HEAD}{body}") };
    generate(vec![source]).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn every_fault_is_named_with_file_line_and_rule() {
    let axis = "[[axis]]\nkey = \"request\"\ntype = \"enum\"\nvalues = [\"advice\"]\n";
    let treatment = "[[treatment]]\nrequest = \"advice\"\nstate = \"BLOCKED\"\nreason = \"advice\"\n";
    for (body, expected) in [
        (
            "[[axis]]\nkey = \"request\"\ntype = \"colour\"\n".to_owned(),
            "general.toml:4: request: \"colour\" is not a type",
        ),
        (axis.to_owned(), "general.toml:4: advice: no treatment answers this request"),
        ("[concepts]\nmany = [\"#nothing\"]\n".to_owned(), "general.toml:4: many: there is no quantity #nothing"),
        (
            format!("{axis}{}", treatment.replace("BLOCKED", "DENIED")),
            "general.toml:8: advice: \"DENIED\" is not a state",
        ),
        (
            format!("{axis}{treatment}[[mapping]]\nid = \"m\"\nsets = \"request=advice\"\nany = [\"@nothing\"]\n"),
            "general.toml:14: m: there is no concept @nothing",
        ),
        (
            format!("{axis}{treatment}[[mapping]]\nid = \"m\"\nsets = \"request=other\"\nany = [\"x\"]\n"),
            "general.toml:12: m: request has no value \"other\"",
        ),
        (
            format!("{axis}{treatment}[[mapping]]\nid = \"m\"\nsets = \"request=advice\"\nany = [\"x ..\"]\n"),
            "general.toml:14: m: \"x ..\" is not a pattern",
        ),
        (
            format!("{axis}{treatment}[[mapping]]\nid = \"m\"\nsets = \"request=advice\"\nany = [\"~9 x ..2 y\"]\n"),
            "general.toml:14: m: \"~9 x ..2 y\" is not a pattern",
        ),
        (
            format!("{axis}{treatment}[[mapping]]\nid = \"m\"\nsets = \"request=advice\"\nany = [\"kil*\"]\n"),
            "general.toml:14: m: \"kil*\" is not the beginning of a word",
        ),
        (
            "[[resource]]\ngroup = \"fire\"\ncountry = \"CA\"\nname = \"n\"\ncontact = \"911\"\n\
             [[resource]]\ngroup = \"police\"\ncountry = \"FR\"\nname = \"n\"\ncontact = \"17\"\n"
                .to_owned(),
            "general.toml:4: fire: the group has no contact for FR",
        ),
        (
            "[[resource]]\ngroup = \"fire\"\ncountry = \"XX\"\nname = \"n\"\ncontact = \"911\"\n".to_owned(),
            "general.toml:4: fire: the country \"XX\" has no name",
        ),
        (
            format!("{axis}{treatment}resources = [\"nobody\"]\n"),
            "general.toml:8: advice: there is no resource \"nobody\"",
        ),
        (
            format!(
                "{axis}{treatment}[[high_stakes]]\naxis = \"request\"\noperator = \"near\"\naction = \"block\"\nrationale = \"r\"\nreason = \"r\"\n"
            ),
            "general.toml:12: request: \"near\" is not an operator",
        ),
        (
            format!(
                "{axis}{treatment}[[high_stakes]]\naxis = \"request\"\noperator = \"eq\"\naction = \"block\"\nrationale = \"r\"\nreason = \"r\"\n"
            ),
            "general.toml:12: request: action_states has no \"block\"",
        ),
        (
            format!("[human_lock.approval_matrix]\nadvise = [\"lawyer\"]\n{axis}{treatment}"),
            "general.toml:4: advise: no treatment answers this request of the approval matrix",
        ),
        (
            format!(
                "[human_lock.approval_matrix]\nadvice = [\"lawyer\"]\n{axis}{treatment}[[high_stakes]]\naxis = \"request\"\noperator = \"eq\"\naction = \"block\"\nrationale = \"r\"\nreason = \"r\"\napproval = [\"layer\"]\n"
            ),
            "general.toml:19: layer: no row of the approval matrix has this role",
        ),
        ("unstated = [\"colour\"]\n".to_owned(), "general.toml:3: colour: there is no quantity #colour"),
        ("on_timeout = \"ASK_LATER\"\n".to_owned(), "general.toml:3: on_timeout: \"ASK_LATER\" is not a policy"),
        (
            "[[oracle]]\nname = \"registry\"\ntier = \"best\"\nrecency_seconds = 60\n".to_owned(),
            "general.toml:5: registry: \"best\" is not a trust tier",
        ),
        ("nonsense = 1\n".to_owned(), "general.toml:3: form of the file: unknown field `nonsense`"),
        (
            format!(
                "{axis}[[axis]]\nkey = \"age\"\ntype = \"quantity\"\noracle_only = true\n{treatment}[[mapping]]\nid = \"m\"\nsets = \"age=#\"\nany = [\"#age\"]\n"
            ),
            "general.toml:16: m: only an oracle may set age",
        ),
        (
            format!(
                "negative_constraints = [\"healthy\"]\n{axis}[[axis]]\nkey = \"age\"\ntype = \"quantity\"\n{treatment}[[mapping]]\nid = \"m\"\nsets = \"age=#\"\nany = [\"healthy\"]\n"
            ),
            "general.toml:16: m: \"healthy\" may satisfy no axis",
        ),
        (
            format!(
                "{axis}[[axis]]\nkey = \"place\"\ntype = \"text\"\n{treatment}[[mapping]]\nid = \"m\"\nsets = \"place=#\"\nneeds_weights = true\nany = [\"x\"]\n"
            ),
            "general.toml:15: m: weights are asked about requests, and this sets state",
        ),
        (
            format!("{axis}{treatment}[[idiom]]\nid = \"i\"\nof = [\"request=advice\"]\nany = [\"x\"]\n"),
            "general.toml:13: i: no mapping sets \"request=advice\"",
        ),
        (
            format!(
                "{axis}{treatment}[action_states]\nblock = \"BLOCKED\"\n[[high_stakes]]\naxis = \"request\"\noperator = \"eq\"\nif = \"request=other\"\naction = \"block\"\nrationale = \"r\"\nreason = \"r\"\n"
            ),
            "general.toml:14: request: request has no value \"other\"",
        ),
        (format!("{axis}{treatment}"), "general.toml:4: request: no mapping sets the value \"advice\""),
        (
            format!("[human_lock.approval_matrix]\nadvice = [\"physician\"]\n{axis}{treatment}approvable = false\n"),
            "general.toml:10: advice: the approval matrix names who may approve it",
        ),
        ("[concepts]\na = [\"Big\"]\n".to_owned(), "general.toml:4: a: \"Big\" is not a phrase in small letters"),
    ] {
        let problem = problem(&body);
        assert!(problem.starts_with(expected), "{problem}\nexpected {expected}");
    }
}

#[test]
fn a_part_extends_its_domain_and_its_faults_are_named_with_its_own_file() {
    let axis = "[[axis]]\nkey = \"request\"\ntype = \"enum\"\nvalues = [\"advice\"]\n";
    let treatment = "[[treatment]]\nrequest = \"advice\"\nstate = \"BLOCKED\"\nreason = \"advice\"\n";
    let with_part = |part: &str| {
        let source = |name: &str, text: String| Source { name: name.to_owned(), text };
        let domain = source("general.toml", format!("{HEAD}{axis}{treatment}"));
        generate(vec![domain, source("more.toml", part.to_owned())]).map_err(|error| error.to_string())
    };
    let mapping = "[[mapping]]\nid = \"m\"\nsets = \"request=advice\"\nany = [\"x\"]\n";
    let tables = with_part(&format!("part_of = \"general\"\n{mapping}")).unwrap();
    // The names are one text: "m", then the part's file.
    assert!(tables.contains("mmore.toml"), "{tables}");
    assert!(tables.contains("file: Name(Part { start: 1, length: 9 }), line: 3"), "{tables}");
    for (part, expected) in [
        ("part_of = \"genral\"\n".to_owned(), "more.toml:1: genral: there is no domain of this name"),
        ("part_of = \"general\"\n[[treatment]]\n".to_owned(), "more.toml:2: form of the file: unknown field"),
        (
            format!("part_of = \"general\"\n{}", mapping.replace("request=", "place=")),
            "more.toml:3: m: there is no axis \"place\"",
        ),
        (
            "part_of = \"general\"\n[concepts]\n\"#shoes\" = [\"my shoes\"]\n".to_owned(),
            "more.toml:3: #shoes: there is no quantity of this name",
        ),
    ] {
        let problem = with_part(&part).unwrap_err();
        assert!(problem.starts_with(expected), "{problem}\nexpected {expected}");
    }
}

#[test]
fn a_fault_of_the_fitted_weights_or_of_their_rule_is_named() {
    let axis = "[[axis]]\nkey = \"request\"\ntype = \"enum\"\nvalues = [\"advice\"]\n";
    let place = "[[axis]]\nkey = \"place\"\ntype = \"text\"\n";
    let treatment = "[[treatment]]\nrequest = \"advice\"\nstate = \"BLOCKED\"\nreason = \"advice\"\n";
    let rule =
        "[[fitted]]\nid = \"f\"\nsets = \"request=advice\"\ndetects = \"crisis\"\nkind = \"self_harm\"\ntotal = 9\n";
    let header = format!("feature\t{}\n", FITTED_COLUMNS.join("\t"));
    let row = |feature: &str, weight: &str| format!("{feature}\t{weight}{}\n", "\t0".repeat(FITTED_COLUMNS.len() - 1));
    let rows = [row("a", "5"), "a b\t-7\t0\n".to_owned()].concat();
    let domain = format!("{HEAD}{axis}{place}{treatment}");
    let first = domain.lines().count() + 2;
    let generated = |rule: &str, table: &str| {
        let source = |name: &str, text: String| Source { name: name.to_owned(), text };
        let general = source("general.toml", format!("{domain}{rule}"));
        let weights = source("weights.tsv", table.to_owned());
        generate(vec![general, weights]).map_err(|error| error.to_string())
    };
    let tables = generated(rule, &format!("{header}{rows}")).unwrap();
    assert!(tables.contains("Fitted { mapping: 0, detects: 0, kind: 2, total: 9 }"), "{tables}");
    assert!(tables.contains(r"\xf9\x00") && tables.contains("FITTED_KINDS_ROWS: &[[u8; 10]] = b\"\""), "{tables}");
    for (rule, table, expected) in [
        (
            rule.replace("request=advice", "place=x"),
            format!("{header}{rows}"),
            "general.toml:FIRST: f: fitted weights set a request, not \"place=x\"",
        ),
        (
            rule.replace("crisis", "danger"),
            format!("{header}{rows}"),
            "general.toml:FIRST: f: there is no column \"danger\"",
        ),
        (
            rule.replace("\"crisis\"", "\"law\""),
            format!("{header}{rows}"),
            "general.toml:FIRST: f: \"law\" tells kinds from each other",
        ),
        (
            rule.replace("\"self_harm\"", "\"governed\""),
            format!("{header}{rows}"),
            "general.toml:FIRST: f: \"governed\" is no kind",
        ),
        (
            format!("{rule}{rule}"),
            format!("{header}{rows}"),
            "general.toml:SECOND: f: another rule has this id or this kind",
        ),
        (
            format!("{rule}{}", rule.replace("\"f\"", "\"g\"").replace("self_harm", "emergency").replace('9', "8")),
            format!("{header}{rows}"),
            "general.toml:SECOND: g: all rules that detect \"crisis\" need the same total",
        ),
        (
            rule.replace("total = 9", "total = 0"),
            format!("{header}{rows}"),
            "general.toml:FIRST: f: no text reaches the total, or every text does",
        ),
        (rule.to_owned(), header.clone(), "general.toml:FIRST: f: no text reaches the total, or every text does"),
        (rule.to_owned(), rows.clone(), "weights.tsv:1: header: the first line must be"),
        (
            rule.to_owned(),
            format!("{header}{}", row("a", "200")),
            "weights.tsv:2: a: a row has a feature and one weight from -128 to 127 for each column",
        ),
        (rule.to_owned(), format!("{header}a\t1\n"), "weights.tsv:2: a: a row has a feature and one weight"),
        (
            rule.to_owned(),
            format!("{header}{}{}", row("b", "1"), row("a", "1")),
            "weights.tsv:3: a: the features must be in ascending order",
        ),
    ] {
        let expected = expected.replace("FIRST", &first.to_string()).replace("SECOND", &(first + 6).to_string());
        let problem = generated(&rule, &table).unwrap_err();
        assert!(problem.starts_with(&expected), "{problem}\nexpected {expected}");
    }
}
