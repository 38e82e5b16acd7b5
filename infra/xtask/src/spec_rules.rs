//! Compares the list of specification rules (`infra/spec/rules.toml`) with the sources: every rule that a source cites
//! must be listed, every place that the list names must exist, and every deviation must name its decision.

use crate::error::Error;
use serde::Deserialize;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const LIST: &str = "infra/spec/rules.toml";

/// The folders and files whose comments are searched for cited rules.
const CITING: [&str; 5] = ["functions", "shared", "infra", "tests", "template.yaml"];

/// The words before the number of a rule.
const KINDS: [&str; 12] = [
    "invariants",
    "invariant",
    "failure modes",
    "failure mode",
    "verification criteria",
    "verification criterion",
    "inputs",
    "GAP-",
    "INV-",
    "FM-",
    "VC-",
    "HEALTH-GAP-",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    specification: Vec<Specification>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Specification {
    name: String,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    rule: String,
    says: String,
    kept: Vec<String>,
    /// How the code deviates from the rule's letter.
    otherwise: Option<String>,
    /// The decision about the deviation, a file of `infra`.
    why: Option<String>,
    /// Tests that keep it, where not all of its places' tests do; `oracle anvil assess spec` looks for them.
    #[serde(default)]
    #[allow(dead_code, reason = "read by the command line")]
    tests: Vec<String>,
}

/// All violations, one line each.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(root.join(LIST)).map_err(Error::io(format!("reading {LIST}")))?;
    let list: List = toml::from_str(&text).map_err(|error| Error::Refused(format!("{LIST}: {error}")))?;
    let mut violations = list_violations(&list, |place| root.join(place).exists());
    let mut files = Vec::new();
    for place in CITING {
        collect(&root.join(place), &mut files)?;
    }
    for file in files {
        let text = fs::read_to_string(&file).map_err(Error::io(format!("reading {}", file.display())))?;
        for citation in unlisted_citations(&list, &text) {
            let file = file.strip_prefix(root).unwrap_or(&file).display();
            violations.push(format!("{file} cites ({citation}), which {LIST} does not list"));
        }
    }
    Ok(violations)
}

fn list_violations(list: &List, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut violations = Vec::new();
    for specification in &list.specification {
        let mut seen = BTreeSet::new();
        for Rule { rule, says, kept, otherwise, why, .. } in &specification.rules {
            let name = &specification.name;
            if !seen.insert(rule) {
                violations.push(format!("{LIST}: ({name}, {rule}) is listed twice"));
            }
            if says.trim().is_empty() {
                violations.push(format!("{LIST}: ({name}, {rule}) has no sentence"));
            }
            match (otherwise, why) {
                (None, None) => {}
                (Some(otherwise), Some(why)) if !otherwise.trim().is_empty() => {
                    if !(why.starts_with("decisions/") && exists(&format!("infra/{why}"))) {
                        violations.push(format!("{LIST}: ({name}, {rule}) names {why}, which is no decision"));
                    }
                }
                _ => violations.push(format!("{LIST}: ({name}, {rule}) needs both otherwise and why, or neither")),
            }
            let missing = kept.iter().filter(|place| !exists(place));
            violations
                .extend(missing.map(|place| format!("{LIST}: ({name}, {rule}) names {place}, which is not there")));
        }
    }
    violations
}

/// The citations of a source that the list does not contain, as `SPEC, RULE`.
fn unlisted_citations(list: &List, source: &str) -> BTreeSet<String> {
    let text = joined(source);
    let mut unlisted = BTreeSet::new();
    for specification in &list.specification {
        // The name may be at the start of a sentence or within one.
        let (first, rest) = specification.name.split_at(1);
        for (_, after) in [first.to_uppercase(), first.to_lowercase()]
            .iter()
            .flat_map(|first| text.match_indices(&format!("{first}{rest}")).collect::<Vec<_>>())
            .map(|(start, name)| (start, &text[start + name.len()..]))
        {
            for rule in cited_rules(after) {
                if !specification.rules.iter().any(|listed| listed.rule == rule) {
                    unlisted.insert(format!("{}, {rule}", specification.name));
                }
            }
        }
    }
    unlisted
}

/// The rules that follow the name of a specification: `, invariants 4 and 5` gives `invariant 4` and `invariant 5`.
fn cited_rules(after: &str) -> Vec<String> {
    let after = after.trim_start_matches([',', ' ', '(']);
    let Some(kind) = KINDS.iter().find(|kind| after.starts_with(**kind)) else { return Vec::new() };
    if kind.ends_with('-') {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(after.len());
        return vec![after[..end].trim_end_matches('-').to_owned()];
    }
    let singular = match *kind {
        "invariants" => "invariant",
        "failure modes" => "failure mode",
        "verification criteria" => "verification criterion",
        kind => kind,
    };
    let mut rules = Vec::new();
    let mut words = after[kind.len()..].split_whitespace();
    while let Some(word) = words.next() {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        rules.push(format!("{singular} {digits}"));
        if digits.len() == word.len() && words.next() != Some("and") {
            break;
        }
        if digits.len() < word.len() && !word.ends_with(',') {
            break;
        }
    }
    rules
}

/// The source with each comment of several lines joined into one line.
fn joined(source: &str) -> String {
    let lines = source.lines().map(|line| line.trim().trim_start_matches(['/', '!', '#', '*']).trim());
    lines.collect::<Vec<_>>().join(" ")
}

fn collect(place: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    if place.is_file() {
        let is_source =
            place.extension().is_some_and(|extension| ["rs", "yaml", "js"].iter().any(|one| extension == *one));
        if is_source {
            files.push(place.to_owned());
        }
        return Ok(());
    }
    let what = || format!("reading {}", place.display());
    for entry in fs::read_dir(place).map_err(Error::io(what()))? {
        let path = entry.map_err(Error::io(what()))?.path();
        if path.file_name().is_none_or(|name| name != "node_modules" && name != "target") {
            collect(&path, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> List {
        let rule = |rule: &str, kept: &[&str]| Rule {
            tests: Vec::new(),
            rule: rule.to_owned(),
            says: "It holds.".to_owned(),
            kept: kept.iter().map(|place| (*place).to_owned()).collect(),
            otherwise: None,
            why: None,
        };
        let rules = vec![rule("invariant 4", &["shared/a"]), rule("GAP-L", &[])];
        List { specification: vec![Specification { name: "Sample spec".to_owned(), rules }] }
    }

    fn unlisted(source: &str) -> Vec<String> {
        unlisted_citations(&list(), source).into_iter().collect()
    }

    #[test]
    fn listed_citations_pass() {
        for source in
            ["// (sample spec, invariant 4)", "/// Sample spec,\n/// invariant 4: kept.", "// sample spec GAP-L."]
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
}
