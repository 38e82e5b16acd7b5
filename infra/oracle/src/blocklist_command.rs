//! `oracle blocklist check`: holds the block list against the inventory of internal vocabulary (content filter,
//! GAP-K). No network.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use filter::Filter;
use serde_json::json;

use crate::{
    command::{CommandError, Ended},
    freshness::{Blocked, Symbol, differences},
    output::{self, Row},
};

/// The list that this program was built with, and the inventory beside it.
const BLOCKLIST: &str = include_str!("../../../shared/rules/filter/data/blocklist.toml");
const VOCABULARY: &str = include_str!("../../../shared/rules/filter/data/vocabulary.toml");

#[derive(Subcommand)]
pub(crate) enum BlocklistCommand {
    /// Compare the block list with the inventory of internal vocabulary.
    ///
    /// Tells the symbols that the filter lets pass, the terms that no symbol stands for, and exemptions that are
    /// none. The list is the one that this program was built with; the inventory is shared/rules/filter/data/vocabulary.toml.
    #[command(after_help = "Example:\n  oracle blocklist check --json\n\nExit code 1: they differ.")]
    Check(CheckArguments),
}

#[derive(Args)]
pub(crate) struct CheckArguments {
    /// Another inventory than the one that was built in.
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
    /// Write JSON instead of text for people.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &BlocklistCommand) -> Result<Ended, CommandError> {
    let BlocklistCommand::Check(arguments) = command;
    let vocabulary = match &arguments.vocabulary {
        None => VOCABULARY.to_owned(),
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| CommandError::failed(&format!("{} cannot be read", file.display()), error))?,
    };
    let malformed = |error| CommandError::failed("the inventory is malformed", error);
    let symbols = Symbol::parse_all(&vocabulary).map_err(malformed)?;
    let terms = Blocked::parse_all(BLOCKLIST).map_err(malformed)?;
    let differences = differences(&symbols, &terms, |text| !Filter::embedded().check(text).hits.is_empty());
    if arguments.json {
        let filter = Filter::embedded();
        output::print_json(&json!({
            "list_version": filter.list_version(),
            "list_hash": filter.list_hash(),
            "symbols": symbols.len(),
            "terms": terms.len(),
            "differences": differences,
        }))?;
    } else if differences.is_empty() {
        let exempt = symbols.iter().filter(|symbol| symbol.exempt.is_some()).count();
        let (symbols, terms) = (symbols.len(), terms.len());
        output::print(&format!("fresh: {symbols} symbols ({exempt} exempt), {terms} terms, no difference\n"))?;
    } else {
        let rows: Vec<Row> = differences
            .iter()
            .map(|one| Row { cells: vec![one.text.clone(), one.problem.words().to_owned()], below: one.source.clone() })
            .collect();
        output::print(&output::table(&["TEXT", "PROBLEM"], &rows, output::width()))?;
    }
    Ok(if differences.is_empty() { Ended::Done } else { Ended::Nothing })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This is what keeps the list fresh: a symbol that is added to the inventory fails here until it is blocked.
    #[test]
    fn the_block_list_and_the_inventory_agree() {
        let symbols = Symbol::parse_all(VOCABULARY).unwrap();
        let terms = Blocked::parse_all(BLOCKLIST).unwrap();
        let found = differences(&symbols, &terms, |text| !Filter::embedded().check(text).hits.is_empty());
        assert!(found.is_empty(), "{found:#?}");
        assert!(symbols.len() > terms.len() && terms.len() > 70, "{} {}", symbols.len(), terms.len());
    }
}
