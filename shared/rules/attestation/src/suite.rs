// Computes the hash of the authority gate's suite, for the build script and for `cargo xtask test --only attest`.

use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The files that decide, relative to the folder of the rules: the gate's rules, states, code and tests; the content filter,
/// through which the gate reads a text; and the texts that the gate sends, such as the reply in a crisis.
pub(crate) const SUITE: [&str; 11] = [
    "../domain/src/authority_state.rs",
    "../domain/src/texts.rs",
    "authority/Cargo.toml",
    "authority/build.rs",
    "authority/data",
    "authority/src",
    "authority/tests",
    "filter/Cargo.toml",
    "filter/build.rs",
    "filter/data",
    "filter/src",
];

/// SHA-256, in hexadecimal, over the names and contents of the suite's files, sorted by name.
pub(crate) fn hash(rules: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for part in SUITE {
        let path = rules.join(part);
        if path.is_dir() { collect(&path, &mut files)? } else { files.push(path) }
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file.strip_prefix(rules).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let content = fs::read(&file)?;
        hash.update(format!("{name}\n{}\n", content.len()));
        hash.update(content);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension != "proptest-regressions") {
            files.push(path);
        }
    }
    Ok(())
}
