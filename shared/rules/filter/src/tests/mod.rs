//! Tests that need the compiler, or lists other than the embedded one.

mod coverage;
mod validation;

use crate::compile::list::BlockList;
use crate::compile::{CompileError, compile};
use crate::engine::tables::Tables;

const BLOCKLIST: &str = include_str!("../../data/blocklist.toml");

fn list(text: &str) -> BlockList {
    BlockList::parse(text).unwrap()
}

fn compiled(list: &BlockList) -> Result<Tables, CompileError> {
    compile(list, "test", include_str!("../../data/lookalikes.toml"), include_str!("../../data/entities.txt"))
}

/// The sieve and the narrow windows are short cuts: they must find everything that the exact matcher finds.
#[test]
fn the_short_cuts_find_what_the_exact_matcher_finds() {
    let tables = &crate::Filter::embedded().tables;
    let mut held = 0;
    for line in
        include_str!("../../tests/data/sentences.tsv").lines().chain(["NNeeggaa\nttoorryy", "n\u{308}ous", "no\nus"])
    {
        for text in [line.to_owned(), line.to_uppercase(), line.replace(' ', "\n"), line.replace('o', "oo")] {
            let quick = crate::engine::find::find(tables, &[&text]);
            let exact = crate::engine::find::merge(crate::engine::find::find_everywhere(tables, &text));
            assert_eq!(quick, exact, "{text}");
            held += usize::from(!exact.is_empty());
        }
    }
    assert!(held > 1000, "{held}");
}
