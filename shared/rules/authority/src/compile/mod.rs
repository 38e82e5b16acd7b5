//! Makes the tables of `tables.rs` from the files of `data/`, and refuses files that are inconsistent. Part of the
//! build script; the library's tests compile it too.

mod generate;
mod lexicon;
mod ontology;
mod resolve;

pub(crate) use generate::generate;

/// What is wrong with a file of the data, where, and which rule it breaks.
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
    /// The line of a byte.
    fn line(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count()
    }

    fn error(&self, offset: usize, rule: &str, problem: impl Into<String>) -> DataError {
        DataError { file: self.name.clone(), line: self.line(offset), rule: rule.to_owned(), problem: problem.into() }
    }
}
