//! The options of the command.

use std::path::PathBuf;

/// Which mutants to run, and how.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Draw this many, the same ones for the same commit (default: all)
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<usize>,
    /// Only mutants whose name contains this, as in `sale.rs` or `replace <`
    #[arg(long, value_name = "TEXT")]
    pub(crate) containing: Option<String>,
    /// Leave out what this earlier result settled: all but the missed ones (names have lines: the same commit is best)
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// How many simulated worlds judge a mutant that the other tests missed
    #[arg(long, default_value_t = 300)]
    pub(crate) seeds: u64,
    /// Only this judge: unit, users, pipeline, simulation or long (may be repeated; default: all, cheapest first)
    #[arg(long = "judge", value_name = "NAME", value_parser = ["unit", "users", "pipeline", "simulation", "long"])]
    pub(crate) judges: Vec<String>,
    /// Name the mutants and stop
    #[arg(long)]
    pub(crate) list: bool,
}
