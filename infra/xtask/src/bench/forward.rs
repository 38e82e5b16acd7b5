//! Benchmarks that are in the crates that they measure: each prints its own JSON lines.

use super::{Bench, corpus, example, run};
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
    run(bench, "authority", example("run", "authority", "authority_bench").args(["--features", "peers"]))
}

/// The quality gate's rules and its parsing of texts.
pub(super) fn anvil(bench: &Bench) -> Result<(), Error> {
    run(bench, "anvil", &mut example("run", "anvil-rules", "anvil_bench"))
}

/// The content filter compared with its peers: times, then false hits on downloaded documentation.
pub(super) fn filter(bench: &Bench) -> Result<(), Error> {
    run(bench, "filter", &mut example("run", "filter", "bench"))?;
    for packages in [corpus::MEASURED, corpus::UNSEEN] {
        let texts = corpus::texts(&bench.supervisor, &repository()?, packages)?;
        let texts: Vec<&str> = texts.iter().filter_map(|path| path.to_str()).collect();
        run(bench, "filter", example("run", "filter", "bench").arg("--").args(&texts))?;
    }
    Ok(())
}
