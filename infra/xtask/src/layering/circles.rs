//! Import circles between the files of one crate: files that take names from one another cannot be read one after the
//! other.
//!
//! A module is the façade of the modules inside it: it may import from them, and they may import from it. Only imports
//! between modules of which neither contains the other, and imports from a containing module, can form a circle.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// A module's path below its crate: empty for the root.
type Module = Vec<String>;

/// How many re-exports are followed from one name to the file that defines it.
const MOST_STEPS: usize = 8;

/// A file of a circle, and one that it imports.
pub(super) type Tie<'a> = (&'a PathBuf, &'a PathBuf);

/// The groups of files that import one another, each by its ties.
pub(super) fn circles(sources: &BTreeMap<PathBuf, String>) -> Vec<Vec<Tie<'_>>> {
    let roots: BTreeSet<&Path> = sources.keys().filter(|path| is_root(path)).filter_map(|path| path.parent()).collect();
    roots.into_iter().flat_map(|root| circles_of(root, sources)).collect()
}

/// Whether a file is the root module of a program or a library.
fn is_root(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs")
}

/// The circles of the program or library whose root module is in this folder.
fn circles_of<'a>(root: &Path, sources: &'a BTreeMap<PathBuf, String>) -> Vec<Vec<Tie<'a>>> {
    // Beside a library, `main.rs` is another crate, which uses the library from outside.
    let library = root.join("lib.rs");
    let is_of_it = |path: &&PathBuf| !(sources.contains_key(&library) && **path == root.join("main.rs"));
    let files: BTreeMap<Module, &PathBuf> = sources
        .keys()
        .filter(is_of_it)
        .filter_map(|path| Some((module(path.strip_prefix(root).ok()?)?, path)))
        .collect();
    let paths: BTreeMap<&Module, Vec<Imported>> =
        files.iter().map(|(module, path)| (module, imported(&sources[*path]))).collect();
    let crate_ = Crate { files: &files, paths: &paths };
    let imports: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> = files
        .iter()
        .map(|(module, path)| {
            let of = paths[module].iter().filter_map(|one| crate_.defining(module, &one.path, MOST_STEPS));
            let of = of.filter(|(other, _)| !other.starts_with(module)).map(|(_, other)| other);
            (*path, of.collect())
        })
        .collect();
    let reachable: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        imports.keys().map(|path| (*path, reachable(&imports, path))).collect();
    let mut found: Vec<Vec<Tie<'_>>> = Vec::new();
    for (path, others) in reachable.iter().filter(|(path, others)| others.contains(*path)) {
        let is_of_it = |other: &&PathBuf| others.contains(*other) && reachable[*other].contains(*path);
        let members = others.iter().copied().filter(is_of_it);
        let ties = members.flat_map(|from| imports[from].iter().copied().filter(is_of_it).map(move |to| (from, to)));
        let circle: Vec<Tie<'_>> = ties.collect();
        if !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

/// The files that a file imports, directly or not. It has itself only if it is on a circle.
fn reachable<'a>(imports: &BTreeMap<&'a PathBuf, BTreeSet<&'a PathBuf>>, from: &PathBuf) -> BTreeSet<&'a PathBuf> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&PathBuf> = imports.get(from).into_iter().flatten().copied().collect();
    while let Some(path) = next.pop() {
        if seen.insert(path) {
            next.extend(imports.get(path).into_iter().flatten());
        }
    }
    seen
}

/// The module of a file, whose path is relative to the root module's folder.
fn module(path: &Path) -> Option<Module> {
    let mut module: Module =
        path.iter().filter_map(|part| part.to_str()).map(|part| part.trim_end_matches(".rs").to_owned()).collect();
    if matches!(module.last()?.as_str(), "mod" | "lib" | "main") {
        module.pop();
    }
    Some(module)
}

/// The modules of one crate, with the paths that each imports.
struct Crate<'a, 's> {
    files: &'a BTreeMap<Module, &'s PathBuf>,
    paths: &'a BTreeMap<&'a Module, Vec<Imported>>,
}

impl<'s> Crate<'_, 's> {
    /// The module that defines the item of a path, with its file; `None` if the path leads out of the crate. A
    /// re-export is looked through.
    fn defining(&self, within: &Module, path: &[String], steps: usize) -> Option<(Module, &'s PathBuf)> {
        let (first, rest) = path.split_first()?;
        let absolute: Module = match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => within.iter().chain(rest).cloned().collect(),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let parent = within.len().checked_sub(up)?;
                within[..parent].iter().chain(&path[up..]).cloned().collect()
            }
            child => {
                let inside: Module = within.iter().cloned().chain([child.to_owned()]).collect();
                self.files.contains_key(&inside).then(|| within.iter().chain(path).cloned().collect())?
            }
        };
        let depth = (0..=absolute.len()).rev().find(|depth| self.files.contains_key(&absolute[..*depth]))?;
        let (module, item) = (absolute[..depth].to_vec(), absolute.get(depth));
        let exported = item.filter(|_| steps > 0).and_then(|item| {
            let export = self.paths[&module].iter().find(|one| one.is_exported && one.name() == Some(item))?;
            self.defining(&module, &export.path, steps - 1)
        });
        exported.or_else(|| self.files.get(&module).map(|file| (module, *file)))
    }
}

/// A path that a file names.
#[derive(Debug, PartialEq)]
struct Imported {
    path: Vec<String>,
    /// The name that it has in the file, if it is another one.
    renamed: Option<String>,
    is_exported: bool,
}

impl Imported {
    fn name(&self) -> Option<&String> {
        self.renamed.as_ref().or_else(|| self.path.last())
    }
}

/// The paths of the `use` declarations of a source, and those that it names with `crate::` or `super::`.
fn imported(source: &str) -> Vec<Imported> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_use = tokens[at] == "use";
        let begins_path = matches!(tokens[at], "crate" | "super") && tokens.get(at + 1) == Some(&"::");
        if is_use {
            // `pub use`, or `pub(crate) use`.
            let is_exported = at > 0 && matches!(tokens[at - 1], "pub" | ")");
            at = tree(&tokens, at + 1, &[], is_exported, &mut found);
        } else if begins_path {
            at = tree(&tokens, at, &[], false, &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads a path or a tree of paths that begins at a token; returns the place after it.
fn tree(tokens: &[&str], mut at: usize, before: &[String], is_exported: bool, found: &mut Vec<Imported>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while let Some(token) = tokens.get(at).filter(|token| **token != "}") {
                    at = if *token == "," { at + 1 } else { tree(tokens, at, &path, is_exported, found).max(at + 1) };
                }
                return at + 1;
            }
            Some(name) if name.starts_with(|first: char| first.is_alphabetic() || first == '_') => {
                path.push((*name).to_owned());
                at += 1;
            }
            // A glob takes names of the module itself.
            _ => return at + 1,
        }
        match tokens.get(at) {
            Some(&"::") => at += 1,
            Some(&"as") => {
                let renamed = tokens.get(at + 1).map(|name| (*name).to_owned());
                found.push(Imported { path, renamed, is_exported });
                return at + 2;
            }
            _ => {
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                found.push(Imported { path, renamed: None, is_exported });
                return at;
            }
        }
    }
}

/// Words, `::` and single signs, without comments.
fn tokens(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for line in source.lines() {
        let mut rest = line.split("//").next().unwrap_or_default();
        while let Some(first) = rest.chars().next() {
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let length = if is_word(first) {
                rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(length);
            if !first.is_whitespace() {
                tokens.push(token);
            }
            rest = after;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of each circle, sorted.
    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        let members = |circle: Vec<Tie<'_>>| circle.iter().map(|(from, _)| from.display().to_string()).collect();
        let sorted = |members: BTreeSet<String>| members.into_iter().collect();
        circles(&sources).into_iter().map(members).map(sorted).collect()
    }

    #[test]
    fn files_that_take_from_one_another_are_a_circle() {
        let files = [
            ("a/src/lib.rs", "mod one;\nmod three;\nmod two;"),
            ("a/src/one.rs", "use crate::two::Two;"),
            ("a/src/two.rs", "use super::{one, three::{self, Three}};"),
            ("a/src/three.rs", "// use crate::one::One;\nuse std::fmt;"),
        ];
        assert_eq!(found(&files), [["a/src/one.rs", "a/src/two.rs"]]);
        let inline = ("a/src/three.rs", "fn f() -> crate::one::One { todo!() }");
        assert_eq!(
            found(&[files[0], files[1], files[2], inline]),
            [["a/src/one.rs", "a/src/three.rs", "a/src/two.rs"]]
        );
        assert_eq!(found(&files[..2]), [[""; 0]; 0]);
    }

    #[test]
    fn every_program_of_a_package_has_files_of_its_own() {
        let files = [
            ("t/stack/main.rs", "mod one;\nmod two;"),
            ("t/stack/one.rs", "use crate::two::Two;"),
            ("t/stack/two.rs", "use crate::one::One;"),
            ("t/browser/main.rs", "mod one;"),
            ("t/browser/one.rs", "use crate::two::Two;"),
        ];
        assert_eq!(found(&files), [["t/stack/one.rs", "t/stack/two.rs"]]);
        assert_eq!(found(&files[3..]), [[""; 0]; 0]);
    }

    #[test]
    fn the_library_is_the_root_beside_a_program() {
        let files = [
            ("a/src/lib.rs", "mod one;\nmod two;\npub use one::One;\npub use two::Two;"),
            ("a/src/main.rs", "use a::One;"),
            ("a/src/one.rs", "use crate::Two;"),
            ("a/src/two.rs", "use crate::One;"),
        ];
        assert_eq!(found(&files), [["a/src/one.rs", "a/src/two.rs"]]);
    }

    #[test]
    fn a_reexport_is_looked_through() {
        let root = ("a/src/lib.rs", "mod one;\nmod two;\npub use one::One as First;\npub(crate) use two::Two;");
        let one = ("a/src/one.rs", "use crate::Two;");
        assert_eq!(found(&[root, one, ("a/src/two.rs", "use crate::First;")]), [["a/src/one.rs", "a/src/two.rs"]]);
        assert_eq!(found(&[root, one, ("a/src/two.rs", "pub struct Two;")]), [[""; 0]; 0]);
    }

    #[test]
    fn a_module_and_its_parts_are_no_circle_and_two_of_its_parts_are() {
        let root = ("a/src/b/mod.rs", "mod c;\nmod d;\nuse c::C;\npub(super) struct B;");
        let parts = [("a/src/b/c.rs", "use super::{B, d::D};"), ("a/src/b/d.rs", "use super::B;")];
        assert_eq!(found(&[("a/src/lib.rs", "mod b;"), root, parts[0], parts[1]]), [[""; 0]; 0]);
        let back = ("a/src/b/d.rs", "use super::{B, c};");
        assert_eq!(found(&[("a/src/lib.rs", "mod b;"), root, parts[0], back]), [["a/src/b/c.rs", "a/src/b/d.rs"]]);
    }
}
