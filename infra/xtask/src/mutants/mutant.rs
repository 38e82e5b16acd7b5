//! The mutants: cargo-mutants lists them, the commit's hash draws the sample, and `apply` changes a file's text.

use crate::error::{Error, require_success};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::{
    fs,
    ops::Range,
    path::Path,
    process::{Command, Stdio},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    pub(crate) package: String,
    /// Restricts the crate to these files, relative to the repository's root; empty means all files.
    #[serde(default)]
    pub(crate) files: Vec<String>,
    /// Excludes these files.
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    /// Packages that use this one and whose own tests check its decisions too.
    #[serde(default)]
    pub(crate) tested_by: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mutant {
    /// `file:line:column: change`, unique in a commit.
    pub(crate) name: String,
    pub(crate) package: String,
    pub(crate) file: String,
    /// cargo-mutants' name of its kind, as in `FnValue`.
    pub(super) genre: String,
    span: Span,
    /// The text that replaces the span.
    pub(super) replacement: String,
    /// The line in which the span begins, without indentation.
    #[serde(skip)]
    pub(crate) line_text: String,
}

/// A place in a file: from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Span {
    start: Position,
    end: Position,
}

/// A line and a column in characters, both from 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    line: usize,
    column: usize,
}

impl Mutant {
    /// The change alone, without file, line and column.
    pub(crate) fn change(&self) -> &str {
        self.name.splitn(4, ':').nth(3).unwrap_or_default().trim_start()
    }

    /// The place of the change in the file's text, in bytes.
    pub(super) fn bytes(&self, text: &str) -> Range<usize> {
        let byte = |position: Position| {
            let (mut line, mut column) = (1, 1);
            let found = text.char_indices().find(|(_, character)| {
                let here = Position { line, column };
                (line, column) = if *character == '\n' { (line + 1, 1) } else { (line, column + 1) };
                here >= position
            });
            found.map_or(text.len(), |(at, _)| at)
        };
        byte(self.span.start)..byte(self.span.end)
    }

    /// The file's text with the change.
    pub(super) fn apply(&self, text: &str) -> String {
        let span = self.bytes(text);
        [&text[..span.start], &self.replacement, &text[span.end..]].concat()
    }
}

/// All mutants of the targets.
pub(crate) fn list(program: &Path, source: &Path, targets: &[Target]) -> Result<Vec<Mutant>, Error> {
    let mut all = Vec::new();
    for target in targets {
        let found = list_target(program, source, target)?;
        if found.is_empty() {
            return Err(Error::Refused(format!("infra/mutants.toml: {} has no mutants", target.package)));
        }
        all.extend(found);
    }
    Ok(all)
}

fn list_target(program: &Path, source: &Path, target: &Target) -> Result<Vec<Mutant>, Error> {
    let mut command = Command::new(program);
    command.args(["mutants", "--list", "--json", "--no-shuffle", "--package", &target.package]);
    command.args(target.files.iter().flat_map(|file| ["--file", file]));
    command.args(target.exclude.iter().flat_map(|file| ["--exclude", file]));
    let output = command
        .current_dir(source)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(Error::io("starting cargo-mutants"))?;
    require_success("cargo mutants --list", output.status, None)?;
    let mut found: Vec<Mutant> = serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::Refused(format!("cargo mutants --list: {error}")))?;
    for mutant in &mut found {
        let path = source.join(&mutant.file);
        let text = fs::read_to_string(&path).map_err(Error::io(format!("reading {}", path.display())))?;
        let line = text.lines().nth(mutant.span.start.line.saturating_sub(1));
        mutant.line_text = line.unwrap_or_default().trim().to_owned();
    }
    Ok(found)
}

/// Draws `sample` mutants (all if `None`). The same commit gives the same mutants. They are ordered by place, so that
/// neighbours share compiled code.
pub(crate) fn draw(mut mutants: Vec<Mutant>, commit: &str, sample: Option<usize>) -> Vec<Mutant> {
    if let Some(sample) = sample {
        mutants.sort_by_cached_key(|mutant| Sha256::digest(format!("{commit} {}", mutant.name)).to_vec());
        mutants.truncate(sample);
    }
    mutants.sort_by_key(|mutant| (mutant.package.clone(), mutant.file.clone(), mutant.span.start));
    mutants
}

#[cfg(test)]
pub(super) fn example() -> Mutant {
    let at = |column| Position { line: 2, column };
    Mutant {
        name: "a.rs:2:6: replace > with >= in f".to_owned(),
        package: "domain".to_owned(),
        file: "a.rs".to_owned(),
        genre: "BinaryOperator".to_owned(),
        span: Span { start: at(6), end: at(7) },
        replacement: ">=".to_owned(),
        line_text: String::new(),
    }
}

#[cfg(test)]
impl Mutant {
    /// A mutant that replaces the first such part of a text.
    pub(super) fn of(genre: &str, text: &str, part: &str, replacement: &str) -> Self {
        let position = |at: usize| {
            let before = &text[..at];
            let line = before.rsplit('\n').next().unwrap_or_default();
            Position { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
        };
        let at = text.find(part).unwrap_or_default();
        let span = Span { start: position(at), end: position(at + part.len()) };
        Self { genre: genre.to_owned(), span, replacement: replacement.to_owned(), ..example() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_replaces_its_span_and_nothing_else() {
        assert_eq!(example().apply("é { a > b }\nif a > b {\n> }\n"), "é { a > b }\nif a >= b {\n> }\n");
        let lines = Span { start: Position { line: 1, column: 5 }, end: Position { line: 2, column: 3 } };
        let body = Mutant { span: lines, replacement: "0".to_owned(), ..example() };
        assert_eq!(body.apply("f() {\n  }}\n"), "f() 0}}\n");
        assert_eq!(body.change(), "replace > with >= in f");
    }

    #[test]
    fn a_commit_draws_the_same_mutants_and_another_draws_others() {
        let all: Vec<Mutant> =
            (1..200).map(|line| Mutant { name: format!("a.rs:{line}:6: replace > with >="), ..example() }).collect();
        let names = |commit| {
            let mut reversed = all.clone();
            reversed.reverse();
            let drawn = |from| draw(from, commit, Some(20)).into_iter().map(|mutant| mutant.name);
            let mut names: Vec<String> = drawn(all.clone()).collect();
            let mut again: Vec<String> = drawn(reversed).collect();
            names.sort();
            again.sort();
            assert_eq!(names, again);
            names
        };
        assert_eq!(names("abc").len(), 20);
        assert_ne!(names("abc"), names("abd"));
        assert_eq!(draw(all.clone(), "abc", None).len(), 199);
    }
}
