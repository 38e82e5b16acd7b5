//! Benchmarks that are in the crates that they measure: each prints its own JSON lines.

use super::{Bench, corpus, run};
use crate::{error::Error, functions::cargo, local_dir::repository};

/// AWS requests per delivered Full Breakdown and per 1,000 exchanges of the chat, and their price.
pub(super) fn requests(bench: &Bench) -> Result<(), Error> {
    for (package, example) in [("tests", "requests"), ("chat", "chat_requests")] {
        let example = ["run", "--quiet", "--locked", "--package", package, "--example", example];
        run(bench, "requests", cargo().args(example))?;
    }
    Ok(())
}

/// The authority gate on questions of 300 bytes.
pub(super) fn authority(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "authority", "--example", "authority_bench"];
    run(bench, "authority", cargo().args(example).args(["--features", "peers"]))
}

/// The quality gate's rules and its parsing of texts.
pub(super) fn anvil(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "anvil-rules", "--example", "anvil_bench"];
    run(bench, "anvil", cargo().args(example))
}

/// The content filter compared with its peers: times, then false hits on downloaded documentation.
pub(super) fn filter(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "filter", "--example", "bench"];
    run(bench, "filter", cargo().args(example))?;
    for packages in [corpus::MEASURED, corpus::UNSEEN] {
        let texts = corpus::texts(&bench.supervisor, &repository()?, packages)?;
        let texts: Vec<&str> = texts.iter().filter_map(|path| path.to_str()).collect();
        run(bench, "filter", cargo().args(example).arg("--").args(&texts))?;
    }
    Ok(())
}
