//! `oracle corpus`: the texts that answers sold to agents draw on.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use domain::{
    Timestamp,
    ports::{Clock, Corpora},
    toll::CorpusVersion,
};
use retrieval::{Active, Index, Text, activate, active, fetch};
use runtime::System;
use serde_json::{Value, json};

use super::corpus_files;
use crate::{
    command::{CommandError, Ended, OrFailed, Signed, Target, wait},
    stack::Deployed,
    terminal::output::{self, minute},
};

/// The number of passages that a tried question shows, which is the number that the model would get.
const SHOWN: usize = 4;

#[derive(Subcommand)]
pub(crate) enum CorpusCommand {
    /// Build an index of a folder's texts (.txt and .md), and store it under its version. Does not activate it.
    ///
    /// The version is the hash of the index: the same texts are the same version, and no version ever changes. The texts go
    /// to the model word for word, so they must hold nothing that agents may not read.
    #[command(
        after_help = "Example:\n  oracle corpus build texts/ --stack-name oracle\n\nExit code 1: the texts hold no words, or too many."
    )]
    Build(BuildArguments),
    /// Show all versions and the active one; with a version, its texts and what a question finds in it.
    #[command(
        after_help = "Examples:\n  oracle corpus show\n  oracle corpus show 3f2a9c1b77d0 --question 'Who pays for repairs?'\n\nExit code 1: there is no such version."
    )]
    Show(ShowArguments),
    /// Use a version, or none, for every answer from now on. The decision is recorded first.
    #[command(
        after_help = "Examples:\n  oracle corpus activate 3f2a9c1b77d0 --by dana --reason 'leases of 2026'\n  oracle corpus activate none --by dana\n\nExit code 1: there is no such version, or it cannot be read."
    )]
    Activate(ActivateArguments),
}

#[derive(Args)]
pub(crate) struct BuildArguments {
    /// The folder, with all folders in it.
    folder: PathBuf,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The version, or its first digits.
    version: Option<String>,
    /// Show the passages that the model would get with this question.
    #[arg(long, value_name = "TEXT", requires = "version")]
    question: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(crate) struct ActivateArguments {
    /// The version, or its first digits; `none` for answers without a corpus.
    version: String,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(command: &CorpusCommand) -> Result<Ended, CommandError> {
    match command {
        CorpusCommand::Build(arguments) => build(arguments),
        CorpusCommand::Show(ShowArguments { version: None, target, .. }) => list(target),
        CorpusCommand::Show(ShowArguments { version: Some(version), question, target }) => {
            show(version, question.as_deref(), target)
        }
        CorpusCommand::Activate(arguments) => put_into_use(arguments),
    }
}

fn build(arguments: &BuildArguments) -> Result<Ended, CommandError> {
    let index = index_of(&arguments.folder)?;
    let deployed = arguments.target.open()?;
    let bytes = index.to_bytes();
    let version = Index::version_of(&bytes);
    let corpora = deployed.backend().corpora()?;
    wait(async {
        let kept = corpora.keep(&version, &bytes).await;
        kept.or_failed("the index may not have been stored: repeat the command")?;
        // Reads the index back, because an object that was already stored under this version may be damaged.
        fetch(&corpora, &version).await.or_failed("the stored index cannot be read back")
    })?;
    print(&arguments.target, &facts(&version, &index, bytes.len()), |facts| {
        format!(
            "Corpus {} is stored: {} passages of {} texts, {} terms, {} bytes.\nTo use it: oracle corpus activate {}\n",
            version.prefix(),
            facts["passages"],
            facts["texts"].as_array().map_or(0, Vec::len),
            facts["terms"],
            facts["bytes"],
            version.prefix()
        )
    })
}

fn index_of(folder: &Path) -> Result<Index, CommandError> {
    let texts: Vec<Text> = corpus_files::read(folder)?;
    Index::build(texts).map_err(|error| CommandError::Refused(error.to_string()))
}

fn facts(version: &CorpusVersion, index: &Index, bytes: usize) -> Value {
    let mut texts: Vec<&str> = index.passages().iter().map(|passage| passage.source.as_str()).collect();
    texts.dedup();
    json!({
        "version": version, "passages": index.passages().len(), "terms": index.count_terms(), "bytes": bytes,
        "texts": texts,
    })
}

fn print(target: &Target, facts: &Value, text: impl Fn(&Value) -> String) -> Result<Ended, CommandError> {
    output::print_answer(target.json, facts, || text(facts))
}

async fn in_use(deployed: &Deployed) -> Result<Option<Active>, CommandError> {
    active(&deployed.stores.sales).await.or_failed("the active version cannot be read")
}

async fn listed(deployed: &Deployed) -> Result<Vec<(CorpusVersion, Timestamp)>, CommandError> {
    deployed.backend().corpora()?.listed().await.or_failed("the versions cannot be listed")
}

fn list(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let (mut versions, active) = wait(async { Ok((listed(&deployed).await?, in_use(&deployed).await?)) })?;
    versions.sort_by_key(|(_, kept)| std::cmp::Reverse(*kept));
    let is_active = |version: &CorpusVersion| active.as_ref().is_some_and(|it| it.version.as_ref() == Some(version));
    let rows: Vec<Value> = versions
        .iter()
        .map(|(version, kept)| json!({ "version": version, "kept_at": kept.to_iso(), "active": is_active(version) }))
        .collect();
    print(target, &json!({ "active": active.as_ref().map(said), "versions": rows }), |_| {
        text_of(active.as_ref(), &rows)
    })
}

fn said(active: &Active) -> Value {
    json!({ "version": active.version, "since": active.since.to_iso(), "by": active.by })
}

fn text_of(active: Option<&Active>, rows: &[Value]) -> String {
    let line = match active {
        Some(Active { version: Some(version), since, by }) => {
            format!("{} is in use since {}, by {by}\n", version.prefix(), minute(&since.to_iso()))
        }
        _ => "no corpus is in use: answers are made from the question alone\n".to_owned(),
    };
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let row = |row: &Value| output::Row {
        cells: vec![
            text(row, "version").chars().take(12).collect(),
            minute(&text(row, "kept_at")),
            if row["active"] == true { "in use" } else { "" }.to_owned(),
        ],
        below: String::new(),
    };
    line + &if rows.is_empty() {
        String::new()
    } else {
        output::table(&["VERSION", "STORED (UTC)", ""], rows.iter().map(row), output::width())
    }
}

/// Finds the only version whose digits begin with `name`.
async fn named(deployed: &Deployed, name: &str) -> Result<CorpusVersion, CommandError> {
    one(listed(deployed).await?.into_iter().map(|(version, _)| version).collect(), name)
}

fn one(versions: Vec<CorpusVersion>, name: &str) -> Result<CorpusVersion, CommandError> {
    let mut found: Vec<_> = versions.into_iter().filter(|version| version.as_str().starts_with(name)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) if !name.is_empty() => Ok(one),
        (Some(_), _) => Err(CommandError::Refused(format!("several versions begin with {name:?}: give more digits"))),
        (None, _) => Err(CommandError::Refused(format!("there is no version {name:?}; oracle corpus show lists them"))),
    }
}

async fn load(deployed: &Deployed, version: &CorpusVersion) -> Result<Index, CommandError> {
    let index = fetch(&deployed.backend().corpora()?, version).await;
    index.map_err(|error| CommandError::Refused(error.to_string()))
}

fn show(name: &str, question: Option<&str>, target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let (version, index) = wait(async {
        let version = named(&deployed, name).await?;
        let index = load(&deployed, &version).await?;
        Ok((version, index))
    })?;
    let mut facts = facts(&version, &index, index.to_bytes().len());
    if let Some(question) = question {
        facts["found"] = json!(index.search(question, SHOWN));
    }
    print(target, &facts, |facts| {
        let list = |name: &str| facts[name].as_array().cloned().unwrap_or_default();
        let mut text = format!(
            "version   {}\npassages  {}\nterms     {}\nbytes     {}\ntexts     {}\n",
            version.as_str(),
            facts["passages"],
            facts["terms"],
            facts["bytes"],
            list("texts").len()
        );
        for passage in list("found") {
            let words = passage["text"].as_str().unwrap_or_default();
            let source = output::printable(passage["source"].as_str().unwrap_or_default());
            text.push_str(&format!("\n{source}\n{}", output::wrapped(&output::printable(words), 2, output::width())));
        }
        text
    })
}

fn put_into_use(arguments: &ActivateArguments) -> Result<Ended, CommandError> {
    let ActivateArguments { version, signed } = arguments;
    let (deployed, operator) = signed.open()?;
    let version = match version.as_str() {
        "none" => None,
        name => Some(wait(async {
            let version = named(&deployed, name).await?;
            // An unreadable index must not be activated, because nothing would be sold.
            load(&deployed, &version).await?;
            Ok(version)
        })?),
    };
    let name = version.as_ref().map_or("no corpus", |version| version.prefix());
    if !signed.confirm(&deployed, &format!("Use {name} for every answer from now on?"))? {
        return Ok(Ended::Nothing);
    }
    let active = wait(async {
        deployed.record(&operator, "corpus activate", &json!({ "version": version })).await?;
        let done = activate(&deployed.stores.sales, &operator, version.clone(), System.now()).await;
        done.or_failed("the version may not have been activated: repeat the command")
    })?;
    print(&signed.target, &said(&active), |_| format!("{name} is in use from now on\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_named_by_its_first_digits() {
        let versions = || ["aa", "ab", "cc"].map(|two| CorpusVersion::parse(two.repeat(32)).unwrap()).to_vec();
        assert_eq!(one(versions(), "aaa").unwrap().as_str(), "aa".repeat(32));
        for name in ["", "a", "d", &"cc".repeat(33)] {
            assert!(matches!(one(versions(), name), Err(CommandError::Refused(_))), "{name}");
        }
    }

    #[test]
    fn the_list_names_what_is_in_use() {
        let version = CorpusVersion::parse("ab".repeat(32)).unwrap();
        let active = Active { version: Some(version.clone()), since: Timestamp::from_millis(0), by: "dana".to_owned() };
        let rows = [json!({ "version": version, "kept_at": "2026-11-22T10:00:00.000Z", "active": true })];
        let text = text_of(Some(&active), &rows);
        assert!(text.contains("abababababab is in use since 1970-01-01 00:00, by dana\n"), "{text}");
        assert!(text.contains("2026-11-22 10:00"), "{text}");
        assert!(text_of(None, &[]).starts_with("no corpus is in use"));
    }
}
