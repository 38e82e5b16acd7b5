//! Compares the list of specification rules (`infra/spec/rules.toml`) with the sources: every rule that a source cites
//! must be listed, every place that the list names must exist, and every deviation must name its decision.

mod citation;
mod list;

use crate::error::Error;
use citation::{Citation, citations, first_rules, nameless_citations};
use list::{List, Rule};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const LIST: &str = "infra/spec/rules.toml";

/// The folders and files whose comments are searched for cited rules.
const CITING: [&str; 8] =
    ["functions", "shared", "infra", "tests", "template.yaml", "README.md", "CONTRIBUTING.md", "SECURITY.md"];

/// Files that are not searched: the list itself, and the block list, whose bytes are its version: an edited comment
/// would have every delivered verdict checked again.
const LEFT_OUT: [&str; 2] = [LIST, "shared/rules/filter/data/blocklist.toml"];

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
        let name = file.strip_prefix(root).unwrap_or(&file);
        if LEFT_OUT.iter().any(|left_out| name == Path::new(left_out)) {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(Error::io(format!("reading {}", file.display())))?;
        let name = name.display();
        for citation in unlisted_citations(&list, &text) {
            violations.push(format!("{name} cites ({citation}), which {LIST} does not list"));
        }
        for comment in comments(&file, &text) {
            for citation in unknown_citations(&list, &comment) {
                violations.push(format!("{name} cites ({citation}), which is no kind of rule"));
            }
            for citation in nameless_citations(&list, &comment) {
                violations.push(format!("{name} cites {citation} without the name of its specification"));
            }
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
            if first_rules(&specification.rules, rule).is_none_or(|(cited, _)| cited != [rule.as_str()]) {
                violations.push(format!("{LIST}: ({name}, {rule}) cannot be cited by this name"));
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
    let mut unlisted = BTreeSet::new();
    for Citation { specification, rules, .. } in citations(list, &joined(source)) {
        let missing = rules.into_iter().filter(|rule| !specification.rules.iter().any(|listed| listed.rule == *rule));
        unlisted.extend(missing.map(|rule| format!("{}, {rule}", specification.name)));
    }
    unlisted
}

/// The citations of a comment whose kind the check does not know, as `SPEC, WORDS`: their rules would not be looked up.
fn unknown_citations(list: &List, comment: &str) -> BTreeSet<String> {
    let citations = citations(list, comment).into_iter();
    citations.filter_map(|it| it.unknown.map(|words| format!("{}, {words}", it.specification.name))).collect()
}

/// The source with each comment of several lines joined into one line.
fn joined(source: &str) -> String {
    source.lines().map(uncommented).collect::<Vec<_>>().join(" ")
}

/// A line without what makes it a comment.
fn uncommented(line: &str) -> &str {
    line.trim().trim_start_matches(['/', '!', '#', '*']).trim()
}

/// The comments of a source, or the paragraphs of a text, each joined into one line.
fn comments(file: &Path, source: &str) -> Vec<String> {
    let extension = file.extension().and_then(|extension| extension.to_str());
    let mark = match extension {
        Some("rs" | "js") => "//",
        Some("yaml" | "toml") => "#",
        _ => "",
    };
    let mut comments: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in source.lines().map(str::trim) {
        let inside = if line.starts_with(mark) { Some(line) } else { None };
        // A comment after code stands alone.
        let behind = line.split_once(&format!(" {mark} ")).map(|(_, comment)| comment).filter(|_| !mark.is_empty());
        match (inside.map(uncommented), behind) {
            (Some(text), _) if !text.is_empty() && is_open => {
                if let Some(last) = comments.last_mut() {
                    last.push(' ');
                    last.push_str(text);
                }
            }
            (Some(text), _) => {
                comments.push(text.to_owned());
                is_open = !text.is_empty();
            }
            (None, behind) => {
                comments.extend(behind.map(str::to_owned));
                is_open = false;
            }
        }
    }
    comments
}

fn collect(place: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    if place.is_file() {
        let is_source = place
            .extension()
            .is_some_and(|extension| ["rs", "yaml", "js", "toml", "md"].iter().any(|one| extension == *one));
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
mod tests;
