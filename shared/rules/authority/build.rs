//! Compiles the ontologies of `data/` into the tables that the library embeds, and rejects inconsistent ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

#[path = "src/compile/mod.rs"]
mod compile;
#[allow(dead_code, unreachable_pub, reason = "the build script uses part of what the library exports")]
#[path = "../../domain/src/authority_state.rs"]
mod state;
#[allow(dead_code, reason = "the build script writes the tables that the library reads")]
#[path = "src/tables.rs"]
mod tables;
#[allow(dead_code, reason = "the build script uses part of what the library uses")]
#[path = "src/text/mod.rs"]
mod text;

fn main() -> ExitCode {
    let state = "../../domain/src/authority_state.rs";
    for watched in ["data", "src/compile", state, "src/tables.rs", "src/text", "build.rs"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error=shared/rules/authority/data/{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir("data")?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    let mut sources = Vec::new();
    let is_data = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "toml" || extension == "tsv");
    for path in paths.iter().filter(is_data) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        sources.push(compile::Source { name, text: fs::read_to_string(path)? });
    }
    let tables = compile::generate(sources)?;
    #[allow(clippy::disallowed_methods, reason = "how Cargo tells a build script where to write")]
    let directory = env::var("OUT_DIR")?;
    fs::write(Path::new(&directory).join("tables.rs"), tables)?;
    Ok(())
}
