//! The options of the command.

use std::path::PathBuf;

/// Which mutants to run, and how.
pub(crate) struct Options {
    /// How many mutants to draw; `None` means all.
    pub(crate) sample: Option<usize>,
    /// Only mutants whose name contains this.
    pub(crate) containing: Option<String>,
    /// An earlier result of the command: what it settled (all but the missed ones) is not judged again.
    pub(crate) resume: Option<PathBuf>,
    /// How many simulated worlds judge a mutant that the other tests missed.
    pub(crate) seeds: u64,
    /// Only these judges, by name; none means all.
    pub(crate) judges: Vec<String>,
    /// Lists the mutants and does not test them.
    pub(crate) list: bool,
}
