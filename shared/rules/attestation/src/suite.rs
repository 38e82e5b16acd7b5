// Computes the hash of the authority gate's suite, for the build script and for `cargo xtask test --only attest`.

use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// SHA-256, in hexadecimal, over the names and contents of the gate's rules, code and tests, sorted by name.
pub(crate) fn hash(authority: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for folder in ["data", "src", "tests"] {
        collect(&authority.join(folder), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file.strip_prefix(authority).unwrap_or(&file).to_string_lossy().replace('\\', "/");
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
