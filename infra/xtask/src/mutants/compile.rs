//! Compiles the code with all mutants behind switches. A mutant whose own code has an error does not compile; one that
//! breaks the code around it is set apart and compiled alone later.

use super::{
    constants::relaxed,
    mutant::Mutant,
    switches::{PROLOGUE, Switched, epilogue, switched},
};
use crate::{
    error::Error,
    functions::{cargo, metadata},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::Stdio,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) package: String,
    pub(super) executable: PathBuf,
    /// The directory in which cargo would run it.
    pub(super) directory: PathBuf,
}

/// An error of the compiler: its file, its place in bytes, its text.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    file: String,
    place: Range<usize>,
    rendered: String,
}

/// What cargo said about a build.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) succeeded: bool,
    pub(super) programs: Vec<Program>,
    complaints: Vec<Complaint>,
    /// What cargo itself wrote, such as an error of the linker.
    words: String,
}

impl Built {
    /// Why it did not succeed, in the compiler's or cargo's words.
    pub(super) fn reason(&self) -> &str {
        self.complaints.first().map_or(&self.words, |first| &first.rendered)
    }
}

/// Which mutants of a run have a switch; the indices are those of the list of mutants.
#[derive(Debug, Default)]
pub(super) struct Switchboard {
    /// They do not compile.
    pub(super) unviable: BTreeSet<usize>,
    /// They have no switch.
    pub(super) apart: BTreeSet<usize>,
}

/// A work tree and the directory of its builds.
pub(super) struct WorkTree {
    pub(super) source: PathBuf,
    pub(super) target: PathBuf,
}

impl WorkTree {
    /// Writes the mutants into the work tree, each behind a switch, and finds those that do not compile.
    pub(super) fn switch(&self, mutants: &[Mutant]) -> Result<Switchboard, Error> {
        let mut board = Switchboard::default();
        let packages: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.package.as_str()).collect();
        let mut check = vec!["check", "--locked", "--keep-going", "--lib", "--bins"];
        check.extend(packages.iter().flat_map(|package| ["--package", package]));
        let files = self.files(mutants, &packages)?;
        loop {
            let written = self.write(&files, mutants, &mut board)?;
            let built = self.cargo(&check)?;
            if built.succeeded {
                return Ok(board);
            }
            let before = board.unviable.len() + board.apart.len();
            for complaint in &built.complaints {
                let Some(switched) = written.get(&complaint.file) else { continue };
                match switched.culprit(&complaint.place) {
                    Some(number) => _ = board.unviable.insert(number - 1),
                    None => board.apart.extend(switched.suspects(&complaint.place).iter().map(|number| number - 1)),
                }
            }
            let now = board.unviable.len() + board.apart.len();
            eprintln!("{now} of {} mutants do not compile behind a switch", mutants.len());
            if now == before {
                return Err(Error::Refused(format!("the mutants do not compile together:\n{}", built.reason())));
            }
        }
    }

    /// The files to write, with their text in the commit, and whether each is the root of a crate.
    fn files(&self, mutants: &[Mutant], packages: &BTreeSet<&str>) -> Result<BTreeMap<String, (String, bool)>, Error> {
        let metadata = metadata(&self.source)?;
        let listed = metadata["packages"].as_array().into_iter().flatten();
        let ours = listed.filter(|package| package["name"].as_str().is_some_and(|name| packages.contains(name)));
        let targets = ours.flat_map(|package| package["targets"].as_array().into_iter().flatten());
        let built = |target: &&Value| ["lib", "bin"].iter().any(|kind| target["kind"][0] == **kind);
        let relative = |path: &str| Path::new(path).strip_prefix(&self.source).ok()?.to_str().map(str::to_owned);
        let roots: BTreeSet<String> =
            targets.filter(built).filter_map(|target| relative(target["src_path"].as_str()?)).collect();
        let mutated: BTreeSet<&String> = mutants.iter().map(|mutant| &mutant.file).collect();
        let folders: BTreeSet<&str> = mutated.iter().filter_map(|file| Some(file.split_once("/src/")?.0)).collect();
        let is_ours = |file: &str| {
            folders.iter().any(|folder| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with("/src/")))
        };
        let mut texts = BTreeMap::new();
        for folder in ["shared", "functions", "infra", "tests"] {
            read_sources(&self.source, &self.source.join(folder), &mut texts)?;
        }
        let relaxed = relaxed(&texts, is_ours).map_err(|error| Error::Refused(format!("the sources: {error}")))?;
        Ok(relaxed.into_iter().map(|(file, text)| (file.clone(), (text, roots.contains(&file)))).collect())
    }

    /// Writes every file with the mutants that still have a switch, and adds those that cannot have one to the board.
    fn write(
        &self,
        files: &BTreeMap<String, (String, bool)>,
        mutants: &[Mutant],
        board: &mut Switchboard,
    ) -> Result<BTreeMap<String, Switched>, Error> {
        let (mut written, epilogue) = (BTreeMap::new(), epilogue());
        for (file, (text, is_root)) in files {
            let here = |(index, mutant): &(usize, &Mutant)| {
                mutant.file == *file && !board.unviable.contains(index) && !board.apart.contains(index)
            };
            let numbered: Vec<(usize, &Mutant)> =
                mutants.iter().enumerate().filter(here).map(|(index, mutant)| (index + 1, mutant)).collect();
            let (before, after) = if *is_root { (PROLOGUE, epilogue.as_str()) } else { ("", "") };
            let switched = switched(text, &numbered, before, after)?;
            let numbers: BTreeSet<usize> = switched.numbers().collect();
            board
                .apart
                .extend(numbered.iter().filter(|(number, _)| !numbers.contains(number)).map(|(number, _)| number - 1));
            put(&self.source.join(file), &switched.text)?;
            written.insert(file.clone(), switched);
        }
        Ok(written)
    }

    /// Runs cargo in the work tree and reads its messages.
    pub(super) fn cargo(&self, arguments: &[impl AsRef<str>]) -> Result<Built, Error> {
        let mut command = cargo();
        command.args(arguments.iter().map(AsRef::as_ref)).args(["--quiet", "--message-format", "json"]);
        command.current_dir(&self.source).env("CARGO_TARGET_DIR", &self.target);
        let output = command.stdin(Stdio::null()).output().map_err(Error::io("running cargo"))?;
        let messages = output.stdout.split(|byte| *byte == b'\n');
        let messages = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut built = Built { succeeded: output.status.success(), words, ..Built::default() };
        // Beside its tests, cargo builds the functions that integration tests of their package may start.
        let is_wanted = |message: &Value| {
            arguments.first().is_none_or(|first| first.as_ref() != "test") || message["profile"]["test"] == true
        };
        for message in messages {
            built.programs.extend(program(&message).filter(|_| is_wanted(&message)));
            built.complaints.extend(complaint(&message));
        }
        Ok(built)
    }
}

/// The program that a message of cargo names.
fn program(message: &Value) -> Option<Program> {
    let executable = PathBuf::from(message["executable"].as_str()?);
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    // `path+file:///directory#name@version`, without the name if it is the directory's.
    let (place, id) = message["package_id"].as_str()?.rsplit_once('#')?;
    let package = id.split_once('@').map_or(place.rsplit('/').next()?, |(name, _)| name).to_owned();
    Some(Program { package, executable, directory })
}

/// The error of the compiler that a message of cargo carries, if it has a place in a file of the work tree.
fn complaint(message: &Value) -> Option<Complaint> {
    let message = message.get("message").filter(|message| message["level"] == "error")?;
    let mut span = message["spans"].as_array()?.iter().find(|span| span["is_primary"] == true)?;
    // Of code in a macro, the place where our code calls it.
    while !span["expansion"].is_null() {
        span = &span["expansion"]["span"];
    }
    let byte = |name: &str| span[name].as_u64().and_then(|byte| usize::try_from(byte).ok());
    let rendered = message["rendered"].as_str().unwrap_or_default().to_owned();
    Some(Complaint {
        file: span["file_name"].as_str()?.to_owned(),
        place: byte("byte_start")?..byte("byte_end")?,
        rendered,
    })
}

/// Reads every Rust file under a folder, by its path from the root of the work tree.
fn read_sources(root: &Path, folder: &Path, texts: &mut BTreeMap<String, String>) -> Result<(), Error> {
    let failed = || Error::io(format!("reading {}", folder.display()));
    for entry in fs::read_dir(folder).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        if path.is_dir() {
            read_sources(root, &path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            texts.insert(name, read(&path)?);
        }
    }
    Ok(())
}

/// Reads a file of the work tree.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::io(format!("reading {}", path.display())))
}

/// Writes a file unless it already has this text: cargo does not compile an untouched file again.
pub(super) fn put(path: &Path, text: &str) -> Result<(), Error> {
    if read(path)? == text {
        return Ok(());
    }
    fs::write(path, text).map_err(Error::io(format!("writing {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_program_has_its_package() {
        let package = |id: &str| {
            let message =
                json!({ "executable": "/t/debug/deps/a-1", "manifest_path": "/w/a/Cargo.toml", "package_id": id });
            program(&message).map(|program| (program.package, program.directory))
        };
        let expected = |name: &str| Some((name.to_owned(), PathBuf::from("/w/a")));
        assert_eq!(package("path+file:///w/a#0.1.0"), expected("a"));
        assert_eq!(package("path+file:///w/a#other@0.1.0"), expected("other"));
    }

    #[test]
    fn an_error_is_where_our_code_is() {
        let span = |file: &str, start: u64, expansion: Value| {
            json!({ "file_name": file, "byte_start": start, "byte_end": start + 3, "is_primary": true,
                "expansion": expansion })
        };
        let message =
            |level: &str, span: Value| json!({ "message": { "level": level, "spans": [span], "rendered": "no" } });
        let plain = complaint(&message("error", span("a.rs", 7, Value::Null)));
        let expected =
            |start: usize| Complaint { file: "a.rs".to_owned(), place: start..start + 3, rendered: "no".to_owned() };
        assert_eq!(plain, Some(expected(7)));
        let called = json!({ "span": span("a.rs", 9, Value::Null) });
        assert_eq!(complaint(&message("error", span("/std/macros.rs", 7, called))), Some(expected(9)));
        assert_eq!(complaint(&message("warning", span("a.rs", 7, Value::Null))), None);
        assert_eq!(complaint(&json!({ "reason": "build-finished", "success": false })), None);
    }
}
