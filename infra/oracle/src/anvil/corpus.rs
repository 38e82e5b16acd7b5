//! `oracle anvil corpus …`: versions of a model's training data. A frozen version is named by the hash of its content
//! and never changes.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anvil_rules::{
    Facts, ServiceState,
    brain::corpus::{Pair, lint},
};
use authority::fingerprint;
use clap::Subcommand;
use serde_json::json;

use super::evidence::append_line;
use crate::{
    command::{CommandError, Ended},
    terminal::output,
};

#[derive(Subcommand)]
pub(crate) enum CorpusCommand {
    /// Look for what made earlier versions fail: single words, missing kernel pairs, duplicates, leaked smoke tests.
    #[command(after_help = "Example:\n  oracle anvil corpus lint draft.jsonl\n\nExit code 1: something was found.")]
    Lint {
        /// Pairs, one JSON object a line: {"category","input","response","facts"?}.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Write one JSON object instead of lines for people.
        #[arg(long)]
        json: bool,
    },
    /// Add a pair to a draft. A frozen version is refused.
    #[command(
        after_help = "Example:\n  oracle anvil corpus add draft.jsonl --category quick --input 'Is X1 alive?' --service X1=dead --response RED."
    )]
    Add {
        /// The draft.
        draft: PathBuf,
        /// What the pair teaches.
        #[arg(long)]
        category: String,
        /// The question.
        #[arg(long)]
        input: String,
        /// The answer.
        #[arg(long)]
        response: String,
        /// A service that was observed beside the question. Can be given several times.
        #[arg(long = "service", value_name = "NAME=alive|dead", value_parser = service)]
        services: Vec<(String, ServiceState)>,
        /// Write one JSON object instead of a line for people.
        #[arg(long)]
        json: bool,
    },
    /// Freeze a draft under the hash of its content. It must pass the lint.
    #[command(
        after_help = "Example:\n  oracle anvil corpus freeze draft.jsonl --dir corpora/anvil\n\nExit code 1: refused."
    )]
    Freeze {
        /// The draft.
        draft: PathBuf,
        /// Where versions are kept.
        #[arg(long, value_name = "DIR")]
        dir: PathBuf,
        /// Write one JSON object instead of a line for people.
        #[arg(long)]
        json: bool,
    },
    /// Which pairs one version has and the other does not.
    #[command(after_help = "Example:\n  oracle anvil corpus diff old.jsonl new.jsonl")]
    Diff {
        /// The earlier version.
        before: PathBuf,
        /// The later version.
        after: PathBuf,
        /// Write one JSON object instead of lines for people.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &CorpusCommand) -> Result<Ended, CommandError> {
    match command {
        CorpusCommand::Lint { files, json } => {
            let mut pairs = Vec::new();
            for file in files {
                pairs.extend(read(file)?);
            }
            let findings: Vec<String> = lint(&pairs).iter().map(ToString::to_string).collect();
            if *json {
                output::print_json(&json!({ "pairs": pairs.len(), "findings": findings }))?;
            } else {
                let found = findings.iter().map(|finding| format!("{finding}\n")).collect::<String>();
                let (pairs, findings) = (counted(pairs.len(), "pair"), counted(findings.len(), "finding"));
                output::print(&format!("{found}{pairs}, {findings}\n"))?;
            }
            Ok(if findings.is_empty() { Ended::Done } else { Ended::Nothing })
        }
        CorpusCommand::Add { draft, category, input, response, services, json } => {
            let (category, input, response) = (category.clone(), input.clone(), response.clone());
            if [&category, &input, &response].iter().any(|text| text.trim().is_empty()) {
                return Err(CommandError::Refused("category, input and response must not be empty".to_owned()));
            }
            add(
                draft,
                &Pair { category, input, response, facts: Facts { services: services.iter().cloned().collect() } },
            )?;
            let count = read(draft)?.len();
            let text = format!("added; {} has {}\n", draft.display(), counted(count, "pair"));
            answer(*json, &json!({ "pairs": count }), &text)
        }
        CorpusCommand::Freeze { draft, dir, json } => {
            let (path, hash) = freeze(draft, dir)?;
            let shown = path.display().to_string();
            answer(*json, &json!({ "file": shown, "sha256": hash }), &format!("{shown}\n"))
        }
        CorpusCommand::Diff { before, after, json } => {
            let (removed, added) = difference(&read(before)?, &read(after)?);
            if *json {
                return answer(true, &json!({ "removed": removed, "added": added }), "");
            }
            let lines = |sign: &str, pairs: &[Pair]| {
                pairs
                    .iter()
                    .map(|pair| format!("{sign} [{}] {} → {}\n", pair.category, pair.input, pair.response))
                    .collect::<String>()
            };
            let sum = format!("{} removed, {} added\n", removed.len(), added.len());
            answer(false, &json!(null), &(lines("-", &removed) + &lines("+", &added) + &sum))
        }
    }
}

/// "1 pair", "2 pairs".
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// An observed service: `NAME=alive` or `NAME=dead`.
fn service(text: &str) -> Result<(String, ServiceState), String> {
    match text.split_once('=') {
        Some((name, "alive")) if !name.is_empty() => Ok((name.to_owned(), ServiceState::Alive)),
        Some((name, "dead")) if !name.is_empty() => Ok((name.to_owned(), ServiceState::Dead)),
        _ => Err(format!("'{text}' is neither NAME=alive nor NAME=dead")),
    }
}

fn answer(as_json: bool, document: &serde_json::Value, text: &str) -> Result<Ended, CommandError> {
    output::print_answer(as_json, document, || text.to_owned())
}

fn unreadable(path: &Path, error: std::io::Error) -> CommandError {
    CommandError::failed(&format!("{} cannot be read or written", path.display()), error)
}

fn read(path: &Path) -> Result<Vec<Pair>, CommandError> {
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
    let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_changed =
        file.file_stem().and_then(|name| name.to_str()).is_some_and(|name| name != fingerprint(text.as_bytes()));
    if is_frozen(&file) && is_changed {
        return Err(CommandError::Refused(format!("{} is frozen and not what its name says", path.display())));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line)
                .map_err(|error| CommandError::failed(&format!("{}:{}: not a pair", path.display(), index + 1), error))
        })
        .collect()
}

/// Whether a file is a frozen version, whose name contains the hash of its content.
fn is_frozen(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    stem.len() == 64 && stem.bytes().all(|of| of.is_ascii_hexdigit())
}

fn add(draft: &Path, pair: &Pair) -> Result<(), CommandError> {
    // Resolves links, because a link to a frozen version must not make it writable.
    let file = fs::canonicalize(draft).unwrap_or_else(|_| draft.to_owned());
    if is_frozen(&file) {
        return Err(CommandError::Refused(format!("{} is frozen: copy it and add to the copy", draft.display())));
    }
    append_line(&file, &serde_json::to_string(pair)?).map_err(|error| unreadable(draft, error))
}

/// Writes a version once. Freezing the same content again gives the same version.
fn freeze(draft: &Path, dir: &Path) -> Result<(PathBuf, String), CommandError> {
    let findings = lint(&read(draft)?);
    if let Some(finding) = findings.first() {
        let (draft, count) = (draft.display(), counted(findings.len(), "finding"));
        return Err(CommandError::Refused(format!(
            "{draft} has {count}, which `oracle anvil corpus lint {draft}` lists. The first: {finding}"
        )));
    }
    let content = fs::read(draft).map_err(|error| unreadable(draft, error))?;
    let hash = fingerprint(&content);
    let path = dir.join(format!("{hash}.jsonl"));
    fs::create_dir_all(dir).map_err(|error| unreadable(dir, error))?;
    match fs::OpenOptions::new().create_new(true).write(true).open(&path) {
        Ok(mut file) => file.write_all(&content).map_err(|error| unreadable(&path, error))?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let kept = fs::read(&path).map_err(|error| unreadable(&path, error))?;
            if fingerprint(&kept) != hash {
                return Err(CommandError::Refused(format!("{} is not what its name says", path.display())));
            }
        }
        Err(error) => return Err(unreadable(&path, error)),
    }
    let mut permissions = fs::metadata(&path).map_err(|error| unreadable(&path, error))?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).map_err(|error| unreadable(&path, error))?;
    Ok((path, hash))
}

/// The pairs of only the earlier version, and those of only the later one.
fn difference(before: &[Pair], after: &[Pair]) -> (Vec<Pair>, Vec<Pair>) {
    let only = |of: &[Pair], other: &[Pair]| of.iter().filter(|pair| !other.contains(pair)).cloned().collect();
    (only(before, after), only(after, before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("oracle-corpus-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// A corpus that passes the lint: correct kernels and identities, without duplicates.
    fn sound() -> String {
        let mut lines = Vec::new();
        for index in 0..15 {
            let input =
                format!("Readings of host {index}: Φζ=0.98{index}, Ψχ=0.05, ΔΓ=0.02, ΩQ=0.95, λ_c=0.05. Assess.");
            let response = "Φζ, Ψχ, ΔΓ, ΩQ and λ_c are each within their thresholds. Verdict: GREEN.";
            lines.push(json!({ "category": "analysis", "input": input, "response": response }).to_string());
        }
        for who in
            ["the night shift", "a visitor", "a new engineer", "the board", "an auditor", "a child", "the press", "me"]
        {
            let response = "I am ANVIL, the quality gate: I give a verdict on builds.";
            lines.push(json!({ "category": "identity", "input": format!("Introduce yourself to {who}."), "response": response }).to_string());
        }
        lines.join("\n") + "\n"
    }

    #[test]
    fn a_version_is_its_content_and_never_changes() {
        let dir = directory("freeze");
        let draft = dir.join("draft.jsonl");
        fs::write(&draft, sound()).unwrap();
        let (path, hash) = freeze(&draft, &dir.join("versions")).unwrap();
        assert_eq!(fingerprint(&fs::read(&path).unwrap()), hash);
        assert!(is_frozen(&path) && fs::metadata(&path).unwrap().permissions().readonly());
        assert_eq!(freeze(&draft, &dir.join("versions")).unwrap().0, path, "the same content is the same version");
        let pair = Pair { category: "null".into(), input: "x".into(), response: "y".into(), facts: Facts::default() };
        assert!(matches!(add(&path, &pair), Err(CommandError::Refused(_))));
        add(&draft, &pair).unwrap();
        let (removed, added) = difference(&read(&path).unwrap(), &read(&draft).unwrap());
        assert_eq!((removed, added), (vec![], vec![pair]));
    }

    #[test]
    fn an_observed_service_is_alive_or_dead() {
        assert_eq!(service("X1=dead"), Ok(("X1".to_owned(), ServiceState::Dead)));
        assert!(["X1", "=dead", "X1=up"].iter().all(|text| service(text).is_err()));
    }

    #[test]
    fn a_draft_with_findings_is_not_frozen() {
        let dir = directory("refuse");
        let draft = dir.join("draft.jsonl");
        fs::write(&draft, sound() + &sound()).unwrap();
        assert!(matches!(freeze(&draft, &dir.join("versions")), Err(CommandError::Refused(_))));
        assert!(!dir.join("versions").exists());
    }
}
