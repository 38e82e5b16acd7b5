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
