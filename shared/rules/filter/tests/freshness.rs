//! Tests that the block list and the inventory of internal vocabulary (`data/vocabulary.toml`) agree (content filter,
//! GAP-K).

use filter::Filter;
use serde::Deserialize;

const BLOCKLIST: &str = include_str!("../data/blocklist.toml");
const VOCABULARY: &str = include_str!("../data/vocabulary.toml");

/// One entry of the inventory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Symbol {
    text: String,
    /// The symbol's meaning, for readers.
    #[allow(dead_code, reason = "must be there, and is for those who read the file")]
    meaning: String,
    /// The specification that names it.
    source: String,
    /// The reason why the filter allows it.
    exempt: Option<String>,
}

impl Symbol {
    fn parse_all(text: &str) -> Result<Vec<Symbol>, toml::de::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            symbol: Vec<Symbol>,
        }
        Ok(toml::from_str::<File>(text)?.symbol)
    }
}

/// The compared fields of one term of the block list.
#[derive(Clone, Debug, Deserialize)]
struct Blocked {
    text: String,
    category: u8,
}

impl Blocked {
    fn parse_all(text: &str) -> Result<Vec<Blocked>, toml::de::Error> {
        #[derive(Deserialize)]
        struct File {
            term: Vec<Blocked>,
        }
        Ok(toml::from_str::<File>(text)?.term)
    }
}

/// The kind of difference for one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    /// The filter allows a symbol that is not exempt.
    SymbolWithoutTerm,
    /// The inventory has no symbol for the term.
    TermWithoutSymbol,
    /// A symbol is exempt although the filter catches it.
    NeedlessExemption,
    /// An exemption gives no reason.
    ExemptWithoutReason,
    /// The inventory has the text twice.
    SymbolTwice,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Difference {
    text: String,
    problem: Problem,
    /// The file that names it.
    source: String,
}

/// Every difference, symbols first. `is_caught` is the filter.
fn differences(symbols: &[Symbol], terms: &[Blocked], is_caught: impl Fn(&str) -> bool) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (index, symbol) in symbols.iter().enumerate() {
        let problem = match &symbol.exempt {
            _ if symbols[..index].iter().any(|before| before.text == symbol.text) => Some(Problem::SymbolTwice),
            None if !is_caught(&symbol.text) => Some(Problem::SymbolWithoutTerm),
            Some(reason) if reason.trim().is_empty() => Some(Problem::ExemptWithoutReason),
            Some(_) if is_caught(&symbol.text) => Some(Problem::NeedlessExemption),
            _ => None,
        };
        let difference = |problem| Difference { text: symbol.text.clone(), problem, source: symbol.source.clone() };
        differences.extend(problem.map(difference));
    }
    let is_named = |term: &Blocked| symbols.iter().any(|symbol| symbol.text == term.text && symbol.exempt.is_none());
    differences.extend(terms.iter().filter(|term| !is_named(term)).map(|term| Difference {
        text: term.text.clone(),
        problem: Problem::TermWithoutSymbol,
        source: format!("the block list, category {}", term.category),
    }));
    differences
}

/// A symbol added to the inventory fails this test until the list blocks it or the inventory exempts it.
#[test]
fn the_block_list_and_the_inventory_agree() {
    let symbols = Symbol::parse_all(VOCABULARY).unwrap();
    let terms = Blocked::parse_all(BLOCKLIST).unwrap();
    let found = differences(&symbols, &terms, |text| !Filter::embedded().check(text).hits.is_empty());
    assert!(found.is_empty(), "{found:#?}");
    assert!(symbols.len() > terms.len() && terms.len() > 70, "{} {}", symbols.len(), terms.len());
}

fn symbols(entries: &[(&str, Option<&str>)]) -> Vec<Symbol> {
    let symbol = |(text, exempt): &(&str, Option<&str>)| Symbol {
        text: (*text).to_owned(),
        meaning: String::new(),
        source: "spec".to_owned(),
        exempt: exempt.map(str::to_owned),
    };
    entries.iter().map(symbol).collect()
}

#[test]
fn every_way_to_be_stale_is_found() {
    let terms = [Blocked { text: "A".to_owned(), category: 1 }, Blocked { text: "B".to_owned(), category: 2 }];
    let is_caught = |text: &str| matches!(text, "A" | "B");
    let found = |entries: &[(&str, Option<&str>)]| -> Vec<(String, Problem)> {
        let all = differences(&symbols(entries), &terms, is_caught);
        all.into_iter().map(|one| (one.text, one.problem)).collect()
    };
    assert_eq!(found(&[("A", None), ("B", None), ("x", Some("ordinary"))]), []);
    let one = |text: &str, problem| vec![(text.to_owned(), problem)];
    assert_eq!(found(&[("A", None), ("B", None), ("new", None)]), one("new", Problem::SymbolWithoutTerm));
    assert_eq!(found(&[("A", None)]), one("B", Problem::TermWithoutSymbol));
    assert_eq!(found(&[("A", None), ("B", None), ("x", Some(" "))]), one("x", Problem::ExemptWithoutReason));
    assert_eq!(found(&[("A", None), ("B", None), ("A", None)]), one("A", Problem::SymbolTwice));
    assert_eq!(
        found(&[("A", None), ("B", Some("no"))]),
        [("B".to_owned(), Problem::NeedlessExemption), ("B".to_owned(), Problem::TermWithoutSymbol)]
    );
}
