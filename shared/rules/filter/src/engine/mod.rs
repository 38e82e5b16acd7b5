//! The engine: pure functions over [`tables::Tables`]. The build script compiles it too, to check the substitutes with
//! the same filter that will use them.

pub(crate) mod align;
pub(crate) mod alignment;
pub(crate) mod bidi;
pub(crate) mod character_tables;
pub(crate) mod characters;
pub(crate) mod check;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod decode;
pub(crate) mod edges;
pub(crate) mod explain;
pub(crate) mod features;
pub(crate) mod find;
pub(crate) mod judge;
pub(crate) mod known;
pub(crate) mod lists;
pub(crate) mod nfa;
pub(crate) mod numbers;
pub(crate) mod reading;
pub(crate) mod replace;
pub(crate) mod senses;
pub(crate) mod sieve;
pub(crate) mod tables;
pub(crate) mod token;
pub(crate) mod view;
pub(crate) mod word_lists;
pub(crate) mod words;
pub(crate) mod writing;
