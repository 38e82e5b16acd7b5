//! Compiles the files of `data/` into the tables of `tables.rs`, and rejects inconsistent files. Part of the build
//! script; the library's tests compile it too.

mod checks;
mod fitted;
mod generate;
mod guidance;
mod index;
mod lexicon;
mod ontology;
mod places;
mod resolve;

pub(crate) use generate::generate;

/// A fault in a data file: the file, the line, the broken rule and the problem.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {rule}: {problem}")]
pub(crate) struct DataError {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) rule: String,
    pub(crate) problem: String,
}

/// One file of the data.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Source {
    /// The line number of a byte offset.
    fn line(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count()
    }

    fn error(&self, offset: usize, rule: &str, problem: impl Into<String>) -> DataError {
        DataError { file: self.name.clone(), line: self.line(offset), rule: rule.to_owned(), problem: problem.into() }
    }
}
