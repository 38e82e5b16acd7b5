//! Compiles the block list into the tables that the library embeds, and refuses a list that is inconsistent.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use sha2::{Digest, Sha256};

#[path = "src/compile/mod.rs"]
mod compile;
#[allow(dead_code, unreachable_pub, reason = "the build script uses part of what the library uses")]
#[path = "src/engine/mod.rs"]
mod engine;
#[allow(dead_code, unreachable_pub, reason = "the library's public types; the build script uses part of them")]
#[path = "src/outcome.rs"]
mod outcome;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=data");
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error=shared/rules/filter/data: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let text = fs::read_to_string("data/blocklist.toml")?;
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let list = compile::list::BlockList::parse(&text)?;
    let lookalikes = fs::read_to_string("data/lookalikes.toml")?;
    let entities = fs::read_to_string("data/entities.txt")?;
    let tables = compile::compile(&list, &hash, &lookalikes, &entities)?;
    compile::validate::validate(&list, &tables)?;
    #[allow(clippy::disallowed_methods, reason = "how Cargo tells a build script where to write")]
    let directory = env::var("OUT_DIR")?;
    let write = |name: &str, bytes: &[u8]| fs::write(Path::new(&directory).join(name), bytes);
    write("lists.json", &serde_json::to_vec(&tables.lists)?)?;
    write("characters.json", &serde_json::to_vec(&tables.characters.lists)?)?;
    write("pages.bin", tables.characters.pages.0.as_flattened())?;
    write("folds.bin", tables.characters.folds.0.as_flattened())?;
    write("transitions.bin", tables.transitions.0.as_flattened())?;
    Ok(())
}
